//! The class `tamis.Program`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis_bindings::{BindingCall, BindingProgram, BindingRun};

use crate::error::raised;
use crate::files::filter_between;
use crate::input::{call_of, json_of, object_of_json, with_bytes};
use crate::stream::Stream;

/// A compiled filter. Immutable; any number of threads can use it at once.
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Program(pub(crate) BindingProgram);

#[pymethods]
impl Program {
    /// Compiles rules. The arguments are the members of a native spec: `select`, `exclude`, `max_items`, `budget`, …
    #[new]
    #[pyo3(signature = (rules=None, /, **more))]
    fn new(
        py: Python<'_>,
        rules: Option<&Bound<'_, PyDict>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let json = match (rules, more) {
            (Some(rules), Some(more)) => {
                let all = rules.copy()?;
                all.update(more.as_mapping())?;
                json_of(Some(&all))?
            }
            (rules, more) => json_of(rules.or(more))?,
        };
        let compiled = py.detach(|| BindingProgram::compile(&json));
        compiled.map(Self).map_err(|error| raised(py, error))
    }

    /// Filters a document and returns the output.
    #[pyo3(signature = (data, **options))]
    fn filter<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let run = self.run(py, data, options, BindingProgram::filter)?;
        Ok(PyBytes::new(py, &run.output))
    }

    /// Filters a document and returns the output and the report.
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

    /// Filters each line as a document of its own (NDJSON). A line that fails writes nothing; the first failure is raised
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

    /// Starts a run that bytes are pushed into.
    #[pyo3(signature = (**options))]
    fn stream(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Stream> {
        Ok(Stream::new(self.0.stream(&call_of(py, options)?)))
    }

    /// Filters what `reader` returns into `writer`, and returns the report. `reader` is a path, or an object with `read`;
    /// `writer` is an object with `write`. Memory does not grow with the document.
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

    /// Describes how the program will run.
    #[pyo3(signature = (**options))]
    fn explain(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        Ok(self.0.explain(&call_of(py, options)?))
    }

    /// Whether rules may be relied on to keep values back. An adapter then withholds a result that it cannot filter.
    #[getter]
    fn removes_for_safety(&self) -> bool {
        self.0.removes_for_safety()
    }

    /// The rules, as a dictionary.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        object_of_json(py, &self.0.spec())
    }

    fn __repr__(&self) -> String {
        format!("tamis.Program({})", self.0.spec())
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
