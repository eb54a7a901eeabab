//! Features of autumn 2026 that few recordings have: forks, messages of other agents, other models.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes, unaccounted_values};

const VERSION: &str = "2.1.329";

fn prompt(number: u32, rest: Value) -> Value {
    let mut prompt = line(VERSION, number, "user", json!({"message": {"role": "user", "content": format!("prompt {number}")}}));
    prompt.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    prompt
}

fn answer(number: u32) -> Value {
    assistant_line(VERSION, number, &format!("m{number}"), json!([{"type": "text", "text": "done"}]))
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
    let lines = [prompt(1, copied), copied_answer, prompt(3, json!({})), answer(4)];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let replays: Vec<bool> =
        tape.iter().filter(|event| event["k"] == "msg.in" || event["label"] == "usage").map(|event| event["replay"] == true).collect();
    assert_eq!(replays, [true, true, false, false]);
    let fork = tape.iter().position(|event| event["fork_of"] == "first").unwrap();
    assert_eq!(tape[fork]["origin"]["line"], 3);
    complete(&lines);
}

#[test]
fn the_response_that_launched_a_fork_is_a_replay_in_the_file_of_the_fork() {
    let context = json!({"type": "fork-context-ref", "agentId": "a1", "parentSessionId": "s", "parentLastUuid": "p", "contextLength": 16});
    let call = assistant_line(VERSION, 2, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "go"}}]));
    let directive = "<fork-boilerplate>\nYou are a fork.\n</fork-boilerplate>\n\nYour directive: go";
    let content = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Fork started"}, {"type": "text", "text": directive}]);
    let result = line(VERSION, 3, "user", json!({"message": {"role": "user", "content": content}}));
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
    let (call, result, usage, said) = (&json!("tool.call"), &json!("tool.result"), &json!("meta"), &json!("msg.in"));
    assert_eq!(replays, [(call, true), (usage, true), (result, true), (said, false), (&json!("msg.out"), false), (usage, false)]);
    let prompt = tape.iter().find(|event| event["k"] == "msg.in").unwrap();
    assert_eq!((&prompt["by"], &prompt["text"]), (&json!("agent"), &json!("go")));
    complete(&lines);
}

#[test]
fn a_message_of_another_agent_is_that_agent_s_without_the_harness_s_words() {
    let whole = "Another Claude session sent a message:\n<agent-message from=\"b\">\nhello\n</agent-message>";
    let origin = json!({"kind": "peer", "from": "b", "name": "b", "senderTaskId": "t", "body": "hello"});
    let lines = [prompt(1, json!({"message": {"role": "user", "content": whole}, "origin": origin, "isMeta": true}))];
    let said = &events(&lines, "msg.in")[0];
    assert_eq!((&said["by"], &said["text"], &said["origin"]["pointer"]), (&json!("agent"), &json!("hello"), &json!("/origin/body")));
    assert!(events(&lines, "meta").iter().any(|event| event["name"] == "agent_message" && event["text"] == whole));
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
        assistant_line(VERSION, 3, "m2", advice(json!({"type": "advisor_result", "text": "keep it", "stop_reason": "end_turn"}))),
        assistant_line(VERSION, 4, "m3", advice(json!({"type": "advisor_tool_result_error", "error_code": "unavailable"}))),
    ];
    let results = events(&lines, "tool.result");
    assert_eq!((&results[0]["tool"], &results[0]["status"], &results[0]["stdout"]), (&json!("advisor"), &json!("ok"), &json!("keep it")));
    assert_eq!((&results[1]["status"], &results[1]["stderr"]), (&json!("error"), &json!("unavailable")));
    assert!(events(&lines, "meta").iter().any(|event| event["name"] == "model_fallback"));
    complete(&lines);
}

