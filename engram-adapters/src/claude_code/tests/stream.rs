//! What `--output-format stream-json` prints.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::ClaudeCode;

pub(super) fn convert(lines: &[Value]) -> Vec<Value> {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    tape.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) fn of_kind<'t>(tape: &'t [Value], kind: &str) -> Vec<&'t Value> {
    tape.iter().filter(|event| event["k"] == kind).collect()
}

pub(super) fn init() -> Value {
    json!({"type": "system", "subtype": "init", "cwd": "/p", "session_id": "s", "tools": ["Edit"], "mcp_servers": [], "model": "m",
        "permissionMode": "default", "apiKeySource": "none", "claude_code_version": "2.1.329", "uuid": "i1"})
}

pub(super) fn assistant(uuid: &str, block: &Value, parent: Option<&str>) -> Value {
    let message = json!({"id": format!("m{uuid}"), "type": "message", "role": "assistant", "model": "m", "content": [block], "stop_reason": null,
        "usage": {"input_tokens": 3, "output_tokens": 1}});
    json!({"type": "assistant", "message": message, "parent_tool_use_id": parent, "session_id": "s", "uuid": uuid,
        "timestamp": "2026-01-01T00:00:01.000Z"})
}

fn user(uuid: &str, content: &Value, rest: &Value) -> Value {
    let mut line = json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s", "uuid": uuid,
        "timestamp": "2026-01-01T00:00:02.000Z"});
    line.as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    line
}

pub(super) fn result(text: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "result": text,
        "session_id": "s", "total_cost_usd": 0.5, "uuid": "r1"})
}

#[test]
fn stream_names_its_version_and_its_own_schema() {
    let tape = convert(&[
        init(),
        assistant("a1", &json!({"type": "text", "text": "done"}), None),
        result("done"),
    ]);
    assert_eq!(
        tape[0]["harness"],
        json!({"family": "claude-code", "version": "2.1.329", "schema": "stream-json/1"})
    );
    assert_eq!(tape[0]["coverage"]["msg.in"], "partial");
    let usage: Vec<_> = tape
        .iter()
        .filter(|event| event["label"] == "usage")
        .collect();
    assert_eq!((usage.len(), &usage[0]["provisional"]), (1, &json!(true)));
    let last = tape.last().unwrap();
    assert_eq!(
        (
            &last["ledger"]["mapped"],
            last["ledger"].get("unknown_members")
        ),
        (&json!(3), None)
    );
    // The result repeats the answer.
    assert_eq!(
        tape.iter().filter(|event| event["text"] == "done").count(),
        1
    );
}

#[test]
fn usage_follows_the_last_part_of_a_response_that_goes_on_after_results_and_other_agents() {
    let part = |uuid: &str, call: &str| {
        let mut line = assistant(
            uuid,
            &json!({"type": "tool_use", "id": call, "name": "Agent", "input": {}}),
            None,
        );
        line["message"]["id"] = json!("m1");
        line
    };
    let of_agent = assistant("b1", &json!({"type": "text", "text": "agent"}), Some("t1"));
    let done = user(
        "r1",
        &json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]),
        &json!({}),
    );
    let omitted = json!({"type": "system", "subtype": "status", "session_id": "s", "uuid": "n1", "status": null});
    let lines = [
        init(),
        part("a1", "t1"),
        omitted,
        of_agent,
        done,
        part("a2", "t2"),
        result("end"),
    ];
    let tape = convert(&lines);
    let told = |event: &&Value| event["k"] != "meta" || event["label"] == "usage";
    let told: Vec<(&str, &str)> = tape
        .iter()
        .filter(told)
        .map(|event| {
            (
                event["label"].as_str().or(event["k"].as_str()).unwrap(),
                event["message_id"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let agent = [("msg.out", "mb1"), ("usage", "mb1")];
    assert_eq!(told[..3], [("tool.call", "m1"), agent[0], agent[1]]);
    assert_eq!(
        told[3..],
        [("tool.result", ""), ("tool.call", "m1"), ("usage", "m1")]
    );
    assert_eq!(tape.last().unwrap()["ledger"]["records"], 7);
}

#[test]
fn results_have_pointers_of_the_stream() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "x", "new_string": "y"}});
    let block = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
    let edited = json!({"filePath": "/p/a", "oldString": "x", "newString": "y", "originalFile": "x\n", "structuredPatch": []});
    let tape = convert(&[
        init(),
        assistant("a1", &call, None),
        user("u1", &block, &json!({"tool_use_result": edited})),
    ]);
    let edit = of_kind(&tape, "code.edit")[0];
    assert_eq!(
        (&edit["origin"]["pointer"], &edit["before_range"]),
        (&json!("/tool_use_result"), &json!([1, 1]))
    );
    let tape = convert(&[
        init(),
        assistant("a1", &call, None),
        user("u1", &block, &json!({})),
    ]);
    let edit = of_kind(&tape, "code.edit")[0];
    assert_eq!(
        (&edit["basis"], &edit["after_lines"]),
        (&json!("snippet"), &json!(1))
    );
}

