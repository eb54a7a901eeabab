//! What agents send beside the protocol, as it was recorded.

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
fn a_deletion_is_proven_by_the_patch_beside_it() {
    let edit = |lines: u64| {
        let input = json!({"file_path": "/p/a", "old_string": "\tb", "new_string": ""});
        let patch = json!([{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": lines, "lines": ["  a"]}]);
        let response = json!({"filePath": "/p/a", "oldString": "\tb", "newString": "", "originalFile": "a\n\tb\nc\n",
                              "userModified": false, "replaceAll": false, "structuredPatch": patch});
        let log = log(&of_claude("Edit", "edit", input, response, "done"));
        let tape = convert(&log, Policy::Strict).unwrap();
        let edit = events(&tape, "code.edit")[0].clone();
        let of = |name: &str| edit.get(name).cloned().unwrap_or_default();
        (
            of("before_range"),
            of("after_range"),
            of("before_hash").is_null(),
        )
    };
    assert_eq!(edit(2), (json!([2, 2]), json!([2, 1]), false));
    assert_eq!(edit(3), (json!([2, 2]), json!([2, 2]), false));
    // The change that the client shows has other white space than the file.
    assert_eq!(edit(7), (Value::Null, Value::Null, true));
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

#[test]
fn what_the_model_gets_in_place_of_an_output_was_not_printed() {
    let input = json!({"command": "true"});
    let response = json!({"stdout": "", "stderr": "careful"});
    let said = "(Bash completed with no output)";
    let log = log(&of_claude("Bash", "execute", input, response, said));
    let tape = convert(&log, Policy::Permissive).unwrap();
    let result = events(&tape, "tool.result")[0];
    assert!(result.get("stdout").is_none(), "{result}");
    assert_eq!(result["stderr"], "careful");
}

#[test]
fn a_call_that_a_rule_refused_is_denied() {
    let refused = json!({"decisionReasonType": "classifier", "message": "no"});
    let call = json!({"status": "failed", "kind": "execute", "rawInput": {}, "_meta": {"claudeCode": {"toolName": "Bash", "toolResponse": refused}}});
    assert_eq!(events(&ended(call), "tool.result")[0]["status"], "denied");
}

/// The tape of a call that has ended, as an agent sends it in one line.
fn ended(more: Value) -> Vec<Value> {
    let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "status": "completed"});
    let members = call.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    convert(&log(&[update("s", call)]), Policy::Permissive).unwrap()
}

/// As claude-agent-acp 0.23.1 sends it: the title is for people.
#[test]
fn a_tool_may_be_named_beside_its_title() {
    let call = json!({"title": "Terminal", "kind": "execute", "rawInput": {}, "_meta": {"claudeCode": {"toolName": "Bash"}}});
    assert_eq!(events(&ended(call), "tool.call")[0]["tool"], "Bash");
}

/// As Kilo 7.7.9 sends it.
#[test]
fn a_command_that_was_stopped_has_no_exit_code() {
    let result = |output: &str, exit: Value| {
        let raw = json!({"output": output, "metadata": {"exit": exit, "truncated": false}});
        let tape = ended(json!({"kind": "execute", "rawInput": {}, "rawOutput": raw}));
        let result = events(&tape, "tool.result")[0];
        let contexts = events(&tape, "context").len();
        (result["status"].clone(), result["stdout"].clone(), contexts)
    };
    let behind = |said: &str| format!("begun\n\n\n<shell_metadata>\n{said}\n</shell_metadata>");
    let stopped = result(&behind("User aborted the command"), Value::Null);
    assert_eq!(stopped, ("cancelled".into(), "begun\n".into(), 1));
    let timeout = result(&behind("the time was over"), Value::Null);
    assert_eq!(timeout, ("error".into(), "begun\n".into(), 1));
    assert_eq!(
        result("(no output)", 0.into()),
        ("ok".into(), Value::Null, 1)
    );
    assert_eq!(result("a\n", 0.into()), ("ok".into(), "a\n".into(), 0));
}

/// As Kilo 7.7.9 sends it.
#[test]
fn a_read_that_was_cut_does_not_say_how_long_the_file_is() {
    let read = |behind: &str| {
        let display =
            json!({"type": "file", "text": "a\nb", "lineStart": 1, "lineEnd": 2, "totalLines": 3});
        let raw = json!({"output": format!("1: a\n2: b\n\n({behind})"), "metadata": {"truncated": true, "display": display}});
        let tape = ended(
            json!({"kind": "read", "rawInput": {}, "rawOutput": raw, "locations": [{"path": "/p/a"}]}),
        );
        let total = events(&tape, "code.read")[0].get("total_lines").cloned();
        (
            total,
            events(&tape, "tool.result")[0].get("truncated").is_some(),
        )
    };
    assert_eq!(
        read("Output capped at 50 KB. Showing lines 1-2."),
        (None, true)
    );
    assert_eq!(read("Showing lines 1-2 of 3."), (Some(3.into()), false));
}

/// As Qwen Code 0.24.4 sends it.
#[test]
fn words_of_the_program_are_no_answer() {
    let piece = |text: &str, meta: Value| {
        let content = json!({"type": "text", "text": text});
        update(
            "s",
            json!({"sessionUpdate": "agent_message_chunk", "content": content, "_meta": meta}),
        )
    };
    let of = |source: &str| json!({"source": source, "qwenDiscreteMessage": true});
    let tape = convert(
        &log(&[
            piece("an ", Value::Null),
            piece("answer", Value::Null),
            piece("done", of("background_task_completed")),
            piece("it ", of("background_notification_response")),
            piece("is", Value::Null),
        ]),
        Policy::Permissive,
    )
    .unwrap();
    let said: Vec<_> = events(&tape, "msg.out")
        .iter()
        .map(|said| said["text"].clone())
        .collect();
    assert_eq!(said, ["an answer", "it ", "is"]);
    assert!(
        events(&tape, "system")
            .iter()
            .any(|notice| notice["text"] == "done")
    );
}

/// As Qwen Code 0.24.4 sends it: an empty file has the text of one that was not there.
#[test]
fn an_empty_file_that_was_read_is_there() {
    let line = |id: &str, kind: &str, more: Value| {
        let mut line = json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": kind, "status": "completed",
                              "locations": [{"path": "/p/a"}], "rawInput": {"content": "a\n"}});
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        update("s", line)
    };
    let written = |before: Value| {
        let diff = json!({"type": "diff", "path": "/p/a", "oldText": before, "newText": "a\n"});
        line("w", "edit", json!({"content": [diff]}))
    };
    let op = |lines: &[(bool, Value)]| {
        let tape = convert(&log(lines), Policy::Permissive).unwrap();
        events(&tape, "code.edit")[0]["op"].clone()
    };
    let read = line("r", "read", json!({}));
    assert_eq!(op(&[written("".into())]), "create");
    assert_eq!(op(&[read.clone(), written("".into())]), "overwrite");
    assert_eq!(op(&[read, written(Value::Null)]), "create");
}