#[test]
fn an_advisor_has_a_usage_of_its_own_and_no_other_iteration_has() {
    let counts = |kind: &str, model: &str, input: u32| json!({"type": kind, "model": model, "input_tokens": input, "output_tokens": 1});
    let iterations = json!([counts("message", "m", 2), counts("advisor_message", "big", 30), counts("advisor_message", "big", 12)]);
    let mut lines = [1, 2].map(|number| assistant_line(VERSION, number, "m1", json!([{"type": "text", "text": format!("part {number}")}])));
    for line in &mut lines {
        line["message"]["usage"] = json!({"input_tokens": 2, "output_tokens": 1, "iterations": iterations});
    }
    let mut fallback = assistant_line(VERSION, 3, "m2", json!([{"type": "text", "text": "other"}]));
    fallback["message"]["usage"] = json!({"input_tokens": 5, "output_tokens": 1, "iterations": [counts("fallback_message", "other", 5)]});
    let lines = [lines.to_vec(), vec![prompt(4, json!({})), fallback]].concat();
    let usages = events(&lines, "meta").into_iter().filter(|event| event["label"] == "usage").collect::<Vec<_>>();
    let facts: Vec<_> = usages.iter().map(|usage| (&usage["message_id"], &usage["model"], &usage["part"], &usage["tokens"]["input"])).collect();
    let (none, m1) = (&Value::Null, &json!("m1"));
    assert_eq!(
        facts,
        [(m1, &json!("m"), none, &json!(2)), (m1, &json!("big"), &json!("advisor"), &json!(42)), (&json!("m2"), &json!("m"), none, &json!(5))]
    );
    assert_eq!(usages[1]["tokens"]["output"], 2);
    complete(&lines);
}

#[test]
fn lines_of_session_state_are_known() {
    let state = |kind: &str, rest: Value| {
        let mut line = json!({"type": kind, "sessionId": "s"});
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        line
    };
    let replaced = json!([{"kind": "tool-result", "toolUseId": "t1", "replacement": "a preview"}]);
    let lines = [
        prompt(1, json!({"sentAtMs": 1, "sessionKind": "bg", "queueSkipSlashCommands": true, "wakeupSource": "schedule_wakeup"})),
        state("agent-setting", json!({"agentSetting": "main"})),
        state("agent-setting", json!({"agentSetting": "main"})),
        state("agent-color", json!({"agentColor": "red"})),
        state("tag", json!({"tag": "release"})),
        state("frame-link", json!({"frameId": "f", "title": "A page"})),
        state("artifact-comment-monitor", json!({"artifacts": {}})),
        state("artifact-autoreact-ledger", json!({"artifacts": {}})),
        state("content-replacement", json!({"replacements": replaced})),
        state("continued-in", json!({"continuedInSessionId": "s2"})),
        line(VERSION, 2, "system", json!({"subtype": "model_fallback", "content": "Switched", "originalModel": "a", "fallbackModel": "b"})),
        line(VERSION, 3, "attachment", json!({"attachment": {"type": "output_style", "style": "lab"}})),
        line(VERSION, 4, "attachment", json!({"attachment": {"type": "fork_briefing", "text": "This is a fork."}})),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    assert!(tape.iter().any(|event| event["agent"] == "main"));
    for text in ["release", "a preview", "s2", "Switched", "lab", "This is a fork."] {
        assert!(tape.iter().any(|event| event["text"] == text), "{text}");
    }
    complete(&lines);
}

#[test]
fn what_a_stop_hook_adds_is_the_harness_s_message() {
    let summary = json!({"subtype": "stop_hook_summary", "hookInfos": [], "hookErrors": [], "hookAdditionalContext": ["Two problems."], "stopReason": ""});
    let lines = [line(VERSION, 1, "system", summary)];
    let said = &events(&lines, "msg.in")[0];
    assert_eq!((&said["by"], &said["text"]), (&json!("harness"), &json!("Two problems.")));
    complete(&lines);
}

#[test]
fn lines_of_an_agent_in_a_worktree_state_where_it_was() {
    let call = assistant_line(VERSION, 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "go"}}]));
    let result = json!({"status": "completed", "agentId": "a1", "worktreePath": "/p/w", "worktreeBranch": "w"});
    let lines = [call, result_line(VERSION, 2, "t1", "done", Some(result))];
    let beside: Vec<Value> =
        events(&lines, "meta").iter().filter(|event| event["name"] == "tool_result").map(|event| event["text"].clone()).collect();
    assert_eq!(beside, ["/p/w", "w"]);
    complete(&lines);
}
