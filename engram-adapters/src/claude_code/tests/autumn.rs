//! Features of autumn 2026 that few recordings have: forks, messages of other agents, other models.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{
    assistant_line, events, line, result_line, tape, unaccounted_bytes, unaccounted_values,
};

const VERSION: &str = "2.1.329";

fn prompt(number: u32, rest: Value) -> Value {
    let mut prompt = line(
        VERSION,
        number,
        "user",
        json!({"message": {"role": "user", "content": format!("prompt {number}")}}),
    );
    prompt
        .as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    prompt
}

fn answer(number: u32) -> Value {
    assistant_line(
        VERSION,
        number,
        &format!("m{number}"),
        json!([{"type": "text", "text": "done"}]),
    )
}

fn complete(lines: &[Value]) {
    assert_eq!(unaccounted_bytes(lines), 0);
    assert_eq!(unaccounted_values(lines), [""; 0]);
}

#[test]
fn lines_that_name_the_line_they_copy_are_replays() {
    let copied = json!({"forkedFrom": {"sessionId": "first", "messageUuid": "u1"}});
    let mut copied_answer = answer(2);
    copied_answer["forkedFrom"] = copied["forkedFrom"].clone();
    let lines = [
        prompt(1, copied),
        copied_answer,
        prompt(3, json!({})),
        answer(4),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let replays: Vec<bool> = tape
        .iter()
        .filter(|event| event["k"] == "msg.in" || event["label"] == "usage")
        .map(|event| event["replay"] == true)
        .collect();
    assert_eq!(replays, [true, true, false, false]);
    let fork = tape
        .iter()
        .position(|event| event["fork_of"] == "first")
        .unwrap();
    assert_eq!(tape[fork]["origin"]["line"], 3);
    complete(&lines);
}

#[test]
fn the_response_that_launched_a_fork_is_a_replay_in_the_file_of_the_fork() {
    let context = json!({"type": "fork-context-ref", "agentId": "a1", "parentSessionId": "s", "parentLastUuid": "p", "contextLength": 16});
    let call = assistant_line(
        VERSION,
        2,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "go"}}]),
    );
    let directive =
        "<fork-boilerplate>\nYou are a fork.\n</fork-boilerplate>\n\nYour directive: go";
    let content = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Fork started"}, {"type": "text", "text": directive}]);
    let result = line(
        VERSION,
        3,
        "user",
        json!({"message": {"role": "user", "content": content}}),
    );
    let mut lines = [call, result, answer(4)].map(|mut line| {
        (line["agentId"], line["isSidechain"]) = (json!("a1"), json!(true));
        line
    });
    lines[1]["parentUuid"] = json!("u2");
    let lines = [vec![context], lines.to_vec()].concat();
    let tape = tape(&lines, Policy::Strict).unwrap();
    let replays: Vec<(&Value, bool)> = tape
        .iter()
        .filter(|event| event["k"] != "meta" || event["label"] == "usage")
        .map(|event| (&event["k"], event["replay"] == true))
        .collect();
    let (call, result, usage, said) = (
        &json!("tool.call"),
        &json!("tool.result"),
        &json!("meta"),
        &json!("msg.in"),
    );
    assert_eq!(
        replays,
        [
            (call, true),
            (usage, true),
            (result, true),
            (said, false),
            (&json!("msg.out"), false),
            (usage, false)
        ]
    );
    let prompt = tape.iter().find(|event| event["k"] == "msg.in").unwrap();
    assert_eq!(
        (&prompt["by"], &prompt["text"]),
        (&json!("agent"), &json!("go"))
    );
    complete(&lines);
}

#[test]
fn the_task_of_an_agent_has_no_frame_of_the_harness() {
    let coordinated = "The coordinator sent a message while you were working:\nwrite b\n\nAddress this before completing your current task.";
    let computed = "[Workflow harness — computed task] It is no person's. The computed task text follows:\n  do one\n    and two";
    let said = |content: &str, origin: Value| {
        let mut line = prompt(
            1,
            json!({"message": {"role": "user", "content": content}, "isMeta": true, "isSidechain": true, "agentId": "a1"}),
        );
        line["origin"] = origin;
        if line["origin"].is_null() {
            ["origin", "isMeta", "promptSource", "permissionMode"]
                .iter()
                .for_each(|name| drop(line.as_object_mut().unwrap().remove(*name)));
        }
        let found = events(&[line.clone()], "msg.in");
        complete(&[line]);
        (found[0]["by"].clone(), found[0]["text"].clone())
    };
    let agent = |text: &str| (json!("agent"), json!(text));
    assert_eq!(
        said(coordinated, json!({"kind": "coordinator"})),
        agent("write b")
    );
    assert_eq!(said(computed, Value::Null), agent("do one\n  and two"));
    let unframed = "[Workflow harness is a word.\nThe computed task text follows:\nflat";
    assert_eq!(said(unframed, Value::Null), agent(unframed));
}

