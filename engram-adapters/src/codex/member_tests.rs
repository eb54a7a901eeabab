//! Members that the member table does not name, in every form of a record.

use engram_core::adapter::convert_str;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;

const HEADER: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.142.5","source":"cli"}}"#;
const BARE_HEADER: &str =
    r#"{"id":"s","timestamp":"2025-07-01T00:00:00.000Z","instructions":null}"#;
const BARE_CALL: &str =
    r#"{"type":"function_call","name":"shell","call_id":"c1","arguments":"{}"}"#;

fn line(kind: &str, payload: &Value) -> String {
    json!({"timestamp": "2026-01-01T00:00:01.000Z", "type": kind, "payload": payload}).to_string()
}

fn run(log: &str, policy: Policy) -> Result<String, AdapterError> {
    convert_str(
        &Codex,
        log,
        &Options {
            policy,
            ..Options::default()
        },
    )
}

/// The line and pointer of the unknown member that the strict policy finds. The log without the change converts.
fn place(lines: &[&str], from: &str, to: &str) -> (Option<u64>, String) {
    refused(ErrorCode::UnknownMember, lines, from, to)
}

/// The same of an error with this code.
fn refused(code: ErrorCode, lines: &[&str], from: &str, to: &str) -> (Option<u64>, String) {
    let log = lines.join("\n") + "\n";
    run(&log, Policy::Strict).expect("the log converts");
    let changed = log.replacen(from, to, 1);
    assert_ne!(log, changed, "{from}");
    let error = run(&changed, Policy::Strict).expect_err("the log is refused");
    assert_eq!(error.code, code, "{error}");
    (error.line, error.pointer.expect("a pointer"))
}

fn at(line: u64, pointer: &str) -> (Option<u64>, String) {
    (Some(line), pointer.to_owned())
}