/// As Qwen Code 0.24.4 sends it: the tool that calls it is named first.
#[test]
fn a_tool_of_a_server_has_its_own_name() {
    let line = |kind: &str, name: &str, input: Value| {
        update(
            "s",
            json!({"sessionUpdate": kind, "toolCallId": "c", "kind": "other", "rawInput": input, "_meta": {"toolName": name}}),
        )
    };
    let lines = [
        line("tool_call", "tool_call", json!({})),
        line("tool_call_update", "mcp__files__greet", json!({"who": "w"})),
    ];
    let tape = convert(&log(&lines), Policy::Permissive).unwrap();
    let call = events(&tape, "tool.call")[0];
    assert_eq!(call["tool"], "mcp__files__greet");
    assert_eq!(
        (&call["server"], &call["kind"]),
        (&"files".into(), &"mcp".into())
    );
}

/// As Qwen Code 0.24.4 sends it.
#[test]
fn a_command_that_a_signal_ended_has_no_exit_code() {
    let mut call = json!({"kind": "execute", "rawInput": {}, "status": "failed"});
    call["rawOutput"] = json!({"type": "shell_result", "output": "begun", "exitCode": 0, "signal": 15, "error": "timed out"});
    let tape = ended(call);
    let result = events(&tape, "tool.result")[0];
    assert!(result.get("exit").is_none(), "{result}");
    let said = (&result["stdout"], &result["stderr"]);
    assert_eq!(said, (&"begun".into(), &"timed out".into()));
}

/// As Kimi Code 2.1.0 and Kilo 7.7.9 send it.
#[test]
fn a_search_and_a_directory_are_no_reads() {
    let reads = |more: Value| {
        let mut call = json!({"kind": "read", "locations": [{"path": "/p/src"}]});
        let members = call.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        events(&ended(call), "code.read").len()
    };
    assert_eq!(reads(json!({"title": "Read", "rawInput": {}})), 1);
    assert_eq!(reads(json!({"name": "Grep", "rawInput": {}})), 0);
    let display = json!({"metadata": {"display": {"type": "directory"}}});
    assert_eq!(reads(json!({"rawInput": {}, "rawOutput": display})), 0);
}

