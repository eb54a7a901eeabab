//! Whether a tape loses nothing that another one has. Numbers of events do not count, because an event may have got more before it.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};
use std::path::Path;

use crate::tapes::open_found_tape;
use engram_core::keys::hash64;
use engram_core::tape::Members;
use serde::Deserialize;

/// Members that change with the number of events before.
const NUMBERS: [&str; 2] = ["seq", "parent"];

/// Facts of a session that a store overwrites: their last value is the fact.
const OVERWRITTEN: [&str; 3] = ["title", "cost_total_usd", "context_tokens"];

const NO_TAPE: &str = "one of the two is no tape";
const OTHER_SOURCE: &str =
    "the source does not begin as it did, and events of this tape are not in the new one";
const FEWER_FILES: &str =
    "files beside the source have changed, and what they said is not in the new tape";

/// The events of a tape: how often each occurs. Its frame (`tape.start`, `tape.stop`) does not count.
#[derive(Default)]
struct Events {
    counts: HashMap<u64, u64>,
    /// The calls, without their arguments and times.
    calls: HashSet<u64>,
    /// Calls with empty arguments, by the hash of their event: the call id, and the call without its arguments and time.
    empty_calls: HashMap<u64, (String, u64)>,
    /// The ids of calls that have a result.
    ended: HashSet<String>,
    /// What may come from files beside the source: facts of the session, members of results, and paths of files.
    facts: HashSet<u64>,
    has_start: bool,
    has_stop: bool,
    input: Input,
}

/// What a tape was made from.
#[derive(Default, Deserialize)]
struct Input {
    hash: Option<String>,
    #[serde(default)]
    beside: Vec<Beside>,
}

#[derive(Deserialize)]
struct Beside {
    name: String,
}

/// True if `old` is a whole tape, and each of its events is in `new` at least as often. A value that a store overwrites may be another one.
///
/// # Errors
/// As the file system gives them.
pub fn has_events_of(new: &Path, old: &Path) -> io::Result<bool> {
    let (Some(old), Some(new)) = (events(old)?, events(new)?) else {
        return Ok(false);
    };
    Ok(old.is_whole() && old.are_in(&new))
}

/// Why `new` loses something that `old` has; `None` if it does not, or what it lacks is settled otherwise by what the source has more.
/// `extends_old` is true if the source of `new` begins with the source of `old`, `is_same_setup` if both were made in one way.
///
/// If neither the source nor the setup has changed, only files beside the source can have, so all events must be there. If the source grew,
/// later records may have settled events otherwise, so only what such files can give is compared. With another setup all events may differ,
/// so the files must be there.
///
/// # Errors
/// As the file system gives them.
pub fn why_poorer(
    new: &Path,
    old: &Path,
    extends_old: bool,
    is_same_setup: bool,
) -> io::Result<Option<&'static str>> {
    let (Some(old), Some(new)) = (events(old)?, events(new)?) else {
        return Ok(Some(NO_TAPE));
    };
    if old.is_whole() && old.are_in(&new) {
        return Ok(None);
    }
    if !extends_old {
        return Ok(Some(OTHER_SOURCE));
    }
    let is_same_source = old.input.hash.is_some() && old.input.hash == new.input.hash;
    let is_there = |beside: &Beside| new.input.beside.iter().any(|now| now.name == beside.name);
    let has_files = || old.input.beside.iter().all(is_there);
    let has_facts = !is_same_setup || !is_same_source && old.facts.is_subset(&new.facts);
    Ok((!has_facts || !has_files()).then_some(FEWER_FILES))
}

impl Events {
    fn is_whole(&self) -> bool {
        self.has_start && self.has_stop
    }

    fn are_in(&self, other: &Events) -> bool {
        let is_there =
            |event: &u64, count: &u64| other.counts.get(event).is_some_and(|there| there >= count);
        self.counts
            .iter()
            .all(|(event, count)| is_there(event, count) || self.is_begun(*event, other))
    }

    /// True for a call that the model had not finished when the log was read: it has no result and no arguments, and is in `other` with them.
    fn is_begun(&self, event: u64, other: &Events) -> bool {
        self.empty_calls
            .get(&event)
            .is_some_and(|(id, call)| !self.ended.contains(id) && other.calls.contains(call))
    }

