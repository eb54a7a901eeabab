//! What no fixture shows: forms that real logs have and recordings lack, and lines of the wrong shape.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::ClaudeCode;

/// A line of a conversation of this version.
pub(super) fn line(version: &str, number: u32, kind: &str, rest: Value) -> Value {
    let mut line = json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/p", "sessionId": "s", "version": version,
        "type": kind, "uuid": format!("u{number}"), "timestamp": format!("2026-01-01T00:00:{number:02}.000Z"),
    });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line
}

pub(super) fn said(version: &str, number: u32, message: &str, blocks: Value) -> Value {
    let message = json!({"id": message, "role": "assistant", "model": "m", "content": blocks, "stop_reason": "end_turn", "usage": {"output_tokens": number}});
    line(version, number, "assistant", json!({"message": message}))
}

pub(super) fn returned(version: &str, number: u32, call: &str, content: &str, result: Option<Value>) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": call, "content": content});
    let mut rest = json!({"message": {"role": "user", "content": [block]}});
    if let Some(result) = result {
        rest["toolUseResult"] = result;
    }
    line(version, number, "user", rest)
}

pub(super) fn tape(lines: &[Value], policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(&ClaudeCode, &log, &Options { policy, ..Options::default() })?;
    Ok(tape.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Bytes of the source's texts that neither the tape nor a rule accounts for.
pub(super) fn left_over(lines: &[Value]) -> u64 {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap().left_over.bytes
}

pub(super) fn events(lines: &[Value], kind: &str) -> Vec<Value> {
    tape(lines, Policy::Strict).unwrap().into_iter().filter(|event| event["k"] == kind).collect()
}

#[test]
fn a_message_that_is_appended_again_is_a_duplicate() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let text = json!({"type": "text", "text": "looking"});
    let output = json!({"stdout": "a", "stderr": "", "interrupted": false});
    let lines = [
        said("2.0.0", 1, "m1", json!([text, call])),
        returned("2.0.0", 2, "t1", "a", Some(output)),
        said("2.0.0", 3, "m2", json!([{"type": "text", "text": "done"}])),
        said("2.0.0", 4, "m1", json!([text])),
        said("2.0.0", 5, "m1", json!([call])),
        returned("2.0.0", 6, "t1", "a", None),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let count = |kind: &str| tape.iter().filter(|event| event["k"] == kind).count();
    assert_eq!([count("msg.out"), count("tool.call"), count("tool.result")], [2, 1, 1]);
    let stop = tape.last().unwrap();
    assert_eq!(stop["ledger"]["duplicate"], 3);
    assert_eq!(tape.iter().filter(|event| event["label"] == "usage").count(), 2);
}

#[test]
fn a_message_may_say_the_same_twice() {
    let text = json!({"type": "text", "text": "again"});
    let lines = [said("2.0.0", 1, "m1", json!([text])), said("2.0.0", 2, "m1", json!([text]))];
    assert_eq!(events(&lines, "msg.out").len(), 2);
}

#[test]
fn a_late_structured_result_adds_its_edit_only() {
    let result =
        json!({"filePath": "/p/a", "oldString": "x", "newString": "y", "originalFile": "x\n", "replaceAll": false, "userModified": false});
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "x", "new_string": "y"}}]);
    let lines =
        [said("2.1.300", 1, "m1", call), returned("2.1.300", 2, "t1", "ok", None), returned("2.1.300", 3, "t1", "ok", Some(result))];
    assert_eq!(events(&lines, "tool.result").len(), 1);
    let edits = events(&lines, "code.edit");
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0]["before_range"], json!([1, 1]));
}

/// An edit of 2.1.329, as its result shows it.
fn edit(old: &str, new: &str, before: &str, extra: Value) -> Vec<Value> {
    let mut result = json!({"filePath": "/p/a", "oldString": old, "newString": new, "originalFile": before, "replaceAll": false});
    result.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a"}}]);
    events(&[said("2.1.329", 1, "m1", call), returned("2.1.329", 2, "t1", "ok", Some(result))], "code.edit")
}