#[test]
fn sub_agents_name_the_call_that_started_them() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "look", "description": "d"}});
    let text = json!([{"type": "text", "text": "look"}]);
    let lines = [
        init(),
        assistant("a1", &call, None),
        user("u1", &text, &json!({"parent_tool_use_id": "t1"})),
        assistant("a2", &json!({"type": "text", "text": "seen"}), Some("t1")),
        assistant("a2", &json!({"type": "text", "text": "seen"}), Some("t1")),
    ];
    let tape = convert(&lines);
    let call = of_kind(&tape, "tool.call")[0]["seq"].clone();
    let start = tape
        .iter()
        .find(|event| event["parent_call_id"] == "t1")
        .unwrap();
    assert_eq!(
        (&start["parent"], &start["source"]["agent_id"]),
        (&call, &json!("t1"))
    );
    assert_eq!(of_kind(&tape, "msg.in")[0]["by"], "agent");
    assert_eq!(
        (
            of_kind(&tape, "msg.out").len(),
            &tape.last().unwrap()["ledger"]["duplicate"]
        ),
        (1, &json!(1))
    );
}

#[test]
fn state_of_tasks_and_of_the_program_is_left_out() {
    let state = |kind: &str, subtype: &str, more: &Value| {
        let mut line = json!({"type": kind, "session_id": "s", "uuid": subtype});
        if kind == "system" {
            line["subtype"] = subtype.into();
        }
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        line
    };
    let task =
        json!({"task_id": "t", "tool_use_id": "c", "description": "d", "task_type": "local_agent"});
    let lines = [
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r", "response": {"commands": []}}}),
        json!({"type": "control_request", "request_id": "r", "request": {"subtype": "hook_callback", "callback_id": "h", "input": {"a": 1}}}),
        init(),
        state("system", "status", &json!({"status": "compacting"})),
        state(
            "system",
            "hook_started",
            &json!({"hook_id": "h", "hook_name": "n", "hook_event": "e"}),
        ),
        state("system", "background_tasks_changed", &json!({"tasks": []})),
        state("system", "task_started", &task),
        state(
            "system",
            "task_updated",
            &json!({"task_id": "t", "patch": {"status": "completed", "end_time": 1}}),
        ),
        state(
            "system",
            "thinking_tokens",
            &json!({"estimated_tokens": 1, "estimated_tokens_delta": 1}),
        ),
        json!({"type": "control_request", "request_id": "r2", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "c",
            "agent_id": "a1f28420031e7ec2c", "mcp_server": {"name": "desk", "source": "dynamic"}, "matched_ask_rule": {"source": "s", "tool_name": "t"}}}),
    ];
    let tape = convert(&lines);
    let ledger = &tape.last().unwrap()["ledger"];
    assert_eq!(
        (
            &ledger["mapped"],
            &ledger["duplicate"],
            &ledger["bookkeeping"]
        ),
        (&json!(2), &json!(1), &json!(7))
    );
    assert_eq!(ledger.get("unknown_members"), None);
    assert!(tape.iter().any(|event| event["label"] == "permission"
        && event["decision"] == "ask"
        && event["call_id"] == "c"));
}

