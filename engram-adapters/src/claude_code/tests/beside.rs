//! Sessions whose history lies beside them, in the log of another session.

use std::fs;
use std::path::Path;

use engram_core::adapter::{StreamAdapter as _, convert_str};
use engram_core::head::Head;
use engram_core::pipeline::Options;
use serde_json::{Value, json};

use super::{assistant_line, line};
use crate::claude_code::ClaudeCode;
use crate::claude_code::source::side_info::side_info;

/// The prompt with this number and its answer, as this session has them.
fn turn(session: &str, number: u32) -> [Value; 2] {
    let content = json!({"message": {"role": "user", "content": format!("step {number}")}, "promptSource": "typed"});
    let mut lines = [
        line("2.1.270", 2 * number, "user", content),
        assistant_line(
            "2.1.270",
            2 * number + 1,
            &format!("m{number}"),
            json!([{"type": "text", "text": "done"}]),
        ),
    ];
    lines
        .iter_mut()
        .for_each(|line| line["sessionId"] = json!(session));
    lines
}

fn write(directory: &Path, session: &str, turns: &[u32]) {
    let log: String = turns
        .iter()
        .flat_map(|number| turn(session, *number))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(directory.join(format!("{session}.jsonl")), log).unwrap();
}

/// The events of a log in this directory.
fn tape(directory: &Path, session: &str) -> Vec<Value> {
    let path = directory.join(format!("{session}.jsonl"));
    let log = fs::read_to_string(&path).unwrap();
    let head = Head::new(log.as_bytes(), true);
    let context = side_info(&path, &head, &ClaudeCode.identify(&head));
    let tape = convert_str(
        &ClaudeCode,
        &log,
        &Options {
            context,
            ..Options::default()
        },
    )
    .unwrap();
    tape.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Whether each prompt and each usage is a replay.
fn replays(tape: &[Value]) -> Vec<bool> {
    tape.iter()
        .filter(|event| event["k"] == "msg.in" || event["label"] == "usage")
        .map(|event| event["replay"] == true)
        .collect()
}

#[test]
fn a_session_that_begins_with_the_lines_of_another_one_repeats_it() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "first", &[1, 2]);
    write(directory.path(), "again", &[1, 2, 4]);
    write(directory.path(), "other", &[7]);
    let (first, again) = (
        tape(directory.path(), "first"),
        tape(directory.path(), "again"),
    );
    assert_eq!(
        (replays(&first), replays(&again)),
        (vec![false; 4], vec![true, true, true, true, false, false])
    );
    let fork = again
        .iter()
        .find(|event| event["fork_of"] == "first")
        .unwrap();
    assert_eq!(fork["origin"]["line"], 5);
    assert_eq!(
        again.last().unwrap()["input"]["beside"][0]["name"],
        "first.jsonl"
    );
    assert!(
        first
            .iter()
            .all(|event| event["fork_of"].is_null() && event["input"]["beside"].is_null())
    );
}

#[test]
fn of_two_sessions_that_go_on_the_one_that_went_on_later_is_the_copy() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "a", &[1, 2, 5]);
    write(directory.path(), "b", &[1, 2, 3]);
    assert_eq!(
        replays(&tape(directory.path(), "a")),
        [true, true, true, true, false, false]
    );
    assert_eq!(replays(&tape(directory.path(), "b")), [false; 6]);
}

#[test]
fn what_was_typed_after_the_last_request_of_the_other_session_is_a_copy_too() {
    let directory = tempfile::tempdir().unwrap();
    let [prompt, mut answer] = turn("first", 1);
    let [typed, _] = turn("first", 2);
    let log = format!("{prompt}\n{answer}\n{typed}\n");
    fs::write(directory.path().join("first.jsonl"), log).unwrap();
    answer["requestSessionId"] = json!("first");
    let mut copies = [prompt, answer, typed];
    copies
        .iter_mut()
        .for_each(|line| line["sessionId"] = json!("again"));
    let lines = copies.into_iter().chain(turn("again", 3));
    let log: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(directory.path().join("again.jsonl"), log).unwrap();
    assert_eq!(
        replays(&tape(directory.path(), "again")),
        [true, true, true, false, false]
    );
    fs::remove_file(directory.path().join("first.jsonl")).unwrap();
    assert_eq!(
        replays(&tape(directory.path(), "again")),
        [true, true, false, false, false]
    );
}

#[test]
fn a_log_that_states_its_copies_is_compared_with_none() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "first", &[1, 2]);
    let mut lines: Vec<Value> = [turn("again", 1), turn("again", 2), turn("again", 3)].concat();
    for line in &mut lines[..4] {
        line["forkedFrom"] = json!({"sessionId": "first", "messageUuid": line["uuid"]});
    }
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(directory.path().join("again.jsonl"), log).unwrap();
    assert_eq!(
        replays(&tape(directory.path(), "again")),
        [true, true, true, true, false, false]
    );
    assert_eq!(replays(&tape(directory.path(), "first")), [false; 4]);
    // The first session goes on after the copy was made.
    write(directory.path(), "first", &[1, 2, 9]);
    assert_eq!(replays(&tape(directory.path(), "first")), [false; 6]);
}
