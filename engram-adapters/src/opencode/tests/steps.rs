//! Sessions of OpenCode 2: stores of each generation, exports, and what only 2.x has.

use engram_core::adapter::SideInfo;
use engram_core::error::ErrorCode;
use engram_core::policy::Policy;
use rusqlite::Connection;
use serde_json::Value;

use super::stores::database;
use super::{convert, open, tape_of};
use crate::open::store::Store;

const TABLES: &str = "
    CREATE TABLE session_v2 (id text, parent_id text, fork_session_id text, directory text, title text, version text, revert text,
        time_created integer, time_updated integer);
    CREATE TABLE session_message (id text, session_id text, type text, seq integer, time_created integer, time_updated integer, data text);";

/// An upgraded store: `ses_1` is a copy, `ses_2` was made by 2.x.
const UPGRADED: &str = "
    INSERT INTO migration VALUES ('20260804233008_loose_psylocke', 1);
    INSERT INTO session_v2 VALUES ('ses_1', NULL, NULL, '/p', 'Title', '1.18.34', NULL, 1000, 2000), ('ses_2', 'ses_1', NULL, '/p', NULL,
        '2.0.26', NULL, 3000, 4000);
    INSERT INTO session_message VALUES ('msg_1', 'ses_1', 'user', 0, 1001, 1001, '{\"text\":\"the prompt\",\"time\":{\"created\":1001}}'),
        ('msg_h', 'ses_1', 'system', 2, 1002, 1002, '{\"text\":\"renamed\",\"time\":{\"created\":1002}}'),
        ('msg_9', 'ses_2', 'user', 1, 3001, 3001, '{\"text\":\"a task\",\"time\":{\"created\":3001}}');";

fn texts(tape: &[Value]) -> Vec<&str> {
    tape.iter()
        .filter(|event| event["k"] != "meta")
        .filter_map(|event| event["text"].as_str())
        .collect()
}

fn ids(store: &dyn Store) -> Vec<&str> {
    store
        .sessions()
        .iter()
        .map(|session| session.id.as_str())
        .collect()
}

#[test]
fn an_upgraded_store_has_each_session_once() {
    let (_directory, path) = database(&format!("{TABLES}{UPGRADED}"));
    let store = open(&path);
    assert_eq!(ids(store.as_ref()), ["ses_1", "ses_2"]);
    let copied = tape_of(store.as_ref(), "ses_1", Policy::Strict).unwrap();
    assert_eq!(
        texts(&copied),
        ["the prompt", "the answer"],
        "the tables of 1.x have more"
    );
    assert_eq!(copied[0]["harness"]["version"], "1.18.34");
    let made = tape_of(store.as_ref(), "ses_2", Policy::Strict).unwrap();
    assert_eq!(
        (texts(&made), &made[0]["harness"]["schema"]),
        (vec!["a task"], &"step-messages".into())
    );
    assert_eq!(
        (&made[1]["parent_session_id"], &made[1]["cwd"]),
        (&"ses_1".into(), &"/p".into())
    );
    assert_eq!(
        made.iter().find(|event| event["k"] == "msg.in").unwrap()["by"],
        "agent"
    );
}

#[test]
fn a_session_that_2_x_continued_is_read_from_its_tables() {
    let more = "INSERT INTO session_message VALUES ('msg_3', 'ses_1', 'user', 3, 1003, 1003, '{\"text\":\"more\",\"time\":{\"created\":1003}}');";
    let (_directory, path) = database(&format!("{TABLES}{UPGRADED}{more}"));
    let store = open(&path);
    let tape = tape_of(store.as_ref(), "ses_1", Policy::Strict).unwrap();
    assert_eq!(texts(&tape), ["the prompt", "renamed", "more"]);
    assert!(store.skipped().is_empty());
    let later = "INSERT INTO message VALUES ('msg_4', 'ses_1', 1004, '{\"role\":\"user\"}');";
    let (_directory, path) = database(&format!("{TABLES}{UPGRADED}{more}{later}"));
    let store = open(&path);
    assert_eq!(
        store
            .skipped()
            .iter()
            .map(|skipped| skipped.session.id.as_str())
            .collect::<Vec<_>>(),
        ["ses_1"],
        "1.x continued it too"
    );
}

