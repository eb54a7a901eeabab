//! `Unit`: what can be converted alone.

use engram_adapters::sessions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// A session with its sub-agents and side files, or one session of a store.
#[pyclass(frozen, eq, hash, module = "engram")]
#[derive(PartialEq, Eq)]
pub struct Unit(pub sessions::Unit);

impl std::hash::Hash for Unit {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.unit.hash(state);
    }
}

#[pymethods]
impl Unit {
    #[getter]
    fn unit(&self) -> &str {
        &self.0.unit
    }

    #[getter]
    fn harness(&self) -> &str {
        &self.0.harness
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.0.session.as_deref()
    }

    #[getter]
    fn paths(&self) -> Vec<String> {
        self.0.paths.clone()
    }

    #[getter]
    fn beside(&self) -> Vec<String> {
        self.0.beside.clone()
    }

    #[getter]
    fn in_store(&self) -> bool {
        self.0.in_store
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn state(&self) -> &str {
        &self.0.state
    }

    /// As `engram-lab units --json` prints it.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The unit of such a text.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Unit> {
        serde_json::from_str(text)
            .map(Unit)
            .map_err(|error| PyValueError::new_err(format!("no unit: {error}")))
    }

    /// Workers of a cluster get units pickled.
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((
            slf.get_type().getattr("from_json")?.unbind(),
            (slf.get().to_json()?,),
        ))
    }

    fn __repr__(&self) -> String {
        format!(
            "<engram.Unit {} {} {} bytes>",
            self.0.harness,
            self.0.session.as_deref().unwrap_or(&self.0.unit),
            self.0.bytes
        )
    }
}
