//! Members that the table does not name: renamed ones of each form of line, and those of other types.

use engram_core::error::ErrorCode;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, line, result_line, tape, unaccounted_values};

const VERSION: &str = "2.1.329";

fn call(tool: &str, input: &Value) -> Value {
    assistant_line(
        VERSION,
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": tool, "input": input}]),
    )
}

/// A line of each form after a call, and a pointer to one of its members.
fn forms() -> Vec<(Value, &'static str)> {
    let notice = json!({"subtype": "informational", "content": "It is so.", "level": "info"});
    let hook = json!({"type": "hook_success", "hookName": "Stop", "toolUseID": "t1", "stdout": "all well"});
    let wrapped = json!({"type": "user", "uuid": "w1", "message": {"role": "user", "content": "look around"}});
    let progress = json!({"type": "agent_progress", "agentId": "a5", "prompt": "look around", "message": wrapped});
    let mut failed = result_line(
        VERSION,
        2,
        "t1",
        "Exit code 2\nno",
        Some(json!("Error: Exit code 2\nno")),
    );
    failed["message"]["content"][0]["is_error"] = json!(true);
    vec![
        (failed, "/message/content/0/is_error"),
        (
            result_line(
                VERSION,
                2,
                "t1",
                "a",
                Some(json!({"stdout": "a", "stderr": "", "interrupted": false})),
            ),
            "/toolUseResult/interrupted",
        ),
        (
            assistant_line(VERSION, 2, "m2", json!([{"type": "text", "text": "Done."}])),
            "/message/usage/output_tokens",
        ),
        (
            line(
                VERSION,
                2,
                "user",
                json!({"message": {"role": "user", "content": "go on"}, "isMeta": true}),
            ),
            "/isMeta",
        ),
        (line(VERSION, 2, "system", notice), "/content"),
        (
            line(VERSION, 2, "attachment", json!({"attachment": hook})),
            "/attachment/stdout",
        ),
        (
            line(
                VERSION,
                2,
                "progress",
                json!({"parentToolUseID": "t1", "data": progress}),
            ),
            "/data/message/uuid",
        ),
        (
            json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:02.000Z", "sessionId": "s", "content": "go"}),
            "/content",
        ),
        (
            json!({"type": "permission-mode", "permissionMode": "plan", "sessionId": "s"}),
            "/permissionMode",
        ),
        (
            json!({"type": "atis-latch", "atis": "go", "sessionId": "s"}),
            "/atis",
        ),
    ]
}

/// The line with the member at `pointer` under another name, and the pointer to it.
fn renamed(line: &Value, pointer: &str) -> (Value, String) {
    let (outer, name) = pointer.rsplit_once('/').unwrap();
    let mut line = line.clone();
    let object = line
        .pointer_mut(outer)
        .and_then(Value::as_object_mut)
        .unwrap();
    let value = object.remove(name).unwrap();
    object.insert(format!("{name}New"), value);
    (line, format!("{pointer}New"))
}

#[test]
fn a_renamed_member_of_each_form_is_refused_with_line_and_pointer() {
    for (line, pointer) in forms() {
        let lines = [call("Bash", &json!({"command": "true"})), line.clone()];
        assert!(tape(&lines, Policy::Strict).is_ok(), "{line}");
        let (changed, place) = renamed(&line, pointer);
        let error = tape(&[lines[0].clone(), changed], Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.line, error.pointer),
            (ErrorCode::UnknownMember, Some(2), Some(place)),
            "{line}"
        );
    }
}

#[test]
fn a_type_of_a_written_file_that_is_not_known_is_refused() {
    let written = |kind: &str| {
        let result =
            json!({"type": kind, "filePath": "/p/a", "content": "x\n", "structuredPatch": []});
        let lines = [
            call("Write", &json!({"file_path": "/p/a", "content": "x\n"})),
            result_line(VERSION, 2, "t1", "Done.", Some(result)),
        ];
        tape(&lines, Policy::Strict)
    };
    written("create").expect("all is known");
    let error = written("new").unwrap_err();
    assert_eq!(
        (error.code, error.line, error.pointer.as_deref()),
        (
            ErrorCode::UnknownMember,
            Some(2),
            Some("/toolUseResult/type")
        )
    );
}

