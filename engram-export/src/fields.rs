//! The fields of an event as JSON, for the places where a target keeps what it has no form for.

use engram_core::event::EventRecord;
use engram_core::tape::Members;
use engram_core::text::replace_lone_surrogates;
use serde_json::{Map, Value};

/// Fields that are hashes of pieces of text, and help nobody who does not look for that text.
const FINGERPRINTS: [&str; 3] = [
    "anchor_hashes",
    "before_anchor_hashes",
    "after_anchor_hashes",
];

/// The fields of an event as a tape has them, without the envelope and without fingerprints. Half surrogate pairs are U+FFFD.
pub(crate) fn fields(record: &EventRecord<'_>) -> Map<String, Value> {
    let json = record.event.fields_json();
    let json = replace_lone_surrogates(&json);
    let fields = Members::of(&json)
        .unwrap_or_default()
        .0
        .into_iter()
        .filter(|(key, _)| !FINGERPRINTS.contains(key));
    fields
        .filter_map(|(key, value)| Some((key.to_owned(), serde_json::from_str(value).ok()?)))
        .collect()
}
