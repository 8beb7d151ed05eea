//! The class `tamis.OutputFilters`: filters for the output of commands.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use tamis_bindings::{BindingCommands, ManifestProblem};

use crate::error::{problem_list, raised};
use crate::input::{json_of, object_of_json, with_bytes};
use crate::stream::Stream;

/// Filters for the output of commands: the built-in ones and, before them, those of a file with rules (TOML).
///
/// `rules` is a path object, or a string without a line break, which names a file; any other string is the text of the file.
/// Errors call the text `name`. Immutable; any number of threads can use it at once.
#[pyclass(frozen, module = "tamis")]
pub(crate) struct OutputFilters(BindingCommands);

#[pymethods]
impl OutputFilters {
    #[new]
    #[pyo3(signature = (rules=None, name="rules.toml"))]
    fn new(py: Python<'_>, rules: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Self> {
        let Some(rules) = rules else { return Ok(Self(BindingCommands::builtin())) };
        let text = rules.cast::<PyString>().ok().map(|text| text.to_str()).transpose()?;
        let read = match text.filter(|text| text.contains('\n')) {
            Some(text) => py.detach(|| BindingCommands::parse(name, text)),
            None => {
                let path: PathBuf = rules.extract()?;
                py.detach(|| BindingCommands::load(path))
            }
        };
        read.map(Self).map_err(|error| raised(py, error))
    }

    /// Filter the output of a command and return it. Output of a command without a filter is passed through.
    #[pyo3(signature = (command, output, exit_code=None, **options))]
    fn filter<'py>(
        &self,
        py: Python<'py>,
        command: &str,
        output: &Bound<'py, PyAny>,
        exit_code: Option<i32>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(self.filter_with_report(py, command, output, exit_code, options)?.0)
    }

    /// Filter the output of a command and return it with the report.
    #[pyo3(signature = (command, output, exit_code=None, **options))]
    fn filter_with_report<'py>(
        &self,
        py: Python<'py>,
        command: &str,
        output: &Bound<'py, PyAny>,
        exit_code: Option<i32>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyBytes>, Py<PyAny>)> {
        let options = json_of(options)?;
        with_bytes(output, |bytes| {
            let filtered = py.detach(|| self.0.filter(command, bytes, exit_code, &options));
            let filtered = filtered.map_err(|error| raised(py, error))?;
            Ok((PyBytes::new(py, &filtered.output), object_of_json(py, &filtered.report)?))
        })
    }

    /// Start a run that the output is pushed into while the command runs. Pass the exit code to `Stream.end`.
    #[pyo3(signature = (command, **options))]
    fn stream(
        &self,
        py: Python<'_>,
        command: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let stream = self.0.stream(command, &json_of(options)?);
        stream.map(Stream::new).map_err(|error| raised(py, error))
    }

    /// Return the name of the filter for a command, or `None`.
    fn filter_for(&self, command: &str) -> Option<String> {
        self.0.filter_for(command)
    }

    /// Run the examples of the rules, and return a problem for each that does not have the declared output.
    fn run_examples(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let problems: Vec<ManifestProblem> = py.detach(|| self.0.run_examples());
        Ok(problem_list(py, problems)?.into_any().unbind())
    }

    /// The names of the rules in the file; of the built-in filters if there is no file.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }

    /// Warnings about keys that have no effect.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(problem_list(py, self.0.warnings())?.into_any().unbind())
    }
}