#[test]
fn a_message_of_another_agent_is_that_agent_s_without_the_harness_s_words() {
    let whole = "Another Claude session sent a message:\n<agent-message from=\"b\">\nhello\n</agent-message>";
    let origin =
        json!({"kind": "peer", "from": "b", "name": "b", "senderTaskId": "t", "body": "hello"});
    let lines = [prompt(
        1,
        json!({"message": {"role": "user", "content": whole}, "origin": origin, "isMeta": true}),
    )];
    let said = &events(&lines, "msg.in")[0];
    assert_eq!(
        (&said["by"], &said["text"], &said["origin"]["pointer"]),
        (&json!("agent"), &json!("hello"), &json!("/origin/body"))
    );
    assert!(
        events(&lines, "meta")
            .iter()
            .any(|event| event["name"] == "agent_message" && event["text"] == whole)
    );
    complete(&lines);
}

#[test]
fn another_model_is_a_notice_and_its_advice_a_result() {
    let fallback = json!([{"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}]);
    let asked = json!([{"type": "server_tool_use", "id": "s1", "name": "advisor", "input": {}}]);
    let advice = |content: Value| json!([{"type": "advisor_tool_result", "tool_use_id": "s1", "content": content}]);
    let lines = [
        assistant_line(VERSION, 1, "m1", fallback),
        assistant_line(VERSION, 2, "m2", asked),
        assistant_line(
            VERSION,
            3,
            "m2",
            advice(json!({"type": "advisor_result", "text": "keep it", "stop_reason": "end_turn"})),
        ),
        assistant_line(
            VERSION,
            4,
            "m3",
            advice(json!({"type": "advisor_tool_result_error", "error_code": "unavailable"})),
        ),
    ];
    let results = events(&lines, "tool.result");
    assert_eq!(
        (
            &results[0]["tool"],
            &results[0]["status"],
            &results[0]["stdout"]
        ),
        (&json!("advisor"), &json!("ok"), &json!("keep it"))
    );
    assert_eq!(
        (&results[1]["status"], &results[1]["stderr"]),
        (&json!("error"), &json!("unavailable"))
    );
    assert!(
        events(&lines, "meta")
            .iter()
            .any(|event| event["name"] == "model_fallback")
    );
    complete(&lines);
}

#[test]
fn an_advisor_has_a_usage_of_its_own_and_no_other_iteration_has() {
    let counts = |kind: &str, model: &str, input: u32| json!({"type": kind, "model": model, "input_tokens": input, "output_tokens": 1});
    let iterations = json!([
        counts("message", "m", 2),
        counts("advisor_message", "big", 30),
        counts("advisor_message", "big", 12)
    ]);
    let mut lines = [1, 2].map(|number| {
        assistant_line(
            VERSION,
            number,
            "m1",
            json!([{"type": "text", "text": format!("part {number}")}]),
        )
    });
    for line in &mut lines {
        line["message"]["usage"] =
            json!({"input_tokens": 2, "output_tokens": 1, "iterations": iterations});
    }
    let mut fallback = assistant_line(VERSION, 3, "m2", json!([{"type": "text", "text": "other"}]));
    fallback["message"]["usage"] = json!({"input_tokens": 5, "output_tokens": 1, "iterations": [counts("fallback_message", "other", 5)]});
    let lines = [lines.to_vec(), vec![prompt(4, json!({})), fallback]].concat();
    let usages = events(&lines, "meta")
        .into_iter()
        .filter(|event| event["label"] == "usage")
        .collect::<Vec<_>>();
    let facts: Vec<_> = usages
        .iter()
        .map(|usage| {
            (
                &usage["message_id"],
                &usage["model"],
                &usage["part"],
                &usage["tokens"]["input"],
            )
        })
        .collect();
    let (none, m1) = (&Value::Null, &json!("m1"));
    assert_eq!(
        facts,
        [
            (m1, &json!("m"), none, &json!(2)),
            (m1, &json!("big"), &json!("advisor"), &json!(42)),
            (&json!("m2"), &json!("m"), none, &json!(5))
        ]
    );
    assert_eq!(usages[1]["tokens"]["output"], 2);
    complete(&lines);
}

#[test]
fn lines_of_session_state_are_known() {
    let state = |kind: &str, rest: Value| {
        let mut line = json!({"type": kind, "sessionId": "s"});
        line.as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        line
    };
    let replaced = json!([{"kind": "tool-result", "toolUseId": "t1", "replacement": "a preview"}]);
    let lines = [
        prompt(
            1,
            json!({"sentAtMs": 1, "sessionKind": "bg", "queueSkipSlashCommands": true, "wakeupSource": "schedule_wakeup"}),
        ),
        state("agent-setting", json!({"agentSetting": "main"})),
        state("agent-setting", json!({"agentSetting": "main"})),
        state("agent-color", json!({"agentColor": "red"})),
        state("tag", json!({"tag": "release"})),
        state("frame-link", json!({"frameId": "f", "title": "A page"})),
        state("artifact-comment-monitor", json!({"artifacts": {}})),
        state("artifact-autoreact-ledger", json!({"artifacts": {}})),
        state("content-replacement", json!({"replacements": replaced})),
        state("continued-in", json!({"continuedInSessionId": "s2"})),
        line(
            VERSION,
            2,
            "system",
            json!({"subtype": "model_fallback", "content": "Switched", "originalModel": "a", "fallbackModel": "b"}),
        ),
        line(
            VERSION,
            3,
            "attachment",
            json!({"attachment": {"type": "output_style", "style": "lab"}}),
        ),
        line(
            VERSION,
            4,
            "attachment",
            json!({"attachment": {"type": "fork_briefing", "text": "This is a fork."}}),
        ),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    assert!(tape.iter().any(|event| event["agent"] == "main"));
    for text in [
        "release",
        "a preview",
        "s2",
        "Switched",
        "lab",
        "This is a fork.",
    ] {
        assert!(tape.iter().any(|event| event["text"] == text), "{text}");
    }
    complete(&lines);
}

#[test]
fn what_a_stop_hook_adds_is_the_harness_s_message() {
    let summary = json!({"subtype": "stop_hook_summary", "hookInfos": [], "hookErrors": [], "hookAdditionalContext": ["Two problems."], "stopReason": ""});
    let lines = [line(VERSION, 1, "system", summary)];
    let said = &events(&lines, "msg.in")[0];
    assert_eq!(
        (&said["by"], &said["text"]),
        (&json!("harness"), &json!("Two problems."))
    );
    complete(&lines);
}

#[test]
fn lines_of_an_agent_in_a_worktree_state_where_it_was() {
    let call = assistant_line(
        VERSION,
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "go"}}]),
    );
    let result = json!({"status": "completed", "agentId": "a1", "worktreePath": "/p/w", "worktreeBranch": "w"});
    let lines = [call, result_line(VERSION, 2, "t1", "done", Some(result))];
    let beside: Vec<Value> = events(&lines, "meta")
        .iter()
        .filter(|event| event["name"] == "tool_result")
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(beside, ["/p/w", "w"]);
    complete(&lines);
}

