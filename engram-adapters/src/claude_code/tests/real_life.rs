//! Logs of real life, third round: relays, editors, hooks, calls of the provider, going back. Each case is that of a public report.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{
    assistant_line, events, line, result_line, tape, unaccounted_bytes, unaccounted_values,
};

const VERSION: &str = "2.1.332";

/// A prompt that a person typed, as its line states.
fn typed(number: u32, content: Value) -> Value {
    let message = json!({"role": "user", "content": content});
    line(
        VERSION,
        number,
        "user",
        json!({"message": message, "promptSource": "typed", "permissionMode": "default"}),
    )
}

fn goes_on(mut line: Value, parent: u32) -> Value {
    line["parentUuid"] = json!(format!("u{parent}"));
    line
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The author and the text of each message in the user's place.
fn said(lines: &[Value]) -> Vec<(String, String)> {
    assert_eq!(unaccounted_bytes(lines), 0);
    assert_eq!(unaccounted_values(lines), [""; 0]);
    let of = |event: &Value, member: &str| event[member].as_str().unwrap_or_default().to_owned();
    events(lines, "msg.in")
        .iter()
        .map(|event| (of(event, "by"), of(event, "text")))
        .collect()
}

fn pair(by: &str, text: &str) -> (String, String) {
    (by.to_owned(), text.to_owned())
}

#[test]
fn what_an_editor_sends_beside_a_prompt_is_no_prompt() {
    let opened = "<ide_opened_file>The user opened the file /p/a.py in the IDE.</ide_opened_file>";
    let selection =
        "<ide_selection>The user selected the line 7 to 7 from a.py:\nx\n</ide_selection>";
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9v"}});
    let lines = [
        typed(1, json!([text(opened), text("rename it"), image])),
        typed(2, json!(format!("{selection}\nwhat is this"))),
        typed(3, json!("what does <ide_selection> mean?")),
    ];
    assert_eq!(
        said(&lines),
        [
            pair("harness", opened),
            pair("person", "rename it"),
            pair("person", "what is this"),
            pair("person", "what does <ide_selection> mean?"),
        ]
    );
    let with_images = events(&lines, "msg.in");
    assert_eq!(with_images[0]["attachments"], Value::Null);
    assert_eq!(with_images[1]["attachments"].as_array().unwrap().len(), 1);
    let contexts = events(&lines, "meta");
    let context = contexts
        .iter()
        .find(|event| event["label"] == "context")
        .unwrap();
    assert_eq!(
        (&context["name"], &context["text"]),
        (&json!("ide_selection"), &json!(selection))
    );
}

#[test]
fn a_reminder_in_a_prompt_is_split_off_where_no_author_is_stated() {
    let prompt = |number, content: Value| {
        line(
            "2.0.60",
            number,
            "user",
            json!({"message": {"role": "user", "content": content}}),
        )
    };
    let inside =
        "Please review.\n<system-reminder>\nThe directory changed.\n</system-reminder>\n# My notes";
    let lines = [
        prompt(1, json!([text(inside)])),
        prompt(
            2,
            json!("go on\n\n<system-reminder>\nThe file was changed.\n</system-reminder>"),
        ),
        prompt(3, json!("<system-reminder>I typed this</system-reminder>")),
        prompt(
            4,
            json!([text("<system-reminder>It changed.</system-reminder>")]),
        ),
    ];
    assert_eq!(
        said(&lines),
        [
            pair("person", "Please review.\n# My notes"),
            pair("person", "go on"),
            pair("person", "<system-reminder>I typed this</system-reminder>"),
            pair("harness", "<system-reminder>It changed.</system-reminder>"),
        ]
    );
}

#[test]
fn the_message_of_a_program_is_told_once() {
    let framed = "[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\nthe build is green";
    let queued = |operation: &str, content: Value| json!({"type": "queue-operation", "operation": operation, "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "content": content});
    let mut message = typed(2, json!(framed));
    message["isMeta"] = json!(true);
    message["origin"] = json!({"kind": "unclassified"});
    let mut left = queued("dequeue", Value::Null);
    left.as_object_mut().unwrap().remove("content");
    let lines = [
        queued("enqueue", json!("the build is green")),
        left,
        message,
    ];
    assert_eq!(said(&lines), [pair("harness", framed)]);
    let notice =
        "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event.";
    let bare = line(
        VERSION,
        1,
        "user",
        json!({"message": {"role": "user", "content": notice}}),
    );
    assert_eq!(said(&[bare]), [pair("harness", notice)]);
}

#[test]
fn the_first_prompt_that_a_hook_gives_is_by_the_harness() {
    let printed = r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","initialUserMessage":"said by a hook"}}"#;
    let hook = line(
        VERSION,
        1,
        "attachment",
        json!({"attachment": {"type": "hook_success", "hookName": "SessionStart:startup", "hookEvent": "SessionStart", "stdout": printed}}),
    );
    // A session that is resumed has the prompt again, and not always what the hook printed.
    let lines = [
        hook,
        typed(2, json!("said by a hook")),
        typed(3, json!("said by a person")),
        typed(4, json!("said by a hook")),
    ];
    assert_eq!(
        said(&lines),
        [
            pair("harness", "said by a hook"),
            pair("person", "said by a person"),
            pair("harness", "said by a hook"),
        ]
    );
}

#[test]
fn a_hook_that_ran_behind_is_a_notice() {
    let printed = r#"{"systemMessage":"shown from behind"}"#;
    let hook = json!({"type": "async_hook_response", "processId": "p", "hookName": "PostToolUse:Write", "hookEvent": "PostToolUse",
        "toolName": "Write", "response": {"systemMessage": "shown from behind"}, "stdout": printed, "stderr": "", "exitCode": 0});
    let budget = json!({"type": "budget_usd", "used": 0, "total": 0.5, "remaining": 0.5});
    let lines = [
        line(VERSION, 1, "attachment", json!({"attachment": hook})),
        line(VERSION, 2, "attachment", json!({"attachment": budget})),
    ];
    assert_eq!(unaccounted_values(&lines), [""; 0]);
    let texts: Vec<Value> = events(&lines, "meta")
        .iter()
        .filter(|event| !event["text"].is_null())
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(
        texts,
        [
            json!(printed),
            json!("shown from behind"),
            json!(budget.to_string())
        ]
    );
}

#[test]
fn a_relay_with_one_id_for_all_responses_has_a_usage_for_each() {
    let answer = |number, parent| {
        let mut line = assistant_line(VERSION, number, "relay", json!([text("done")]));
        line["message"]["usage"]["input_tokens"] = json!(parent);
        goes_on(line, parent)
    };
    let lines = [
        typed(1, json!("one")),
        answer(2, 1),
        goes_on(typed(3, json!("two")), 2),
        answer(4, 3),
        goes_on(answer(5, 3), 4),
    ];
    let counts: Vec<u64> = events(&lines, "meta")
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|event| event["tokens"]["output"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [2, 5]);
}

#[test]
fn calls_that_the_provider_makes_have_results() {
    let block = |number, block: Value| assistant_line(VERSION, number, "m1", json!([block]));
    let page = json!({"type": "web_search_result", "url": "https://example.invalid/t", "title": "Tapes", "page_age": null, "encrypted_content": "eA=="});
    let lines = [
        block(
            1,
            json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tapes"}}),
        ),
        block(
            2,
            json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]}),
        ),
        block(
            3,
            json!({"type": "server_tool_use", "id": "s2", "name": "code_execution", "input": {}}),
        ),
        block(
            4,
            json!({"type": "code_execution_tool_result", "tool_use_id": "s2", "content": {"type": "code_execution_result", "stdout": "1\n", "stderr": "no", "return_code": 2, "content": []}}),
        ),
        block(
            5,
            json!({"type": "mcp_tool_use", "id": "s3", "name": "echo", "server_name": "far", "input": {"a": 1}}),
        ),
        block(
            6,
            json!({"type": "mcp_tool_result", "tool_use_id": "s3", "is_error": false, "content": [text("far away")]}),
        ),
        block(
            7,
            json!({"type": "server_tool_use", "id": "s4", "name": "web_search", "input": {"query": "x"}}),
        ),
        block(
            8,
            json!({"type": "web_search_tool_result", "tool_use_id": "s4", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}),
        ),
    ];
    assert_eq!(unaccounted_values(&lines), [""; 0]);
    let results: Vec<Value> = events(&lines, "tool.result")
        .iter()
        .map(|event| {
            json!([
                event["tool"],
                event["status"],
                event["exit"],
                event["stdout"],
                event["stderr"]
            ])
        })
        .collect();
    assert_eq!(
        results,
        [
            json!([
                "web_search",
                "ok",
                null,
                "Tapes\nhttps://example.invalid/t",
                null
            ]),
            json!(["code_execution", "error", 2, "1\n", "no"]),
            json!(["echo", "ok", null, "far away", null]),
            json!(["web_search", "error", null, null, "max_uses_exceeded"]),
        ]
    );
    let call = &events(&lines, "tool.call")[2];
    assert_eq!(
        (&call["server"], &call["kind"]),
        (&json!("far"), &json!("mcp"))
    );
}

