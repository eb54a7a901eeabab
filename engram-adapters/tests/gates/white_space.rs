//! Spelling: a log with other white space between its JSON values, or with other escapes in its strings, is the same log, and gives the
//! same tape.

use engram_core::audit::audit;
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::pipeline::Input;
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

/// The text with other spellings of characters in its strings: only in names of members, or only in others. `spell` gets each character,
/// and whether it is the first one of its string. Escapes stay as they are.
fn respelled(text: &str, in_names: bool, spell: impl Fn(char, bool) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, string)) = rest.split_once('"') {
        let (mut spelled, mut chars, mut is_first) = (String::new(), string.chars(), true);
        while let Some(char) = chars.next().filter(|char| *char != '"') {
            match spell(char, is_first).filter(|_| char != '\\') {
                Some(escape) => spelled.push_str(&escape),
                None => spelled.push(char),
            }
            if char == '\\' {
                spelled.extend(chars.next());
            }
            is_first = false;
        }
        let after = chars.as_str();
        let contents = &string[..string.len() - after.len() - 1];
        let is_name = after.trim_start().starts_with(':');
        out.extend([
            before,
            "\"",
            if is_name == in_names {
                &spelled
            } else {
                contents
            },
            "\"",
        ]);
        rest = after;
    }
    out + rest
}

/// The character as escapes of JSON: two for a character outside of the Basic Multilingual Plane.
fn escape(char: char) -> String {
    char.encode_utf16(&mut [0; 2])
        .iter()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect()
}

/// The text as encoders write it whose JSON may be part of a web page.
fn escaped_for_html(text: &str) -> String {
    respelled(text, false, |char, _| match char {
        '<' | '>' | '&' | '\'' => Some(escape(char)),
        '/' => Some("\\/".to_owned()),
        _ => None,
    })
}

/// The text in ASCII, with an escape at the start of each string.
fn escaped_to_ascii(text: &str) -> String {
    respelled(text, false, |char, is_first| {
        (is_first || !char.is_ascii()).then(|| escape(char))
    })
}

/// The text with an escape at the start of each name of a member.
fn escaped_names(text: &str) -> String {
    respelled(text, true, |char, is_first| is_first.then(|| escape(char)))
}

/// The lines on one line, with spaces between them.
fn joined(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("  ")
}

const SPELLINGS: [fn(&str) -> String; 4] =
    [spaced, escaped_for_html, escaped_to_ascii, escaped_names];

/// The events of a tape without the facts about its input.
fn events(tape: &str) -> Vec<Value> {
    let event = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap_or_default();
        event.as_object_mut().map(|event| event.remove("input"));
        event
    };
    tape.lines().map(event).collect()
}

/// The text of an artifact, if it is JSON and short.
fn json_of(artifact: &Artifact) -> Option<&str> {
    let text = std::str::from_utf8(&artifact.bytes)
        .ok()
        .filter(|text| text.len() <= MAX_BYTES)?;
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    (is_json(text) || lines.all(is_json)).then_some(text)
}

/// The events of a tape, and the first leaf value that is in none of them and omitted by no rule.
fn tape(artifact: &Artifact, bytes: &[u8]) -> Result<Vec<Value>, String> {
    let policy = policy_for(artifact);
    let tape = convert_bytes(artifact.adapter(), bytes, policy, artifact.context.clone())
        .map_err(|error| error.to_string())?;
    let report = audit(bytes, &tape.text, artifact.adapter().describe())
        .map_err(|error| error.to_string())?;
    let left_over = report
        .examples
        .first()
        .map(|value| Value::from(value.pointer.as_str()));
    Ok(events(&tape.text).into_iter().chain(left_over).collect())
}

