//! The class `tamis.Stream`: a run that bytes are pushed into.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;
use tamis_bindings::{BindingError, BindingStream};

use crate::error::raised;
use crate::input::{object_of_json, with_bytes};

/// A run that bytes are pushed into: of a document, of a text, or of the output of a command.
///
/// Each call returns the output that is ready, so a caller that stops calling holds the run back: nothing is queued. Threads
/// that share a stream take turns. As a context manager it frees what it holds when the block ends.
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Stream(Mutex<Option<BindingStream>>);

impl Stream {
    pub(crate) fn new(stream: BindingStream) -> Self {
        Self(Mutex::new(Some(stream)))
    }

    /// Waits for other threads. Call it without the GIL.
    fn lock(&self) -> MutexGuard<'_, Option<BindingStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `run` without the GIL.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut BindingStream) -> R + Send,
    ) -> PyResult<R> {
        let returned = py.detach(|| self.lock().as_mut().map(run));
        returned.ok_or_else(|| PyValueError::new_err("the stream is closed"))
    }

    fn output<'py>(
        &self,
        py: Python<'py>,
        run: impl FnOnce(&mut BindingStream) -> Result<Vec<u8>, BindingError> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        match self.with(py, run)? {
            Ok(output) => Ok(PyBytes::new(py, &output)),
            Err(error) => Err(raised(py, error)),
        }
    }
}

#[pymethods]
impl Stream {
    /// Take the next bytes and return the output that is ready.
    fn write<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        with_bytes(data, |bytes| self.output(py, |stream| stream.write(bytes)))
    }

    /// End the input and return the rest of the output. `exit_code` is that of the command, if this is one's output.
    #[pyo3(signature = (exit_code=None))]
    fn end<'py>(&self, py: Python<'py>, exit_code: Option<i32>) -> PyResult<Bound<'py, PyBytes>> {
        self.output(py, |stream| stream.end(exit_code))
    }

    /// Return lines that a reader should see now, although later input could still change them.
    ///
    /// Call it if somebody waits and no input has arrived for a second. Documents have no such output.
    fn release<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.output(py, |stream| Ok(stream.release()))
    }

    /// Filter an iterable of chunks, and return an iterator of outputs; of an async iterable, an async iterator.
    ///
    /// Reads the next chunk when the next output is asked for, and none after the output is complete (`stop_early`).
    fn pipe(slf: &Bound<'_, Self>, chunks: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static PIPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let pipe = PIPE.import(slf.py(), "tamis._pipe", "pipe")?;
        Ok(pipe.call1((slf, chunks))?.unbind())
    }

    /// Free what the run holds. Later calls raise `ValueError`.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    /// Whether the output is complete, so that further input is ignored.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |stream| stream.is_done())
    }

    /// The report: for a document the report so far, for a text or a command's output empty until the end.
    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let json = self.with(py, |stream| stream.report())?;
        object_of_json(py, &json)
    }
}
