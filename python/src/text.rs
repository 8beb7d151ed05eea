//! Functions for the output of commands and for chats. `tamis/__init__.py` gives them their types.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis_bindings::{BindingPrune, filter_output};

use crate::error::raised;
use crate::input::{json_of, object_of_json, with_bytes};

/// Filters the output of a command and returns it with the report.
#[pyfunction]
#[pyo3(signature = (command, output, exit_code=None, **options))]
pub(crate) fn filter_output_with_report<'py>(
    py: Python<'py>,
    command: &str,
    output: &Bound<'py, PyAny>,
    exit_code: Option<i32>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyBytes>, Py<PyAny>)> {
    let options = json_of(options)?;
    with_bytes(output, |bytes| {
        let filtered = py.detach(|| filter_output(command, bytes, exit_code, &options));
        let filtered = filtered.map_err(|error| raised(py, error))?;
        Ok((PyBytes::new(py, &filtered.output), object_of_json(py, &filtered.report)?))
    })
}

/// Prunes a history that is written as JSON, and returns it with the report.
#[pyfunction]
#[pyo3(signature = (history, **rules))]
pub(crate) fn prune_with_report<'py>(
    py: Python<'py>,
    history: &Bound<'py, PyAny>,
    rules: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyBytes>, Py<PyAny>)> {
    let rules = json_of(rules)?;
    with_bytes(history, |bytes| {
        let pruned = py.detach(|| BindingPrune::compile(&rules)?.prune(bytes));
        let (pruned, report) = pruned.map_err(|error| raised(py, error))?;
        Ok((PyBytes::new(py, &pruned), object_of_json(py, &report)?))
    })
}