#[test]
fn a_result_that_the_harness_made_up_is_none_if_the_call_has_another() {
    let call = assistant_line(
        VERSION,
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sleep 1"}}]),
    );
    let made_up = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]";
    let mut other_process = result_line(VERSION, 2, "t1", made_up, None);
    other_process["message"]["content"][0]["is_error"] = json!(true);
    (
        other_process["toolUseResult"],
        other_process["toolDenialKind"],
    ) = (json!(made_up), json!("interrupted"));
    let result = result_line(
        VERSION,
        4,
        "t1",
        "done",
        Some(json!({"stdout": "done", "stderr": "", "interrupted": false})),
    );
    let lines = [call, other_process, answer(3), result];
    let results: Vec<Value> = events(&lines, "tool.result")
        .iter()
        .map(|result| result["status"].clone())
        .collect();
    assert_eq!(results, ["ok"]);
    let context = events(&lines, "meta")
        .into_iter()
        .find(|event| event["name"] == "call_interrupted")
        .unwrap();
    assert_eq!(context["text"], made_up);
    assert_eq!(events(&lines[..3], "tool.result")[0]["status"], "cancelled");
    complete(&lines);
}

#[test]
fn a_file_that_another_call_changed_meanwhile_is_no_change_of_the_command() {
    let call = |number, id: &str, tool: &str, input: Value| {
        assistant_line(
            VERSION,
            number,
            id,
            json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]),
        )
    };
    let file = |path: &str, line: &str| {
        let hunk =
            json!({"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": [line]});
        json!({"filePath": path, "hunks": [hunk], "created": true})
    };
    let written = json!({"type": "create", "filePath": "/p/c.txt", "content": "c\n", "structuredPatch": [], "originalFile": null});
    let diff = json!({"files": [file("/p/b.txt", "+B"), file("/p/c.txt", "+c")], "moreFiles": 0, "changedFiles": ["/p/b.txt", "/p/c.txt"]});
    let lines = [
        call(
            1,
            "t1",
            "Bash",
            json!({"command": "sleep 1; echo B > b.txt"}),
        ),
        call(
            2,
            "t2",
            "Write",
            json!({"file_path": "/p/c.txt", "content": "c\n"}),
        ),
        result_line(VERSION, 3, "t2", "created", Some(written)),
        result_line(
            VERSION,
            4,
            "t1",
            "",
            Some(json!({"stdout": "", "stderr": "", "interrupted": false, "bashEditDiff": diff})),
        ),
    ];
    let edits = |lines: &[Value]| -> Vec<(Value, Value)> {
        events(lines, "code.edit")
            .iter()
            .map(|edit| (edit["call_id"].clone(), edit["file"].clone()))
            .collect()
    };
    assert_eq!(
        edits(&lines),
        [
            (json!("t2"), json!("/p/c.txt")),
            (json!("t1"), json!("/p/b.txt"))
        ]
    );
    complete(&lines);

    // Two commands at the same time: the file belongs to the command that returned first. A command that begins later is another matter.
    let command = |number, id: &str| call(number, id, "Bash", json!({"command": "echo >> b.txt"}));
    let result = |number, id: &str| {
        let diff = json!({"files": [file("/p/b.txt", "+B")], "moreFiles": 0, "changedFiles": ["/p/b.txt"]});
        result_line(
            VERSION,
            number,
            id,
            "",
            Some(json!({"stdout": "", "stderr": "", "interrupted": false, "bashEditDiff": diff})),
        )
    };
    let lines = [
        command(1, "t1"),
        command(2, "t2"),
        result(3, "t2"),
        result(4, "t1"),
        command(5, "t3"),
        result(6, "t3"),
    ];
    assert_eq!(
        edits(&lines),
        [
            (json!("t2"), json!("/p/b.txt")),
            (json!("t3"), json!("/p/b.txt"))
        ]
    );
    complete(&lines);
}