/// As Qwen Code 0.24.4 sends it.
#[test]
fn each_place_that_a_call_replaced_is_an_edit() {
    let (before, after) = ("a\nx\na\n", "b\nx\nb\n");
    let edits = |new: &str| {
        let diff = json!({"type": "diff", "path": "/p/a", "oldText": before, "newText": after});
        let tape = ended(json!({
            "kind": "edit", "locations": [{"path": "/p/a"}], "content": [diff],
            "rawInput": {"old_string": "a", "new_string": new, "replace_all": true},
            "rawOutput": {"originalContent": before, "newContent": after}
        }));
        let edits = events(&tape, "code.edit");
        let range = |edit: &&Value| edit["after_range"].clone();
        edits.iter().map(range).collect::<Vec<_>>()
    };
    assert_eq!(edits("b"), [json!([1, 1]), json!([3, 3])]);
    // The arguments do not lead to the text after.
    assert_eq!(edits("c"), [json!([1, 3])]);
}

/// As Kimi Code 2.1.0 sends it: the arguments come behind the question.
#[test]
fn the_answer_to_a_question_names_the_tool() {
    let call = |kind: &str, more: Value| {
        let mut call =
            json!({"sessionUpdate": kind, "toolCallId": "c", "title": "Bash", "kind": "execute"});
        let members = call.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        update("s", call)
    };
    let options = json!([{"optionId": "once", "kind": "allow_once", "name": "Once"}]);
    let asked = json!({"sessionId": "s", "options": options, "toolCall": {"toolCallId": "c", "title": "run it"}});
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "once"}});
    let lines = [
        call("tool_call", json!({"status": "pending"})),
        (
            false,
            json!({"id": 9, "method": "session/request_permission", "params": asked}),
        ),
        (true, json!({"id": 9, "result": chosen})),
        call("tool_call_update", json!({"rawInput": {"command": "ls"}})),
    ];
    let tape = convert(&log(&lines), Policy::Strict).unwrap();
    let tools = events(&tape, "permission");
    let tools: Vec<_> = tools.iter().map(|asked| asked["tool"].clone()).collect();
    assert_eq!(tools, ["Bash", "Bash"]);
}

/// As Copilot CLI 1.0.102 sends it.
#[test]
fn the_words_of_copilot_around_an_output_were_not_printed() {
    let result = |kind: &str, output: Value| {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "status": "completed", "kind": kind, "rawInput": {}, "rawOutput": output});
        let log = log(&[update("s", call)]).replace(r#""name":"a""#, r#""name":"Copilot""#);
        let tape = convert(&log, Policy::Permissive).unwrap();
        let result = events(&tape, "tool.result")[0].clone();
        let is_beside =
            |event: &&Value| matches!(event["name"].as_str(), Some("tool_result" | "shown"));
        let beside = tape.iter().filter(is_beside).count();
        (result["stdout"].clone(), result["exit"].clone(), beside)
    };
    let shell = json!({"content": "r\n<shellId: 4 completed with exit code 0>"});
    assert_eq!(result("execute", shell), ("r".into(), 0.into(), 1));
    let diff = "\ndiff --git a/p/a b/p/a\nindex 0000000..0000000 100644\n--- a/p/a\n+++ b/p/a\n@@ -1,0 +1,0 @@\n\n";
    let empty = json!({"content": diff, "detailedContent": diff});
    assert_eq!(result("read", empty), (Value::Null, Value::Null, 1));
}

/// As Qwen Code 0.24.4 and Kilo 7.7.9 send it.
#[test]
fn a_file_that_is_written_as_a_whole_is_overwritten() {
    let edit = |more: Value| {
        let mut call = json!({"kind": "edit", "locations": [{"path": "/p/a"}], "rawInput": {"content": "b\n"}});
        let members = call.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        let tape = ended(call);
        let edit = events(&tape, "code.edit")[0].clone();
        (
            edit["op"].clone(),
            edit["after_range"].clone(),
            edit.get("file_after_hash").is_some(),
        )
    };
    let diff = json!({"type": "diff", "path": "/p/a", "oldText": "a\n", "newText": "b\n"});
    let raw = json!({"originalContent": "a\n", "newContent": "b\n"});
    let written = edit(json!({"content": [diff], "rawOutput": raw}));
    assert_eq!(written, ("overwrite".into(), json!([1, 1]), true));
    // A formatter may change the file behind a call of Kilo.
    let shown = edit(json!({"rawOutput": {"metadata": {"exists": true}}}));
    assert_eq!(shown, ("overwrite".into(), Value::Null, false));
}
