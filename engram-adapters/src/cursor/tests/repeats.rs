//! Records that a log has several times.

use std::fs;
use std::path::Path;

use engram_core::limits::Limits;
use serde_json::Value;

use super::{root, valid_tape};
use crate::registry::Registry;
use crate::sessions::open_store;

/// The texts of the answers and results on a tape, in order.
fn texts(tape: &str) -> Vec<String> {
    let events = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .filter_map(|event| {
            Some(
                event
                    .get("text")
                    .or_else(|| event.get("stdout"))?
                    .as_str()?
                    .to_owned(),
            )
        })
        .collect()
}

fn answer(text: &str, rest: &str) -> String {
    let message =
        format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#);
    format!("{{\"type\":\"assistant\",\"message\":{message},\"session_id\":\"s\"{rest}}}\n")
}

#[test]
fn a_repeated_line_of_a_capture_changes_nothing_but_equal_pieces_are_two() {
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"apiKeySource\":\"login\",\"cwd\":\"/w\",\"session_id\":\"s\",\"model\":\"m\",\"permissionMode\":\"default\"}\n";
    let whole = answer(
        "done",
        ",\"model_call_id\":\"c-1\",\"timestamp_ms\":1789644625717",
    );
    let piece = answer("ab", ",\"timestamp_ms\":1789644625718");
    let tape = valid_tape(&[init, &whole, &piece, &piece, &whole].concat());
    assert_eq!(texts(&tape), ["done", "abab"]);
    assert!(
        tape.contains(r#""type":"assistant","rule":"record.repeated","count":1"#),
        "{tape}"
    );
}

#[test]
fn a_call_id_of_a_capture_may_be_used_again() {
    let line = |subtype: &str, result: &str, time: u64| {
        format!(
            "{{\"type\":\"tool_call\",\"subtype\":\"{subtype}\",\"call_id\":\"c\",\"tool_call\":{{\"shellToolCall\":{{\"args\":{{\"command\":\"x\"}}{result}}}}},\"session_id\":\"s\",\"timestamp_ms\":{time}}}\n"
        )
    };
    let result = ",\"result\":{\"success\":{\"exitCode\":0,\"stdout\":\"y\"}}";
    // The third call has no line of its own.
    let lines = [
        ("started", "", 1),
        ("completed", result, 2),
        ("started", "", 3),
        ("completed", result, 4),
        ("completed", result, 5),
    ];
    let tape = valid_tape(
        &lines
            .map(|(subtype, result, at)| line(subtype, result, 1_780_000_000_000 + at))
            .concat(),
    );
    let count = |kind: &str| {
        tape.lines()
            .filter(|line| line.contains(&format!("\"k\":\"{kind}\"")))
            .count()
    };
    assert_eq!((count("tool.call"), count("tool.result")), (3, 3));
}

/// The exports of all sessions of a text store.
fn exports(directory: &Path) -> Vec<String> {
    let opened = open_store(&Registry::builtin(), directory, Limits::default())
        .unwrap()
        .unwrap()
        .1;
    opened
        .sessions()
        .iter()
        .map(|session| opened.export(session).unwrap().text)
        .collect()
}

#[test]
fn repeated_lines_of_a_text_store_change_nothing() {
    let files = walkdir::WalkDir::new(root().join("fixtures/cursor"))
        .into_iter()
        .flatten();
    let stores: Vec<_> = files
        .filter(|file| file.file_name() == "agents.ndjson")
        .filter_map(|file| Some(file.path().parent()?.to_owned()))
        .collect();
    assert!(!stores.is_empty());
    for store in stores {
        let once: Vec<String> = exports(&store)
            .iter()
            .map(|text| valid_tape(text))
            .collect();
        for is_at_end in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            for file in fs::read_dir(&store)
                .unwrap()
                .map(|file| file.unwrap().path())
                .filter(|file| file.is_file())
            {
                let text = fs::read_to_string(&file).unwrap();
                let again: String = if is_at_end {
                    text.repeat(2)
                } else {
                    text.split_inclusive('\n')
                        .map(|line| line.repeat(2))
                        .collect()
                };
                fs::write(directory.path().join(file.file_name().unwrap()), again).unwrap();
            }
            let again = exports(directory.path());
            assert_eq!(again.len(), once.len());
            for (once, again) in once.iter().zip(again) {
                assert_eq!(
                    events(once),
                    events(&valid_tape(&again)),
                    "{}",
                    store.display()
                );
            }
        }
    }
}

/// The events of a tape without the lines of their records.
pub(super) fn events(tape: &str) -> Vec<Value> {
    let events = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let without_line = |mut event: Value| {
        if let Some(origin) = event.get_mut("origin").and_then(Value::as_object_mut) {
            origin.remove("line");
        }
        event
    };
    events
        .filter(|event| event["label"] != "tape.stop")
        .map(without_line)
        .collect()
}