#[test]
fn usage_comes_before_the_end_of_the_run_and_a_repeated_end_is_a_duplicate() {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s", "result": "x", "uuid": "r1"});
    let lines = [
        init(),
        assistant("a1", &json!({"type": "text", "text": "x"}), None),
        result.clone(),
        result,
    ];
    let tape = convert(&lines);
    let names: Vec<&str> = tape
        .iter()
        .filter_map(|event| event["name"].as_str().or(event["label"].as_str()))
        .collect();
    assert_eq!(
        names.iter().filter(|name| **name == "result").count(),
        1,
        "{names:?}"
    );
    let at = |name: &str| names.iter().position(|other| *other == name);
    assert!(at("usage") < at("result"), "{names:?}");
    assert_eq!(tape.last().unwrap()["ledger"]["duplicate"], 1);
}

#[test]
fn the_text_after_the_boundary_of_a_compaction_is_its_summary_and_the_output_of_a_command_is_by_the_harness()
 {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "session_id": "s", "uuid": "b1",
        "compact_metadata": {"trigger": "manual", "pre_tokens": 7}});
    let output = "<local-command-stdout>Compacted </local-command-stdout>";
    let lines = [
        init(),
        user("p1", &json!("do it"), &json!({"isReplay": true})),
        boundary,
        user(
            "s1",
            &json!("This session is being continued."),
            &json!({"isSynthetic": true}),
        ),
        user("o1", &json!(output), &json!({"isReplay": true})),
        user(
            "p2",
            &json!("<local-command-stdout> is a tag"),
            &json!({"isReplay": true}),
        ),
    ];
    let tape = convert(&lines);
    let said: Vec<_> = of_kind(&tape, "msg.in")
        .iter()
        .map(|event| {
            (
                event["by"].as_str().unwrap(),
                event["text"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("person", "do it"),
            ("harness", output),
            ("person", "<local-command-stdout> is a tag")
        ]
    );
    let compaction = tape
        .iter()
        .find(|event| event["label"] == "compaction")
        .unwrap();
    assert_eq!(
        (&compaction["text"], &compaction["trigger"]),
        (&json!("This session is being continued."), &json!("manual"))
    );
}

#[test]
fn a_command_that_a_call_starts_is_by_the_agent() {
    let call = |id: &str, tool: &str| {
        assistant(
            id,
            &json!({"type": "tool_use", "id": id, "name": tool, "input": {}}),
            None,
        )
    };
    let done = |id: &str| {
        user(
            &format!("r{id}"),
            &json!([{"type": "tool_result", "tool_use_id": id, "content": "Launching"}]),
            &json!({}),
        )
    };
    let tags = json!([{"type": "text", "text": "<command-name>/fold</command-name>\n<command-args>a</command-args>"}]);
    let authors = |tool| {
        let tape = convert(&[
            init(),
            call("c1", tool),
            done("c1"),
            user("t1", &tags, &json!({})),
        ]);
        of_kind(&tape, "msg.in")
            .iter()
            .map(|event| event["by"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (authors("SlashCommand"), authors("Read")),
        (vec![json!("agent")], vec![json!("person")])
    );
}

#[test]
fn texts_of_edits_that_the_result_does_not_prove_have_no_hash() {
    let edit = |old: &str, new: &str| {
        let input = json!({"file_path": "/p/a", "old_string": old, "new_string": new});
        assistant(
            "c1",
            &json!({"type": "tool_use", "id": "c1", "name": "Edit", "input": input}),
            None,
        )
    };
    let asked = json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Edit"}});
    let done = user(
        "r1",
        &json!([{"type": "tool_result", "tool_use_id": "c1", "content": "The file has been updated."}]),
        &json!({}),
    );
    let has_hashes = |lines: &[Value]| {
        let tape = convert(lines);
        let edit = of_kind(&tape, "code.edit")[0];
        (
            edit["before_hash"].is_string(),
            edit["after_hash"].is_string(),
        )
    };
    assert_eq!(
        has_hashes(&[init(), edit("a", "b"), done.clone()]),
        (true, true)
    );
    assert_eq!(
        has_hashes(&[init(), edit("a", "b"), asked, done.clone()]),
        (false, false)
    );
    assert_eq!(
        has_hashes(&[init(), edit("\"a\"", "b"), done.clone()]),
        (false, true)
    );
    assert_eq!(
        has_hashes(&[init(), edit("\"a\"", "'b'"), done]),
        (false, false)
    );
}

/// Made by hand: no recording has two results in a line with a structured result.
#[test]
fn a_structured_result_beside_two_results_belongs_to_neither() {
    let call = |id: &str| {
        assistant(
            id,
            &json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}}),
            None,
        )
    };
    let done = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": format!("done {id}")});
    let structured = json!({"stdout": "of one", "stderr": "", "interrupted": false});
    let lines = |results: &Value| {
        [
            init(),
            call("t1"),
            call("t2"),
            user("r1", results, &json!({"tool_use_result": structured})),
        ]
    };
    let tape = convert(&lines(&json!([done("t1"), done("t2")])));
    let results: Vec<&Value> = of_kind(&tape, "tool.result")
        .iter()
        .map(|result| &result["stdout"])
        .collect();
    assert_eq!(results, ["done t1", "done t2"]);
    let unknown: Vec<&Value> = tape
        .iter()
        .filter(|event| event["label"] == "unrecognized")
        .collect();
    assert_eq!(unknown.len(), 1);
    assert_eq!(
        (&unknown[0]["raw"], &unknown[0]["origin"]["pointer"]),
        (&structured, &json!("/tool_use_result"))
    );
    let tape = convert(&lines(&json!([done("t1")])));
    assert_eq!(of_kind(&tape, "tool.result")[0]["stdout"], "of one");
}

