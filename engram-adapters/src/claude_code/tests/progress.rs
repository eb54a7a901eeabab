//! Progress lines: partial output, hooks and wrapped lines of sub-agents.

use std::sync::Arc;

use engram_core::adapter::{SideFiles, SideInfo, convert_str};
use engram_core::hash::Hash;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{
    assistant_line, events, line, result_line, tape, unaccounted_bytes, unaccounted_values,
};
use crate::claude_code::ClaudeCode;

fn progress(number: u32, data: Value) -> Value {
    line(
        "2.1.36",
        number,
        "progress",
        json!({"data": data, "toolUseID": "x", "parentToolUseID": "t1"}),
    )
}

/// A sub-agent's line in one of its session, with all of its lines so far.
fn wrapped(number: u32, kind: &str, content: Value, before: &[Value]) -> Value {
    let mut message = json!({"role": kind, "content": content});
    if kind == "assistant" {
        message["id"] = json!(format!("a{number}"));
        message["model"] = json!("m");
    }
    let message = json!({"type": kind, "message": message, "uuid": format!("w{number}"), "timestamp": "2026-01-01T00:00:30.000Z"});
    let mut all = before.to_vec();
    all.push(message.clone());
    progress(
        number,
        json!({"type": "agent_progress", "agentId": "a5", "prompt": "look around", "message": message, "normalizedMessages": all}),
    )
}

fn session() -> Vec<Value> {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "look around"}}]);
    let thought = json!({"type": "assistant", "uuid": "n1", "timestamp": "2026-01-01T00:00:20.000Z",
        "message": {"role": "assistant", "id": "a2", "model": "m", "content": [{"type": "text", "text": "I begin here."}]}});
    let found = json!({"type": "user", "uuid": "w4", "toolUseResult": {"mode": "content", "content": "a: b c"},
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "a: b c\n\n[more]"}]}});
    let running = json!({"type": "progress", "uuid": "n2", "data": {"type": "bash_progress", "fullOutput": "not all of it"}});
    vec![
        assistant_line("2.1.36", 1, "m1", call),
        wrapped(
            2,
            "user",
            json!([{"type": "text", "text": "look around"}]),
            &[],
        ),
        wrapped(
            3,
            "assistant",
            json!([{"type": "tool_use", "id": "t2", "name": "Glob", "input": {"pattern": "*"}}]),
            std::slice::from_ref(&thought),
        ),
        wrapped(
            4,
            "user",
            json!([{"type": "tool_result", "tool_use_id": "t2", "content": "a: b c\n\n[more]"}]),
            &[thought, found.clone()],
        ),
        wrapped(
            5,
            "assistant",
            json!([{"type": "text", "text": "I have it."}]),
            &[found, running],
        ),
        result_line("2.1.36", 6, "t1", "seen all", None),
    ]
}