#[test]
fn a_deletion_takes_its_line_end() {
    let edits = edit("b", "", "a\nb\nc\n", json!({}));
    assert_eq!((&edits[0]["before_range"], &edits[0]["after_range"]), (&json!([2, 2]), &json!([2, 1])));
    assert_eq!(edits[0]["file_after_hash"], engram_core::hash::Hash::of_text("a\nc\n").to_string());
    let kept = json!({"structuredPatch": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": []}]});
    let edits = edit("b", "", "a\nb\nc\n", kept);
    assert_eq!(edits[0]["file_after_hash"], engram_core::hash::Hash::of_text("a\n\nc\n").to_string());
    let edits = edit(" b", "", "a b c\n", json!({}));
    assert_eq!(edits[0]["file_after_hash"], engram_core::hash::Hash::of_text("a c\n").to_string());
}

#[test]
fn what_a_person_changed_in_a_proposal_is_not_hashed() {
    let edits = edit("b", "B", "a\nb\n", json!({"userModified": true}));
    assert_eq!(edits.len(), 1);
    assert!(edits[0].get("file_before_hash").is_some());
    assert!(edits[0].get("file_after_hash").is_none() && edits[0].get("after_hash").is_none());
}

#[test]
fn text_that_is_not_in_the_file_pins_nothing() {
    let edits = edit("nowhere", "B", "a\nb\n", json!({}));
    assert_eq!(edits.len(), 1);
    assert!(edits[0].get("file_after_hash").is_none() && edits[0].get("before_range").is_none());
}

#[test]
fn output_of_an_interrupted_command_is_kept() {
    let output = json!({"stdout": "half", "stderr": "", "interrupted": true});
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sleep 9"}}]);
    let results =
        events(&[said("2.1.329", 1, "m1", call), returned("2.1.329", 2, "t1", "Interrupted by user", Some(output))], "tool.result");
    assert_eq!((&results[0]["status"], &results[0]["stdout"]), (&json!("cancelled"), &json!("half")));
}

#[test]
fn a_queued_prompt_that_never_arrives_is_said_at_the_end() {
    let queued = |text: &str| json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "content": text});
    let prompt = line("2.1.329", 1, "user", json!({"message": {"role": "user", "content": "first"}}));
    let lines = [queued("first"), queued("second"), prompt];
    let prompts: Vec<Value> = events(&lines, "msg.in").iter().map(|event| event["text"].clone()).collect();
    assert_eq!(prompts, ["first", "second"]);
}