#[test]
fn calls_whose_own_lines_are_lost_are_those_of_the_sent_messages() {
    let blob = |role: &str, block: Value| json!({"type": "api-request-blob", "sessionId": "s", "hash": "h", "message": {"role": role, "content": [block]}});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"});
    let lines = [
        prompt(1, json!({})),
        blob("assistant", call.clone()),
        blob("user", result.clone()),
        answer(2),
    ];
    let tape_of = |lines: &[Value]| -> Vec<Value> {
        [events(lines, "tool.call"), events(lines, "tool.result")].concat()
    };
    let found = tape_of(&lines);
    assert_eq!(
        (
            found.len(),
            &found[0]["args"]["command"],
            &found[1]["stdout"]
        ),
        (2, &json!("ls"), &json!("a.txt"))
    );
    assert_eq!(
        (&found[1]["tool"], &found[1]["parent"]),
        (&json!("Bash"), &found[0]["seq"])
    );
    let own = [
        assistant_line(VERSION, 2, "m1", json!([call])),
        result_line(VERSION, 3, "t1", "a.txt", None),
    ];
    let lines = [&lines[..3], &own[..]].concat();
    assert!(
        tape_of(&lines)
            .iter()
            .all(|event| event["origin"]["line"].as_u64() > Some(3))
    );
    complete(&lines);
}

#[test]
fn before_the_briefing_of_a_fork_are_copies() {
    let briefing = json!({"attachment": {"type": "fork_briefing", "text": "You are a fork."}});
    let lines = [
        prompt(1, json!({})),
        answer(2),
        line(VERSION, 3, "attachment", briefing),
        prompt(4, json!({})),
        answer(5),
    ];
    let replays: Vec<bool> = tape(&lines, Policy::Strict)
        .unwrap()
        .iter()
        .filter(|event| event["k"] == "msg.in" || event["label"] == "usage")
        .map(|event| event["replay"] == true)
        .collect();
    assert_eq!(replays, [true, true, false, false]);
}
