//! Compares the arguments of a call on a tape with those that the model sent.

use memchr::memmem;
use serde_json::{Map, Value};

use crate::converted_session::ConvertedSession;
use crate::ground_truth::Call;
use crate::tape::Event;

/// True if the record of a call has each of these arguments.
pub(crate) fn are_logged<'a>(
    session: &ConvertedSession,
    event: &Event,
    args: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> bool {
    let Some(record) = session.record_of(event) else {
        return false;
    };
    let is_logged = |(name, value): (&String, &Value)| {
        let member = format!("{}:{value}", Value::from(name.as_str()));
        memmem::find(record, member.as_bytes()).is_some()
    };
    args.into_iter().all(is_logged)
}

/// True if a call has other arguments than the model sent, and its record has them: something changed them before the call was logged.
pub(crate) fn is_rewritten(session: &ConvertedSession, event: &Event, call: &Call) -> bool {
    let (Some(real), Some(actual)) = (
        call.args.as_object(),
        event.0.get("args").and_then(Value::as_object),
    ) else {
        return false;
    };
    let is_same_form = is_tool(event.text("tool").unwrap_or_default(), &call.tool)
        && real.keys().all(|name| actual.contains_key(name));
    let differs = real.iter().any(|(name, value)| {
        actual
            .get(name)
            .is_some_and(|actual| !same_args(value, actual))
    });
    is_same_form && differs && are_logged(session, event, actual)
}

/// A harness may log a tool with a namespace before its name.
pub(crate) fn is_tool(actual: &str, real: &str) -> bool {
    actual == real
        || actual.ends_with(&format!("__{real}"))
        || actual.ends_with(&format!(".{real}"))
}

/// True if a value is all that an object has.
fn is_only(object: &Map<String, Value>, value: &Value) -> bool {
    object.len() == 1 && object.values().all(|only| only == value)
}

/// Compares arguments as JSON, or as JSON text, and ignores differences that harnesses make when they normalise arguments.
pub(crate) fn same_args(real: &Value, actual: &Value) -> bool {
    match (real, actual) {
        // A tool with one text: a harness may log the text alone.
        (Value::Object(real), Value::String(_)) if is_only(real, actual) => true,
        (Value::Object(real), Value::Object(actual)) => {
            let kept = real.iter().all(|(key, value)| {
                actual
                    .get(key)
                    .is_some_and(|actual| same_args(value, actual))
            });
            let added = actual.iter().filter(|(key, _)| !real.contains_key(*key));
            kept && added.into_iter().all(|(_, value)| is_default(value))
        }
        (Value::Array(real), Value::Array(actual)) => {
            real.len() == actual.len()
                && real
                    .iter()
                    .zip(actual)
                    .all(|(real, actual)| same_args(real, actual))
        }
        (Value::String(real), Value::String(actual)) => {
            real == actual
                || without_trailing_blanks(real) == without_trailing_blanks(actual)
                || real.replace("\\u2028", "\u{2028}") == *actual
        }
        (Value::String(real), actual) => {
            serde_json::from_str::<Value>(real).is_ok_and(|real| same_args(&real, actual))
        }
        _ => real == actual,
    }
}

pub(crate) fn is_default(value: &Value) -> bool {
    matches!(value, Value::Bool(false) | Value::Null)
}

/// A character that JavaScript takes for white space.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

fn without_trailing_blanks(text: &str) -> Vec<&str> {
    text.split('\n')
        .map(|line| line.trim_end_matches(is_blank))
        .collect()
}
