//! The member table: it has every record type, and a member outside of it is noticed in every form of Cursor's artifacts.

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use serde_json::Value;

/// A session of one form, and one change that the table does not know.
struct Changed {
    source: &'static str,
    from: &'static str,
    to: &'static str,
    /// Line and pointer of the change. A document has no lines.
    place: (Option<u64>, &'static str),
}

const TRANSCRIPT: &str = r#"{"role":"user","message":{"content":[{"type":"text","text":"kept"}]}}
{"role":"assistant","message":{"content":[{"type":"text","text":"b"},{"type":"tool_use","name":"Write","input":{"path":"a","contents":"b"}}]}}
"#;
const DOCUMENT: &str = r#"{"mode":"agent","messages":[{"role":"user","text":"kept"},{"role":"assistant","text":"b","thinking":"c",
"toolCalls":[{"toolName":"StrReplace","args":{"path":"a","old_string":"b","new_string":"c"}}]}],"turnEnded":{"status":"error","error":"x"}}"#;
const CAPTURE: &str = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"kept"}]},"session_id":"s"}
{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"x"},"result":{"success":{"exitCode":1,"stdout":"y"}}}},"session_id":"s","timestamp_ms":1780000000000}
{"type":"tool_call","subtype":"started","call_id":"d","tool_call":{"readToolCall":{"args":{"path":"x","includeLineNumbers":true}}},"session_id":"s","timestamp_ms":1780000000000}
"#;
const HOOKS: &str = r#"{"conversation_id":"s","generation_id":"g","model":"m","hook_event_name":"beforeSubmitPrompt","prompt":"kept","session_id":"s","cursor_version":"2026.10.01-e373342","workspace_roots":["/w"]}
{"conversation_id":"s","generation_id":"g","model":"m","hook_event_name":"postToolUseFailure","tool_name":"Shell","tool_input":{},"error_message":"e","failure_type":"permission_denied","duration":1,"is_interrupt":false,"session_id":"s","cursor_version":"2026.10.01-e373342","workspace_roots":["/w"]}
"#;
const CHAT: &str = r#"{"store":"chat","meta":{"agentId":"s","createdAt":1780000000000}}
{"store":"message","role":"user","blob":"b","message":{"role":"user","content":"kept"},"steps":{}}
{"store":"message","role":"tool","blob":"c","message":{"role":"tool","content":[{"type":"tool-result","toolCallId":"t","toolName":"Shell","result":"r","isError":true}]},"steps":{"0":{"toolCall":{"shellToolCall":{"result":{"failure":{"exitCode":2}}},"toolCallId":"t"}}}}
{"store":"step","step":{"assistantMessage":{"text":"b","startedAtMs":"1780000000000"}}}
"#;
const MESSAGES: &str = r#"{"type":"user","agent_id":"s","run_id":"r","message":{"role":"user","content":[{"type":"text","text":"kept"}]}}
{"type":"tool_call","agent_id":"s","run_id":"r","call_id":"c","name":"shell","status":"completed","args":{},"result":{"status":"success","value":{"exitCode":1}}}
"#;
const RUNS: &str = r#"{"store":"agent","agent":{"agentId":"s","cwd":"/w","createdAt":1780000000000}}
{"type":"user","store":"run_event","event":{"runId":"r","seq":1,"createdAt":"2026-11-23T02:40:51.876Z","payload":{"type":"sdk_message","message":{"type":"user","agent_id":"s","run_id":"r","message":{"role":"user","content":[{"type":"text","text":"kept"}]}}}}}
"#;
const EDITOR: &str = r#"{"store":"composer","id":"s","composer":{"_v":16,"name":"n"}}
{"store":"bubble","bubble":{"_v":3,"type":1,"text":"kept"}}
{"store":"bubble","bubble":{"_v":3,"type":2,"toolFormerData":{"toolCallId":"c","status":"completed","name":"run_terminal_command_v2","params":"{}","result":"{\"exitCode\":1}"}}}
{"store":"bubble","bubble":{"_v":3,"type":2,"toolFormerData":{"toolCallId":"d","status":"completed","name":"edit_file_v2","params":"{\"relativeWorkspacePath\":\"a\"}","result":"{\"afterContentId\":\"x\"}"}},"after":"b"}
"#;

const fn changed(
    source: &'static str,
    from: &'static str,
    to: &'static str,
    line: u64,
    pointer: &'static str,
) -> Changed {
    Changed {
        source,
        from,
        to,
        place: (if line == 0 { None } else { Some(line) }, pointer),
    }
}