/// What differs from its tape if the artifact is spelled otherwise.
fn difference(
    artifact: &Artifact,
    one: &Result<Vec<Value>, String>,
    other: &str,
) -> Result<(), String> {
    let mut input = Input::new(other.as_bytes(), Limits::default());
    let detected = registered()
        .detect(&input.head().expect("memory can be read"))
        .map(|(entry, _)| entry.id());
    if detected.as_ref().ok() != Some(&artifact.entry.id()) {
        return Err(format!(
            "{}: detected as {detected:?}",
            artifact.full_name()
        ));
    }
    let other = &tape(artifact, other.as_bytes());
    let shown = |tape: &Result<Vec<Value>, String>, at: usize| match tape {
        Ok(events) => events.get(at).map_or_else(
            || "nothing".to_owned(),
            |event| engram_core::error::excerpt(&event.to_string()),
        ),
        Err(error) => error.clone(),
    };
    if one == other {
        return Ok(());
    }
    let at = match (one, other) {
        (Ok(one), Ok(other)) => (0..one.len().max(other.len()))
            .find(|at| one.get(*at) != other.get(*at))
            .unwrap_or_default(),
        _ => 0,
    };
    Err(format!(
        "{}: event {at} is {} and {}",
        artifact.full_name(),
        shown(one, at),
        shown(other, at)
    ))
}

#[test]
fn spelling_changes_no_event() {
    let tally = report::run("white_space", |corpus| {
        let artifacts: Vec<&Artifact> = corpus.artifacts().collect();
        let all = |artifact: &Artifact| -> Vec<Result<(), String>> {
            let Some(text) = json_of(artifact) else {
                return Vec::new();
            };
            let one = tape(artifact, &artifact.bytes);
            SPELLINGS
                .iter()
                .map(|spell| difference(artifact, &one, &spell(text)))
                .collect()
        };
        let results: Vec<Result<(), String>> =
            artifacts.into_par_iter().flat_map_iter(all).collect();
        let mut tally = Tally::default();
        tally.count_many("sessions with another spelling", results.len() as u64);
        (tally, results.into_iter().filter_map(Result::err).collect())
    });
    assert!(tally.of("sessions with another spelling") > 100);
}

#[test]
fn records_on_one_line_are_recognised() {
    let is_lines = |artifact: &&Artifact| {
        serde_json::from_slice::<serde::de::IgnoredAny>(&artifact.bytes).is_err()
    };
    let texts = fixtures()
        .artifacts()
        .filter(is_lines)
        .filter_map(|artifact| Some((artifact, std::str::from_utf8(&artifact.bytes).ok()?)));
    let short = texts.filter(|(_, text)| text.len() <= MAX_BYTES);
    let findings: Vec<String> = short
        .filter_map(|(artifact, text)| {
            let found = registered()
                .detect(&Head::new(joined(text).as_bytes(), true))
                .map(|(entry, _)| entry.id());
            (found.as_ref().ok() != Some(&artifact.entry.id()))
                .then(|| format!("{}: detected as {found:?}", artifact.full_name()))
        })
        .collect();
    report::assert_none("one line", &findings);
}

#[test]
fn only_the_spelling_changes() {
    let text = "{\"a:{\\\"\":[1,\"<é😀\\n\",\"\"]}\n{\"b/\":\"\"}";
    assert_eq!(
        spaced(text),
        " { \"a:{\\\"\": [ 1, \"<é😀\\n\", \"\"]}\n { \"b/\": \"\"}"
    );
    assert_eq!(
        escaped_for_html(text),
        "{\"a:{\\\"\":[1,\"\\u003cé😀\\n\",\"\"]}\n{\"b/\":\"\"}"
    );
    assert_eq!(
        escaped_to_ascii(text),
        "{\"a:{\\\"\":[1,\"\\u003c\\u00e9\\ud83d\\ude00\\n\",\"\"]}\n{\"b/\":\"\"}"
    );
    assert_eq!(
        escaped_names(text),
        "{\"\\u0061:{\\\"\":[1,\"<é😀\\n\",\"\"]}\n{\"\\u0062/\":\"\"}"
    );
}
