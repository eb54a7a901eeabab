//! Spelling: a log with other white space between its JSON values, or with escapes in its types, is the same log, and gives the same tape.

use engram_core::head::Head;
use engram_core::policy::Policy;
use rayon::prelude::*;
use serde_json::Value;

use crate::report::{self, Tally};
use crate::tape::{convert_bytes, policy_for};
use crate::tree::{Artifact, fixtures, registered};

/// Larger artifacts are not used: smaller ones have the same forms.
const MAX_BYTES: usize = 128 << 10;

/// The text with a space before each value and after each colon and comma, and before each line.
fn spaced(text: &str) -> String {
    let (mut out, mut in_string, mut is_escaped) = (String::from(" "), false, false);
    for char in text.chars() {
        out.push(char);
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            ':' | ',' | '{' | '[' if !in_string => out.push(' '),
            '\n' => {
                in_string = false;
                out.push(' ');
            }
            _ => {}
        }
    }
    out
}

/// The text with an escape in the value of each `type`.
fn escaped(text: &str) -> String {
    const MEMBER: &str = "\"type\":\"";
    let mut parts = text.split(MEMBER);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let first = part.chars().next().filter(char::is_ascii_alphanumeric);
        out.push_str(MEMBER);
        match first {
            Some(first) => out.push_str(&format!("\\u{:04x}{}", u32::from(first), &part[1..])),
            None => out.push_str(part),
        }
    }
    out
}

/// The text with an escape in each name of a member.
fn escaped_names(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('"') {
        let (before, string) = rest.split_at(at);
        let mut values = serde_json::Deserializer::from_str(string).into_iter::<serde::de::IgnoredAny>();
        let len = values.next().map_or(string.len(), |_| values.byte_offset());
        let (string, after) = string.split_at(len);
        let first = string[1..].chars().next().filter(char::is_ascii_alphanumeric);
        out.push_str(before);
        match first.filter(|_| after.trim_start().starts_with(':')) {
            Some(first) => out.push_str(&format!("\"\\u{:04x}{}", u32::from(first), &string[2..])),
            None => out.push_str(string),
        }
        rest = after;
    }
    out + rest
}

/// The lines on one line, with spaces between them.
fn joined(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("  ")
}

/// A text that is JSON is compared as a value: what a tool returned as JSON keeps its white space.
fn without_white_space(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with(['{', '[', ' ']) => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                *value = inner;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_white_space),
        Value::Object(members) => members.values_mut().for_each(without_white_space),
        _ => {}
    }
}

/// The events of a tape without the facts about its input.
fn events(tape: &str) -> Vec<Value> {
    let event = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap_or_default();
        without_white_space(&mut event);
        event.as_object_mut().map(|event| event.remove("input"));
        event
    };
    tape.lines().map(event).collect()
}

/// What differs if the artifact is spelled otherwise. None if it is not JSON.
fn difference(artifact: &Artifact, spell: fn(&str) -> String) -> Option<Result<(), String>> {
    let text = std::str::from_utf8(&artifact.bytes).ok().filter(|text| text.len() <= MAX_BYTES)?;
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !is_json(text) && !text.lines().filter(|line| !line.trim().is_empty()).all(is_json) {
        return None;
    }
    let other = spell(text);
    let detected = registered().detect(&Head::new(other.as_bytes(), true)).map(|(entry, _)| entry.id());
    if detected.as_ref().ok() != Some(&artifact.entry.id()) {
        return Some(Err(format!("{}: detected as {detected:?}", artifact.full_name())));
    }
    let tape = |bytes: &[u8], policy: Policy| {
        convert_bytes(artifact.adapter(), bytes, policy, artifact.context.clone())
            .map_err(|error| error.to_string())
            .map(|tape| events(&tape.text))
    };
    let policy = policy_for(artifact);
    let (one, other) = (tape(&artifact.bytes, policy), tape(other.as_bytes(), policy));
    let shown = |tape: &Result<Vec<Value>, String>, at: usize| match tape {
        Ok(events) => events.get(at).map_or_else(|| "nothing".to_owned(), |event| engram_core::error::excerpt(&event.to_string())),
        Err(error) => error.clone(),
    };
    if one == other {
        return Some(Ok(()));
    }
    let at = match (&one, &other) {
        (Ok(one), Ok(other)) => (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at)).unwrap_or_default(),
        _ => 0,
    };
    Some(Err(format!("{}: event {at} is {} and {}", artifact.full_name(), shown(&one, at), shown(&other, at))))
}

#[test]
fn spelling_changes_no_event() {
    let tally = report::run("white_space", |corpus| {
        let artifacts: Vec<&Artifact> = corpus.artifacts().collect();
        let both = |artifact| {
            [spaced as fn(&str) -> String, escaped, escaped_names].into_par_iter().filter_map(move |spell| difference(artifact, spell))
        };
        let results: Vec<Result<(), String>> = artifacts.into_par_iter().flat_map(both).collect();
        let mut tally = Tally::default();
        tally.count_many("sessions with another spelling", results.len() as u64);
        (tally, results.into_iter().filter_map(Result::err).collect())
    });
    assert!(tally.of("sessions with another spelling") > 100);
}

#[test]
fn records_on_one_line_are_recognised() {
    let is_lines = |artifact: &&Artifact| serde_json::from_slice::<serde::de::IgnoredAny>(&artifact.bytes).is_err();
    let texts = fixtures().artifacts().filter(is_lines).filter_map(|artifact| Some((artifact, std::str::from_utf8(&artifact.bytes).ok()?)));
    let short = texts.filter(|(_, text)| text.len() <= MAX_BYTES);
    let findings: Vec<String> = short
        .filter_map(|(artifact, text)| {
            let found = registered().detect(&Head::new(joined(text).as_bytes(), true)).map(|(entry, _)| entry.id());
            (found.as_ref().ok() != Some(&artifact.entry.id())).then(|| format!("{}: detected as {found:?}", artifact.full_name()))
        })
        .collect();
    report::assert_none("one line", &findings);
}

#[test]
fn only_what_is_outside_of_strings_changes() {
    assert_eq!(escaped(r#"{"type":"ab","a":"\"type\":\"b\""}"#), r#"{"type":"\u0061b","a":"\"type\":\"b\""}"#);
    assert_eq!(escaped_names(r#"{"ab":"c:\":", "d" : ["e"]}"#), r#"{"\u0061b":"c:\":", "\u0064" : ["e"]}"#);
    assert_eq!(spaced("{\"a:{\\\"\":[1,2]}\n{}"), " { \"a:{\\\"\": [ 1, 2]}\n { }");
}