    fn add(&mut self, members: &Members<'_>) {
        let value = |name: &str| members.get(name).unwrap_or_default();
        let (kind, label) = (value("k"), value("label"));
        *self.counts.entry(hash(members, label)).or_default() += 1;
        let own = members.0.iter().filter(|(key, _)| !NUMBERS.contains(key));
        match (kind, label) {
            (_, "\"session\"") => {
                let is_fact = |key: &str| !["t", "t_basis", "origin"].contains(&key);
                let facts = own
                    .filter(|(key, _)| is_fact(key))
                    .map(|(key, text)| (*key, if is_overwritten(key) { "" } else { *text }));
                self.facts.extend(facts.map(hash64));
            }
            ("\"tool.result\"", _) => {
                self.ended.insert(value("call_id").to_owned());
                self.facts
                    .extend(own.map(|(key, _)| hash64((value("call_id"), *key))));
            }
            ("\"tool.call\"", _) if !value("call_id").is_empty() => {
                let call = own
                    .filter(|(key, _)| !["t", "t_basis", "args"].contains(key))
                    .map(|(key, text)| (*key, *text));
                let call = hash64(call.collect::<Vec<_>>());
                self.calls.insert(call);
                if value("args") == "{}" {
                    self.empty_calls
                        .insert(hash(members, label), (value("call_id").to_owned(), call));
                }
            }
            ("\"code.read\"" | "\"code.edit\"", _) if value("confirmed").is_empty() => {
                self.facts
                    .insert(hash64((kind, value("call_id"), value("file"))));
            }
            _ => {}
        }
    }
}

/// The events of the tape at `path`; `None` if a line is not an event.
fn events(path: &Path) -> io::Result<Option<Events>> {
    let mut tape = open_found_tape(path)?;
    let (mut events, mut line) = (Events::default(), String::new());
    loop {
        line.clear();
        match tape.read_line(&mut line) {
            Ok(0) => return Ok(Some(events)),
            Ok(_) => {}
            // Not text, or not what its compression says.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let Ok(members) = Members::of(line.trim_end_matches('\n')) else {
            return Ok(None);
        };
        match members.get("label") {
            Some("\"tape.start\"") => events.has_start = true,
            Some("\"tape.stop\"") => {
                events.has_stop = true;
                let input = members
                    .get("input")
                    .and_then(|input| serde_json::from_str(input).ok());
                events.input = input.unwrap_or_default();
            }
            _ => events.add(&members),
        }
    }
}

fn is_overwritten(key: &str) -> bool {
    OVERWRITTEN.contains(&key)
}

fn hash(members: &Members<'_>, label: &str) -> u64 {
    let is_session = label == "\"session\"";
    let counted = members.0.iter().filter(|(key, _)| !NUMBERS.contains(key));
    hash64(
        counted
            .map(|(key, value)| {
                (
                    *key,
                    if is_session && is_overwritten(key) {
                        ""
                    } else {
                        *value
                    },
                )
            })
            .collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const START: &str = r#"{"seq":0,"k":"meta","label":"tape.start"}"#;
    const STOP: &str = r#"{"seq":9,"k":"meta","label":"tape.stop"}"#;

    fn has(new: &[&str], old: &[&str]) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: &[&str]| {
            let path = directory.path().join(name);
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            path
        };
        has_events_of(&write("new", new), &write("old", old)).unwrap()
    }

    #[test]
    fn events_are_compared_without_their_numbers() {
        let old = [START, r#"{"seq":1,"k":"a","parent":0}"#, STOP];
        assert!(has(
            &[
                START,
                r#"{"seq":1,"k":"b"}"#,
                r#"{"seq":2,"k":"a","parent":1}"#,
                STOP
            ],
            &old
        ));
        assert!(!has(&[START, r#"{"seq":1,"k":"b"}"#, STOP], &old));
        assert!(!has(
            &[START, r#"{"seq":1,"k":"a","args":{"parent":0}}"#, STOP],
            &old
        ));
    }

    #[test]
    fn a_call_without_arguments_and_result_may_get_them() {
        let call = |t: u8, args: &str| {
            format!(
                r#"{{"seq":1,"t":"{t}","k":"tool.call","tool":"read","call_id":"c","args":{args}}}"#
            )
        };
        let (begun, made) = (call(1, "{}"), call(2, r#"{"file":"a"}"#));
        let result = r#"{"seq":2,"k":"tool.result","call_id":"c"}"#;
        assert!(has(&[START, &made, result, STOP], &[START, &begun, STOP]));
        assert!(!has(
            &[START, &made, result, STOP],
            &[START, &begun, result, STOP]
        ));
        assert!(!has(
            &[START, &made, STOP],
            &[START, &call(1, r#"{"file":"b"}"#), STOP]
        ));
        assert!(!has(
            &[START, &made.replace("read", "edit"), STOP],
            &[START, &begun, STOP]
        ));
    }

    #[test]
    fn an_event_that_occurs_twice_must_occur_twice() {
        let event = r#"{"seq":1,"k":"a"}"#;
        assert!(!has(&[START, event, STOP], &[START, event, event, STOP]));
    }

    #[test]
    fn only_a_whole_tape_can_be_contained() {
        let new = [START, STOP];
        for old in [&["notes of a person"][..], &[START], &[STOP], &["{}"]] {
            assert!(!has(&new, old), "{old:?}");
        }
        assert!(has(&new, &new));
    }
}