#[test]
fn control_sequences_of_a_terminal_before_a_line_are_skipped() {
    let lines = [
        init(),
        assistant("a1", &json!({"type": "text", "text": "done"}), None),
        result("done"),
    ];
    let clear = "\u{1b}[2J\u{1b}[3J\u{1b}[H";
    let plain: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for at in 0..lines.len() {
        let log: String = lines
            .iter()
            .enumerate()
            .map(|(number, line)| format!("{}{line}\n", if number == at { clear } else { "" }))
            .collect();
        let log = format!("{log}{clear}\n{clear}");
        let strict = Options {
            policy: Policy::Strict,
            ..Options::default()
        };
        let [tape, plain] =
            [&log, &plain].map(|log| convert_str(&ClaudeCode, log, &strict).unwrap());
        let events = |tape: &str| {
            tape.lines()
                .take(tape.lines().count() - 1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(events(&tape), events(&plain), "before line {}", at + 1);
        let stop: Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&stop["ledger"]["records"], &stop["input"]["bytes"]),
            (&json!(3), &json!(log.len()))
        );
        let report =
            engram_core::audit::audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap();
        assert!(report.holds(), "{report:?}");
        assert_eq!(
            report.omitted["terminal_controls"].bytes,
            3 * clear.len() as u64
        );
    }
    let text = format!("{plain}{clear}no JSON\n");
    let tape = convert_str(&ClaudeCode, &text, &Options::default()).unwrap();
    assert!(
        tape.contains("\\u001b[2J\\u001b[3J\\u001b[Hno JSON"),
        "a text is kept as it is"
    );
}

#[test]
fn a_capture_states_that_a_call_was_denied() {
    let status = |meta: Value| {
        let call = assistant(
            "a1",
            &json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}),
            None,
        );
        let block = json!({"type": "tool_result", "tool_use_id": "t1", "content": "no to that", "is_error": true});
        let lines = [
            init(),
            call,
            user("u1", &json!([block]), &json!({"tool_result_meta": [meta]})),
        ];
        of_kind(&convert(&lines), "tool.result")[0]["status"].clone()
    };
    let cases = [
        (
            json!({"id": "t1", "non_execution_kind": "permission-rule"}),
            "denied",
        ),
        (
            json!({"id": "t1", "non_execution_kind": "user-rejected"}),
            "denied",
        ),
        (
            json!({"id": "t1", "permission_decision": {"decision": "reject", "source": "user_reject"}}),
            "denied",
        ),
        (
            json!({"id": "t1", "permission_decision": {"decision": "accept", "source": "config"}}),
            "error",
        ),
        (
            json!({"id": "t1", "non_execution_kind": "interrupted"}),
            "error",
        ),
        (
            json!({"id": "t2", "non_execution_kind": "permission-rule"}),
            "error",
        ),
    ];
    for (meta, expected) in cases {
        assert_eq!(status(meta.clone()), expected, "{meta}");
    }
}

