//! Edits of patches whose list or text does not state all: a CR that stands alone, files that are changed twice, patches in an odd form.

use engram_core::adapter::convert_str;
use engram_core::error::ErrorCode;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;
use super::tests::{call, event, events, events_of, of_kind, output, session_with};

fn patch(id: &str, text: &str) -> (&'static str, Value) {
    let input = format!("*** Begin Patch\n{text}\n*** End Patch\n");
    (
        "response_item",
        json!({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch", "input": input}),
    )
}

fn success(list: &str) -> String {
    format!("Success. Updated the following files:\n{list}\n")
}

/// The end of a patch, with the changes that it lists and the files that it prints.
fn end(id: &str, list: &str, changes: Value) -> (&'static str, Value) {
    event(
        json!({"type": "patch_apply_end", "call_id": id, "turn_id": "t", "stdout": success(list), "stderr": "", "success": true,
        "changes": changes, "status": "completed"}),
    )
}

fn update(path: &str, diff: &str) -> Value {
    json!({path: {"type": "update", "unified_diff": diff, "move_path": null}})
}

fn applied(id: &str, text: &str, list: &str, changes: Value) -> [(&'static str, Value); 2] {
    [patch(id, text), end(id, list, changes)]
}

/// A patch of a version that lists no changes.
fn unlisted(id: &str, input: &str, list: &str) -> [(&'static str, Value); 2] {
    let call = json!({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch", "input": input});
    let output = format!(
        "{{\"output\":{},\"metadata\":{{\"exit_code\":0,\"duration_seconds\":0.0}}}}",
        json!(success(list))
    );
    [
        ("response_item", call),
        (
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": id, "output": output}),
        ),
    ]
}

/// Operation, file and ranges of each edit and link.
fn edits(events: &[Value]) -> Vec<String> {
    let range = |edit: &Value, side: &str| {
        let range = &edit[format!("{side}_range")];
        if range.is_null() && edit[format!("{side}_hash")].is_string() {
            format!("{} lines", edit[format!("{side}_lines")])
        } else {
            range.to_string()
        }
    };
    let edit = |event: &&Value| match event["k"].as_str() {
        Some("code.edit") => {
            let name = format!("{} {}", event["op"].as_str()?, event["file"].as_str()?);
            Some(
                format!(
                    "{name} {} {}",
                    range(event, "before"),
                    range(event, "after")
                )
                .replace(" null null", ""),
            )
        }
        Some("span.link") => Some(format!(
            "link {} {}",
            event["from_file"].as_str()?,
            event["to_file"].as_str()?
        )),
        _ => None,
    };
    events.iter().filter_map(|event| edit(&event)).collect()
}

#[test]
fn lines_of_a_file_with_a_bare_cr_are_those_that_end_at_a_line_feed() {
    let lines = applied(
        "c",
        "*** Update File: f\n@@\n a\n-b\rx\n+B\ry\n c",
        "M f",
        update("/p/f", "@@ -1,4 +1,4 @@\n a\n-b\r-x\n+B\r+y\n c\n"),
    );
    assert_eq!(edits(&events(&lines)), ["update /p/f [2,2] [2,2]"]);
}

#[test]
fn lines_behind_a_bare_cr_that_the_diff_may_not_have_are_not_stated() {
    let first = applied(
        "c",
        "*** Update File: f\n@@\n c\n+x\ry\n d",
        "M f",
        update("/p/f", "@@ -4,2 +4,4 @@\n c\n+x\r+y\n d\n"),
    );
    let second = applied(
        "d",
        "*** Update File: f\n@@\n-d\n+D",
        "M f",
        update("/p/f", "@@ -6,1 +6,1 @@\n-d\n+D\n"),
    );
    let begin = applied(
        "e",
        "*** Update File: f\n@@\n-a\n+A",
        "M f",
        update("/p/f", "@@ -1,2 +1,2 @@\n-a\n+A\n b\r"),
    );
    let other = applied(
        "g",
        "*** Update File: g\n@@\n-d\n+D",
        "M g",
        update("/p/g", "@@ -6,1 +6,1 @@\n-d\n+D\n"),
    );
    let all = events(&[first, second, begin, other].concat());
    let expected = [
        "update /p/f 2 lines 3 lines",
        "update /p/f 1 lines 1 lines",
        "update /p/f [1,1] [1,1]",
        "update /p/g [6,6] [6,6]",
    ];
    assert_eq!(edits(&all), expected);
    // A nested call has no text of its patch.
    assert_eq!(
        edits(&events(&[end(
            "n",
            "M f",
            update("/p/f", "@@ -4,2 +4,4 @@\n c\n+x\r+y\n d\n")
        )])),
        ["update /p/f"]
    );
}

#[test]
fn a_file_that_a_patch_changes_twice_has_the_edits_of_its_text() {
    let twice = "*** Update File: f\n@@\n-a\n+A\n+B\n*** Update File: g\n@@\n-x\n+y\n*** Update File: f\n@@\n-e\n+E";
    let mut changes = update("/p/f", "@@ -4,3 +4,3 @@\n d\n-e\n+E\n f\n");
    changes["/p/g"] = update("/p/g", "@@ -1,1 +1,1 @@\n-x\n+y\n")["/p/g"].clone();
    let lines = applied("c", twice, "M f\nM g\nM f", changes);
    assert_eq!(
        edits(&events(&lines)),
        [
            "update /p/f 1 lines 2 lines",
            "update /p/f 1 lines 1 lines",
            "update /p/g [1,1] [1,1]"
        ]
    );
}

#[test]
fn a_file_that_is_moved_or_deleted_and_added_has_all_edits() {
    let added = json!({"/p/f": {"type": "add", "content": "new\n"}});
    let moved = "*** Update File: f\n*** Move to: g\n@@\n-a\n+A\n*** Add File: f\n+new";
    let expected = [
        "move /p/f",
        "link /p/f /p/g",
        "update /p/g 1 lines 1 lines",
        "create /p/f null [1,1]",
    ];
    assert_eq!(
        edits(&events(&applied("c", moved, "A f\nM g", added.clone()))),
        expected
    );
    let deleted = "*** Delete File: f\n*** Add File: f\n+new";
    assert_eq!(
        edits(&events(&applied("c", deleted, "A f\nD f", added.clone()))),
        ["delete /p/f", "create /p/f null [1,1]"]
    );
    // Without the text only the names are known.
    assert_eq!(
        edits(&events(&[end("n", "A f\nM g", added.clone())])),
        ["create /p/f null [1,1]", "update /p/g"]
    );
    assert_eq!(
        edits(&events(&[end("n", "A f\nD f", added)])),
        ["delete /p/f", "create /p/f null [1,1]"]
    );
    let updated = update("/p/f", "@@ -4,3 +4,3 @@\n d\n-e\n+E\n f\n");
    assert_eq!(
        edits(&events(&[end("n", "M f\nM f", updated)])),
        ["update /p/f"]
    );
}

#[test]
fn an_applied_patch_in_any_form_names_its_files() {
    let lines = [
        unlisted(
            "c1",
            "*** Begin Patch\n  *** Update File: f\n@@\n a\n-b\n+B\n*** End Patch\n",
            "M f",
        ),
        unlisted(
            "c2",
            " *** Begin Patch \n*** Update File: f\n@@\n-c\n+C\n *** End Patch ",
            "M f",
        ),
        unlisted(
            "c3",
            "*** Begin Patch\n*** Update File: f\n@@\n c\n+x\ry\n*** End Patch\n",
            "M f",
        ),
        unlisted(
            "c4",
            "*** Begin Patch\n*** Change File: g\n=b\n*** End Patch\n",
            "A d/n\nM g\nD h",
        ),
        unlisted(
            "c5",
            "*** Begin Patch\n*** Add File: g\n+a\rb\n+c\n*** Add File: h\n+c\n*** End Patch\n",
            "A g\nA h",
        ),
    ]
    .concat();
    let expected = [
        "update /p/f 2 lines 2 lines",
        "update /p/f 1 lines 1 lines",
        "update /p/f 1 lines 2 lines",
        "create /p/d/n",
        "update /p/g",
        "delete /p/h",
        "overwrite /p/g null 2 lines",
        "create /p/h null 1 lines",
    ];
    assert_eq!(
        edits(&events_of(&session_with(
            json!({"cli_version": "0.117.0"}),
            &lines
        ))),
        expected
    );
}

#[test]
fn a_patch_in_the_input_of_a_function_gives_its_edits() {
    // From openai/codex#33405: the tool of models without custom tools.
    let arguments =
        json!({"input": "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n"});
    let printed = format!(
        "{{\"output\":{},\"metadata\":{{\"exit_code\":0,\"duration_seconds\":0.0}}}}",
        json!(success("M f"))
    );
    let lines = [
        call("c", "apply_patch", &arguments.to_string()),
        output("c", &printed),
    ];
    assert_eq!(edits(&events(&lines)), ["update /p/f 1 lines 1 lines"]);
}

#[test]
fn a_failed_patch_has_no_edits() {
    let [call, _] = unlisted(
        "c",
        "*** Begin Patch\n*** Change File: g\n*** End Patch\n",
        "",
    );
    let failed = (
        "response_item",
        json!({"type": "custom_tool_call_output", "call_id": "c", "output": "apply_patch verification failed: Success. Updated the following files:\nM g\n"}),
    );
    assert!(
        edits(&events_of(&session_with(
            json!({"cli_version": "0.117.0"}),
            &[call, failed]
        )))
        .is_empty()
    );
    assert!(of_kind(&events(&[patch("c", "*** Update File: f")]), "code.edit").is_empty());
}

#[test]
fn a_patch_names_files_from_the_directory_of_its_call() {
    let patch = |before: &str, extra: Value| {
        let script = format!(
            "{before}apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** End Patch\nE"
        );
        let mut arguments = json!({"cmd": script});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let done = "Wall time: 0.1 seconds\nOutput:\n{\"output\":\"Success. Updated the following files:\\nM a.py\\n\",\"metadata\":{\"exit_code\":0}}";
        let events = events(&[
            call("c1", "exec_command", &arguments.to_string()),
            output("c1", done),
        ]);
        let edit = of_kind(&events, "code.edit")[0].clone();
        assert_eq!(
            (&edit["before_lines"], &edit["after_lines"]),
            (&json!(1), &json!(2))
        );
        edit["file"].as_str().unwrap().to_owned()
    };
    assert_eq!(patch("", json!({})), "/p/a.py");
    assert_eq!(patch("", json!({"workdir": "/q/src"})), "/q/src/a.py");
    assert_eq!(patch("cd src && ", json!({})), "/p/src/a.py");
    assert_eq!(patch("mkdir d && cd d && ", json!({})), "a.py");
}

#[test]
fn hunks_at_lines_that_cannot_be_make_the_record_malformed() {
    for diff in ["@@ -0,1 +1,1 @@\n-a\n+b\n", "@@ -0,1 +1,2 @@\n+b\n a\n"] {
        let changes = json!({"/p/f": {"type": "update", "unified_diff": diff, "move_path": null}});
        let end = json!({"type": "patch_apply_end", "call_id": "c1", "stdout": "done", "stderr": "", "success": true, "changes": changes});
        let log = session_with(json!({}), &[event(end)]);
        let error = convert_str(
            &Codex,
            &log,
            &Options {
                policy: Policy::Strict,
                ..Options::default()
            },
        )
        .unwrap_err();
        assert_eq!(
            (error.code, error.line),
            (ErrorCode::MalformedRecord, Some(2)),
            "{error}"
        );
    }
}
