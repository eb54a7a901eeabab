//! Exports and streams that no fixture shows: damage, values that decide something, limits.

use std::path::Path;

use engram_core::adapter::SideInfo;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use serde_json::Value;

use super::format::mark;
use crate::open::store::Store;
use crate::registry::Registry;
use crate::sessions::open_store;

mod growth;
mod members;
mod prompts;
mod repeats;
mod steps;
mod stores;
mod titles;

fn convert(text: &str, context: SideInfo, policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let options = Options {
        policy,
        context,
        ..Options::default()
    };
    let mut tape = Vec::new();
    crate::ingest(
        Input::new(text.as_bytes(), options.limits),
        &options,
        &mut engram_core::tape::JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

fn open(path: &Path) -> Box<dyn Store> {
    open_store(&Registry::builtin(), path, Limits::default())
        .unwrap()
        .unwrap()
        .1
}

/// The tape of a stored session.
fn tape_of(store: &dyn Store, id: &str, policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let session = store
        .sessions()
        .iter()
        .find(|session| session.id == id)
        .unwrap();
    let export = store.export(session)?;
    convert(&export.text, export.context, policy)
}

/// An export of one assistant message with these parts.
fn export(parts: &str) -> String {
    let info = r#"{"id":"ses_1","version":"1.18.34","time":{"created":1000,"updated":2000}}"#;
    let message = r#"{"id":"msg_1","role":"assistant","time":{"created":1001},"modelID":"m"}"#;
    format!(r#"{{"info":{info},"messages":[{{"info":{message},"parts":[{parts}]}}]}}"#)
}

/// The adapter and the marks of a log.
fn recognised(log: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let head = Head::new(log.as_bytes(), true);
    let (registration, evidence) = Registry::builtin().detect(&head).ok()?;
    Some((registration.id(), evidence.marks))
}

#[test]
fn version_or_times_tell_a_fork() {
    let export = |version: &str| export("").replace("1.18.34", version);
    assert_eq!(
        recognised(&export("7.7.9")),
        Some(("kilo", vec![mark::KILO_EXPORT]))
    );
    for version in ["1.18.34", "6.0.0", "8.0.0"] {
        let found = recognised(&export(version));
        assert_eq!(found, Some(("opencode", vec![mark::EXPORT])), "{version}");
    }
    let line = |kind: &str, more: &str| {
        format!(
            r#"{{"type":"{kind}","timestamp":1,"sessionID":"ses_1","part":{{"id":"prt_1","messageID":"msg_1"{more}}}}}"#
        )
    };
    let text = line("text", r#","type":"text","text":"x","time":{"start":1}"#);
    let finish = line(
        "step_finish",
        r#","type":"step-finish","time":{"start":1,"end":2,"elapsed":1}"#,
    );
    assert_eq!(
        recognised(&text),
        Some(("opencode", vec![mark::STREAM_PART]))
    );
    assert_eq!(
        recognised(&format!("{text}\n{finish}\n")),
        Some(("kilo", vec![mark::KILO_STREAM_STEP]))
    );
}

#[test]
fn a_later_revert_may_go_back_further_than_one_before_it() {
    let message = |n| {
        format!(
            r#"{{"info":{{"id":"msg_{n}","role":"user"}},"parts":[{{"type":"text","text":"prompt {n}"}}]}}"#
        )
    };
    let reverts =
        r#"[{"messageIDs":["msg_3"],"files":true},{"messageIDs":["msg_2","msg_4"],"files":true}]"#;
    let info = format!(
        r#"{{"id":"ses_1","version":"1.18.34","time":{{"created":1000,"updated":2000}},"reverts":{reverts}}}"#
    );
    let messages: Vec<String> = (1..6).map(message).collect();
    let text = format!(r#"{{"info":{info},"messages":[{}]}}"#, messages.join(","));
    let tape = convert(&text, SideInfo::default(), Policy::Permissive).unwrap();
    let place = |text: &str| tape.iter().position(|event| event["text"] == text).unwrap();
    let rewinds: Vec<_> = tape
        .iter()
        .enumerate()
        .filter(|(_, event)| event["label"] == "rewind")
        .collect();
    let found: Vec<_> = rewinds
        .iter()
        .map(|(at, event)| (*at, event["to"].clone()))
        .collect();
    let to = |text: &str| tape[place(text)]["seq"].clone();
    assert_eq!(
        found,
        [
            (place("prompt 4") - 1, to("prompt 2")),
            (place("prompt 5") - 1, to("prompt 1"))
        ]
    );
}

#[test]
fn a_cut_export_is_truncated_input() {
    let complete = export(r#"{"type":"text","text":"words"}"#);
    for end in [complete.len() - 1, complete.len() - 20, complete.len() - 40] {
        assert_eq!(
            convert(&complete[..end], SideInfo::default(), Policy::Strict)
                .unwrap_err()
                .code,
            ErrorCode::TruncatedInput
        );
    }
}

#[test]
fn each_complete_message_of_a_cut_export_is_converted_once() {
    let message = |n| {
        format!(
            r#"{{"info":{{"id":"msg_{n}","role":"user"}},"parts":[{{"type":"text","text":"words {n}"}}]}}"#
        )
    };
    let mut text = String::from(r#"{"info":{"id":"ses_1","version":"1.18.34"},"messages":["#);
    for n in 0..4 {
        text.push_str(&message(n));
        let begun = text.clone() + ", " + &message(n + 1);
        for end in text.len()..begun.len() {
            let tape = convert(&begun[..end], SideInfo::default(), Policy::Permissive).unwrap();
            let texts: Vec<&str> = tape
                .iter()
                .filter(|event| event["k"] == "msg.in")
                .filter_map(|event| event["text"].as_str())
                .collect();
            assert_eq!(
                texts,
                ["words 0", "words 1", "words 2", "words 3"][..=n],
                "{}",
                &begun[..end]
            );
        }
        text.push_str(", ");
    }
}

#[test]
fn a_malformed_part_does_not_affect_other_parts() {
    let parts = r#"{"type":"text","text":"first"},{"type":7},{"type":"tool","tool":"bash","state":"done"},{"type":"text","text":"last"}"#;
    let tape = convert(&export(parts), SideInfo::default(), Policy::Permissive).unwrap();
    let texts: Vec<&str> = tape
        .iter()
        .filter(|event| event["k"] == "msg.out")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert_eq!(texts, ["first", "last"]);
    assert_eq!(tape.last().unwrap()["ledger"]["malformed"], 2);
    assert_eq!(
        convert(&export(parts), SideInfo::default(), Policy::Strict)
            .unwrap_err()
            .code,
        ErrorCode::MalformedRecord
    );
}

#[test]
fn a_fault_has_a_pointer_from_the_root_of_the_export() {
    let text = export(r#"{"type":"text","text":"a"},{"type":"text","text":7}"#);
    let title = text.replacen(r#""version""#, r#""title":7,"version""#, 1);
    for (source, pointer) in [(&text, "/messages/0/parts/1/text"), (&title, "/info/title")] {
        let refused = convert(source, SideInfo::default(), Policy::Strict).unwrap_err();
        assert_eq!(
            (refused.code, refused.pointer.as_deref()),
            (ErrorCode::MalformedRecord, Some(pointer))
        );
    }
}

#[test]
fn a_value_that_decides_something_and_is_not_known_is_refused() {
    let file = r#"{"filePath":"/p/a","relativePath":"a","type":"add","additions":1,"deletions":0}"#;
    let state = format!(
        r#"{{"status":"completed","input":{{}},"output":"","metadata":{{"files":[{file}]}},"time":{{"start":1002,"end":1003}}}}"#
    );
    let part = format!(r#"{{"type":"tool","tool":"apply_patch","callID":"c","state":{state}}}"#);
    let source = export(&part);
    convert(&source, SideInfo::default(), Policy::Strict).expect("all is known");
    let refused = convert(
        &source.replacen("\"add\"", "\"other\"", 1),
        SideInfo::default(),
        Policy::Strict,
    )
    .unwrap_err();
    let pointer = "/messages/0/parts/0/state/metadata/files/0/type";
    assert_eq!(
        (refused.code, refused.pointer.as_deref()),
        (ErrorCode::UnknownMember, Some(pointer))
    );
}

#[test]
fn a_line_with_the_number_zero_is_no_line_of_a_file() {
    let state = r#"{"status":"completed","input":{"filePath":"/p/a"},"output":"<file>\n00000| a\n</file>","time":{"start":1002,"end":1003}}"#;
    let part = format!(
        r#"{{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"tool","tool":"read","callID":"c","state":{state}}}"#
    );
    let line = format!(
        "{{\"type\":\"tool_use\",\"timestamp\":1003,\"sessionID\":\"ses_1\",\"part\":{part}}}\n"
    );
    for (source, pointer) in [(line, "/part"), (export(&part), "/messages/0/parts/0")] {
        let tape = convert(&source, SideInfo::default(), Policy::Permissive).unwrap();
        let read = tape.iter().find(|event| event["k"] == "code.read").unwrap();
        assert_eq!(
            (&read["hash"], &read["origin"]["pointer"]),
            (&Value::Null, &pointer.into()),
            "{source}"
        );
    }
}

#[test]
fn output_without_a_total_is_left_out_where_versions_count_reasoning_differently() {
    let usage = |version: &str| {
        let tokens =
            r#""tokens":{"input":508,"output":34,"reasoning":16,"cache":{"read":512,"write":0}}"#;
        let part =
            format!(r#"{{"id":"prt_1","type":"step-finish","reason":"stop","cost":0,{tokens}}}"#);
        let tape = convert(
            &export(&part).replace("1.18.34", version),
            SideInfo::default(),
            Policy::Permissive,
        )
        .unwrap();
        tape.into_iter()
            .find(|event| event["label"] == "usage")
            .unwrap()["tokens"]
            .clone()
    };
    assert_eq!(
        (&usage("1.18.34")["output"], &usage("1.18.34")["reasoning"]),
        (&Value::Null, &16.into())
    );
    assert_eq!(usage("1.0.98")["output"], 34);
}

#[test]
fn a_response_that_states_no_counts_has_none() {
    let tokens = r#""tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    let part =
        format!(r#"{{"id":"prt_1","type":"step-finish","reason":"unknown","cost":0,{tokens}}}"#);
    let tape = convert(&export(&part), SideInfo::default(), Policy::Permissive).unwrap();
    let usage = tape.iter().find(|event| event["label"] == "usage").unwrap();
    assert_eq!(
        (&usage["tokens"], &usage["cost_usd"], &usage["stop_reason"]),
        (&Value::Null, &Value::Null, &"unknown".into())
    );
}

#[test]
fn a_file_with_two_carriage_returns_before_a_line_end_has_hashes_of_the_whole_alone() {
    let (before, after) = ("a\\r\\r\\nb\\r\\r\\n", "a\\r\\r\\nc\\r\\r\\n");
    let state = format!(
        r#"{{"status":"completed","input":{{"filePath":"/p/x","oldString":"b","newString":"c"}},"output":"ok","title":"x","metadata":{{"diff":"@@ -2,1 +2,1 @@\n-b\r\n+c\r\n","filediff":{{"file":"/p/x","before":"{before}","after":"{after}","additions":1,"deletions":1}}}},"time":{{"start":1,"end":2}}}}"#
    );
    let part = format!(
        r#"{{"id":"prt_1","type":"tool","callID":"call_1","tool":"edit","state":{state}}}"#
    );
    let tape = convert(&export(&part), SideInfo::default(), Policy::Permissive).unwrap();
    let edits: Vec<&Value> = tape
        .iter()
        .filter(|event| event["k"] == "code.edit")
        .collect();
    let hash = |text: &str| Value::from(engram_core::hash::Hash::of_text(text).to_string());
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0]["file_before_hash"], hash("a\r\r\nb\r\r\n"));
    assert_eq!(
        (&edits[0]["before_range"], &edits[0]["before_hash"]),
        (&Value::Null, &Value::Null)
    );
}

/// The harness makes the diff of a text in which it has written `\n` for `\r\n`, so a `\r\r\n` of the file is a `\r\n` of the diff.
#[test]
fn a_diff_has_hashes_only_of_lines_that_it_proves() {
    let edit = |end: &str| {
        let hunk = format!(r"@@ -1,2 +1,2 @@\n aaa{end}\n-bbb{end}\n+ccc{end}\n");
        let (input, title) = (
            r#"{"filePath":"/p/x","oldString":"aaa\nbbb\n","newString":"aaa\nccc\n"}"#,
            r#""output":"ok","title":"x""#,
        );
        let filediff = format!(r#"{{"file":"/p/x","patch":"{hunk}","additions":1,"deletions":1}}"#);
        let metadata = format!(r#"{{"diff":"{hunk}","filediff":{filediff}}}"#);
        let state = format!(
            r#"{{"status":"completed","input":{input},{title},"metadata":{metadata},"time":{{"start":1,"end":2}}}}"#
        );
        let part = format!(
            r#"{{"id":"prt_1","type":"tool","callID":"call_1","tool":"edit","state":{state}}}"#
        );
        let tape = convert(&export(&part), SideInfo::default(), Policy::Permissive).unwrap();
        tape.into_iter()
            .find(|event| event["k"] == "code.edit")
            .unwrap()
    };
    let hash = |text: &str| Value::from(engram_core::hash::Hash::of_text(text).to_string());
    // Of a file with `\n` or `\r\n`.
    let plain = edit("");
    assert_eq!(
        (&plain["before_hash"], &plain["after_hash"]),
        (&hash("bbb"), &hash("ccc"))
    );
    // Of a file with `\r\r\n`, whose second line is `bbb\r`.
    let doubled = edit(r"\r");
    assert_eq!(
        (&doubled["before_range"], &doubled["after_range"]),
        (&plain["before_range"], &plain["after_range"])
    );
    assert_eq!(
        (&doubled["before_hash"], &doubled["after_hash"]),
        (&Value::Null, &Value::Null),
        "not the hash of `bbb`"
    );
}

#[test]
fn a_pending_or_running_call_has_no_result() {
    let call =
        |state: &str| format!(r#"{{"type":"tool","tool":"bash","callID":"c","state":{state}}}"#);
    let pending = call(r#"{"status":"pending","input":{},"raw":"{\"comm"}"#);
    let tape = convert(&export(&pending), SideInfo::default(), Policy::Strict).unwrap();
    assert_eq!(
        tape.iter().find(|event| event["k"] == "tool.call").unwrap()["args"],
        "{\"comm"
    );
    let running = call(
        r#"{"status":"running","input":{"command":"sleep 60"},"metadata":{"output":"so far\n"},"time":{"start":1002}}"#,
    );
    let tape = convert(&export(&running), SideInfo::default(), Policy::Strict).unwrap();
    assert!(tape.iter().all(|event| event["k"] != "tool.result"));
    assert!(
        tape.iter()
            .any(|event| event["name"] == "tool.output_so_far" && event["text"] == "so far\n")
    );
}

#[test]
fn deep_nesting_is_skipped_or_exceeds_a_limit() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let skipped = format!(r#"{{"type":"text","text":"words","other":{deep}}}"#);
    let skipped = convert(&export(&skipped), SideInfo::default(), Policy::Permissive).unwrap();
    assert_eq!(
        skipped.last().unwrap()["ledger"]["unknown_members"][0]["pointer"],
        "/other"
    );
    let kept = format!(
        r#"{{"type":"tool","tool":"mine_tool","callID":"c","state":{{"status":"running","input":{{"x":{deep}}},"time":{{"start":1002}}}}}}"#
    );
    assert_eq!(
        convert(&export(&kept), SideInfo::default(), Policy::Strict)
            .unwrap_err()
            .code,
        ErrorCode::LimitExceeded
    );
}