#[test]
fn a_failed_request_of_a_sub_agent_is_an_error() {
    let progress = |uuid: &str, more: &Value| {
        let mut line = json!({"type": "tool_progress", "tool_use_id": "x", "tool_name": "Agent", "parent_tool_use_id": "t1",
            "elapsed_time_seconds": 0, "session_id": "s", "uuid": uuid, "subagent_type": "helper"});
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        line
    };
    let retry = |status: Value| {
        json!({"subagent_retry": {"agent_id": "b1", "attempt": 1, "max_retries": 3, "retry_delay_ms": 5, "error_status": status,
            "error_category": "overloaded"}})
    };
    let failed = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 3, "retry_delay_ms": 5, "error_status": null,
        "error": "unknown", "session_id": "s", "uuid": "f1"});
    let lines = [
        init(),
        progress("p1", &retry(json!(529))),
        progress("p2", &retry(Value::Null)),
        progress("p3", &json!({})),
        progress("p4", &json!({"heartbeat": true})),
        failed,
    ];
    let tape = convert(&lines);
    let errors: Vec<_> = tape
        .iter()
        .filter(|event| event["label"] == "error")
        .collect();
    let stated: Vec<_> = errors
        .iter()
        .map(|event| (&event["code"], &event["text"], &event["source"]["agent_id"]))
        .collect();
    let (overloaded, agent, none) = (json!("overloaded"), json!("b1"), Value::Null);
    let code = json!("529");
    assert_eq!(
        stated,
        [
            (&code, &overloaded, &agent),
            (&none, &overloaded, &agent),
            (&none, &json!("unknown"), &none)
        ]
    );
    let ledger = &tape.last().unwrap()["ledger"];
    assert_eq!(
        (&ledger["bookkeeping"], ledger.get("unknown_members")),
        (&json!(2), None)
    );
}

#[test]
fn the_prompt_of_a_task_is_told_if_its_call_is_not_printed() {
    let call = json!({"type": "tool_use", "id": "c1", "name": "Agent", "input": {"prompt": "go"}});
    let message = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [call], "usage": {"output_tokens": 1}});
    let task = |uuid: &str, call: &str, prompt: &str| {
        json!({"type": "system", "subtype": "task_started", "session_id": "s", "uuid": uuid, "task_id": uuid, "tool_use_id": call,
            "description": "d", "task_type": "local_agent", "prompt": prompt})
    };
    let lines = [
        init(),
        json!({"type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": "s", "uuid": "a1"}),
        task("t1", "c1", "go"),
        task("t2", "c2", "go deeper"),
    ];
    let tape = convert(&lines);
    let told: Vec<&Value> = tape
        .iter()
        .filter(|event| event["name"] == "task_started")
        .map(|event| &event["text"])
        .collect();
    assert_eq!(told, ["go deeper"]);
}

#[test]
fn what_a_compaction_has_left_is_printed_again_and_a_replay() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "session_id": "s", "uuid": "b1", "compact_metadata":
        {"trigger": "manual", "pre_tokens": 7, "preserved_messages": {"anchor_uuid": "c1", "uuids": ["a1"], "all_uuids": ["a1"]}}});
    let said = |uuid, text| assistant(uuid, &json!({"type": "text", "text": text}), None);
    let tape = convert(&[init(), boundary, said("a1", "before"), said("a2", "after")]);
    let replays: Vec<_> = of_kind(&tape, "msg.out")
        .iter()
        .map(|event| (&event["text"], event["replay"] == true))
        .collect();
    assert_eq!(
        replays,
        [(&json!("before"), true), (&json!("after"), false)]
    );
}
