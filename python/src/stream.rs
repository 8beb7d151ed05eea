//! The class `tamis.Stream`: a run that bytes are pushed into.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tamis_bindings::{BindingError, BindingStream};

use crate::error::raised;
use crate::input::{object_of_json, with_bytes};

/// A run that bytes are pushed into. Threads that share it take turns.
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Stream(Mutex<BindingStream>);

impl Stream {
    pub(crate) fn new(stream: BindingStream) -> Self {
        Self(Mutex::new(stream))
    }

    /// Waits for other threads. Call it without the GIL.
    fn lock(&self) -> MutexGuard<'_, BindingStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn returned<'py>(
        py: Python<'py>,
        output: Result<Vec<u8>, BindingError>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        match output {
            Ok(output) => Ok(PyBytes::new(py, &output)),
            Err(error) => Err(raised(py, error)),
        }
    }
}

#[pymethods]
impl Stream {
    /// Takes the next bytes and returns the output that is ready.
    fn write<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        with_bytes(data, |bytes| Self::returned(py, py.detach(|| self.lock().write(bytes))))
    }

    /// Ends the document and returns the rest of the output.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Self::returned(py, py.detach(|| self.lock().end()))
    }

    /// Whether the output is complete, so that further input is ignored.
    #[getter]
    fn done(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock().is_done())
    }

    /// The report so far.
    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let json = py.detach(|| self.lock().report());
        object_of_json(py, &json)
    }
}