#[test]
fn a_queued_prompt_that_is_taken_back_is_kept() {
    let queue = |operation: &str| json!({"type": "queue-operation", "operation": operation, "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "content": "second thoughts"});
    let lines = [line("2.1.20", 1, "user", json!({"message": {"role": "user", "content": "first"}})), queue("enqueue"), queue("popAll")];
    let prompts: Vec<Value> = events(&lines, "msg.in").iter().map(|event| event["text"].clone()).collect();
    assert_eq!(prompts, ["first", "second thoughts"]);
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn wrong_shapes_are_malformed_and_named() {
    let block = |block: Value| said("2.1.329", 1, "m1", json!([block]));
    let cases = [
        (line("2.1.329", 1, "user", json!({"message": "hi"})), "/message"),
        (line("2.1.329", 1, "user", json!({"message": {"content": 7}})), "/message/content"),
        (line("2.1.329", 1, "assistant", json!({})), "/message/content"),
        (line("2.1.329", 1, "user", json!({"message": {"content": [{"type": "image"}]}})), "/message/content/*/source"),
        (line("2.1.329", 1, "user", json!({"isMeta": "yes", "message": {"content": "x"}})), "/isMeta"),
        (line("2.1.329", 1, "attachment", json!({})), "/attachment"),
        (block(json!({"type": "text", "text": 7})), "/message/content/*/text"),
        (block(json!({"type": "text"})), "/message/content/*/text"),
        (block(json!({"type": "tool_use", "id": "t1"})), "/message/content/*/name"),
        (block(json!("text")), "/message/content/*"),
    ];
    for (line, pointer) in cases {
        let error = tape(std::slice::from_ref(&line), Policy::Strict).unwrap_err();
        assert_eq!((error.code, error.pointer.as_deref()), (ErrorCode::MalformedRecord, Some(pointer)), "{line}");
        let kept = tape(&[line], Policy::Permissive).unwrap();
        assert_eq!(kept.last().unwrap()["ledger"]["malformed"], 1);
    }
}

#[test]
fn unknown_types_are_named() {
    let cases = [
        (line("2.1.329", 1, "hologram", json!({})), "hologram"),
        (line("2.1.329", 1, "system", json!({"subtype": "dance"})), "system/dance"),
        (line("2.1.329", 1, "attachment", json!({"attachment": {"type": "gift"}})), "attachment/gift"),
        (line("2.1.80", 1, "progress", json!({"data": {"type": "slow"}})), "progress/slow"),
        (said("2.1.329", 1, "m1", json!([{"type": "smoke"}])), "smoke"),
    ];
    for (line, name) in cases {
        let error = tape(&[line], Policy::Strict).unwrap_err();
        assert_eq!((error.code, error.found.as_deref()), (ErrorCode::UnrecognizedRecord, Some(name)));
    }
}

/// A search whose result was cut for the model, as of 2.0.76: 20,000 characters and a word about the rest.
#[test]
fn a_result_that_was_cut_for_the_model_is_whole_in_the_tape() {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x y"}}]);
    let result = json!({"mode": "content", "numFiles": 0, "filenames": [], "content": "a: x y\nb: x y", "numLines": 2});
    let lines =
        [said("2.0.76", 1, "m1", call.clone()), returned("2.0.76", 2, "t1", "a: x y\n\n... [1 lines truncated] ...", Some(result.clone()))];
    assert_eq!(events(&lines, "tool.result")[0]["stdout"], "a: x y\nb: x y");
    let beside = events(&lines, "meta").into_iter().find(|event| event["name"] == "tool_result").unwrap();
    assert_eq!(beside["text"], "a: x y\n\n... [1 lines truncated] ...");
    let lines = [said("2.0.76", 1, "m1", call), returned("2.0.76", 2, "t1", "a: x y\nb: x y\n\n[more]", Some(result))];
    assert_eq!(events(&lines, "tool.result")[0]["stdout"], "a: x y\nb: x y\n\n[more]");
}

/// Fields of results that real logs of 2.0.64 to 2.1.42 have, and recordings lack.
#[test]
fn nothing_of_a_structured_result_is_left_over() {
    let call = |name: &str| said("2.1.37", 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": name, "input": {}}]));
    let cases = [
        ("Bash", json!({"stdout": "", "stderr": "", "interrupted": false, "returnCodeInterpretation": "No matches found"})),
        ("Task", json!({"isAsync": true, "agentId": "a1", "prompt": "look around there", "outputFile": "/tmp/of some/task.output"})),
        ("WebSearch", json!({"query": "q", "results": [{"content": [{"title": "a \"quoted\" title", "url": "u"}]}, "none"]})),
        ("TodoWrite", json!({"oldTodos": [{"content": "first of all", "activeForm": "Doing this"}], "newTodos": []})),
        ("Skill", json!({"success": true, "commandName": "commit", "allowedTools": ["Bash(git add:*)"]})),
        ("TaskOutput", json!({"retrieval_status": "success", "task": {"task_id": "b1", "output": "\n1 of 2 done\n"}})),
        ("AskUserQuestion", json!({"questions": [{"question": "which one?", "options": [{"label": "the left one"}]}], "answers": {}})),
    ];
    for (tool, result) in cases {
        assert_eq!(left_over(&[call(tool), returned("2.1.37", 2, "t1", "done", Some(result))]), 0, "{tool}");
    }
    let tasks =
        json!({"message": {"role": "user", "content": "go on"}, "todos": [{"content": "first of all", "activeForm": "Doing this"}]});
    assert_eq!(left_over(&[line("2.1.14", 1, "user", tasks)]), 0);
    let repository = json!({"message": {"role": "user", "content": "go on"}, "classifierMetaLines": "{\"staged\": 0}\n"});
    assert_eq!(left_over(&[line("2.1.237", 1, "user", repository)]), 0);
}

#[test]
fn an_answer_of_a_sub_agent_that_went_to_a_file_is_whole_in_the_tape() {
    let call = said("2.1.80", 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "read it all"}}]));
    let result = json!({"status": "completed", "prompt": "read it all", "content": [{"type": "text", "text": "all of it, to the end"}]});
    let shown = "<persisted-output>\nOutput too large. Preview:\nall of\n</persisted-output>";
    let lines = [call, returned("2.1.80", 2, "t1", shown, Some(result))];
    assert!(events(&lines, "meta").iter().any(|event| event["text"] == "all of it, to the end"));
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn what_was_written_otherwise_than_asked_is_said() {
    let write = |asked: &str, written: &str| {
        let input = json!({"file_path": "/p/m.md", "content": asked});
        let result = json!({"type": "create", "filePath": "/p/m.md", "content": written, "structuredPatch": []});
        let call = said("2.1.97", 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Write", "input": input}]));
        [call, returned("2.1.97", 2, "t1", "File created successfully at: /p/m.md", Some(result))]
    };
    let lines = write("a b\n", "---\nof: s\n---\na b\n");
    assert!(events(&lines, "meta").iter().any(|event| event["name"] == "tool_result" && event["text"] == "---\nof: s\n---\na b\n"));
    assert_eq!(left_over(&lines), 0);
    assert!(events(&write("a b\n", "a b\n"), "meta").iter().all(|event| event["name"] != "tool_result"));
}

#[test]
fn more_than_can_be_held_is_said_at_once() {
    let queued = |n: usize| {
        let time = format!("2026-01-01T00:00:00.{:03}Z", n % 1000);
        let content = format!("prompt number {n}{}", "!".repeat(5000));
        json!({"type": "queue-operation", "operation": "enqueue", "timestamp": time, "sessionId": "s", "content": content})
    };
    let running = |n: usize| {
        let data = json!({"type": "bash_progress", "fullOutput": format!("output number {n}")});
        line("2.1.20", 2, "progress", json!({"parentToolUseID": format!("t{n}"), "data": data}))
    };
    let mut lines = vec![line("2.1.20", 1, "user", json!({"message": {"role": "user", "content": "go on"}}))];
    lines.extend((0..1030).map(queued));
    lines.extend((0..70).map(running));
    assert_eq!(events(&lines, "msg.in").len(), 1 + 1030);
    assert_eq!(events(&lines, "meta").iter().filter(|event| event["name"] == "tool_output").count(), 70);
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn what_the_harness_notes_when_it_stops_is_said() {
    let hooks = json!({"subtype": "stop_hook_summary", "hookInfos": [{"command": "sh check.sh"}], "hookErrors": ["no such file"], "stopReason": ""});
    let link =
        json!({"type": "pr-link", "sessionId": "s", "prNumber": 7, "prUrl": "https://host/7", "timestamp": "2026-01-01T00:00:09.000Z"});
    let compacted =
        json!({"subtype": "microcompact_boundary", "content": "Context microcompacted", "microcompactMetadata": {"trigger": "auto"}});
    let lines = [line("2.1.37", 1, "system", hooks), line("2.1.22", 2, "system", compacted), link];
    let notes = events(&lines, "meta").into_iter().filter(|event| event["label"] == "system" || event["label"] == "error");
    let texts: Vec<Value> = notes.map(|event| event["text"].clone()).collect();
    let expected = ["", "sh check.sh", "no such file", "Context microcompacted", "https://host/7"];
    assert_eq!(texts.iter().map(|text| text.as_str().unwrap_or_default()).collect::<Vec<_>>(), expected);
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn a_result_says_what_its_call_asked_where_the_log_does_not_hold_the_call() {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "b = 1", "new_string": "b = 2"}}]);
    let edited = json!({"filePath": "/p/a", "oldString": "b = 1", "newString": "b = 2", "originalFile": "b = 1\n", "structuredPatch": []});
    let todos = json!({"oldTodos": [], "newTodos": [{"content": "go on", "status": "pending", "activeForm": "going on"}]});
    let lines =
        [said("2.1.0", 1, "m1", call), returned("2.1.0", 2, "t1", "done", Some(edited)), returned("2.1.0", 3, "t2", "noted", Some(todos))];
    let beside = |lines: &[Value]| -> Vec<Value> {
        events(lines, "meta")
            .into_iter()
            .filter(|event| event["name"] == "tool_result")
            .map(|event| event["origin"]["pointer"].clone())
            .collect()
    };
    assert_eq!(beside(&lines[..2]), [] as [Value; 0]);
    let pointers = ["/toolUseResult/oldString", "/toolUseResult/newString", "/toolUseResult/newTodos"];
    assert_eq!(beside(&lines[1..]), pointers);
    assert_eq!(left_over(&lines[1..]), 0);
    // More than may wait for calls.
    let large = |n: u32| {
        let written =
            json!({"type": "create", "filePath": "/p/b", "content": format!("{n} {}", "x".repeat(1 << 20)), "structuredPatch": []});
        returned("2.1.0", 4 + n, &format!("w{n}"), "File created successfully at: /p/b", Some(written))
    };
    let lines: Vec<Value> = (0..6).map(large).collect();
    assert_eq!(beside(&lines), ["/toolUseResult/content"; 6]);
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn what_a_line_without_events_states_of_the_session_is_said_at_the_next() {
    let lines = [
        line("2.1.0", 1, "system", json!({"subtype": "turn_duration", "durationMs": 5, "cwd": "/q"})),
        line("2.1.0", 2, "user", json!({"message": {"role": "user", "content": "hello there"}, "cwd": "/q"})),
    ];
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    let report = audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap();
    assert_eq!(report.disagreements, [] as [String; 0]);
    let facts = events(&lines, "meta").into_iter().find(|event| event["label"] == "session").unwrap();
    assert_eq!((&facts["cwd"], &facts["origin"]["line"]), (&json!("/q"), &json!(2)));
}

#[test]
fn a_repeated_message_that_states_a_new_place_is_no_duplicate() {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -l"}}]);
    let again = |cwd: &str| -> Vec<Value> {
        let mut repeated = said("2.0.0", 3, "m1", call.clone());
        repeated["cwd"] = json!(cwd);
        vec![said("2.0.0", 1, "m1", call.clone()), returned("2.0.0", 2, "t1", "a", None), repeated]
    };
    for (cwd, duplicates) in [("/p", 1), ("/q", 0)] {
        let log: String = again(cwd).iter().map(|line| format!("{line}\n")).collect();
        let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
        let stop: Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
        assert_eq!(stop["ledger"]["duplicate"], duplicates, "{stop}");
        assert!(audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap().holds());
    }
}

#[test]
fn what_is_said_late_stands_at_its_own_record_of_several_on_a_line() {
    let count = |number| {
        json!({"id": format!("m{number}"), "role": "assistant", "model": "m", "content": [{"type": "text", "text": "so far"}],
        "stop_reason": null, "usage": {"output_tokens": number}})
    };
    let first = line("2.0.0", 1, "user", json!({"message": {"role": "user", "content": "go on"}}));
    let log = [line("2.0.0", 2, "assistant", json!({"message": count(2)})), line("2.0.0", 3, "assistant", json!({"message": count(3)}))];
    let log = format!("{first}{}{}\n", log[0], log[1]);
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    let usages = tape.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|event| event["label"] == "usage");
    assert_eq!(usages.map(|event| event["origin"]["part"].clone()).collect::<Vec<_>>(), [1, 2]);
    assert!(audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap().holds());
}

