//! `Detected`: which harness wrote a log, and which version.

use std::path::Path;

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_core::error::AdapterError;
use pyo3::prelude::*;

/// The harness that wrote a log.
#[pyclass(frozen, get_all, module = "engram")]
pub struct Detected {
    path: String,
    harness: &'static str,
    version: Option<String>,
    schema: Option<&'static str>,
    support: &'static str,
    session_id: Option<String>,
    agent_id: Option<String>,
    evidence: Vec<&'static str>,
}

#[pymethods]
impl Detected {
    fn __repr__(&self) -> String {
        format!(
            "<engram.Detected {} {} {}>",
            self.harness,
            self.version.as_deref().unwrap_or("of unrecorded version"),
            self.path
        )
    }
}

/// What wrote the logs at a path.
///
/// # Errors
/// Those of the first log that cannot be opened.
pub fn at(path: &Path) -> Result<Vec<Detected>, AdapterError> {
    let options = SessionOptions::default().with_every_form();
    sessions(path, &options)
        .map(|source| {
            let source = source?;
            let (revision, support) = source.revision();
            let identity = source.identity();
            Ok(Detected {
                path: source.path().to_string_lossy().into_owned(),
                harness: source.harness(),
                version: identity.version.clone(),
                // Other versions are converted like the nearest revision, but their schema is not known.
                schema: revision
                    .filter(|_| support.degradation().is_none())
                    .map(|revision| revision.schema),
                support: support.as_str(),
                session_id: identity.session_id.clone(),
                agent_id: identity.agent_id.clone(),
                evidence: source
                    .evidence()
                    .map(|evidence| evidence.marks.clone())
                    .unwrap_or_default(),
            })
        })
        .collect()
}
