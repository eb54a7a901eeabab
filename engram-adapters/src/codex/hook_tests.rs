//! Hooks: their words in the place of an output, calls that they block or rewrite.

use serde_json::{Value, json};

use super::tests::{call, events, item, of_kind, output, system_events};

#[test]
fn words_of_a_hook_in_the_place_of_an_output_are_context() {
    let command = json!({"type": "CommandExecution", "id": "c1", "command": ["/bin/bash", "-lc", "echo a"], "status": "completed",
        "aggregated_output": "a\n", "exit_code": 0});
    let patch = json!({"type": "FileChange", "id": "c2", "changes": {}, "status": "completed", "stdout": "Success. Updated the following files:\nM a\n",
        "stderr": ""});
    let events = events(&[
        call("c1", "exec_command", r#"{"cmd":"echo a"}"#),
        item(command),
        output("c1", "enough, says the hook"),
        (
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2", "input": "*** Begin Patch"}),
        ),
        item(patch),
        (
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "lint fails"}),
        ),
    ]);
    let printed: Vec<&Value> = of_kind(&events, "tool.result")
        .into_iter()
        .map(|result| &result["stdout"])
        .collect();
    assert_eq!(
        printed,
        ["a\n", "Success. Updated the following files:\nM a\n"]
    );
    let words: Vec<&Value> = of_kind(&events, "meta")
        .into_iter()
        .filter(|event| event["name"] == "hook")
        .map(|event| &event["text"])
        .collect();
    assert_eq!(words, ["enough, says the hook", "lint fails"]);
}

#[test]
fn a_call_that_a_hook_blocks_is_denied_and_a_command_that_it_rewrites_is_on_the_tape() {
    let ran = json!({"type": "CommandExecution", "id": "c2", "command": ["/bin/bash", "-lc", "echo rewritten > rw.txt"], "cwd": "/p",
        "source": "unified_exec_startup", "status": "completed", "aggregated_output": "", "exit_code": 0});
    let kept = json!({"type": "CommandExecution", "id": "c3", "command": ["/bin/bash", "-lc", "ls \"a\""], "cwd": "/p", "status": "completed", "exit_code": 0});
    let blocked = "Command blocked by PreToolUse hook: HOOK no rm. Command: rm -rf docs";
    let done = "Chunk ID: b\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\n";
    let events = events(&[
        call("c1", "exec_command", r#"{"cmd": "rm -rf docs"}"#),
        output("c1", blocked),
        call("c2", "exec_command", r#"{"cmd": "echo REWRITE"}"#),
        item(ran),
        output("c2", done),
        call("c3", "exec_command", r#"{"cmd": "ls \"a\""}"#),
        item(kept),
        output("c3", done),
    ]);
    let permission = events
        .iter()
        .find(|event| event["label"] == "permission")
        .expect("a permission");
    assert_eq!(
        (
            &permission["decision"],
            &permission["call_id"],
            &permission["text"]
        ),
        (&json!("deny"), &json!("c1"), &json!(blocked))
    );
    assert_eq!(of_kind(&events, "tool.result")[0]["status"], "denied");
    assert_eq!(
        system_events(&events),
        [("command", "echo rewritten > rw.txt")]
    );
}
