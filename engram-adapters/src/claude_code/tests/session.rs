//! Session facts, notices and queued prompts.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::pipeline::Options;
use serde_json::{Value, json};

use super::{events, line, unaccounted_bytes};
use crate::claude_code::ClaudeCode;

#[test]
fn names_and_directories_are_session_facts() {
    let tree = json!({"worktreePath": "/p/trees/a", "worktreeBranch": "b", "originalCwd": "/p of mine", "worktreeName": "a"});
    let lines = [
        line(
            "2.1.220",
            1,
            "user",
            json!({"message": {"role": "user", "content": "go"}}),
        ),
        json!({"type": "custom-title", "customTitle": "fold it", "sessionId": "s"}),
        json!({"type": "agent-name", "agentName": "fold it", "sessionId": "s"}),
        json!({"type": "custom-title", "customTitle": "fold it", "sessionId": "s"}),
        json!({"type": "agent-name", "agentName": "fold it", "sessionId": "s"}),
        json!({"type": "worktree-state", "worktreeSession": tree, "sessionId": "s"}),
        json!({"type": "relocated", "relocatedCwd": "/p/trees/c", "sessionId": "s"}),
        json!({"type": "bridge-session", "bridgeSessionId": "b", "sessionId": "s"}),
    ];
    let metas = events(&lines, "meta");
    let facts = |name: &str| -> Vec<Value> {
        metas
            .iter()
            .filter(|event| event["label"] == "session" && !event[name].is_null())
            .map(|event| event[name].clone())
            .collect()
    };
    assert_eq!(
        (facts("title"), facts("agent")),
        (vec![json!("fold it")], vec![json!("fold it")])
    );
    assert_eq!(facts("cwd")[1..], ["/p/trees/a", "/p/trees/c"]);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn refusal_is_an_error_with_its_reason() {
    let refusal = json!({"subtype": "model_refusal_fallback", "content": "Another model goes on.", "apiRefusalCategory": "policy",
        "apiRefusalExplanation": "It is not allowed."});
    let lines = [
        line(
            "2.1.220",
            1,
            "system",
            json!({"subtype": "informational", "content": "A hook has blocked it.", "level": "warning"}),
        ),
        line("2.1.220", 2, "system", refusal),
        line(
            "2.1.220",
            3,
            "system",
            json!({"subtype": "bridge_status", "content": "It is shown elsewhere.", "upgradeNudge": "Upgrade it now."}),
        ),
    ];
    let metas = events(&lines, "meta");
    let error = metas
        .iter()
        .find(|event| event["label"] == "error")
        .unwrap();
    assert_eq!(
        (&error["code"], &error["text"]),
        (&json!("policy"), &json!("It is not allowed."))
    );
    let notices: Vec<&str> = metas
        .iter()
        .filter(|event| event["label"] == "system")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert_eq!(
        notices,
        [
            "A hook has blocked it.",
            "Another model goes on.",
            "It is shown elsewhere."
        ]
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn queued_prompt_that_is_never_sent_is_emitted_where_it_was_typed() {
    let queued = |text: &str| json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "content": text});
    let prompt = line(
        "2.1.329",
        1,
        "user",
        json!({"message": {"role": "user", "content": "first"}}),
    );
    let lines = [queued("first"), queued("second"), prompt];
    let prompts: Vec<Value> = events(&lines, "msg.in")
        .iter()
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(prompts, ["second", "first"]);
}

#[test]
fn queued_prompt_that_is_taken_back_is_emitted_where_it_was_typed() {
    let queue = |operation: &str| json!({"type": "queue-operation", "operation": operation, "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "content": "second thoughts"});
    let lines = [
        line(
            "2.1.20",
            1,
            "user",
            json!({"message": {"role": "user", "content": "first"}}),
        ),
        queue("enqueue"),
        queue("popAll"),
    ];
    let prompts: Vec<Value> = events(&lines, "msg.in")
        .iter()
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(prompts, ["first", "second thoughts"]);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn full_buffers_emit_at_once() {
    let queued = |n: usize| {
        let time = format!("2026-01-01T00:00:00.{:03}Z", n % 1000);
        let content = format!("prompt number {n}{}", "!".repeat(5000));
        json!({"type": "queue-operation", "operation": "enqueue", "timestamp": time, "sessionId": "s", "content": content})
    };
    let running = |n: usize| {
        let data = json!({"type": "bash_progress", "fullOutput": format!("output number {n}")});
        line(
            "2.1.20",
            2 + u32::try_from(n).unwrap(),
            "progress",
            json!({"parentToolUseID": format!("t{n}"), "data": data}),
        )
    };
    let mut lines = vec![line(
        "2.1.20",
        1,
        "user",
        json!({"message": {"role": "user", "content": "go on"}}),
    )];
    lines.extend((0..1030).map(queued));
    lines.extend((0..70).map(running));
    assert_eq!(events(&lines, "msg.in").len(), 1 + 1030);
    assert_eq!(
        events(&lines, "meta")
            .iter()
            .filter(|event| event["name"] == "tool_output")
            .count(),
        70
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn notices_of_stop_hooks_and_pull_requests_are_emitted() {
    let hooks = json!({"subtype": "stop_hook_summary", "hookInfos": [{"command": "sh check.sh"}], "hookErrors": ["no such file"], "stopReason": ""});
    let link = json!({"type": "pr-link", "sessionId": "s", "prNumber": 7, "prUrl": "https://host/7", "timestamp": "2026-01-01T00:00:09.000Z"});
    let compacted = json!({"subtype": "microcompact_boundary", "content": "Context microcompacted", "microcompactMetadata": {"trigger": "auto"}});
    let lines = [
        line("2.1.37", 1, "system", hooks),
        line("2.1.22", 2, "system", compacted),
        link,
    ];
    let notes = events(&lines, "meta")
        .into_iter()
        .filter(|event| event["label"] == "system" || event["label"] == "error");
    let texts: Vec<Value> = notes.map(|event| event["text"].clone()).collect();
    let expected = [
        "",
        "sh check.sh",
        "no such file",
        "Context microcompacted",
        "https://host/7",
    ];
    assert_eq!(
        texts
            .iter()
            .map(|text| text.as_str().unwrap_or_default())
            .collect::<Vec<_>>(),
        expected
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn session_facts_of_a_line_without_events_are_emitted_at_the_next_line() {
    let lines = [
        line(
            "2.1.0",
            1,
            "system",
            json!({"subtype": "turn_duration", "durationMs": 5, "cwd": "/q"}),
        ),
        line(
            "2.1.0",
            2,
            "user",
            json!({"message": {"role": "user", "content": "hello there"}, "cwd": "/q"}),
        ),
    ];
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    let report = audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap();
    assert_eq!(report.disagreements, [] as [String; 0]);
    let facts = events(&lines, "meta")
        .into_iter()
        .find(|event| event["label"] == "session")
        .unwrap();
    assert_eq!(
        (&facts["cwd"], &facts["origin"]["line"]),
        (&json!("/q"), &json!(2))
    );
}
