//! Tool results: output, edits, and fields that only some versions write.

use engram_core::error::ErrorCode;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes};

#[test]
fn structured_form_of_an_emitted_result_adds_only_its_edit() {
    let result = json!({"filePath": "/p/a", "oldString": "x", "newString": "y", "originalFile": "x\n", "replaceAll": false, "userModified": false});
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "x", "new_string": "y"}}]);
    let lines = [
        assistant_line("2.1.300", 1, "m1", call),
        result_line("2.1.300", 2, "t1", "ok", None),
        result_line("2.1.300", 3, "t1", "ok", Some(result)),
    ];
    assert_eq!(events(&lines, "tool.result").len(), 1);
    let edits = events(&lines, "code.edit");
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0]["before_range"], json!([1, 1]));
}

/// The edits of a result of 2.1.329.
fn edit(old: &str, new: &str, before: &str, extra: Value) -> Vec<Value> {
    let mut result = json!({"filePath": "/p/a", "oldString": old, "newString": new, "originalFile": before, "replaceAll": false});
    result
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a"}}]);
    events(
        &[
            assistant_line("2.1.329", 1, "m1", call),
            result_line("2.1.329", 2, "t1", "ok", Some(result)),
        ],
        "code.edit",
    )
}

#[test]
fn deletion_removes_the_line_end_after_it() {
    let edits = edit("b", "", "a\nb\nc\n", json!({}));
    assert_eq!(
        (&edits[0]["before_range"], &edits[0]["after_range"]),
        (&json!([2, 2]), &json!([2, 1]))
    );
    assert_eq!(
        edits[0]["file_after_hash"],
        engram_core::hash::Hash::of_text("a\nc\n").to_string()
    );
    let kept = json!({"structuredPatch": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": []}]});
    let edits = edit("b", "", "a\nb\nc\n", kept);
    assert_eq!(
        edits[0]["file_after_hash"],
        engram_core::hash::Hash::of_text("a\n\nc\n").to_string()
    );
    let edits = edit(" b", "", "a b c\n", json!({}));
    assert_eq!(
        edits[0]["file_after_hash"],
        engram_core::hash::Hash::of_text("a c\n").to_string()
    );
}

/// As 2.1.332 writes an edit that a person changed: the result has the person's text, and its patch agrees.
#[test]
fn edit_changed_by_a_person_is_the_one_of_the_result() {
    let shown = |after: &str| json!([{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", format!("+{after}")]}]);
    let changed = |patch| json!({"userModified": true, "structuredPatch": patch});
    let edits = edit("b", "person", "a\nb\n", changed(shown("person")));
    assert_eq!(edits.len(), 1);
    assert_eq!(
        edits[0]["file_after_hash"],
        engram_core::hash::Hash::of_text("a\nperson\n").to_string()
    );
    assert_eq!(
        edits[0]["after_hash"],
        engram_core::hash::Hash::of_text("person").to_string()
    );
    // A patch of two lines, and a text of one: what was written is not known.
    let other = json!([{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 3, "lines": [" a", "-b", "+x", "+y"]}]);
    let edits = edit("b", "person", "a\nb\n", changed(other));
    assert!(edits[0].get("file_after_hash").is_none() && edits[0].get("after_hash").is_none());
}

#[test]
fn edit_of_text_that_is_not_in_the_file_has_no_range() {
    let edits = edit("nowhere", "B", "a\nb\n", json!({}));
    assert_eq!(edits.len(), 1);
    assert!(edits[0].get("file_after_hash").is_none() && edits[0].get("before_range").is_none());
}

#[test]
fn interrupted_command_keeps_its_output() {
    let output = json!({"stdout": "half", "stderr": "", "interrupted": true});
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sleep 9"}}]);
    let results = events(
        &[
            assistant_line("2.1.329", 1, "m1", call),
            result_line("2.1.329", 2, "t1", "Interrupted by user", Some(output)),
        ],
        "tool.result",
    );
    assert_eq!(
        (&results[0]["status"], &results[0]["stdout"]),
        (&json!("cancelled"), &json!("half"))
    );
}

/// A search with a result that was shortened for the model, as in 2.0.76: 20,000 characters and a note about the rest.
#[test]
fn shortened_result_has_its_full_output_as_stdout() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x y"}}]);
    let result = json!({"mode": "content", "numFiles": 0, "filenames": [], "content": "a: x y\nb: x y", "numLines": 2});
    let lines = [
        assistant_line("2.0.76", 1, "m1", call.clone()),
        result_line(
            "2.0.76",
            2,
            "t1",
            "a: x y\n\n... [1 lines truncated] ...",
            Some(result.clone()),
        ),
    ];
    assert_eq!(events(&lines, "tool.result")[0]["stdout"], "a: x y\nb: x y");
    let beside = events(&lines, "meta")
        .into_iter()
        .find(|event| event["name"] == "tool_result")
        .unwrap();
    assert_eq!(beside["text"], "a: x y\n\n... [1 lines truncated] ...");
    let lines = [
        assistant_line("2.0.76", 1, "m1", call),
        result_line("2.0.76", 2, "t1", "a: x y\nb: x y\n\n[more]", Some(result)),
    ];
    assert_eq!(
        events(&lines, "tool.result")[0]["stdout"],
        "a: x y\nb: x y\n\n[more]"
    );
}

/// Fields of results that real logs of 2.0.64 to 2.1.42 have, but no recording.
#[test]
fn every_text_of_a_structured_result_is_accounted_for() {
    let call = |name: &str| {
        assistant_line(
            "2.1.37",
            1,
            "m1",
            json!([{"type": "tool_use", "id": "t1", "name": name, "input": {}}]),
        )
    };
    let cases = [
        (
            "Bash",
            json!({"stdout": "", "stderr": "", "interrupted": false, "returnCodeInterpretation": "No matches found"}),
        ),
        (
            "Task",
            json!({"isAsync": true, "agentId": "a1", "prompt": "look around there", "outputFile": "/tmp/of some/task.output"}),
        ),
        (
            "WebSearch",
            json!({"query": "q", "results": [{"content": [{"title": "a \"quoted\" title", "url": "u"}]}, "none"]}),
        ),
        (
            "TodoWrite",
            json!({"oldTodos": [{"content": "first of all", "activeForm": "Doing this"}], "newTodos": []}),
        ),
        (
            "Skill",
            json!({"success": true, "commandName": "commit", "allowedTools": ["Bash(git add:*)"]}),
        ),
        (
            "TaskOutput",
            json!({"retrieval_status": "success", "task": {"task_id": "b1", "output": "\n1 of 2 done\n"}}),
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "which one?", "options": [{"label": "the left one"}]}], "answers": {}}),
        ),
    ];
    for (tool, result) in cases {
        assert_eq!(
            unaccounted_bytes(&[
                call(tool),
                result_line("2.1.37", 2, "t1", "done", Some(result))
            ]),
            0,
            "{tool}"
        );
    }
    let tasks = json!({"message": {"role": "user", "content": "go on"}, "todos": [{"content": "first of all", "activeForm": "Doing this"}]});
    assert_eq!(unaccounted_bytes(&[line("2.1.14", 1, "user", tasks)]), 0);
    let repository = json!({"message": {"role": "user", "content": "go on"}, "classifierMetaLines": "{\"staged\": 0}\n"});
    assert_eq!(
        unaccounted_bytes(&[line("2.1.237", 1, "user", repository)]),
        0
    );
}

