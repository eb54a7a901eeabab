//! Which lines of a session may be written again without changing its tape.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::checks::clock::times_in;
use crate::converted_session::ConvertedSession;
use crate::tape::Event;

/// Names of members that contain a record's own id.
const IDS: &[&str] = &["id", "uuid"];

/// The indexes of the lines whose records have an id or a time of their own. Without both, a line may be written twice on purpose.
pub fn repeatable(session: &ConvertedSession) -> Vec<usize> {
    let mut of_line: BTreeMap<usize, Vec<&Event>> = BTreeMap::new();
    for event in &session.events {
        if let Some(line) = event.line().and_then(|line| usize::try_from(line).ok()) {
            of_line.entry(line).or_default().push(event);
        }
    }
    let lines = session.source().split(|byte| *byte == b'\n').enumerate();
    let is_repeatable = |(at, line): &(usize, &[u8])| match of_line.get(&(at + 1)) {
        Some(events) => events.iter().any(|event| is_identified(event)),
        None => states_identity(line),
    };
    lines.filter(is_repeatable).map(|(at, _)| at).collect()
}

/// True if the tape says that the record has an id or a time of its own.
fn is_identified(event: &Event) -> bool {
    let is_fault = event.is_meta("unrecognized");
    !is_fault && (event.0.pointer("/origin/id").is_some() || !event.has("t_basis"))
}

/// True if a record without events has an id or a time among its own members.
fn states_identity(line: &[u8]) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(line) else { return false };
    let is_time = |value: &Value| value.as_str().is_some_and(|text| text.len() < 40 && !times_in(text.as_bytes()).is_empty());
    IDS.iter().any(|id| members.get(*id).is_some_and(Value::is_string)) || members.values().any(is_time)
}
