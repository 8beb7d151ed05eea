//! The class `tamis.TextProgram`: rules for lines of text that is not JSON.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis_bindings::BindingText;

use crate::error::raised;
use crate::input::{json_of, object_of_json, rules_of, with_bytes};
use crate::stream::Stream;

/// Compiled rules for lines of text that is not JSON, such as logs. Immutable; any number of threads can use it at once.
///
/// The arguments are the rules: `strip_ansi`, `strip_lines_matching`, `keep_lines_matching`, `dedup`, `max_lines`,
/// `on_empty`, as a dictionary or by name.
#[pyclass(frozen, module = "tamis")]
pub(crate) struct TextProgram(BindingText);

#[pymethods]
impl TextProgram {
    #[new]
    #[pyo3(signature = (rules=None, /, **more))]
    fn new(
        py: Python<'_>,
        rules: Option<&Bound<'_, PyDict>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let json = rules_of(rules, more)?;
        let compiled = py.detach(|| BindingText::compile(&json));
        compiled.map(Self).map_err(|error| raised(py, error))
    }

    /// Filter a text and return the output. The options are the limits `line` and `held`.
    #[pyo3(signature = (data, **options))]
    fn filter<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.run(py, data, options)?.0))
    }

    /// Filter a text and return the output and the report.
    #[pyo3(signature = (data, **options))]
    fn filter_with_report<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyBytes>, Py<PyAny>)> {
        let (output, report) = self.run(py, data, options)?;
        Ok((PyBytes::new(py, &output), object_of_json(py, &report)?))
    }

    /// Start a run that bytes are pushed into.
    #[pyo3(signature = (**options))]
    fn stream(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Stream> {
        let stream = self.0.stream(&json_of(options)?);
        stream.map(Stream::new).map_err(|error| raised(py, error))
    }

    /// The rules, as a dictionary.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        object_of_json(py, &self.0.spec())
    }

    fn __repr__(&self) -> String {
        format!("tamis.TextProgram({})", self.0.spec())
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let spec = object_of_json(slf.py(), &slf.get().0.spec())?;
        Ok((slf.get_type().into_any(), (spec,)))
    }
}

impl TextProgram {
    fn run(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Vec<u8>, String)> {
        let options = json_of(options)?;
        with_bytes(data, |bytes| {
            py.detach(|| self.0.filter(&options, bytes)).map_err(|error| raised(py, error))
        })
    }
}