#[test]
fn a_renamed_member_of_an_envelope_is_refused_with_its_place() {
    let item = line(
        "response_item",
        &json!({"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "high"}]}),
    );
    assert_eq!(
        place(&[HEADER, &item], "\"detail\"", "\"details\""),
        at(2, "/payload/content/0/details")
    );
    let event = line(
        "event_msg",
        &json!({"type": "agent_message", "message": "It is done.", "phase": "final_answer"}),
    );
    assert_eq!(
        place(&[HEADER, &event], "\"phase\"", "\"stage\""),
        at(2, "/payload/stage")
    );
    let ended = json!({"type": "CommandExecution", "id": "c1", "command": ["ls"], "cwd": "/p", "status": "failed", "exit_code": 3});
    let completed = line(
        "event_msg",
        &json!({"type": "item_completed", "item": ended}),
    );
    assert_eq!(
        place(&[HEADER, &completed], "\"exit_code\"", "\"exitCode\""),
        at(2, "/payload/item/exitCode")
    );
    assert_eq!(
        place(&[HEADER], "\"cwd\"", "\"dir\""),
        at(1, "/payload/dir")
    );
    assert_eq!(
        place(
            &[HEADER, &event],
            "{\"payload\"",
            "{\"origin\":1,\"payload\""
        ),
        at(2, "/origin")
    );
    let omitted = line(
        "event_msg",
        &json!({"type": "task_started", "turn_id": "t"}),
    );
    assert_eq!(
        place(&[HEADER, &omitted], "\"turn_id\"", "\"turn\""),
        at(2, "/payload/turn")
    );
}

#[test]
fn a_value_of_another_type_is_refused_with_both_types() {
    let ended = json!({"type": "turn_aborted", "reason": "interrupted", "duration_ms": "3"});
    let error = run(
        &format!("{HEADER}\n{}\n", line("event_msg", &ended)),
        Policy::Strict,
    )
    .unwrap_err();
    assert_eq!(
        (error.code, error.pointer.as_deref()),
        (ErrorCode::UnknownMember, Some("/payload/duration_ms"))
    );
    assert_eq!(
        (error.expected.as_deref(), error.found.as_deref()),
        (Some("number"), Some("string"))
    );
}

#[test]
fn a_patch_status_that_is_not_known_is_refused() {
    let change = json!({"/p/a": {"type": "add", "content": "x\n"}});
    let item = json!({"type": "FileChange", "id": "c1", "changes": change, "status": "completed"});
    let completed = line(
        "event_msg",
        &json!({"type": "item_completed", "item": item}),
    );
    assert_eq!(
        refused(
            ErrorCode::MalformedRecord,
            &[HEADER, &completed],
            "\"completed\"",
            "\"applied\""
        ),
        at(2, "/payload/item/status")
    );
    let ended = line(
        "event_msg",
        &json!({"type": "patch_apply_end", "call_id": "c1", "success": false, "changes": {}, "status": "declined"}),
    );
    assert_eq!(
        refused(
            ErrorCode::MalformedRecord,
            &[HEADER, &ended],
            "\"declined\"",
            "\"rejected\""
        ),
        at(2, "/payload/status")
    );
}

#[test]
fn a_renamed_member_of_a_bare_line_is_refused_with_its_place() {
    let state = r#"{"record_type":"state","previous_response_id":"r 1"}"#;
    let reasoning = r#"{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"Thinking."}],"encrypted_content":"x"}"#;
    let lines = [BARE_HEADER, state, reasoning, BARE_CALL];
    assert_eq!(
        place(
            &lines,
            "\"instructions\":null",
            "\"instructions\":null,\"git\":{\"sha\":\"x\"}"
        ),
        at(1, "/git/sha")
    );
    assert_eq!(
        place(&lines, "previous_response_id", "previous_id"),
        at(2, "/previous_id")
    );
    assert_eq!(
        place(&lines, "encrypted_content", "encrypted"),
        at(3, "/encrypted")
    );
    assert_eq!(
        place(
            &lines,
            "\"arguments\":",
            "\"status\":\"completed\",\"args\":1,\"arguments\":"
        ),
        at(4, "/args")
    );
}

#[test]
fn a_renamed_member_of_a_document_is_refused_with_its_place() {
    let document = r#"{"session":{"timestamp":"2025-05-01T00:00:00.000Z","id":"s","instructions":"be kind"},"items":[{"type":"message","role":"user","status":"completed","content":[{"type":"input_text","text":"go on"}]}]}"#;
    assert_eq!(
        place(&[document], "\"instructions\"", "\"rules\""),
        (None, "/session/rules".to_owned())
    );
    assert_eq!(
        place(&[document], "}]}]}", "}]}],\"more\":1}"),
        (None, "/more".to_owned())
    );
    assert_eq!(
        place(&[document], "\"status\"", "\"state\""),
        (None, "/items/0/state".to_owned())
    );
}

#[test]
fn a_renamed_member_of_json_in_a_string_is_refused_where_the_harness_wrote_it() {
    let output = |text: &str| {
        json!({"type": "function_call_output", "call_id": "c1", "output": text}).to_string()
    };
    let wrapped =
        output(r#"{"output":"no such file","metadata":{"exit_code":1,"duration_seconds":0.1}}"#);
    for (from, pointer) in [
        ("output\\\"", "/output/x"),
        ("metadata", "/output/x"),
        ("exit_code", "/output/metadata/x"),
    ] {
        let to = if from.ends_with('"') { "x\\\"" } else { "x" };
        assert_eq!(
            place(&[BARE_HEADER, BARE_CALL, &wrapped], from, to),
            at(3, pointer),
            "{from}"
        );
    }
    let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nE";
    let call = json!({"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": json!({"cmd": patch}).to_string()});
    let framed =
        "Wall time: 0.1 seconds\nOutput:\n{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}";
    let framed = json!({"type": "function_call_output", "call_id": "c1", "output": framed});
    let (call, framed) = (line("response_item", &call), line("response_item", &framed));
    assert_eq!(
        place(&[HEADER, &call, &framed], "exit_code", "code"),
        at(3, "/payload/output/metadata/code")
    );
    assert_eq!(
        place(&[HEADER, &call, &framed], "\\\"cmd\\\"", "\\\"script\\\""),
        at(2, "/payload/arguments/script")
    );
    // What a command or the model wrote has names of its own.
    let printed = output(r#"{"output":"x","metadata":{"code":1}}"#);
    let call = BARE_CALL
        .replace("shell", "print")
        .replace("{}", "{\\\"script\\\":1}");
    run(&[BARE_HEADER, &call, &printed].join("\n"), Policy::Strict)
        .expect("no member of the harness");
}

#[test]
fn the_permissive_policy_counts_a_renamed_member_and_converts_the_rest() {
    let usage = |input: &str| {
        let counts = json!({"input_tokens": 5, "cached_input_tokens": 0, "output_tokens": 3, "reasoning_output_tokens": 0, "total_tokens": 8});
        let text = line(
            "event_msg",
            &json!({"type": "token_count", "info": {"last_token_usage": counts}}),
        );
        text.replace("\"input_tokens\"", input)
    };
    let answer = line(
        "event_msg",
        &json!({"type": "agent_message", "message": "It is done."}),
    );
    let lines = [
        HEADER,
        &usage("\"prompt_tokens\""),
        &answer,
        &usage("\"input_tokens\""),
    ];
    let tape = run(&lines.join("\n"), Policy::Permissive).unwrap();
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let revision = events
        .iter()
        .find(|event| event["label"] == "revision")
        .expect("a revision");
    assert_eq!(
        (&revision["degraded"], &revision["coverage"]["meta"]),
        (&json!(["unknown_members"]), &json!("partial"))
    );
    assert_eq!(
        revision["coverage"]["msg.out"],
        events[0]["coverage"]["msg.out"]
    );
    let inputs: Vec<&Value> = events
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|usage| &usage["tokens"]["input"])
        .collect();
    assert_eq!(inputs, [&Value::Null, &json!(5)]);
    assert!(
        events
            .iter()
            .any(|event| event["k"] == "msg.out" && event["text"] == "It is done.")
    );
    let unknown = json!([{"type": "event_msg/token_count", "pointer": "/payload/info/last_token_usage/prompt_tokens", "count": 1}]);
    assert_eq!(events.last().unwrap()["ledger"]["unknown_members"], unknown);
}

#[test]
fn members_of_commands_that_run_on_are_known() {
    let sessions = json!({"sessions": {}, "omitted": 0, "polling_unavailable": false});
    let state = line(
        "world_state",
        &json!({"full": true, "state": {"command_sessions": sessions}}),
    );
    let executed = json!([{"name": "exec_command", "arguments": {"cmd": "ls"}}]);
    let output = line(
        "response_item",
        &json!({"type": "function_call_output", "call_id": "c1", "output": "late",
            "internal_chat_message_metadata_passthrough": {"turn_id": "t", "executed_tool_calls": executed, "tool_calls_complete": true}}),
    );
    let log = [HEADER, &state, &output].join("\n") + "\n";
    assert!(run(&log, Policy::Strict).is_ok());
    place(&[HEADER, &state], "\"command_sessions\"", "\"sessions\"");
}
