//! `Tape`: the events of one log, as dictionaries and as Arrow batches.

use engram_adapters::sessions::{self, SessionLocation, SessionOptions};
use engram_core::error::AdapterError;
use engram_core::tape::{JsonLines, replay};
use engram_export::arrow::Tables;
use memchr::memchr;
use pyo3::exceptions::PyIOError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::{Batches, table_named};

/// The tape of one log.
#[pyclass(frozen, module = "engram")]
pub struct Tape {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    harness: &'static str,
    #[pyo3(get)]
    version: Option<String>,
    #[pyo3(get)]
    session_id: Option<String>,
    #[pyo3(get)]
    agent_id: Option<String>,
    #[pyo3(get)]
    path: String,
    #[pyo3(get)]
    input_bytes: u64,
    tape: Vec<u8>,
    events: usize,
}

/// The tapes of a unit, in the order of its logs.
///
/// # Errors
/// Those of the first log that cannot be converted.
pub fn of_unit(unit: &sessions::Unit, options: &SessionOptions) -> Result<Vec<Tape>, AdapterError> {
    unit.locations(options)?
        .iter()
        .map(|location| of_location(location, options))
        .collect()
}

fn of_location(location: &SessionLocation, options: &SessionOptions) -> Result<Tape, AdapterError> {
    let source = location.open(options)?;
    let fallback_id = location.fallback_id(source.registration());
    let mut tape = Vec::new();
    let summary = source.convert(&mut JsonLines::new(&mut tape))?;
    let session = summary
        .session_id
        .as_deref()
        .filter(|id| !id.is_empty())
        .unwrap_or(&fallback_id);
    let agent = summary
        .agent_id
        .as_deref()
        .filter(|agent| *agent != session);
    let name = agent.map_or_else(
        || format!("{}/{session}", summary.harness),
        |agent| format!("{}/{session}.{agent}", summary.harness),
    );
    Ok(Tape {
        name,
        harness: summary.harness,
        version: summary.version,
        session_id: summary.session_id,
        agent_id: summary.agent_id,
        path: location.path().to_string_lossy().into_owned(),
        input_bytes: summary.input_bytes,
        events: memchr::memchr_iter(b'\n', &tape).count(),
        tape,
    })
}

#[pymethods]
impl Tape {
    /// The tape as `engram ingest` writes it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.tape)
    }

    /// An iterator of its events.
    fn events(slf: Bound<'_, Self>) -> PyResult<Events> {
        let loads = slf.py().import("json")?.getattr("loads")?.unbind();
        Ok(Events {
            tape: slf.unbind(),
            at: 0,
            loads,
        })
    }

    /// The rows of a table.
    #[pyo3(signature = (table = "events"))]
    fn arrow(&self, py: Python<'_>, table: &str) -> PyResult<Batches> {
        let table = table_named(table)?;
        let filled = py.detach(|| {
            let mut tables = Tables::new(Vec::new(), &[table]);
            tables.begin(&self.name);
            replay(&self.tape[..], &mut tables)?;
            tables.finish()
        });
        let (batches, _losses) = filled.map_err(|error| PyIOError::new_err(error.to_string()))?;
        Ok(Batches::new(
            table,
            batches.into_iter().map(|(_, batch)| batch).collect(),
        ))
    }

    /// The number of its events.
    fn __len__(&self) -> usize {
        self.events
    }

    fn __repr__(&self) -> String {
        format!("<engram.Tape {} with {} events>", self.name, self.events)
    }
}

/// The events of a tape, each parsed when it is asked for.
#[pyclass(module = "engram")]
pub struct Events {
    tape: Py<Tape>,
    at: usize,
    loads: Py<PyAny>,
}

#[pymethods]
impl Events {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let rest = self.tape.get().tape.get(self.at..).unwrap_or_default();
        let Some(end) = memchr(b'\n', rest) else {
            return Ok(None);
        };
        self.at += end + 1;
        self.loads
            .bind(py)
            .call1((PyBytes::new(py, &rest[..end]),))
            .map(Some)
    }
}
