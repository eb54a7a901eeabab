//! Ground truth of usage for fixtures that were recorded without it: the last counts of each response in the log.

use std::collections::BTreeMap;

use engram_conformance::{Recordings, files};
use serde_json::{Value, json};

/// Adds the counts of the logs to recordings without counts. Logs in other forms have none that are read here.
pub fn add_counts(recordings: &mut Recordings) {
    for recording in recordings
        .all
        .iter_mut()
        .filter(|recording| recording.truth.get("usage").is_none())
    {
        let mut counts: BTreeMap<String, Value> = BTreeMap::new();
        for file in files(&recording.directory.join("session")) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            counts.extend(text.lines().filter_map(counted));
        }
        if !counts.is_empty() {
            recording.truth["usage"] = counts.into_values().collect();
        }
    }
}

/// What a line of a log says about the usage of a response.
fn counted(line: &str) -> Option<(String, Value)> {
    let record: Value = serde_json::from_str(line).ok()?;
    let (id, usage) = (
        record.pointer("/message/id")?.as_str()?,
        record.pointer("/message/usage")?,
    );
    let count = |name: &str| usage.get(name).cloned().unwrap_or_default();
    let real = json!({
        "message_id": id,
        "input": count("input_tokens"),
        "cache_read": count("cache_read_input_tokens"),
        "cache_write": count("cache_creation_input_tokens"),
        "output": count("output_tokens"),
    });
    Some((id.to_owned(), real))
}
