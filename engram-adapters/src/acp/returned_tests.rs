//! What claude-agent-acp sends beside the protocol, as it was recorded.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::tests::{convert, events, log, prompt, update};

/// As claude-agent-acp 0.101.0 sends the end of a call: what the tool returned to its program, then the text for the model.
fn of_claude(
    tool: &str,
    kind: &str,
    input: Value,
    response: Value,
    output: &str,
) -> Vec<(bool, Value)> {
    let meta =
        |response: Value| json!({"claudeCode": {"toolName": tool, "toolResponse": response}});
    let path = input["file_path"].clone();
    let fenced = json!([{"type": "content", "content": {"type": "text", "text": format!("```console\n{output}\n```")}}]);
    let lines = [
        json!({"sessionUpdate": "tool_call", "name": tool, "kind": kind, "rawInput": {}, "status": "pending", "_meta": meta(Value::Null)}),
        json!({"sessionUpdate": "tool_call_update", "rawInput": input, "locations": [{"path": path}], "_meta": meta(Value::Null),
               "content": [{"type": "diff", "path": path, "oldText": "b", "newText": "c"}]}),
        json!({"sessionUpdate": "tool_call_update", "_meta": meta(response),
               "content": [{"type": "diff", "path": path, "oldText": "a\nb", "newText": "a\nc"},
                           {"type": "diff", "path": path, "oldText": "x", "newText": "y"}]}),
        json!({"sessionUpdate": "tool_call_update", "status": "completed", "rawOutput": output, "_meta": meta(Value::Null),
               "content": match kind { "execute" => fenced, _ => Value::Null }}),
    ];
    let with_id = |mut line: Value| {
        line["toolCallId"] = "c".into();
        update("s", line)
    };
    lines.into_iter().map(with_id).collect()
}

#[test]
fn what_a_tool_returned_to_its_program_has_the_whole_file() {
    let edit = |more: Value| {
        let input = json!({"file_path": "/p/a", "old_string": "b", "new_string": "c"});
        let mut response = json!({"filePath": "/p/a", "oldString": "b", "newString": "c", "originalFile": "a\nb\n",
                                  "userModified": false, "replaceAll": false});
        response
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let log = log(&of_claude("Edit", "edit", input, response, "done"));
        let tape = convert(&log, Policy::Strict).unwrap();
        let edits = events(&tape, "code.edit");
        let first = edits[0].clone();
        (
            edits.len(),
            first["op"].clone(),
            first["after_range"].clone(),
            first.get("file_after_hash").is_some(),
        )
    };
    assert_eq!(edit(json!({})), (1, "update".into(), json!([2, 2]), true));
    let written = json!({"content": "a\nc\n", "oldString": null, "newString": null});
    assert_eq!(edit(written), (1, "overwrite".into(), json!([1, 2]), true));
    // Nothing is certain of the file.
    for more in [
        json!({"userModified": true}),
        json!({"originalFile": "b b\n"}),
        json!({"newString": ""}),
    ] {
        let (edits, _, range, has_hash) = edit(more);
        assert_eq!((edits, range, has_hash), (2, Value::Null, false));
    }
}

#[test]
fn the_output_of_a_command_has_no_lines_of_markdown() {
    let input = json!({"command": "echo out"});
    let log = log(&of_claude(
        "Bash",
        "execute",
        input,
        json!({"stdout": "out"}),
        "out",
    ));
    let tape = convert(&log, Policy::Permissive).unwrap();
    assert_eq!(events(&tape, "tool.result")[0]["stdout"], "out");
}

#[test]
fn the_tokens_of_sub_agents_are_in_those_of_the_models() {
    let row = |model: &str, input: u64| {
        let counts = json!({"totalTokens": input + 350, "inputTokens": input, "cachedInputTokens": 300, "cachedWriteTokens": 0,
                            "outputTokens": 50, "reasoningOutputTokens": 0});
        json!({"model": model, "token_count": counts})
    };
    let result = json!({
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 50, "cachedReadTokens": 300, "cachedWriteTokens": 0, "totalTokens": 360},
        "_meta": {"quota": {"model_usage": [row("big", 10), row("small", 20), row("none", 0)]}}
    });
    let messages = [
        prompt(4, "s", "go"),
        (false, json!({"id": 4, "result": result})),
    ];
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let usages: Vec<_> = tape
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|usage| (usage["model"].clone(), usage["tokens"]["input"].clone()))
        .collect();
    let expected = [("big", 10), ("small", 20), ("none", 0)];
    assert_eq!(
        usages,
        expected.map(|(model, input)| (json!(model), json!(input)))
    );
}
