//! Several agents at once in one capture or hook log.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::convert;

fn events(lines: &[Value]) -> Vec<Value> {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (tape, _) = convert(log.as_bytes(), Policy::Strict).unwrap();
    tape.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of<'e>(events: &'e [Value], session: &str, kind: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["source"]["session_id"] == session && event["k"] == kind)
        .collect()
}

#[test]
fn pieces_of_text_are_joined_for_each_session() {
    let init = |id: &str| {
        json!({"type": "system", "subtype": "init", "apiKeySource": "login", "cwd": format!("/{id}"), "session_id": id, "model": "m",
            "permissionMode": "default"})
    };
    let piece = |id: &str, text: &str, at: u64| {
        json!({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}, "session_id": id,
            "timestamp_ms": 1_780_000_000_000_u64 + at})
    };
    let lines = [
        init("one"),
        init("two"),
        piece("one", "the first ", 1),
        piece("two", "the second ", 2),
        piece("one", "text", 3),
        piece("two", "text", 4),
    ];
    let events = events(&lines);
    for (session, text) in [("one", "the first text"), ("two", "the second text")] {
        let texts: Vec<&Value> = of(&events, session, "msg.out")
            .iter()
            .map(|event| &event["text"])
            .collect();
        assert_eq!(texts, [text]);
    }
}

#[test]
fn hooks_of_two_conversations_are_not_paired() {
    let step = |of: &str, step: &str, more: Value| {
        let mut payload = json!({"conversation_id": of, "generation_id": "g", "model": "m", "hook_event_name": step, "cursor_version": "1.0.0",
            "workspace_roots": ["/p"], "user_email": null, "transcript_path": null, "session_id": of});
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        payload
    };
    let read =
        json!({"tool_name": "Read", "tool_use_id": "call", "tool_input": {"file_path": "/p/f"}});
    let write = json!({"tool_name": "Write", "tool_use_id": "call", "tool_input": {"file_path": "/p/f", "content": "b\n"}});
    let content = json!({"file_path": "/p/f", "content": "a\n", "attachments": []});
    let with = |value: &Value, name: &str, member: Value| {
        let mut value = value.clone();
        value
            .as_object_mut()
            .unwrap()
            .insert(name.to_owned(), member);
        value
    };
    let returned = |value: &Value| {
        with(
            &with(value, "tool_output", json!("{}")),
            "duration",
            json!(1),
        )
    };
    let edit = json!({"file_path": "/p/f", "edits": [{"old_string": "a\n", "new_string": "b\n"}]});
    // The first conversation edits the file that the second one reads, under the same id.
    let lines = [
        step("one", "preToolUse", read.clone()),
        step("two", "preToolUse", read.clone()),
        step("one", "beforeReadFile", content.clone()),
        step("two", "beforeReadFile", content),
        step("one", "postToolUse", returned(&read)),
        step("one", "preToolUse", write.clone()),
        step("two", "postToolUse", returned(&read)),
        step("one", "afterFileEdit", edit),
        step("one", "postToolUse", returned(&write)),
    ];
    let events = events(&lines);
    let tools = |session: &str| {
        of(&events, session, "tool.call")
            .iter()
            .map(|call| call["tool"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (tools("one"), tools("two")),
        (vec![json!("Write")], vec![json!("Read")])
    );
    let [edit] = of(&events, "one", "code.edit")[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (&edit["before_range"], &edit["after_range"]),
        (&json!([1, 1]), &json!([1, 1]))
    );
    assert!(
        of(&events, "one", "code.read").is_empty() && of(&events, "two", "code.read").len() == 1
    );
    for session in ["one", "two"] {
        let call = of(&events, session, "tool.call")[0];
        assert_eq!(
            of(&events, session, "tool.result")[0]["parent"],
            call["seq"]
        );
    }
}
