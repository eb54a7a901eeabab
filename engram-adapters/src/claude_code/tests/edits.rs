//! What was written, by the patch of an edit, by its texts, and by the list of files that a command changed.

use engram_core::hash::Hash;
use serde_json::{Value, json};

use super::{assistant_line, events, result_line};

/// The edits of a result of 2.1.329.
fn edits(tool: &str, result: &Value) -> Vec<Value> {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": tool, "input": {"file_path": "/p/a"}}]);
    events(
        &[
            assistant_line("2.1.329", 1, "m1", call),
            result_line("2.1.329", 2, "t1", "ok", Some(result.clone())),
        ],
        "code.edit",
    )
}

/// The edit of a file of which the log has this text before, or none, with one hunk.
fn edit(
    texts: (&str, &str),
    before: Option<&str>,
    (old_start, new_start): (u64, u64),
    lines: &[&str],
) -> Vec<Value> {
    let count = |sign: char| {
        lines
            .iter()
            .filter(|line| line.starts_with([sign, ' ']))
            .count()
    };
    let hunk = json!({"oldStart": old_start, "oldLines": count('-'), "newStart": new_start, "newLines": count('+'), "lines": lines});
    edits(
        "Edit",
        &json!({"filePath": "/p/a", "oldString": texts.0, "newString": texts.1, "originalFile": before, "structuredPatch": [hunk],
            "userModified": false, "replaceAll": false}),
    )
}

fn hash(text: &str) -> Value {
    Hash::of_text(text).to_string().into()
}

#[test]
fn a_read_of_a_file_that_an_edit_showed_to_have_a_mark_has_no_hash() {
    let call = |number: u32, id: &str, tool: &str| {
        let block =
            json!([{"type": "tool_use", "id": id, "name": tool, "input": {"file_path": "/p/a"}}]);
        assistant_line("2.1.329", number, id, block)
    };
    let content = |first: u64| json!({"type": "text", "file": {"filePath": "/p/a", "content": "b\nc", "startLine": first, "numLines": 2, "totalLines": 9}});
    let hunk = json!({"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-\u{feff}a", "+\u{feff}b"]});
    let edit = json!({"filePath": "/p/a", "oldString": "a", "newString": "b", "originalFile": "\u{feff}a\nc\n", "structuredPatch": [hunk],
        "userModified": false, "replaceAll": false});
    let lines = [
        call(1, "t1", "Read"),
        result_line("2.1.329", 2, "t1", "b", Some(content(1))),
        call(3, "t2", "Edit"),
        result_line("2.1.329", 4, "t2", "ok", Some(edit)),
        call(5, "t3", "Read"),
        result_line("2.1.329", 6, "t3", "b", Some(content(1))),
        call(7, "t4", "Read"),
        result_line("2.1.329", 8, "t4", "b", Some(content(2))),
    ];
    let has_hash: Vec<bool> = events(&lines, "code.read")
        .iter()
        .map(|read| !read["hash"].is_null())
        .collect();
    assert_eq!(
        has_hash,
        [true, false, true],
        "only the first line has the mark"
    );
}

#[test]
fn quotation_marks_of_the_file_are_kept_as_the_patch_shows_them() {
    let before = "# a\n\tsay “hello”\nend\n";
    let found = edit(
        ("say “hello”", "say \"bye\""),
        Some(before),
        (1, 1),
        &[" # a", "-  say “hello”", "+  say “bye”", " end"],
    );
    assert_eq!(
        (&found[0]["after_hash"], &found[0]["file_after_hash"]),
        (&hash("\tsay “bye”"), &hash("# a\n\tsay “bye”\nend\n"))
    );
}

#[test]
fn nothing_is_hashed_if_the_patch_shows_another_text_and_its_indentation_is_not_known() {
    let found = edit(("x", "  \"y\""), Some("x\n"), (1, 1), &["-x", "+    “y”"]);
    assert_eq!(
        (&found[0]["after_range"], found[0].get("after_hash")),
        (&json!([1, 1]), None)
    );
    assert_eq!(
        (
            &found[0]["file_before_hash"],
            found[0].get("file_after_hash")
        ),
        (&hash("x\n"), None)
    );
}

