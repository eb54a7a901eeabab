//! `EngramError`, with the code and the place of what went wrong.

use engram_core::error::AdapterError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    engram,
    EngramError,
    PyException,
    "A log cannot be converted. `code` says why, `path` and `line` say where."
);

/// The exception of an error, with its code and place as attributes.
pub fn raised(py: Python<'_>, error: AdapterError) -> PyErr {
    let raised = EngramError::new_err(error.to_string());
    let value = raised.value(py);
    let set = value
        .setattr("code", error.code.as_str())
        .and_then(|()| value.setattr("path", error.path))
        .and_then(|()| value.setattr("line", error.line));
    set.err().unwrap_or(raised)
}
