//! Values of Python as bytes and as JSON, without copies where Python allows it.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyMemoryView, PyString};
use tamis_bindings::BindingCall;

use crate::error::raised;

/// Calls `run` with the bytes of `data`.
///
/// `bytes`, `str` and views of `bytes` cannot change, so they are borrowed while the GIL is released. Anything else with a
/// buffer may be changed by another thread meanwhile, so it is copied first.
pub(crate) fn with_bytes<R>(
    data: &Bound<'_, PyAny>,
    run: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return run(bytes.as_bytes());
    }
    if let Ok(text) = data.cast::<PyString>() {
        return run(text.to_str()?.as_bytes());
    }
    let buffer = match PyBuffer::<u8>::get(data) {
        Ok(buffer) => buffer,
        // A view that was released, for example.
        Err(error) if error.is_instance_of::<PyValueError>(data.py()) => return Err(error),
        Err(_) => {
            let found = data.get_type().name()?;
            let message = format!("expected bytes, bytearray, memoryview or str, found {found}");
            return Err(PyTypeError::new_err(message));
        }
    };
    if let Ok(view) = data.cast::<PyMemoryView>()
        && let Ok(whole) = view.getattr("obj")?.cast_into_exact::<PyBytes>()
        && buffer.is_c_contiguous()
    {
        let start = (buffer.buf_ptr() as usize).checked_sub(whole.as_bytes().as_ptr() as usize);
        let part = start.and_then(|start| whole.as_bytes().get(start..start + buffer.len_bytes()));
        if let Some(part) = part {
            return run(part);
        }
    }
    let copied = buffer.to_vec(data.py())?;
    // An array with a view cannot be resized.
    drop(buffer);
    run(&copied)
}

/// Writes a dictionary as JSON. Members that are `None` are left out, as if they had not been given. Without members it is an
/// empty object.
pub(crate) fn json_of(options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let Some(options) = options.filter(|options| !options.is_empty()) else {
        return Ok("{}".to_owned());
    };
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let dumps = DUMPS.import(options.py(), "json", "dumps")?;
    if options.values().iter().any(|value| value.is_none()) {
        let given = PyDict::new(options.py());
        for (name, value) in options {
            if !value.is_none() {
                given.set_item(name, value)?;
            }
        }
        return dumps.call1((given,))?.extract();
    }
    dumps.call1((options,))?.extract()
}

/// Writes rules as JSON: a dictionary, rules by name, or both.
pub(crate) fn rules_of(
    rules: Option<&Bound<'_, PyDict>>,
    more: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    match (rules, more) {
        (Some(rules), Some(more)) => {
            let all = rules.copy()?;
            all.update(more.as_mapping())?;
            json_of(Some(&all))
        }
        (rules, more) => json_of(rules.or(more)),
    }
}

/// Reads JSON into objects of Python.
pub(crate) fn object_of_json(py: Python<'_>, json: &str) -> PyResult<Py<PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(LOADS.import(py, "json", "loads")?.call1((json,))?.unbind())
}

/// Reads the options of a call.
pub(crate) fn call_of(
    py: Python<'_>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<BindingCall> {
    match options {
        Some(members) if !members.is_empty() => {
            BindingCall::parse(&json_of(options)?).map_err(|error| raised(py, error))
        }
        _ => Ok(BindingCall::default()),
    }
}