const CHANGES: &[Changed] = &[
    changed(
        TRANSCRIPT,
        "\"input\"",
        "\"inputs\"",
        2,
        "/message/content/1/inputs",
    ),
    changed(
        TRANSCRIPT,
        "\"contents\"",
        "\"content_\"",
        2,
        "/message/content/1/input/content_",
    ),
    changed(
        DOCUMENT,
        "\"thinking\"",
        "\"thoughts\"",
        0,
        "/messages/1/thoughts",
    ),
    changed(DOCUMENT, "\"turnEnded\"", "\"turnEnd\"", 0, "/turnEnd"),
    changed(
        DOCUMENT,
        "\"old_string\"",
        "\"oldString\"",
        0,
        "/messages/1/toolCalls/0/args/oldString",
    ),
    changed(
        CAPTURE,
        "\"exitCode\"",
        "\"exit_code\"",
        2,
        "/tool_call/shellToolCall/result/success/exit_code",
    ),
    changed(
        CAPTURE,
        "\"exitCode\":1",
        "\"exitCode\":\"1\"",
        2,
        "/tool_call/shellToolCall/result/success/exitCode",
    ),
    changed(
        CAPTURE,
        "includeLineNumbers",
        "lineNumbers",
        3,
        "/tool_call/readToolCall/args/lineNumbers",
    ),
    changed(
        HOOKS,
        "\"failure_type\"",
        "\"failureType\"",
        2,
        "/failureType",
    ),
    changed(CHAT, "\"createdAt\"", "\"created\"", 1, "/meta/created"),
    changed(
        CHAT,
        "\"isError\"",
        "\"is_error\"",
        3,
        "/message/content/0/is_error",
    ),
    changed(
        CHAT,
        "\"exitCode\"",
        "\"exit\"",
        3,
        "/steps/0/toolCall/shellToolCall/result/failure/exit",
    ),
    changed(
        CHAT,
        "\"startedAtMs\"",
        "\"started\"",
        4,
        "/step/assistantMessage/started",
    ),
    changed(
        MESSAGES,
        "\"exitCode\"",
        "\"exit\"",
        2,
        "/result/value/exit",
    ),
    changed(MESSAGES, "\"args\"", "\"arguments\"", 2, "/arguments"),
    changed(RUNS, "\"cwd\"", "\"directory\"", 1, "/agent/directory"),
    changed(RUNS, "\"seq\":1", "\"seq\":\"1\"", 2, "/event/seq"),
    changed(
        EDITOR,
        "\"name\":\"n\"",
        "\"title\":\"n\"",
        1,
        "/composer/title",
    ),
    changed(
        EDITOR,
        "exitCode",
        "exit",
        3,
        "/bubble/toolFormerData/result/exit",
    ),
    changed(
        EDITOR,
        "relativeWorkspacePath",
        "path",
        4,
        "/bubble/toolFormerData/params/path",
    ),
    changed(
        EDITOR,
        "afterContentId",
        "after",
        4,
        "/bubble/toolFormerData/result/after",
    ),
];

fn convert(source: &str, policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let mut tape = Vec::new();
    let options = Options {
        policy,
        ..Options::default()
    };
    crate::ingest(
        Input::new(source.as_bytes(), Limits::default()),
        &options,
        &mut JsonLines::new(&mut tape),
    )?;
    Ok(std::str::from_utf8(&tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

#[test]
fn known_members_are_accepted() {
    for source in [TRANSCRIPT, DOCUMENT, CAPTURE, HOOKS, CHAT, EDITOR] {
        let tape = convert(source, Policy::Strict).unwrap();
        assert_eq!(
            tape[tape.len() - 1]["ledger"].get("unknown_members"),
            None,
            "{source}"
        );
    }
}

#[test]
fn unknown_members_are_refused_under_strict_policy() {
    for change in CHANGES {
        let error = convert(
            &change.source.replacen(change.from, change.to, 1),
            Policy::Strict,
        )
        .expect_err(change.to);
        assert_eq!(
            (error.code, error.line, error.pointer.as_deref()),
            (
                ErrorCode::UnknownMember,
                change.place.0,
                Some(change.place.1)
            )
        );
    }
}

#[test]
fn unknown_members_are_counted_and_the_rest_is_converted() {
    for change in CHANGES {
        let tape = convert(
            &change.source.replacen(change.from, change.to, 1),
            Policy::Permissive,
        )
        .expect(change.to);
        let counted = &tape[tape.len() - 1]["ledger"]["unknown_members"];
        assert_eq!(
            counted.as_array().map(Vec::len),
            Some(1),
            "{}: {counted}",
            change.to
        );
        let revision = tape
            .iter()
            .find(|event| event["label"] == "revision")
            .expect(change.to);
        assert!(
            revision["degraded"]
                .as_array()
                .is_some_and(|reasons| reasons.contains(&"unknown_members".into())),
            "{revision}"
        );
        assert!(
            tape.iter()
                .any(|event| event["k"] == "msg.in" && event["text"] == "kept"),
            "{}",
            change.to
        );
    }
}

#[test]
fn a_step_without_its_part_is_malformed() {
    let error = convert(
        &CHAT.replacen("\"steps\":{\"0\"", "\"steps\":{\"1\"", 1),
        Policy::Strict,
    )
    .expect_err("no part 1");
    assert_eq!(
        (error.code, error.line, error.pointer.as_deref()),
        (ErrorCode::MalformedRecord, Some(3), Some("/steps"))
    );
}

#[test]
fn messages_of_the_protocol_in_the_editors_store_are_opaque() {
    let log = EDITOR
        .replacen(
            "\"text\":\"kept\"",
            "\"text\":\"kept\",\"conversationState\":\"~CgN4\"",
            1,
        )
        .replacen(
            "\"toolCallId\":\"c\"",
            "\"toolCallId\":\"c\",\"toolCallBinary\":\"CgN5\"",
            1,
        );
    let (tape, _) = super::convert(log.as_bytes(), Policy::Strict).unwrap();
    assert!(tape.contains("kept") && !tape.contains("CgN4") && !tape.contains("CgN5"));
}