#[test]
fn lines_inside_the_texts_are_hashed_if_the_file_is_not_in_the_log() {
    let found = edit(
        ("a\n\told\nb", "a\n\tnew\n\tmore\nb"),
        None,
        (10, 10),
        &[" a", "-  old", "+  new", "+  more", " b"],
    );
    assert_eq!(
        (&found[0]["before_range"], &found[0]["after_range"]),
        (&json!([11, 11]), &json!([11, 12]))
    );
    assert_eq!(
        (&found[0]["before_hash"], &found[0]["after_hash"]),
        (&hash("\told"), &hash("\tnew\n\tmore"))
    );
    assert!(
        found[0].get("file_before_hash").is_none() && found[0].get("file_after_hash").is_none()
    );
}

#[test]
fn part_of_a_line_whose_indentation_is_not_known_is_a_snippet() {
    let found = edit(
        ("one", "two\nthree"),
        None,
        (7, 7),
        &["-    call(one)", "+    call(two", "+three)"],
    );
    assert_eq!(
        (&found[0]["basis"], &found[0]["after_hash"]),
        (&json!("snippet"), &hash("two\nthree")),
        "{found:?}"
    );
    assert_eq!(
        (&found[0]["before_lines"], &found[0]["after_lines"]),
        (&json!(1), &json!(2))
    );
    // A line that begins with another character is displayed as it is.
    let found = edit(("one", "two"), None, (7, 7), &["-call(one)", "+call(two)"]);
    assert_eq!(
        (&found[0]["before_hash"], &found[0]["after_hash"]),
        (&hash("call(one)"), &hash("call(two)"))
    );
}

#[test]
fn patch_that_does_not_show_the_texts_gives_only_lines() {
    let found = edit(
        ("one", "\"two\""),
        None,
        (7, 7),
        &["-    one", "+    “two”"],
    );
    assert_eq!(
        (
            found[0].get("basis"),
            found[0].get("after_hash"),
            &found[0]["after_range"]
        ),
        (None, None, &json!([7, 7]))
    );
    let found = edit(("b\n", "B\n"), Some(""), (2, 2), &[" a", "-b", "+B"]);
    assert_eq!(
        (found[0].get("file_before_hash"), &found[0]["after_hash"]),
        (None, &hash("B"))
    );
}

#[test]
fn write_over_a_big_file_is_an_edit() {
    let write = |content: &str, before: Value| {
        edits(
            "Write",
            &json!({"type": "update", "filePath": "/p/a", "content": content, "structuredPatch": [], "originalFile": before}),
        )
    };
    let found = write("new\n", Value::Null);
    assert_eq!(
        (&found[0]["op"], &found[0]["file_after_hash"]),
        (&json!("overwrite"), &hash("new\n"))
    );
    assert!(found[0].get("file_before_hash").is_none());
    assert_eq!(write("same\n", json!("same\n")), [] as [Value; 0]);
}

#[test]
fn write_with_half_a_surrogate_pair_names_the_file() {
    let call = r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/p","sessionId":"s","version":"2.1.329","type":"user","uuid":"u2","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"File created successfully at: /p/a"}]},"toolUseResult":{"type":"create","filePath":"/p/a","content":"half \ud83d\n","structuredPatch":[],"originalFile":null}}"#;
    let log = format!("{call}\n");
    let tape = engram_core::adapter::convert_str(
        &super::ClaudeCode,
        &log,
        &engram_core::pipeline::Options::default(),
    )
    .unwrap();
    let edit = tape
        .lines()
        .find(|line| line.contains("\"k\":\"code.edit\""))
        .unwrap();
    assert!(
        edit.contains("\"op\":\"create\",\"file\":\"/p/a\"") && !edit.contains("hash"),
        "{edit}"
    );
}

