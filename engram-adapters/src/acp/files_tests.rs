//! Files that the client reads and writes for an agent.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::tests::{convert, events, log, update};

#[test]
fn a_file_that_the_client_writes_is_an_edit_unless_a_call_shows_it() {
    let write = |id: u64, path: &str| {
        let params = json!({"sessionId": "s", "path": path, "content": "a\n"});
        let request = json!({"id": id, "method": "fs/write_text_file", "params": params});
        [(false, request), (true, json!({"id": id, "result": {}}))]
    };
    let call = |kind: &str, status: &str| {
        update(
            "s",
            json!({"sessionUpdate": kind, "toolCallId": "c", "kind": "edit", "status": status, "locations": [{"path": "/p/a"}],
                   "rawInput": {"file_path": "/p/a", "content": "a\n"}}),
        )
    };
    let mut messages = vec![call("tool_call", "pending")];
    messages.extend(write(1, "/p/a"));
    messages.push(call("tool_call_update", "completed"));
    messages.extend(write(2, "/p/b"));
    messages.push((false, json!({"id": 3, "method": "fs/write_text_file", "params": {"sessionId": "s", "path": "/p/c", "content": ""}})));
    messages.push((
        true,
        json!({"id": 3, "error": {"code": -32601, "message": "no"}}),
    ));
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let files: Vec<_> = events(&tape, "code.edit")
        .iter()
        .map(|edit| {
            (
                edit["file"].as_str().unwrap(),
                edit.get("call_id").is_some(),
                edit.get("file_after_hash").is_some(),
            )
        })
        .collect();
    assert_eq!(files, [("/p/a", true, true), ("/p/b", false, true)]);
    // As Kilo does it: it asks, writes, and shows the call then.
    let asked = json!({"toolCallId": "c", "title": "/p/a", "kind": "edit", "status": "pending", "locations": [{"path": "/p/a"}],
                       "rawInput": {"filepath": "/p/a"}});
    let options = json!([{"optionId": "once", "kind": "allow_once", "name": "Once"}]);
    let mut messages = vec![
        (
            false,
            json!({"id": 9, "method": "session/request_permission",
                   "params": {"sessionId": "s", "options": options, "toolCall": asked}}),
        ),
        (
            true,
            json!({"id": 9, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}}),
        ),
    ];
    messages.extend(write(1, "/p/a"));
    messages.extend([
        call("tool_call", "pending"),
        call("tool_call_update", "completed"),
    ]);
    let tape = convert(&log(&messages), Policy::Strict).unwrap();
    let edits = events(&tape, "code.edit");
    assert!(edits.len() == 1 && edits[0]["call_id"] == "c", "{edits:?}");
}

#[test]
fn texts_that_the_client_reads_and_writes_for_a_call_are_those_of_the_file() {
    let request = |id: u64, method: &str, more: Value| {
        let mut params = json!({"sessionId": "s", "path": "/p/a"});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        (false, json!({"id": id, "method": method, "params": params}))
    };
    let done = |id: u64, result: Value| (true, json!({"id": id, "result": result}));
    let call = |kind: &str, status: &str| {
        update(
            "s",
            json!({"sessionUpdate": kind, "toolCallId": "c", "kind": "edit", "status": status, "locations": [{"path": "/p/a"}],
                   "content": [{"type": "diff", "path": "/p/a", "oldText": "b", "newText": "c"}]}),
        )
    };
    // As Kimi Code does it: the change is a part, and the client reads and writes the whole file.
    let edit_as = |writes: u64, read: Value, how: &Value| {
        let mut messages = vec![call("tool_call", "pending")];
        messages.push(request(1, "fs/read_text_file", read));
        messages.push(done(1, json!({"content": "a\nb\n"})));
        for id in 2..2 + writes {
            messages.push(request(
                id,
                "fs/write_text_file",
                json!({"content": "a\nc\n", "_meta": how}),
            ));
            messages.push(done(id, Value::Null));
        }
        messages.push(call("tool_call_update", "completed"));
        let tape = convert(&log(&messages), Policy::Strict).unwrap();
        let [edit] = &events(&tape, "code.edit")[..] else {
            panic!("{tape:?}")
        };
        (
            edit["after_range"].clone(),
            edit.get("file_before_hash").is_some(),
        )
    };
    let edit = |writes, read| edit_as(writes, read, &Value::Null);
    assert_eq!(edit(1, json!({})), (json!([2, 2]), true));
    // As Qwen Code says how the file was.
    for (how, is_known) in [
        (
            json!({"bom": false, "encoding": "utf-8", "lineEnding": "lf"}),
            true,
        ),
        (json!({"lineEnding": "crlf"}), false),
        (json!({"bom": true}), false),
        (json!({"encoding": "gbk"}), false),
    ] {
        assert_eq!(edit_as(1, json!({}), &how).1, is_known, "{how}");
    }
    assert_eq!(edit(1, json!({"limit": 2})), (Value::Null, false));
    assert_eq!(edit(2, json!({})), (Value::Null, false));
    assert_eq!(edit(0, json!({})), (Value::Null, false));
}

/// As Copilot CLI returns a patch that moves a file: the tape has the edit, and no link.
#[test]
fn a_move_that_a_diff_shows_is_an_edit() {
    let detail = "\ndiff --git a/p/a b/p/b\nindex 0000000..0000000 100644\n--- a/p/a\n+++ b/p/b\n@@ -1,2 +1,2 @@\n-x\n+y\n \n";
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "edit", "status": "completed",
                      "rawInput": {}, "rawOutput": {"content": "Modified", "detailedContent": detail}});
    let tape = convert(&log(&[update("s", call)]), Policy::Strict).unwrap();
    let edits = events(&tape, "code.edit");
    assert_eq!(
        (edits.len(), &edits[0]["op"], &edits[0]["file"]),
        (1, &json!("move"), &json!("/p/a"))
    );
    assert!(events(&tape, "span.link").is_empty());
}