#[test]
fn a_refusal_of_the_auto_mode_is_known_by_its_text() {
    let texts = [
        (
            "Permission for this action was denied by the Claude Code auto mode classifier. Reason: [Publish].",
            "denied",
        ),
        (
            "claude-opus-5-5 is temporarily unavailable, so auto mode cannot determine the safety of Bash right now.",
            "denied",
        ),
        (
            "Auto mode is unavailable: its safety check does not run for this session, so Bash was not run.",
            "denied",
        ),
        ("Exit code 1\nauto mode", "error"),
    ];
    for (said, status) in texts {
        let call =
            json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "a"}}]);
        let mut result = result_line(VERSION, 2, "t1", said, None);
        result["message"]["content"][0]["is_error"] = json!(true);
        let lines = [assistant_line(VERSION, 1, "m1", call), result];
        let tape = tape(&lines, Policy::Strict).unwrap();
        let of = |kind: &str| {
            tape.iter()
                .find(|event| event["k"] == kind)
                .unwrap()
                .clone()
        };
        assert_eq!(of("tool.result")["status"], status, "{said}");
        let is_denied = tape
            .iter()
            .any(|event| event["label"] == "permission" && event["decision"] == "deny");
        assert_eq!(is_denied, status == "denied", "{said}");
    }
}