#[test]
fn change_of_line_ends_alone_is_an_edit() {
    let hunk = json!({"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+a\r"]});
    let found = edits(
        "Write",
        &json!({"type": "update", "filePath": "/p/a", "content": "a\r\n", "structuredPatch": [hunk], "originalFile": "a\n"}),
    );
    assert_eq!(
        (&found[0]["op"], found[0].get("after_range")),
        (&json!("overwrite"), None)
    );
    assert_eq!(found[0]["file_before_hash"], found[0]["file_after_hash"]);
}

#[test]
fn every_file_that_a_command_changed_is_an_edit() {
    let shown = json!({"filePath": "/p/a", "hunks": [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+1"]}], "created": true});
    let diff =
        json!({"files": [shown], "moreFiles": 2, "changedFiles": ["/p/a", "/p/b", "/p/big.bin"]});
    let found = edits(
        "Bash",
        &json!({"stdout": "", "stderr": "", "interrupted": false, "bashEditDiff": diff}),
    );
    let files: Vec<_> = found
        .iter()
        .map(|edit| (edit["file"].as_str().unwrap(), edit["op"].as_str().unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            ("/p/a", "create"),
            ("/p/b", "update"),
            ("/p/big.bin", "update")
        ]
    );
}

#[test]
fn files_that_the_harness_names_to_the_model_are_edits() {
    let hint = "[This command modified 2 files you've previously read: src/a.py, ../b.py. Call Read before editing.]";
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sed -i s/a/b/ src/a.py"}}]);
    let output = |diff: Value| {
        let mut output = json!({"stdout": "", "stderr": "", "interrupted": false, "staleReadFileStateHint": hint});
        if !diff.is_null() {
            output["bashEditDiff"] = diff;
        }
        let mut result = result_line("2.1.332", 2, "t1", hint, Some(output));
        result["cwd"] = json!("/p/q");
        [assistant_line("2.1.332", 1, "m1", call.clone()), result]
    };
    for diff in [
        Value::Null,
        json!({"files": [], "moreFiles": 0, "unavailable": true}),
    ] {
        let lines = output(diff);
        let files: Vec<Value> = events(&lines, "code.edit")
            .iter()
            .map(|edit| json!([edit["op"], edit["file"], edit["call_id"]]))
            .collect();
        assert_eq!(
            json!(files),
            json!([
                ["update", "/p/q/src/a.py", "t1"],
                ["update", "/p/b.py", "t1"]
            ])
        );
        assert!(events(&lines, "tool.result")[0].get("stdout").is_none());
        assert!(
            events(&lines, "meta")
                .iter()
                .any(|event| event["text"] == hint)
        );
    }
    let nothing_changed = output(json!({"files": [], "moreFiles": 0}));
    assert!(events(&nothing_changed, "code.edit").is_empty());
}

#[test]
fn silent_command_has_no_output() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "true"}}]);
    let output = json!({"stdout": "", "stderr": "", "interrupted": false});
    let lines = [
        assistant_line("2.1.329", 1, "m1", call),
        result_line(
            "2.1.329",
            2,
            "t1",
            "(Bash completed with no output)",
            Some(output),
        ),
    ];
    assert!(events(&lines, "tool.result")[0].get("stdout").is_none());
    assert!(
        events(&lines, "meta")
            .iter()
            .any(|event| event["text"] == "(Bash completed with no output)")
    );
}

#[test]
fn reminder_in_place_of_an_empty_file_is_no_output() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/p/e"}}]);
    let file =
        json!({"filePath": "/p/e", "content": "", "numLines": 1, "startLine": 1, "totalLines": 1});
    let reminder =
        "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>";
    let lines = [
        assistant_line("2.1.329", 1, "m1", call),
        result_line(
            "2.1.329",
            2,
            "t1",
            reminder,
            Some(json!({"type": "text", "file": file})),
        ),
    ];
    assert!(events(&lines, "tool.result")[0].get("stdout").is_none());
    assert!(
        events(&lines, "meta")
            .iter()
            .any(|event| event["label"] == "context" && event["text"] == reminder)
    );
}

