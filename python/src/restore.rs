//! Factored documents. `tamis/__init__.py` has the function `restore`, which uses this.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised;
use crate::input::with_bytes;

/// Restore a document that was factored. A document that is not factored is returned unchanged.
#[pyfunction]
pub(crate) fn restore_bytes<'py>(
    py: Python<'py>,
    document: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    with_bytes(document, |bytes| {
        let restored = py.detach(|| tamis_bindings::restore(bytes));
        Ok(PyBytes::new(py, &restored.map_err(|error| raised(py, error))?))
    })
}