#[test]
fn a_member_of_another_type_is_refused_with_both_types() {
    let mut result = result_line(
        VERSION,
        2,
        "t1",
        "a",
        Some(json!({"stdout": "a", "stderr": "", "interrupted": "no"})),
    );
    let call = call("Bash", &json!({"command": "true"}));
    let error = tape(&[call.clone(), result.clone()], Policy::Strict).unwrap_err();
    assert_eq!(
        (
            error.code,
            error.expected.as_deref(),
            error.found.as_deref()
        ),
        (ErrorCode::UnknownMember, Some("bool"), Some("string"))
    );
    // A malformed record stays malformed.
    result["isSidechain"] = json!("no");
    assert_eq!(
        tape(&[call, result], Policy::Strict).unwrap_err().code,
        ErrorCode::MalformedRecord
    );
}

#[test]
fn permissive_counts_a_renamed_member_and_lowers_the_claims() {
    for (line, pointer) in forms() {
        let (changed, _) = renamed(&line, pointer);
        let tape = tape(
            &[call("Bash", &json!({"command": "true"})), changed],
            Policy::Permissive,
        )
        .unwrap();
        let unknown = &tape.last().unwrap()["ledger"]["unknown_members"];
        assert_eq!(
            (unknown.as_array().map(Vec::len), &unknown[0]["count"]),
            (Some(1), &json!(1)),
            "{line}"
        );
        let revisions: Vec<&Value> = tape
            .iter()
            .filter(|event| event["label"] == "revision")
            .map(|event| &event["degraded"])
            .collect();
        let lowered = if line["type"] == "atis-latch" {
            vec![]
        } else {
            vec![json!(["unknown_members"])]
        };
        assert_eq!(revisions, lowered.iter().collect::<Vec<_>>(), "{line}");
        assert!(tape.iter().any(|event| event["k"] == "tool.call"), "{line}");
    }
}

#[test]
fn results_are_compared_with_the_form_of_their_tool() {
    let fits = |tool: &str, result: &Value| {
        let lines = [
            call(tool, &json!({})),
            result_line(VERSION, 2, "t1", "a", Some(result.clone())),
        ];
        tape(&lines, Policy::Strict).is_ok()
    };
    let (glob, other) = (
        json!({"filenames": ["a"], "durationMs": 1, "numFiles": 1, "truncated": false}),
        json!({"a": 1, "b": {"c": 2}}),
    );
    assert_eq!([fits("Glob", &glob), fits("Bash", &glob)], [true, false]);
    assert_eq!(
        [
            fits("Glob", &other),
            fits("mcp__a__b", &other),
            fits("mcp__a__b", &glob)
        ],
        [false, true, true]
    );
    // The tool is not one of the harness's: a result that is nearly that of one of them is compared with it.
    assert_eq!(
        [
            fits("Search", &glob),
            fits("Search", &renamed(&glob, "/truncated").0),
            fits("Search", &other)
        ],
        [true, false, true]
    );
}

#[test]
fn arguments_are_compared_if_a_result_needs_what_they_lack() {
    let lines = |input: &Value| {
        [
            call("Edit", input),
            result_line(VERSION, 2, "t1", "The file /p/a has been updated.", None),
        ]
    };
    let sub_agent = |input: &Value| {
        lines(input).map(|mut line| {
            line["isSidechain"] = json!(true);
            line
        })
    };
    let arguments =
        json!({"file_path": "/p/a", "old_string": "a", "new_string": "b", "more": true});
    assert!(tape(&sub_agent(&arguments), Policy::Strict).is_ok());
    for pointer in ["/file_path", "/old_string", "/new_string"] {
        let (changed, place) = renamed(&arguments, pointer);
        let error = tape(&sub_agent(&changed), Policy::Strict).unwrap_err();
        assert_eq!(error.code, ErrorCode::UnknownMember, "{place}");
    }
    let edited =
        json!({"filePath": "/p/a", "oldString": "a", "newString": "b", "originalFile": "a\n"});
    let (changed, _) = renamed(&arguments, "/old_string");
    let complete = [
        call("Edit", &changed),
        result_line(VERSION, 2, "t1", "done", Some(edited)),
    ];
    assert!(tape(&complete, Policy::Strict).is_ok());
}

#[test]
fn lines_that_only_the_program_lists_are_notices() {
    let lines = [
        call("Read", &json!({"file_path": "a"})),
        line(VERSION, 2, "derived-from", json!({"from": "another"})),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let notices: Vec<&Value> = tape
        .iter()
        .filter(|event| event["label"] == "system")
        .map(|event| &event["name"])
        .collect();
    assert_eq!(notices, ["derived-from"]);
    assert_eq!(unaccounted_values(&lines), [""; 0]);
}
