//! Which lines of a session may be written again without changing its tape.

use std::collections::BTreeMap;

use engram_core::audit::record_type;
use engram_core::descriptor::AdapterDescriptor;
use serde_json::Value;

use crate::checks::clock::times_in;
use crate::converted_session::ConvertedSession;
use crate::tape::Event;

/// Names of members that contain a record's own id.
const IDS: &[&str] = &["id", "uuid"];
/// The year 2001 in seconds since 1970. Times of logs are later, in seconds or in smaller units.
const LEAST_SECONDS: f64 = 1e9;

/// The indexes of the lines whose records have an id or a time of their own, and the number of those that may be pieces of a text. Without
/// an id or a time, a line may be written twice on purpose. So may a piece with a time: real logs have equal pieces of one millisecond.
pub fn repeatable(
    session: &ConvertedSession,
    descriptor: &AdapterDescriptor,
) -> (Vec<usize>, usize) {
    let mut of_line: BTreeMap<usize, Vec<&Event>> = BTreeMap::new();
    for event in &session.events {
        if let Some(line) = event.line().and_then(|line| usize::try_from(line).ok()) {
            of_line.entry(line).or_default().push(event);
        }
    }
    let (mut repeatable, mut pieces) = (Vec::new(), 0);
    for (at, line) in session.source().split(|byte| *byte == b'\n').enumerate() {
        let events = of_line.get(&(at + 1)).map_or(&[][..], Vec::as_slice);
        if has_id(events) {
            repeatable.push(at);
        } else if is_piece(line, descriptor) {
            pieces += 1;
        } else if if events.is_empty() {
            states_identity(line)
        } else {
            has_own_time(events) && has_time(line)
        } {
            repeatable.push(at);
        }
    }
    (repeatable, pieces)
}

/// True if the tape says that the record has an id of its own.
fn has_id(events: &[&Event]) -> bool {
    events
        .iter()
        .any(|event| !event.is_meta("unrecognized") && event.0.pointer("/origin/id").is_some())
}

/// True if the tape says that the record has a time of its own.
fn has_own_time(events: &[&Event]) -> bool {
    events
        .iter()
        .any(|event| !event.is_meta("unrecognized") && !event.has("t_basis"))
}

fn is_piece(line: &[u8], descriptor: &AdapterDescriptor) -> bool {
    std::str::from_utf8(line)
        .is_ok_and(|line| descriptor.has_pieces(&record_type(descriptor, line)))
}

/// True if some value of a record is a time. A time in the words of a person is not that of the record: it may be to the minute.
fn has_time(line: &[u8]) -> bool {
    fn is_or_has_time(value: &Value) -> bool {
        match value {
            Value::String(_) => is_time(value),
            Value::Number(number) => number
                .as_f64()
                .is_some_and(|number| number >= LEAST_SECONDS),
            Value::Array(items) => items.iter().any(is_or_has_time),
            Value::Object(members) => members.values().any(is_or_has_time),
            Value::Null | Value::Bool(_) => false,
        }
    }
    serde_json::from_slice::<Value>(line).is_ok_and(|value| is_or_has_time(&value))
}

fn is_time(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.len() < 40 && !times_in(text.as_bytes()).is_empty())
}

/// True if a record without events has an id or a time among its own members.
fn states_identity(line: &[u8]) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(line) else {
        return false;
    };
    IDS.iter()
        .any(|id| members.get(*id).is_some_and(Value::is_string))
        || members.values().any(is_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_value_of_its_own() {
        for line in [
            r#"{"timestamp":"2026-01-02T03:04:05Z"}"#,
            r#"{"a":{"at":1789644625717}}"#,
            r#"{"created":1789644625.5}"#,
        ] {
            assert!(has_time(line.as_bytes()), "{line}");
        }
        let prompt = r#"{"text":"<timestamp>Tuesday, Sep 29, 2026, 2:29 AM (UTC-4)</timestamp>\n<user_query>go on</user_query>","n":12}"#;
        assert!(!has_time(prompt.as_bytes()));
    }

    #[test]
    fn an_event_with_an_id_or_a_time_identifies_its_record() {
        let event = |text: &str| Event(serde_json::from_str(text).unwrap());
        let (id, time) = (
            event(r#"{"origin":{"id":"a"},"t_basis":"inherited"}"#),
            event(r#"{"origin":{"line":1}}"#),
        );
        let bare = event(r#"{"t_basis":"inherited"}"#);
        let fault = event(r#"{"k":"meta","label":"unrecognized","origin":{"id":"a"}}"#);
        assert_eq!(
            [&id, &time, &bare, &fault].map(|event| (has_id(&[event]), has_own_time(&[event]))),
            [(true, false), (false, true), (false, false), (false, false)]
        );
    }
}
