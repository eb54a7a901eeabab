//! Agent Trace 0.1.0 (github.com/cursor/agent-trace, README of February 2026): one record for each commit.
//!
//! The record says when it was recorded and has an id. Both follow from the commit here, so that the same commit gives the same record: the
//! time is the commit's, and the id is a UUID of version 8 made from the hash of the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Commit, File, Made, merged};

/// The version of the specification.
pub const VERSION: &str = "0.1.0";
/// The longest `model_id` that the schema allows, in characters.
const MODEL_CHARS: usize = 250;

#[derive(Serialize)]
struct Record<'c> {
    version: &'static str,
    id: String,
    timestamp: &'c str,
    vcs: Vcs<'c>,
    tool: Tool<'c>,
    files: Vec<TracedFile<'c>>,
}

#[derive(Serialize)]
struct Vcs<'c> {
    r#type: &'static str,
    revision: &'c str,
}

#[derive(Serialize)]
struct Tool<'c> {
    name: &'static str,
    version: &'c str,
}

#[derive(Serialize)]
struct TracedFile<'c> {
    path: &'c str,
    conversations: Vec<Conversation<'c>>,
}

#[derive(Serialize)]
struct Conversation<'c> {
    url: String,
    contributor: Contributor<'c>,
    ranges: Vec<Range>,
    related: Vec<Related>,
}

#[derive(Serialize)]
struct Contributor<'c> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_id: Option<&'c str>,
}

#[derive(Serialize)]
struct Range {
    start_line: usize,
    end_line: usize,
}

#[derive(Serialize)]
struct Related {
    r#type: &'static str,
    url: String,
}

/// The record of a commit as one line of JSON, without a line end; `None` for a commit without lines whose call is known. `version` is that
/// of the program that writes it.
pub fn record(commit: &Commit, version: &str) -> Option<String> {
    let files: Vec<TracedFile<'_>> = commit
        .files
        .iter()
        .filter(|file| !file.made.is_empty())
        .map(traced)
        .collect();
    if files.is_empty() {
        return None;
    }
    let mut record = Record {
        version: VERSION,
        id: String::new(),
        timestamp: &commit.time,
        vcs: Vcs {
            r#type: "git",
            revision: &commit.sha,
        },
        tool: Tool {
            name: "engram",
            version,
        },
        files,
    };
    record.id = uuid(&json(&record));
    Some(json(&record))
}

fn json(record: &Record<'_>) -> String {
    // A value of strings, numbers and lists has a JSON form.
    serde_json::to_string(record).unwrap_or_default()
}

fn traced(file: &File) -> TracedFile<'_> {
    // One conversation for each session and model, in the order of their names.
    let mut groups: BTreeMap<(&str, &str, Option<&str>), Vec<&Made>> = BTreeMap::new();
    for made in &file.made {
        let model = made
            .model
            .as_deref()
            .filter(|model| model.chars().count() <= MODEL_CHARS);
        let key = (made.harness.as_str(), made.session.as_str(), model);
        groups.entry(key).or_default().push(made);
    }
    let conversation = |((harness, session, model_id), made): (_, Vec<&Made>)| {
        let ranges = merged(made.iter().flat_map(|made| made.lines.iter().copied()));
        let mut calls: Vec<&str> = made.iter().map(|made| made.call.as_str()).collect();
        calls.sort_unstable();
        calls.dedup();
        Conversation {
            url: urn(&["session", harness, session]),
            contributor: Contributor {
                r#type: "ai",
                model_id,
            },
            ranges: ranges
                .into_iter()
                .map(|[start_line, end_line]| Range {
                    start_line,
                    end_line,
                })
                .collect(),
            related: calls
                .into_iter()
                .map(|call| Related {
                    r#type: "call",
                    url: urn_of_call(call),
                })
                .collect(),
        }
    };
    TracedFile {
        path: &file.path,
        conversations: groups.into_iter().map(conversation).collect(),
    }
}

/// `urn:engram:<part>:<part>`. The format asks for a URI, and sessions on this machine have no address: the name is what `engram show` opens.
fn urn(parts: &[&str]) -> String {
    let mut urn = "urn:engram".to_owned();
    for part in parts {
        urn.push(':');
        for byte in part.bytes() {
            let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if is_plain {
                urn.push(char::from(byte));
            } else {
                let _ = write!(urn, "%{byte:02X}");
            }
        }
    }
    urn
}

/// As [`urn`], of `ID#SEQ`: the event is the fragment.
fn urn_of_call(call: &str) -> String {
    let (id, seq) = call.rsplit_once('#').unwrap_or((call, "0"));
    format!("{}#{seq}", urn(&["call", id]))
}

/// A UUID of version 8 (RFC 9562): bits of a hash.
fn uuid(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit() -> Commit {
        let made = |first, last, session: &str, seq| Made {
            lines: vec![[first, last]],
            harness: "toy".to_owned(),
            session: session.to_owned(),
            model: Some("toy-1".to_owned()),
            call: format!("{session}#{seq}"),
        };
        Commit {
            sha: "0".repeat(40),
            time: "2026-01-02T03:04:05Z".to_owned(),
            files: vec![
                File {
                    path: "a b.rs".to_owned(),
                    made: vec![
                        made(3, 4, "x y", 7),
                        made(5, 6, "x y", 9),
                        made(1, 1, "z", 2),
                    ],
                },
                File {
                    path: "empty.rs".to_owned(),
                    made: Vec::new(),
                },
            ],
        }
    }

    #[test]
    fn a_session_is_a_conversation_and_a_commit_gives_one_record() {
        let record = record(&commit(), "1").unwrap();
        let value: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(value["files"].as_array().unwrap().len(), 1);
        let [one, other] = value["files"][0]["conversations"]
            .as_array()
            .unwrap()
            .as_slice()
        else {
            panic!("{value}");
        };
        assert_eq!(
            one["ranges"],
            serde_json::json!([{"start_line": 3, "end_line": 6}])
        );
        assert_eq!(one["url"], "urn:engram:session:toy:x%20y");
        assert_eq!(one["related"][1]["url"], "urn:engram:call:x%20y#9");
        assert_eq!(other["ranges"][0]["start_line"], 1);
        assert_eq!(
            Some(record),
            super::record(&commit(), "1"),
            "the same again"
        );
        assert_eq!(super::record(&Commit::default(), "1"), None);
    }
}