#[test]
fn answer_of_a_sub_agent_in_a_file_is_emitted_in_full() {
    let call = assistant_line(
        "2.1.80",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "read it all"}}]),
    );
    let result = json!({"status": "completed", "prompt": "read it all", "content": [{"type": "text", "text": "all of it, to the end"}]});
    let shown = "<persisted-output>\nOutput too large. Preview:\nall of\n</persisted-output>";
    let lines = [call, result_line("2.1.80", 2, "t1", shown, Some(result))];
    let result = &events(&lines, "tool.result")[0];
    assert_eq!(result["stdout"], "all of it, to the end");
    assert!(
        events(&lines, "meta")
            .iter()
            .any(|event| event["text"] == shown)
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn written_text_that_differs_from_the_argument_is_emitted() {
    let write = |argument: &str, written: &str| {
        let input = json!({"file_path": "/p/m.md", "content": argument});
        let result = json!({"type": "create", "filePath": "/p/m.md", "content": written, "structuredPatch": []});
        let call = assistant_line(
            "2.1.97",
            1,
            "m1",
            json!([{"type": "tool_use", "id": "t1", "name": "Write", "input": input}]),
        );
        [
            call,
            result_line(
                "2.1.97",
                2,
                "t1",
                "File created successfully at: /p/m.md",
                Some(result),
            ),
        ]
    };
    let lines = write("a b\n", "---\nof: s\n---\na b\n");
    assert!(
        events(&lines, "meta").iter().any(
            |event| event["name"] == "tool_result" && event["text"] == "---\nof: s\n---\na b\n"
        )
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
    assert!(
        events(&write("a b\n", "a b\n"), "meta")
            .iter()
            .all(|event| event["name"] != "tool_result")
    );
}

#[test]
fn echoed_arguments_are_emitted_if_the_call_is_missing() {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "b = 1", "new_string": "b = 2"}}]);
    let edited = json!({"filePath": "/p/a", "oldString": "b = 1", "newString": "b = 2", "originalFile": "b = 1\n", "structuredPatch": []});
    let todos = json!({"oldTodos": [], "newTodos": [{"content": "go on", "status": "pending", "activeForm": "going on"}]});
    let lines = [
        assistant_line("2.1.0", 1, "m1", call),
        result_line("2.1.0", 2, "t1", "done", Some(edited)),
        result_line("2.1.0", 3, "t2", "noted", Some(todos)),
    ];
    let beside = |lines: &[Value]| -> Vec<Value> {
        events(lines, "meta")
            .into_iter()
            .filter(|event| event["name"] == "tool_result")
            .map(|event| event["origin"]["pointer"].clone())
            .collect()
    };
    assert_eq!(beside(&lines[..2]), [] as [Value; 0]);
    let pointers = [
        "/toolUseResult/oldString",
        "/toolUseResult/newString",
        "/toolUseResult/newTodos",
    ];
    assert_eq!(beside(&lines[1..]), pointers);
    assert_eq!(unaccounted_bytes(&lines[1..]), 0);
    // More than fits the buffer.
    let large = |n: u32| {
        let written = json!({"type": "create", "filePath": "/p/b", "content": format!("{n} {}", "x".repeat(1 << 20)), "structuredPatch": []});
        result_line(
            "2.1.0",
            4 + n,
            &format!("w{n}"),
            "File created successfully at: /p/b",
            Some(written),
        )
    };
    let lines: Vec<Value> = (0..6).map(large).collect();
    assert_eq!(beside(&lines), ["/toolUseResult/content"; 6]);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn replaced_text_that_differs_from_the_argument_is_emitted() {
    let edit = |argument: &str, replaced: &str| {
        let input =
            json!({"file_path": "/p/a", "old_string": argument, "new_string": "say \"no\" now"});
        let call = assistant_line(
            "2.0.76",
            1,
            "m1",
            json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": input}]),
        );
        let result = json!({"filePath": "/p/a", "oldString": replaced, "newString": "say \"no\" now", "originalFile": format!("{replaced}\n"),
            "structuredPatch": [], "userModified": false, "replaceAll": false});
        [
            call,
            result_line("2.0.76", 2, "t1", "It is done.", Some(result)),
        ]
    };
    let beside = |lines: &[Value]| {
        let notices = events(lines, "meta")
            .into_iter()
            .filter(|event| event["name"] == "tool_result");
        notices
            .map(|event| event["text"].clone())
            .collect::<Vec<_>>()
    };
    let (same, other) = (
        edit("say \"yes\" now", "say \"yes\" now"),
        edit("say \"yes\" now", "say \u{201c}yes\u{201d} now"),
    );
    assert_eq!(
        (beside(&same), beside(&other)),
        (vec![], vec![json!("say \u{201c}yes\u{201d} now")])
    );
    assert_eq!(
        (unaccounted_bytes(&same), unaccounted_bytes(&other)),
        (0, 0)
    );
}

