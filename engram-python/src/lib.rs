//! The Python module `engram`. Its documentation is in `engram.pyi` and README.md.

mod arrow;
mod detected;
mod error;
mod tape;
mod unit;

use std::path::PathBuf;

use engram_adapters::sessions::SessionOptions;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::Schema;
use crate::detected::Detected;
use crate::error::raised;
use crate::tape::Tape;
use crate::unit::Unit;

/// What may be converted alone at a path.
#[pyfunction]
fn units(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Unit>> {
    let (units, errors) =
        py.detach(|| engram_adapters::sessions::units([path], &SessionOptions::default()));
    match errors.into_iter().next() {
        Some(error) if units.is_empty() => Err(raised(py, error)),
        _ => Ok(units.into_iter().map(Unit).collect()),
    }
}

/// Which harness wrote the logs at a path.
#[pyfunction]
fn detect(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Detected>> {
    py.detach(|| detected::at(&path))
        .map_err(|error| raised(py, error))
}

/// The tapes of a unit.
#[pyfunction]
#[pyo3(signature = (unit, *, policy = "permissive"))]
fn ingest(py: Python<'_>, unit: &Unit, policy: &str) -> PyResult<Vec<Tape>> {
    let options = SessionOptions::default().with_policy(policy_of(policy)?);
    py.detach(|| tape::of_unit(&unit.0, &options))
        .map_err(|error| raised(py, error))
}

/// The tape of a log in memory.
#[pyfunction]
#[pyo3(signature = (data, *, policy = "permissive"))]
fn convert<'py>(py: Python<'py>, data: &[u8], policy: &str) -> PyResult<Bound<'py, PyBytes>> {
    let options = Options {
        policy: policy_of(policy)?,
        ..Options::default()
    };
    // Another thread may change what is not `bytes`, so the log is copied before the lock is released.
    let log = data.to_vec();
    let tape = py.detach(|| {
        let mut tape = Vec::new();
        engram_adapters::ingest(
            Input::new(&log[..], options.limits),
            &options,
            &mut JsonLines::new(&mut tape),
        )
        .map(|_| tape)
    });
    tape.map(|tape| PyBytes::new(py, &tape))
        .map_err(|error| raised(py, error))
}

/// The columns of a table.
#[pyfunction]
#[pyo3(signature = (table = "events"))]
fn schema(table: &str) -> PyResult<Schema> {
    arrow::table_named(table).map(Schema)
}

fn policy_of(name: &str) -> PyResult<Policy> {
    name.parse().map_err(|_| {
        PyValueError::new_err(format!(
            "a policy is 'strict' or 'permissive', not {name:?}"
        ))
    })
}

/// Logs of coding agents as tapes and Arrow tables.
#[pymodule]
mod engram {
    #[pymodule_export]
    use super::arrow::Batches;
    #[pymodule_export]
    use super::error::EngramError;
    #[pymodule_export]
    use super::tape::Events;
    #[pymodule_export]
    use super::{Detected, Schema, Tape, Unit, convert, detect, ingest, schema, units};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