#[test]
fn an_error_says_its_details_and_a_loop_that_it_goes_on() {
    let error =
        json!({"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "The prompt is too long."}]});
    let details = "400 {\"message\":\"2 tokens > 1 maximum\"}";
    let lines = [
        line(
            "2.1.111",
            1,
            "assistant",
            json!({"message": error, "isApiErrorMessage": true, "error": "invalid_request", "errorDetails": details}),
        ),
        line("2.1.221", 2, "system", json!({"subtype": "scheduled_task_fire", "content": "The loop goes on."})),
    ];
    let said = events(&lines, "meta");
    let system: Vec<_> = said.iter().filter(|event| event["label"] == "system").map(|event| (&event["name"], &event["text"])).collect();
    assert_eq!(system, [(&json!("error_details"), &json!(details)), (&json!("scheduled_task_fire"), &json!("The loop goes on."))]);
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn a_stream_that_was_taken_for_a_message_is_malformed() {
    let mut message: serde_json::Map<String, Value> =
        "data: so".chars().enumerate().map(|(at, said)| (at.to_string(), json!(said.to_string()))).collect();
    message.insert("content".to_owned(), json!([]));
    let lines = [line("2.1.81", 1, "assistant", json!({"message": message}))];
    let error = tape(&lines, Policy::Strict).unwrap_err();
    assert_eq!((error.code, error.pointer.as_deref()), (ErrorCode::MalformedRecord, Some("/message")));
    assert_eq!(left_over(&lines), 0);
}

#[test]
fn what_the_harness_says_in_a_person_s_place_is_its_own() {
    let texts = [
        ("<ide_opened_file>A file is open.</ide_opened_file>", true),
        ("<ide_selection>Two lines are chosen.</ide_selection>", true),
        ("<bash-notification>It has ended.</bash-notification>", true),
        ("Unknown skill: fold", true),
        ("Operation stopped by hook: not now", true),
        ("<command-name>/fold</command-name>", false),
        ("fold it", false),
    ];
    let blocks: Vec<Value> = texts.iter().map(|(text, _)| json!({"type": "text", "text": text})).collect();
    let lines = [line("2.1.92", 1, "user", json!({"message": {"role": "user", "content": blocks}}))];
    let said: Vec<bool> = events(&lines, "msg.in").iter().map(|said| said["synthetic"] == true).collect();
    assert_eq!(said, texts.map(|(_, synthetic)| synthetic));
}

#[test]
fn what_was_replaced_otherwise_than_asked_is_said() {
    let edit = |asked: &str, replaced: &str| {
        let input = json!({"file_path": "/p/a", "old_string": asked, "new_string": "say \"no\" now"});
        let call = said("2.0.76", 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": input}]));
        let result = json!({"filePath": "/p/a", "oldString": replaced, "newString": "say \"no\" now", "originalFile": format!("{replaced}\n"),
            "structuredPatch": [], "userModified": false, "replaceAll": false});
        [call, returned("2.0.76", 2, "t1", "It is done.", Some(result))]
    };
    let beside = |lines: &[Value]| {
        let notices = events(lines, "meta").into_iter().filter(|event| event["name"] == "tool_result");
        notices.map(|event| event["text"].clone()).collect::<Vec<_>>()
    };
    let (same, other) = (edit("say \"yes\" now", "say \"yes\" now"), edit("say \"yes\" now", "say \u{201c}yes\u{201d} now"));
    assert_eq!((beside(&same), beside(&other)), (vec![], vec![json!("say \u{201c}yes\u{201d} now")]));
    assert_eq!((left_over(&same), left_over(&other)), (0, 0));
}

#[test]
fn result_that_the_harness_truncated_is_marked() {
    let truncated = |result: Value| {
        let call = said("2.1.80", 1, "m1", json!([{"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "*"}}]));
        events(&[call, returned("2.1.80", 2, "t1", "a", Some(result))], "tool.result")[0]["truncated"].clone()
    };
    assert_eq!(truncated(json!({"filenames": ["a"], "numFiles": 1, "truncated": true})), true);
    assert_eq!(truncated(json!({"stdout": "a", "persistedOutputPath": "/tmp/all.txt", "persistedOutputSize": 9})), true);
    assert_eq!(truncated(json!({"filenames": ["a"], "numFiles": 1, "truncated": false})), Value::Null);
}

#[test]
fn late_usage_of_one_session_does_not_change_the_session_of_later_events() {
    let answer = |number: u32, message: &str, session: &str| {
        let message = json!({"id": message, "role": "assistant", "model": "m", "content": [{"type": "text", "text": session}],
            "usage": {"output_tokens": number}});
        line("2.0.0", number, "assistant", json!({"message": message, "sessionId": session}))
    };
    let prompt = line("2.0.0", 2, "user", json!({"message": {"role": "user", "content": "s2"}, "sessionId": "s2"}));
    let lines = [answer(1, "m1", "s1"), prompt, answer(3, "m2", "s2")];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let usages: Vec<&Value> = tape.iter().filter(|event| event["label"] == "usage").map(|event| &event["source"]["session_id"]).collect();
    assert_eq!(usages, ["s1", "s2"]);
    let messages: Vec<&Value> = tape.iter().filter(|event| event["k"] == "msg.out" || event["k"] == "msg.in").collect();
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| message["source"]["session_id"] == message["text"]), "{messages:?}");
}

/// Each prompt takes more than half of the memory for waiting prompts. So none waits, unless the one before has freed its memory.
#[test]
fn queued_prompt_frees_its_memory_when_it_arrives() {
    let lines: Vec<Value> = (0..3_u32)
        .flat_map(|number| {
            let text = format!("{number}{}", "!".repeat(3 << 20));
            let queued = json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:00.000Z",
                "sessionId": "s", "content": text});
            [queued, line("2.1.329", number, "user", json!({"message": {"role": "user", "content": text}}))]
        })
        .collect();
    assert_eq!(events(&lines, "msg.in").len(), 3, "each prompt is emitted once, when it arrives");
}

/// Synthetic input: the lines of a fixture, of which the second half names a version of the next revision.
#[test]
fn version_change_inside_one_file_is_a_revision_event() {
    let fixture = "../fixtures/claude-code/2.1.10/c_subagent/session/.claude/projects/-home-dev-proj/\
        838fee26-2737-406c-b2ed-a0e4f1f2a1a0/subagents/agent-a2aae1b.jsonl";
    let log = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture)).unwrap();
    let original: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let middle = original.len() / 2;
    let mut changed = original.clone();
    changed[middle..].iter_mut().for_each(|line| line["version"] = json!("2.1.20"));

    let (original, changed) = (tape(&original, Policy::Strict).unwrap(), tape(&changed, Policy::Strict).unwrap());
    let revisions: Vec<&Value> = changed.iter().filter(|event| event["label"] == "revision").collect();
    assert_eq!(revisions.len(), 1);
    let revision = revisions[0];
    assert_eq!(revision["harness"], json!({"family": "claude-code", "version": "2.1.20", "schema": "bare-agent-results"}));
    assert_eq!((&revision["support"], &revision["origin"]["line"]), (&json!("tested"), &json!(middle + 1)));

    let facts = |tape: &[Value]| -> Vec<Value> {
        let events = tape.iter().filter(|event| event["label"] != "revision" && event["label"] != "tape.stop");
        let without_numbers = |event: &Value| {
            let mut event = event.clone();
            event.as_object_mut().unwrap().retain(|key, _| key != "seq" && key != "parent");
            event
        };
        events.map(without_numbers).collect()
    };
    assert_eq!(facts(&changed), facts(&original));
}