#[test]
fn output_over_the_limit_names_its_file_and_is_emitted_in_full() {
    let call = json!([{"type": "tool_use", "id": "t1", "name": "mcp__lab__big", "input": {}}]);
    let shown = "<persisted-output>\nOutput too large (175.8KB). Full output saved to: /h/tool-results/t1.json\n\nPreview (first 2KB):\n[";
    let lines = [
        assistant_line("2.1.329", 1, "m1", call),
        result_line(
            "2.1.329",
            2,
            "t1",
            shown,
            Some(json!([{"type": "text", "text": "all of it"}])),
        ),
    ];
    let result = &events(&lines, "tool.result")[0];
    assert_eq!(
        (&result["truncated"], &result["artifact"]["path"]),
        (&json!(true), &json!("/h/tool-results/t1.json"))
    );
    // The server gave all of it, and the model got the beginning.
    assert_eq!(result["stdout"], "all of it");
    assert_eq!(contexts(&lines), [shown]);
}

/// The texts of all contexts.
fn contexts(lines: &[Value]) -> Vec<String> {
    let of = |event: &Value| event["text"].as_str().map(str::to_owned);
    let metas = events(lines, "meta");
    let contexts = metas.iter().filter(|event| event["label"] == "context");
    contexts.filter_map(of).collect()
}

#[test]
fn the_description_of_a_new_task_is_an_argument() {
    let made = json!({"subject": "Grow", "description": "fix it"});
    let call = json!([{"type": "tool_use", "id": "t1", "name": "TaskCreate", "input": made}]);
    let result = json!({"task": {"id": "1", "subject": "Grow", "description": "fix it"}});
    let lines = [
        assistant_line("2.1.332", 1, "m1", call),
        result_line(
            "2.1.332",
            2,
            "t1",
            "Task #1 created successfully: Grow",
            Some(result),
        ),
    ];
    assert_eq!(contexts(&lines), [""; 0]);
    assert_eq!(super::unaccounted_bytes(&lines), 0);
}

#[test]
fn an_edit_of_a_file_that_was_empty_is_no_creation() {
    let call = |number: u32, id: &str, tool: &str, input: Value| {
        let block = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
        assistant_line("2.1.332", number, id, block)
    };
    let file =
        json!({"filePath": "/p/a", "content": "", "numLines": 1, "startLine": 1, "totalLines": 1});
    let read = [
        call(1, "t1", "Read", json!({"file_path": "/p/a"})),
        result_line(
            "2.1.332",
            2,
            "t1",
            "",
            Some(json!({"type": "text", "file": file})),
        ),
    ];
    let command = [
        call(3, "t2", "Bash", json!({"command": "rm a"})),
        result_line(
            "2.1.332",
            4,
            "t2",
            "",
            Some(json!({"stdout": "", "stderr": ""})),
        ),
    ];
    let edit = json!({"filePath": "/p/a", "oldString": "", "newString": "x\n", "originalFile": "",
        "structuredPatch": [], "userModified": false, "replaceAll": false});
    let write = json!({"type": "create", "filePath": "/p/a", "content": "x\n", "originalFile": null, "structuredPatch": []});
    let edited = |before: &[Value], tool: &str, result: &Value| {
        let last = [
            call(5, "t3", tool, json!({"file_path": "/p/a"})),
            result_line("2.1.332", 6, "t3", "ok", Some(result.clone())),
        ];
        events(&[before, &last].concat(), "code.edit").remove(0)
    };
    for (tool, result, op) in [("Edit", &edit, "update"), ("Write", &write, "overwrite")] {
        let known = edited(&read, tool, result);
        assert_eq!(
            (&known["op"], &known["before_range"]),
            (&json!(op), &json!([1, 0]))
        );
        assert_eq!(known["file_before_hash"], hash(""));
        assert_eq!(known["file_after_hash"], hash("x\n"));
        // A command may have deleted it.
        let unknown = edited(&[&read[..], &command].concat(), tool, result);
        assert_eq!(unknown["op"], "create");
        assert_eq!(edited(&[], tool, result)["op"], "create");
    }
}