#[test]
fn sub_agent_without_its_own_file_is_converted_with_its_session() {
    let tape = tape(&session(), Policy::Strict).unwrap();
    let of_agent: Vec<&Value> = tape
        .iter()
        .filter(|event| event["source"]["agent_id"] == "a5" && event["k"] != "meta")
        .collect();
    let kinds: Vec<&str> = of_agent
        .iter()
        .filter_map(|event| event["k"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["msg.in", "msg.out", "tool.call", "tool.result", "msg.out"]
    );
    let call = tape.iter().find(|event| event["call_id"] == "t1").unwrap();
    assert_eq!(of_agent[0]["parent"], call["seq"]);
    assert_eq!(
        of_agent[1]["origin"],
        json!({"line": 3, "pointer": "/data/normalizedMessages/0/message/content/0", "id": "n1"})
    );
    assert_eq!(
        of_agent[3]["origin"]["pointer"],
        "/data/normalizedMessages/1/message/content/0"
    );
    assert_eq!(tape.iter().filter(|event| event["k"] == "tool.result" && event["source"].get("agent_id").is_none()).count(), 1);
    assert_eq!(unaccounted_bytes(&session()), 0);
}

#[test]
fn usage_of_wrapped_responses_follows_them() {
    let of = |agent: &str, mut line: Value| {
        line["data"]["agentId"] = json!(agent);
        let inner = &mut line["data"]["message"];
        if inner["type"] == "assistant" {
            inner["message"]["usage"] = json!({"output_tokens": 1});
        }
        line["data"]["normalizedMessages"] = json!([line["data"]["message"]]);
        line
    };
    let text = |number| {
        wrapped(
            number,
            "assistant",
            json!([{"type": "text", "text": format!("say {number}")}]),
            &[],
        )
    };
    let call = wrapped(
        2,
        "assistant",
        json!([{"type": "tool_use", "id": "t2", "name": "Glob", "input": {"pattern": "*"}}]),
        &[],
    );
    let result = wrapped(
        4,
        "user",
        json!([{"type": "tool_result", "tool_use_id": "t2", "content": "none"}]),
        &[],
    );
    let lines = [
        session()[0].clone(),
        of("a5", call),
        of("b6", text(3)),
        of("a5", result),
        of("a5", text(5)),
        of("b6", text(6)),
        result_line("2.1.36", 7, "t1", "seen all", None),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let usages: Vec<usize> = (0..tape.len())
        .filter(|at| tape[*at]["label"] == "usage")
        .collect();
    assert_eq!(usages.len(), 5);
    for at in usages {
        assert_eq!(tape[at]["message_id"], tape[at - 1]["message_id"], "{at}");
    }
}

#[test]
fn pointer_of_a_malformed_wrapped_line_begins_at_the_record() {
    let good = json!({"type": "user", "uuid": "w0", "message": {"role": "user", "content": "look around"}});
    let bad = wrapped(
        2,
        "assistant",
        json!([{"type": "text"}]),
        std::slice::from_ref(&good),
    );
    let error = tape(&[bad], Policy::Strict).unwrap_err();
    assert_eq!(
        error.pointer.as_deref(),
        Some("/data/normalizedMessages/1/message/content/0/text")
    );
    let not_a_line = wrapped(2, "user", json!("look around"), &[json!("text")]);
    let error = tape(&[not_a_line], Policy::Strict).unwrap_err();
    assert_eq!(error.pointer.as_deref(), Some("/data/normalizedMessages/0"));
}

#[test]
fn sub_agent_with_its_own_file_is_a_duplicate() {
    struct AgentFiles;
    impl SideFiles for AgentFiles {
        fn hash(&self, _: &str) -> Option<(Hash, u64)> {
            None
        }
        fn has_agent(&self, agent_id: &str) -> bool {
            agent_id == "a5"
        }
    }
    let log: String = session().iter().map(|line| format!("{line}\n")).collect();
    let context = SideInfo {
        side_files: Some(Arc::new(AgentFiles)),
        ..SideInfo::default()
    };
    let tape = convert_str(
        &ClaudeCode,
        &log,
        &Options {
            context,
            ..Options::default()
        },
    )
    .unwrap();
    assert!(!tape.contains("\"agent_id\""));
    let stop: Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
    assert_eq!(
        stop["ledger"]["omitted"],
        json!([{"type": "progress/agent_progress", "rule": "agent.own_file", "count": 4}])
    );
}

#[test]
fn partial_output_is_emitted_if_there_is_no_result() {
    let call = assistant_line(
        "2.1.36",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]),
    );
    let written = |number, output: &str| {
        progress(
            number,
            json!({"type": "bash_progress", "output": "", "fullOutput": output, "elapsedTimeSeconds": 2}),
        )
    };
    let mut lines = vec![
        call,
        written(2, "one two"),
        written(3, "one two three"),
        written(4, ""),
    ];
    let outputs = |lines: &[Value]| -> Vec<Value> {
        events(lines, "meta")
            .into_iter()
            .filter(|event| event["name"] == "tool_output")
            .map(|event| json!([event["text"], event["origin"]["line"]]))
            .collect()
    };
    assert_eq!(outputs(&lines), [json!(["one two three", 3])]);
    assert_eq!(unaccounted_bytes(&lines), 0);
    lines.push(result_line("2.1.36", 5, "t1", "one two three four", None));
    assert!(outputs(&lines).is_empty());
    assert_eq!(unaccounted_bytes(&lines), 0);
    lines.push(written(6, "one two"));
    assert!(outputs(&lines).is_empty());
}

#[test]
fn deferred_output_is_attributed_to_its_own_agent() {
    let mut written = progress(
        2,
        json!({"type": "bash_progress", "fullOutput": "one two", "elapsedTimeSeconds": 2}),
    );
    written["agentId"] = json!("a5");
    let after = assistant_line(
        "2.1.36",
        3,
        "m2",
        json!([{"type": "text", "text": "Done."}]),
    );
    let outputs: Vec<Value> = events(&[written, after], "meta")
        .into_iter()
        .filter(|event| event["name"] == "tool_output")
        .collect();
    assert_eq!(
        (
            &outputs[0]["source"]["agent_id"],
            &outputs[0]["origin"]["line"]
        ),
        (&json!("a5"), &json!(1))
    );
}

#[test]
fn progress_of_a_running_call_is_bookkeeping() {
    let states = [
        json!({"type": "mcp_progress", "serverName": "a server"}),
        json!({"type": "query_update", "query": "a query"}),
        json!({"type": "search_results_received", "query": "a query"}),
        json!({"type": "waiting_for_task", "taskDescription": "a task"}),
    ];
    let lines: Vec<Value> = states
        .into_iter()
        .zip(1..)
        .map(|(state, number)| progress(number, state))
        .collect();
    let stop = tape(&lines, Policy::Strict).unwrap().pop().unwrap();
    assert_eq!(stop["ledger"]["bookkeeping"], 4);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn a_refused_event_of_a_wrapped_line_has_one_pointer_from_the_root() {
    let call =
        json!([{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "sed"}}]);
    let mut result = wrapped(
        4,
        "user",
        json!([{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]),
        &[],
    );
    let hunk =
        json!({"oldStart": 0, "oldLines": 1, "newStart": 0, "newLines": 1, "lines": ["-b", "+c"]});
    result["data"]["normalizedMessages"][0]["toolUseResult"] = json!({"stdout": "", "stderr": "", "bashEditDiff": {"files": [{"filePath": "/p/a", "hunks": [hunk]}]}});
    let lines = [
        session()[0].clone(),
        wrapped(3, "assistant", call, &[]),
        result,
    ];
    let error = tape(&lines, Policy::Strict).unwrap_err();
    let pointer = "/data/normalizedMessages/0/toolUseResult/bashEditDiff/files/0/hunks";
    assert_eq!(
        (error.line, error.pointer.as_deref()),
        (Some(3), Some(pointer))
    );
}

#[test]
fn every_value_of_a_wrapped_line_and_of_the_line_around_it_is_accounted_for() {
    assert_eq!(unaccounted_values(&session()), [] as [String; 0]);
}
