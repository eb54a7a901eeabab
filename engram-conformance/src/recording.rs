//! One recording: the sessions of one scenario on one harness version, with the ground truth.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

/// One scenario recorded with one harness version.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The harness family: the name of the first directory.
    pub harness: String,
    /// The harness version: the name of the second directory.
    pub version: String,
    /// The scenario: the name of the third directory.
    pub scenario: String,
    /// The directory of the recording.
    pub directory: PathBuf,
    /// The content of `truth.json`.
    pub truth: Value,
    /// The scenarios that it declares in `scenarios.tsv`; `None` if the tree declares none.
    pub declared: Option<BTreeSet<&'static str>>,
}

impl Recording {
    /// `<harness>/<version>/<scenario>`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.harness, self.version, self.scenario)
    }
}
