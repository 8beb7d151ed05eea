//! The exception `tamis.Error`.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tamis_bindings::{BindingError, ErrorMembers, ManifestProblem};

use crate::input::object_of_json;

create_exception!(
    tamis,
    Error,
    PyValueError,
    "A failed run, rules that cannot be compiled, or a manifest that cannot be read.\n\nIts attributes are `kind`, `fault`, \
     `offset`, `path`, `limit`, `message`, `output`, `report` and `problems`."
);

/// Creates the exception with its attributes.
pub(crate) fn raised(py: Python<'_>, error: BindingError) -> PyErr {
    let members = error.into_members();
    let exception = Error::new_err(members.display.clone());
    match set(py, &exception, members) {
        Ok(()) => exception,
        Err(other) => other,
    }
}

fn set(py: Python<'_>, exception: &PyErr, members: ErrorMembers) -> PyResult<()> {
    let value = exception.value(py);
    let report = members.report.map(|json| object_of_json(py, &json)).transpose()?;
    value.setattr("kind", members.kind)?;
    value.setattr("fault", members.fault)?;
    value.setattr("offset", members.offset)?;
    value.setattr("path", members.path)?;
    value.setattr("limit", members.limit)?;
    value.setattr("message", members.message)?;
    value.setattr("output", PyBytes::new(py, &members.output))?;
    value.setattr("report", report)?;
    value.setattr("problems", problem_list(py, members.problems)?)
}

/// Returns problems as dictionaries.
pub(crate) fn problem_list(
    py: Python<'_>,
    problems: Vec<ManifestProblem>,
) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let entry = PyDict::new(py);
        entry.set_item("file", problem.file)?;
        entry.set_item("line", problem.line)?;
        entry.set_item("column", problem.column)?;
        entry.set_item("message", problem.message)?;
        list.append(entry)?;
    }
    Ok(list)
}
