//! Objects of Python as readers and writers.

use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyBlockingIOError, PyException, PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyType};
use tamis_bindings::{BindingCall, BindingError, BindingProgram, BindingRun};

use crate::error::raised;
use crate::input::with_bytes;

/// The exception that a method of Python raised.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Filters from a path or an object with `read` to an object with `write`. The GIL is only held while they are called.
pub(crate) fn filter_between(
    program: &BindingProgram,
    call: &BindingCall,
    reader: &Bound<'_, PyAny>,
    writer: &Bound<'_, PyAny>,
) -> PyResult<BindingRun> {
    let py = reader.py();
    if !writer.hasattr("write")? {
        let Some(path) = path_of(writer)? else {
            return Err(expected("writer", "a path or an object with `write`", writer));
        };
        return into_file(program, call, reader, &path);
    }
    let exception = Raised::default();
    let sink = PythonWriter { object: writer.clone().unbind(), raised: Arc::clone(&exception) };
    let run = if let Some(path) = path_of(reader)? {
        py.detach(|| match File::open(path) {
            Ok(file) => program.filter_file(call, file, sink),
            Err(error) => Err(BindingError::io("read", error)),
        })
    } else if reader.hasattr("read")? {
        let object = reader.clone().unbind();
        let source =
            PythonReader { object, raised: Arc::clone(&exception), rest: Cursor::default() };
        py.detach(|| program.filter_reader(call, source, sink))
    } else {
        return Err(expected("reader", "a path or an object with `read`", reader));
    };
    run.map_err(|error| {
        let failed = raised(py, error);
        match exception.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // An interrupt, or the exit of the interpreter, is raised as it is.
            Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
            cause => {
                if cause.is_some() {
                    failed.set_cause(py, cause);
                }
                failed
            }
        }
    })
}

/// Filters into a file, which is replaced when the run has succeeded. The new one lies next to it until then.
fn into_file(
    program: &BindingProgram,
    call: &BindingCall,
    reader: &Bound<'_, PyAny>,
    path: &Path,
) -> PyResult<BindingRun> {
    let py = reader.py();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let options = PyDict::new(py);
    options.set_item("dir", folder.unwrap_or(Path::new(".")))?;
    options.set_item("prefix", ".tamis-")?;
    options.set_item("delete", false)?;
    let module = py.import("tempfile")?;
    let named = |error: PyErr| of_path(py, error, path);
    let file = module.call_method("NamedTemporaryFile", (), Some(&options)).map_err(named)?;
    let written: PathBuf = file.getattr("name")?.extract()?;
    let run = filter_between(program, call, reader, &file);
    let closed = file.call_method0("close");
    let run = run.and_then(|run| closed.map(|_| run)).and_then(|run| {
        // The permissions of the file that is replaced, or those of a new one.
        let os = py.import("os")?;
        let mode = match std::fs::metadata(path) {
            Ok(_) => os.call_method1("stat", (path,))?.getattr("st_mode")?,
            Err(_) => {
                let mask = os.call_method1("umask", (0o077,))?;
                os.call_method1("umask", (&mask,))?;
                (0o666 & !mask.extract::<u32>()?).into_pyobject(py)?.into_any()
            }
        };
        os.call_method1("chmod", (&written, mode)).map_err(named)?;
        os.call_method1("replace", (&written, path)).map_err(named)?;
        Ok(run)
    });
    if run.is_err() {
        // If this fails, the run has failed already.
        _ = std::fs::remove_file(&written);
    }
    run
}

/// Returns an error of the system with the path that the caller gave in place of that of the temporary file.
fn of_path(py: Python<'_>, error: PyErr, path: &Path) -> PyErr {
    if error.is_instance_of::<PyOSError>(py) {
        let value = error.value(py);
        let changed = value.setattr("filename", path.as_os_str());
        // Without the new name, the old one is better than another error.
        _ = changed.and_then(|()| value.setattr("filename2", py.None()));
    }
    error
}

/// Returns the path that `str` or an object with `__fspath__` names.
fn path_of(object: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        return object.extract().map(Some);
    }
    Ok(None)
}

fn expected(name: &str, what: &str, found: &Bound<'_, PyAny>) -> PyErr {
    match found.get_type().name() {
        Ok(found) => PyTypeError::new_err(format!("{name}: expected {what}, found {found}")),
        Err(error) => error,
    }
}

/// Keeps the exception, and returns an error for the engine.
fn kept(raised: &Raised, error: PyErr) -> io::Error {
    let text = Python::attach(|_| error.to_string());
    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    io::Error::other(text)
}

struct PythonReader {
    object: Py<PyAny>,
    raised: Raised,
    /// Bytes that `read` returned and the engine has not taken: text may be longer in bytes than asked for, and some objects
    /// return everything at once.
    rest: Cursor<Vec<u8>>,
}

impl Read for PythonReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.rest.read(buffer)?;
        if count > 0 {
            return Ok(count);
        }
        let taken = Python::attach(|py| {
            py.check_signals()?;
            let read = self.object.call_method1(py, "read", (buffer.len(),))?;
            with_bytes(read.bind(py), |bytes| Ok(bytes.to_vec()))
        });
        self.rest = Cursor::new(taken.map_err(|error| kept(&self.raised, error))?);
        self.rest.read(buffer)
    }
}

struct PythonWriter {
    object: Py<PyAny>,
    raised: Raised,
}

impl Write for PythonWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = Python::attach(|py| {
            py.check_signals()?;
            let count = self.object.call_method1(py, "write", (PyBytes::new(py, bytes),))?;
            let count = count.bind(py);
            if let Ok(taken) = count.cast_exact::<PyInt>() {
                // A raw file may take a part.
                return Ok(taken.extract::<usize>()?.min(bytes.len()));
            }
            // A raw file that cannot take anything now. Other objects that return no number take all.
            static RAW: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let raw = RAW.import(py, "io", "RawIOBase")?;
            if count.is_none() && self.object.bind(py).is_instance(raw)? {
                return Err(PyBlockingIOError::new_err("the writer is not ready"));
            }
            Ok(bytes.len())
        });
        written.map_err(|error| kept(&self.raised, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
