//! Chats. `tamis/__init__.py` has the function `prune`, which uses this.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis_bindings::BindingPrune;

use crate::error::raised;
use crate::input::{json_of, object_of_json, with_bytes};

/// Prune a chat that is written as JSON, and return it with the report.
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
