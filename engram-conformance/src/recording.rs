//! One recording: the sessions of one scenario on one harness version, with the ground truth.

use std::collections::BTreeSet;
use std::fs;
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

    /// The command lines that made it, each with its words, if `recording.json` has them.
    pub fn command_lines(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.directory.join("recording.json")).unwrap_or_default();
        let described: Value = serde_json::from_str(&text).unwrap_or_default();
        let words = |line: &Value| {
            line.as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        described["argv"]
            .as_array()
            .into_iter()
            .flatten()
            .map(words)
            .collect()
    }
}