#[test]
fn a_prompt_that_goes_on_from_an_earlier_line_is_a_rewind() {
    let answer = |number, parent| {
        let id = format!("m{number}");
        goes_on(
            assistant_line(VERSION, number, &id, json!([text("done")])),
            parent,
        )
    };
    let lines = [
        typed(1, json!("red")),
        answer(2, 1),
        goes_on(typed(3, json!("blue")), 2),
        answer(4, 3),
        goes_on(typed(5, json!("green")), 2),
        answer(6, 5),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let rewind = tape
        .iter()
        .find(|event| event["label"] == "rewind")
        .unwrap();
    let target = &tape[rewind["to"].as_u64().unwrap() as usize];
    assert_eq!(target["origin"]["line"], 2);
    let next = &tape[rewind["seq"].as_u64().unwrap() as usize + 1];
    assert_eq!((&next["text"], &rewind["t"]), (&json!("green"), &next["t"]));
}

#[test]
fn a_command_that_the_harness_has_expanded_has_no_tags() {
    let tags = "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>a b</command-args>";
    let command = typed(1, json!(tags));
    let message = json!({"role": "user", "content": [text("Fix a b.")]});
    let expanded = line(
        VERSION,
        2,
        "user",
        json!({"message": message, "isMeta": true}),
    );
    let person = |text: &str| ("person".to_owned(), text.to_owned());
    let lines = [command.clone(), goes_on(expanded, 1)];
    assert_eq!(said(&lines)[0], person("/fix a b"));
    assert_eq!(unaccounted_bytes(&lines), 0);
    // A person may type the tags.
    assert_eq!(said(&[command]), [person(tags)]);
}