#[test]
fn a_store_of_2_x_alone_has_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    let rows = UPGRADED.split_once(';').unwrap().1;
    Connection::open(&path)
        .unwrap()
        .execute_batch(&format!("{TABLES}{rows}"))
        .unwrap();
    let store = open(&path);
    assert_eq!(ids(store.as_ref()), ["ses_1", "ses_2"]);
    assert_eq!(
        texts(&tape_of(store.as_ref(), "ses_1", Policy::Strict).unwrap()),
        ["the prompt", "renamed"]
    );
    assert_eq!(ids(open(directory.path()).as_ref()), ["ses_1", "ses_2"]);
}

#[test]
fn tables_of_a_later_version_are_named() {
    let later = "CREATE TABLE session_v3 (id text); INSERT INTO session_v3 VALUES ('ses_3');";
    let (_directory, path) = database(later);
    let store = open(&path);
    assert_eq!(
        (store.lost()[0].table.as_str(), store.lost()[0].records),
        ("session_v3", 1)
    );
    let directory = tempfile::tempdir().unwrap();
    Connection::open(directory.path().join("opencode.db"))
        .unwrap()
        .execute_batch(later)
        .unwrap();
    assert_eq!(
        open(directory.path()).unreadable()[0].code,
        ErrorCode::IncompleteStore,
        "not an empty store"
    );
}

/// An export of 2.x with these messages.
fn export(info: &str, messages: &str) -> String {
    let info = format!(
        r#"{{"id":"ses_1","cost":0.5,"time":{{"created":1000,"updated":2000}},"location":{{"directory":"/p"}}{info}}}"#
    );
    format!(r#"{{"info":{info},"messages":[{messages}]}}"#)
}

const PROMPT: &str = r#"{"id":"msg_1","type":"user","time":{"created":1001},"text":"the prompt"}"#;

/// An answer with these parts.
fn answer(parts: &str, rest: &str) -> String {
    let model = r#""agent":"build","model":{"id":"m","providerID":"p"}"#;
    format!(
        r#"{{"id":"msg_2","type":"assistant","time":{{"created":1002,"completed":1009}},{model},"content":[{parts}]{rest}}}"#
    )
}

/// A completed call.
fn call(tool: &str, input: &str, state: &str) -> String {
    let state = format!(r#"{{"status":"completed","input":{input},{state}}}"#);
    format!(
        r#"{{"type":"tool","id":"c1","name":"{tool}","state":{state},"time":{{"created":1003,"completed":1005}}}}"#
    )
}

fn events_of<'t>(tape: &'t [Value], kind: &str) -> Vec<&'t Value> {
    tape.iter()
        .filter(|event| event["k"] == kind || event["label"] == kind)
        .collect()
}