#[test]
fn line_numbers_that_cannot_be_make_the_record_malformed() {
    for start in [json!(0), json!(-1), json!(u64::MAX), json!(1e30)] {
        let call =
            json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sed"}}]);
        let hunk = json!({"oldStart": start, "oldLines": 1, "newStart": start, "newLines": 1, "lines": ["-b", "+c"]});
        let result = json!({"stdout": "", "stderr": "", "bashEditDiff": {"files": [{"filePath": "/p/a", "hunks": [hunk]}]}});
        let lines = [
            assistant_line("2.1.329", 1, "m1", call),
            result_line("2.1.329", 2, "t1", "ok", Some(result)),
        ];
        let error = tape(&lines, Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.line),
            (ErrorCode::MalformedRecord, Some(2)),
            "{start}"
        );
        let unrecognized = tape(&lines, Policy::Permissive)
            .unwrap()
            .iter()
            .filter(|event| event["label"] == "unrecognized")
            .count();
        assert_eq!(unrecognized, 1, "{start}");
    }
}

/// As 2.1.332 writes it: the report of a sub-agent in the harness's words.
#[test]
fn words_of_a_sub_agent_are_its_output() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "count"}}]);
    let framed = "[Subagent hand-back] The report follows:\n  Two.\n    And three.\nagentId: a6";
    let report = json!({"status": "completed", "agentId": "a6", "content": [{"type": "text", "text": "Two.\n  And three."}]});
    let lines = [
        assistant_line("2.1.332", 1, "m1", call),
        result_line("2.1.332", 2, "t1", framed, Some(report)),
    ];
    let results = events(&lines, "tool.result");
    assert_eq!(results[0]["stdout"], "Two.\n  And three.");
    // A tool of a server gave nothing.
    let call = json!([{"type": "tool_use", "id": "t1", "name": "mcp__team__nothing", "input": {}}]);
    let silent = "(mcp__team__nothing completed with no output)";
    let nothing = [
        assistant_line("2.1.332", 1, "m1", call),
        result_line("2.1.332", 2, "t1", silent, Some(json!([]))),
    ];
    assert!(events(&nothing, "tool.result")[0].get("stdout").is_none());
    let given = events(&lines, "meta");
    assert!(
        given
            .iter()
            .any(|event| event["label"] == "context" && event["text"] == framed)
    );
}
