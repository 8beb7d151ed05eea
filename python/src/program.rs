//! The class `tamis.Program`.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis_bindings::{BindingCall, BindingProgram, BindingRun};

use crate::error::raised;
use crate::files::filter_between;
use crate::input::{call_of, object_of_json, rules_of, with_bytes};
use crate::stream::Stream;

/// Documents up to this size are filtered with the GIL held: in less time than other threads would need to take it.
const SHORT: usize = 8 << 10;

/// A compiled filter. Immutable; any number of threads can use it at once.
///
/// The arguments are the rules, as a dictionary or by name: `select`, `exclude`, `max_items`, `budget`, and the others of
/// `tamis.Rules`. Names that are not known are errors.
///
/// >>> tamis.Program(select=["id"]).filter('[{"id": 1, "x": 2}]')
/// b'[{"id":1}]'
#[pyclass(frozen, weakref, module = "tamis")]
pub(crate) struct Program(pub(crate) BindingProgram);

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (rules=None, /, **more))]
    fn new(
        py: Python<'_>,
        rules: Option<&Bound<'_, PyDict>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let json = rules_of(rules, more)?;
        let compiled = py.detach(|| BindingProgram::compile(&json));
        compiled.map(Self).map_err(|error| raised(py, error))
    }

    /// Filter a document and return the output.
    #[pyo3(signature = (data, **options))]
    fn filter<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if options.is_none_or(|options| options.is_empty()) {
            return with_bytes(data, |bytes| {
                if bytes.len() <= SHORT {
                    let output = self.0.output_with(bytes, |output| PyBytes::new(py, output));
                    return output.map_err(|error| raised(py, error));
                }
                let output = py.detach(|| self.0.output(bytes));
                Ok(PyBytes::new(py, &output.map_err(|error| raised(py, error))?))
            });
        }
        let run = self.run(py, data, options, BindingProgram::filter)?;
        Ok(PyBytes::new(py, &run.output))
    }

    /// Filter a document and return the output and the report.
    #[pyo3(signature = (data, **options))]
    fn filter_with_report<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyBytes>, Py<PyAny>)> {
        let run = self.run(py, data, options, BindingProgram::filter)?;
        Ok((PyBytes::new(py, &run.output), object_of_json(py, &run.report())?))
    }

    /// Filter each line as a document of its own (NDJSON). A line that fails writes nothing; the first failure is raised
    /// after all lines were read, and its `output` has the output of the other lines.
    #[pyo3(signature = (data, **options))]
    fn filter_lines<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let run = self.run(py, data, options, BindingProgram::filter_lines)?;
        Ok(PyBytes::new(py, &run.output))
    }

    /// Filter the data of each event of an event stream as a document (`text/event-stream`). An event that fails writes
    /// nothing; the first failure is raised after all events were read, and its `output` has the output of the others.
    #[pyo3(signature = (data, **options))]
    fn filter_events<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let run = self.run(py, data, options, BindingProgram::filter_events)?;
        Ok(PyBytes::new(py, &run.output))
    }

    /// Filter a text that is not JSON, as the proxy does: secrets are redacted, and the rule `text_filter` applies.
    ///
    /// Return `None` if the text must not pass, because other rules remove values for safety and cannot read it. With
    /// `is_error` it is the message of a failed call.
    #[pyo3(signature = (data, is_error=false))]
    fn filter_plain<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        is_error: bool,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        with_bytes(data, |bytes| {
            let filtered = py.detach(|| self.0.filter_plain(bytes, is_error));
            Ok(filtered.map(|text| PyBytes::new(py, &text)))
        })
    }

    /// Start a run that bytes are pushed into.
    #[pyo3(signature = (**options))]
    fn stream(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Stream> {
        Ok(Stream::new(self.0.stream(&call_of(py, options)?)))
    }

    /// Filter what `reader` returns into `writer`, and return the report. `reader` is a path, or an object with `read`;
    /// `writer` is a path, whose file is replaced when the run has succeeded, or an object with `write`. Memory does not grow with the document.
    #[pyo3(signature = (reader, writer, **options))]
    fn filter_file(
        &self,
        py: Python<'_>,
        reader: &Bound<'_, PyAny>,
        writer: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let call = call_of(py, options)?;
        let run = filter_between(&self.0, &call, reader, writer)?;
        object_of_json(py, &run.report())
    }

    /// Describe how the program will run, in words.
    #[pyo3(signature = (**options))]
    fn explain(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        Ok(self.0.explain(&call_of(py, options)?))
    }

    /// Describe how the program will run, as a dictionary: stages, what they hold, and why.
    #[pyo3(signature = (**options))]
    fn plan(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyAny>> {
        object_of_json(py, &self.0.plan(&call_of(py, options)?))
    }

    /// The rules in one line, in words.
    #[getter]
    fn summary(&self) -> String {
        self.0.summary()
    }

    /// Whether rules may be relied on to keep values back. An adapter then withholds a result that it cannot filter.
    #[getter]
    fn removes_for_safety(&self) -> bool {
        self.0.removes_for_safety()
    }

    /// The rules, as a dictionary.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        object_of_json(py, &self.0.spec().map_err(|error| raised(py, error))?)
    }

    fn __repr__(&self) -> String {
        match self.0.spec() {
            Ok(spec) => format!("tamis.Program({spec})"),
            Err(_) => format!("<tamis.Program: {}>", self.0.summary()),
        }
    }

    /// Programs with the same rules are equal. A filter of a manifest whose rules JSON cannot state is equal to itself only.
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        match (slf.get().0.spec(), other.get().0.spec()) {
            (Ok(one), Ok(other)) => one == other,
            _ => slf.is(other),
        }
    }

    fn __hash__(slf: &Bound<'_, Self>) -> u64 {
        let mut hasher = DefaultHasher::new();
        match slf.get().0.spec() {
            Ok(spec) => spec.hash(&mut hasher),
            Err(_) => slf.as_ptr().hash(&mut hasher),
        }
        hasher.finish()
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// Pickles the rules. A filter of a manifest may have rules that JSON cannot state, so it cannot be pickled.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let Some(source) = slf.get().0.source() else {
            let message =
                "a filter of a manifest cannot be pickled: load the manifest in the other process";
            return Err(PyTypeError::new_err(message));
        };
        Ok((slf.get_type().into_any(), (object_of_json(slf.py(), source)?,)))
    }
}

impl Program {
    fn run<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
        run: impl FnOnce(
            &BindingProgram,
            &BindingCall,
            &[u8],
        ) -> Result<BindingRun, tamis_bindings::BindingError>
        + Send,
    ) -> PyResult<BindingRun> {
        let call = call_of(py, options)?;
        with_bytes(data, |bytes| {
            py.detach(|| run(&self.0, &call, bytes)).map_err(|error| raised(py, error))
        })
    }
}