#[test]
fn a_sum_with_a_count_that_is_none_is_left_out() {
    let tokens = r#","finish":"stop","cost":0.1,"tokens":{"input":498,"output":34,"reasoning":-16,"cache":{"read":1e3,"write":0}}"#;
    let source = export(
        "",
        &format!(
            "{PROMPT},{}",
            answer(r#"{"type":"text","text":"the answer"}"#, tokens)
        ),
    );
    assert!(convert(&source, SideInfo::default(), Policy::Strict).is_err());
    let tape = convert(&source, SideInfo::default(), Policy::Permissive).unwrap();
    assert_eq!(
        events_of(&tape, "usage")[0]["tokens"],
        serde_json::json!({"input": 498, "cache_write": 0})
    );
}

#[test]
fn tokens_follow_the_answer_and_contain_the_reasoning() {
    let tokens = r#","finish":"stop","cost":0.1,"tokens":{"input":498,"output":34,"reasoning":16,"cache":{"read":512,"write":0}}"#;
    let source = export(
        "",
        &format!(
            "{PROMPT},{}",
            answer(r#"{"type":"text","text":"the answer"}"#, tokens)
        ),
    );
    let tape = convert(&source, SideInfo::default(), Policy::Strict).unwrap();
    let usage = &tape[tape.len() - 2];
    assert_eq!(
        (&usage["label"], &usage["message_id"], &usage["stop_reason"]),
        (&"usage".into(), &"msg_2".into(), &"stop".into())
    );
    let expected = serde_json::json!({"input": 498, "cache_read": 512, "cache_write": 0, "output": 50, "reasoning": 16});
    assert_eq!(
        (&usage["tokens"], &usage["t"]),
        (&expected, &"1970-01-01T00:00:01.009Z".into())
    );
    assert_eq!(events_of(&tape, "session")[0]["cost_total_usd"], 0.5);
}

#[test]
fn an_interrupt_follows_what_it_interrupted() {
    let error = r#","error":{"type":"aborted","message":"Step interrupted"}"#;
    let source = export(
        "",
        &format!(
            "{PROMPT},{}",
            answer(r#"{"type":"text","text":"so f"}"#, error)
        ),
    );
    let tape = convert(&source, SideInfo::default(), Policy::Strict).unwrap();
    let labels: Vec<&str> = tape
        .iter()
        .filter_map(|event| event["label"].as_str().or(event["k"].as_str()))
        .collect();
    assert_eq!(
        labels,
        [
            "tape.start",
            "session",
            "msg.in",
            "session",
            "msg.out",
            "interrupt",
            "tape.stop"
        ]
    );
}

#[test]
fn paths_are_absolute_and_diffs_are_complete() {
    let diff = r#""metadata":{"files":[{"file":"a.py","patch":"Index: a.py\n--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x\n-    y\n+    z\n","additions":1,"deletions":1,"status":"modified"}]}"#;
    let state =
        format!(r#""content":[{{"type":"text","text":"Edited a.py (1 replacement)"}}],{diff}"#);
    let parts = call(
        "edit",
        r#"{"path":"a.py","oldString":"y","newString":"z"}"#,
        &state,
    );
    let tape = convert(
        &export("", &answer(&parts, "")),
        SideInfo::default(),
        Policy::Strict,
    )
    .unwrap();
    let edit = events_of(&tape, "code.edit")[0];
    assert_eq!(
        (&edit["file"], &edit["op"], &edit["before_range"]),
        (
            &"/p/a.py".into(),
            &"update".into(),
            &serde_json::json!([2, 2])
        )
    );
    assert!(edit["before_hash"].is_string() && edit["after_hash"].is_string());
    assert_eq!(events_of(&tape, "system")[0]["name"], "answer.unfinished");
}

#[test]
fn calls_of_a_program_belong_to_its_call() {
    let state = r#""content":[{"type":"text","text":"done"}],"metadata":{"toolCalls":[{"tool":"srv.echo","status":"completed","input":{"a":1}}]}"#;
    let tape = convert(
        &export("", &answer(&call("execute", r#"{"code":"x"}"#, state), "")),
        SideInfo::default(),
        Policy::Strict,
    )
    .unwrap();
    let calls = events_of(&tape, "tool.call");
    assert_eq!(
        (&calls[1]["tool"], &calls[1]["kind"], &calls[1]["parent"]),
        (&"srv.echo".into(), &"mcp".into(), &calls[0]["seq"])
    );
    let results = events_of(&tape, "tool.result");
    assert_eq!(
        (&results[0]["parent"], &results[1]["stdout"]),
        (&calls[1]["seq"], &"done".into())
    );
}

#[test]
fn an_exit_notice_is_the_exit_code() {
    let state = r#""content":[{"type":"text","text":"out\n"},{"type":"text","text":"Command exited with code 3."}],"metadata":{"exit":3}"#;
    let tape = convert(
        &export("", &answer(&call("shell", r#"{"command":"x"}"#, state), "")),
        SideInfo::default(),
        Policy::Strict,
    )
    .unwrap();
    let result = events_of(&tape, "tool.result")[0];
    assert_eq!(
        (&result["stdout"], &result["exit"], &result["status"]),
        (&"out\n".into(), &3.into(), &"error".into())
    );
}

#[test]
fn a_command_of_the_user_that_is_written_again_with_its_output_is_one_call() {
    let shell = |rest: &str| {
        let head =
            r#""id":"msg_s","type":"shell","shellID":"sh_1","command":"ls","time":{"created":1000"#;
        format!("{{{head}{rest}}}")
    };
    let running = shell(r#"},"status":"running""#);
    let ended = |output: &str| {
        shell(&format!(
            r#","completed":1500}},"status":"exited","exit":0,"output":{{"output":"{output}","cursor":1,"size":1,"truncated":false}}"#
        ))
    };
    let source = export(
        "",
        &[
            PROMPT,
            &running,
            &running,
            &ended("a"),
            &ended("a b"),
            &ended("a b"),
        ]
        .join(","),
    );
    let tape = convert(&source, SideInfo::default(), Policy::Permissive).unwrap();
    assert_eq!(events_of(&tape, "tool.call").len(), 1);
    let outputs: Vec<_> = events_of(&tape, "tool.result")
        .into_iter()
        .map(|result| result["stdout"].clone())
        .collect();
    assert_eq!(outputs, ["a", "a b"]);
}

#[test]
fn a_revert_goes_back_to_the_event_before_the_message() {
    let second = PROMPT
        .replace("msg_1", "msg_3")
        .replace("the prompt", "the second");
    let source = export(
        r#","revert":{"messageID":"msg_3","snapshot":"s","files":[]}"#,
        &format!("{PROMPT},{second}"),
    );
    let tape = convert(&source, SideInfo::default(), Policy::Strict).unwrap();
    let rewind = events_of(&tape, "rewind")[0];
    assert_eq!(
        (&rewind["to"], &rewind["files"]),
        (&tape[2]["seq"], &true.into())
    );
    assert_eq!(tape[2]["text"], "the prompt");
}

#[test]
fn repeated_records_change_no_event() {
    let tokens = r#","finish":"stop","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    let answer = answer(r#"{"type":"text","text":"the answer"}"#, tokens);
    let tape = |messages: &str| {
        let mut tape = convert(&export("", messages), SideInfo::default(), Policy::Strict).unwrap();
        let stop = tape.pop().unwrap();
        (tape, stop["ledger"]["duplicate"].as_u64().unwrap())
    };
    let (once, none) = tape(&format!("{PROMPT},{answer}"));
    let (twice, repeated) = tape(&format!("{PROMPT},{answer},{PROMPT},{answer}"));
    assert_eq!((once, none, repeated), (twice, 0, 3));
}

#[test]
fn a_command_of_the_betas_has_its_output_as_text() {
    let shell = r#"{"id":"msg_s","type":"shell","callID":"sh_1","command":"pwd","output":"/w","sessionID":"ses_1","time":{"created":1000,"completed":1050}}"#;
    let tape = convert(
        &export("", &format!("{PROMPT},{shell}")),
        SideInfo::default(),
        Policy::Strict,
    )
    .unwrap();
    let (call, result) = (
        events_of(&tape, "tool.call")[0],
        events_of(&tape, "tool.result")[0],
    );
    assert_eq!(
        (&call["call_id"], &call["args"]),
        (&"sh_1".into(), &"pwd".into())
    );
    assert_eq!(
        (&result["stdout"], &result["duration_ms"], &result["status"]),
        (&"/w".into(), &50.into(), &serde_json::Value::Null)
    );
}
