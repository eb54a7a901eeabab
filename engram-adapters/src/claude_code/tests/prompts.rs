//! Who wrote a text in the user's place, commands, queued prompts.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes};

pub(super) fn prompt(version: &str, number: u32, text: &str, more: Value) -> Value {
    let mut line = line(version, number, "user", more);
    line["message"] = json!({"role": "user", "content": text});
    line
}

fn queue(operation: &str, second: u32, text: Option<&str>) -> Value {
    let mut line = json!({"type": "queue-operation", "operation": operation, "timestamp": format!("2026-01-01T00:00:{second:02}.000Z"), "sessionId": "s"});
    if let Some(text) = text {
        line["content"] = json!(text);
    }
    line
}

fn authors(lines: &[Value]) -> Vec<(String, String)> {
    let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    events(lines, "msg.in")
        .iter()
        .map(|event| (text(event, "by"), text(event, "text")))
        .collect()
}

#[test]
fn what_the_line_states_comes_before_how_the_text_begins() {
    let typed = json!({"promptSource": "sdk", "permissionMode": "default"});
    let cases = [
        (
            "2.1.329",
            "<system-reminder>mine</system-reminder>",
            typed.clone(),
            "person",
        ),
        ("2.1.329", "Stop hook feedback:\n- mine", typed, "person"),
        (
            "2.1.329",
            "go",
            json!({"origin": {"kind": "task-notification"}}),
            "harness",
        ),
        (
            "2.1.329",
            "go",
            json!({"isMeta": true, "promptSource": "sdk"}),
            "harness",
        ),
        (
            "2.1.41",
            "Implement the following plan:\n\nDo it.",
            json!({"planContent": "Do it."}),
            "harness",
        ),
        (
            "2.0.60",
            "<command-name>/fold</command-name>",
            json!({"sourceToolUseID": "t1"}),
            "agent",
        ),
        (
            "2.1.90",
            "<local-command-stdout>mine</local-command-stdout>",
            json!({"permissionMode": "default"}),
            "person",
        ),
        (
            "2.1.329",
            "look around",
            json!({"isSidechain": true, "agentId": "a1"}),
            "agent",
        ),
        (
            "2.1.20",
            "Warmup",
            json!({"isSidechain": true, "agentId": "a1"}),
            "harness",
        ),
        (
            "1.0.100",
            "<local-command-stdout>mine</local-command-stdout>",
            json!({}),
            "person",
        ),
        (
            "1.0.100",
            "<session-start-hook>read this</session-start-hook>",
            json!({}),
            "harness",
        ),
        (
            "1.0.100",
            "Bash operation feedback:\n- not that",
            json!({}),
            "harness",
        ),
    ];
    for (version, text, more, by) in cases {
        let lines = [prompt(version, 1, text, more)];
        assert_eq!(authors(&lines)[0].0, by, "{text}");
        assert_eq!(unaccounted_bytes(&lines), 0, "{text}");
    }
}

#[test]
fn an_interrupt_or_a_summary_is_the_whole_text_of_the_harness() {
    let typed = [
        "[Request interrupted by user] why?",
        "This session is being continued from a previous conversation that ran out of context. Is it?",
    ];
    for text in typed {
        assert_eq!(
            authors(&[prompt("1.0.100", 1, text, json!({}))]),
            [("person".to_owned(), text.to_owned())]
        );
    }
    let count = |lines: &[Value], label: &str| {
        events(lines, "meta")
            .iter()
            .filter(|event| event["label"] == label)
            .count()
    };
    let notice = "[Request interrupted by user]";
    let block = json!({"message": {"role": "user", "content": [{"type": "text", "text": notice}]}});
    assert_eq!(count(&[line("1.0.100", 1, "user", block)], "interrupt"), 1);
    assert_eq!(
        authors(&[prompt(
            "2.1.61",
            1,
            notice,
            json!({"permissionMode": "default"})
        )])[0]
            .0,
        "person"
    );
    let summary = "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nGo.";
    assert_eq!(
        authors(&[prompt("2.0.60", 1, summary, json!({}))])[0].0,
        "person",
        "a summary of this version is marked"
    );
    assert_eq!(
        count(&[prompt("1.0.0", 1, summary, json!({}))], "compaction"),
        1
    );
    let after_an_answer = prompt("1.0.0", 1, summary, json!({"parentUuid": "u0"}));
    assert_eq!(authors(&[after_an_answer])[0].0, "person");
}

#[test]
fn what_a_person_says_about_a_call_of_a_sub_agent_is_the_persons() {
    let of_agent = |mut line: Value| {
        (line["agentId"], line["isSidechain"]) = (json!("a1"), json!(true));
        line
    };
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "x", "new_string": "y"}}]);
    let answered = |result: Value, text: Option<&str>| {
        let texts = text.map(|text| json!({"type": "text", "text": text}));
        let content: Vec<Value> = std::iter::once(result).chain(texts).collect();
        let result = line(
            "2.1.61",
            2,
            "user",
            json!({"message": {"role": "user", "content": content}}),
        );
        [assistant_line("2.1.61", 1, "m1", call.clone()), result].map(of_agent)
    };
    let approved = answered(
        json!({"type": "tool_result", "tool_use_id": "t1", "content": "ok"}),
        Some("next time use rg"),
    );
    assert_eq!(
        authors(&approved),
        [("person".to_owned(), "next time use rg".to_owned())]
    );

    let rejected = "Permission for this tool use was denied. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).";
    let denied = |text: &str| {
        answered(
            json!({"type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": true}),
            None,
        )
    };
    let with_words = denied(&format!("{rejected} The user said:\nuse the staging file"));
    assert_eq!(
        authors(&with_words),
        [("person".to_owned(), "use the staging file".to_owned())]
    );
    for lines in [
        with_words,
        denied(&format!("{rejected} Try a different approach.")),
    ] {
        assert_eq!(events(&lines, "tool.result")[0]["status"], "denied");
        assert_eq!(
            events(&lines, "meta")
                .iter()
                .filter(|event| event["decision"] == "deny")
                .count(),
            1
        );
        assert_eq!(unaccounted_bytes(&lines), 0);
    }
}

#[test]
fn output_of_a_command_follows_the_command() {
    let command = "<command-name>/fold</command-name>\n<command-message>fold</command-message>\n<command-args>a</command-args>";
    let output = "<local-command-stdout>folded</local-command-stdout>";
    let after = |number: u32, text| {
        prompt(
            "2.0.60",
            number,
            text,
            json!({"parentUuid": format!("u{}", number - 1)}),
        )
    };
    let lines = [
        prompt("2.0.60", 1, command, json!({})),
        after(2, output),
        after(3, output),
    ];
    let expected = [
        ("person", "/fold a"),
        ("harness", output),
        ("harness", output),
    ];
    assert_eq!(
        authors(&lines),
        expected.map(|(by, text)| (by.to_owned(), text.to_owned()))
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn words_behind_an_exclamation_mark_have_no_tags_if_what_they_print_follows() {
    let typed = "<bash-input>ls > a</bash-input>";
    let shell = prompt("2.1.332", 1, typed, json!({}));
    let printed = "<bash-stdout>b</bash-stdout><bash-stderr></bash-stderr>";
    let printed = prompt("2.1.332", 2, printed, json!({"parentUuid": "u1"}));
    let person = |text: &str| ("person".to_owned(), text.to_owned());
    assert_eq!(authors(&[shell.clone(), printed])[0], person("ls > a"));
    assert_eq!(authors(&[shell]), [person(typed)]);
    let memory = prompt(
        "1.0.80",
        1,
        "<user-memory-input>use tabs</user-memory-input>",
        json!({}),
    );
    let nothing = prompt("1.0.80", 2, "(no content)", json!({"parentUuid": "u1"}));
    assert_eq!(authors(&[memory, nothing])[0], person("use tabs"));
}

#[test]
fn a_command_is_stated_once() {
    let tags = "<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>";
    let with_id = |number, text: &str| prompt("2.1.275", number, text, json!({"promptId": "p1"}));
    assert_eq!(
        authors(&[with_id(1, "/compact"), with_id(2, tags)]).len(),
        1
    );
    let usage = tags.replace("compact", "usage");
    let lines = [
        queue("enqueue", 1, Some("/cost")),
        queue("dequeue", 1, None),
        prompt("2.1.170", 2, &usage, json!({})),
    ];
    assert_eq!(authors(&lines), [("person".to_owned(), "/cost".to_owned())]);
}

#[test]
fn command_that_a_call_launches_is_the_agent_s() {
    let call = assistant_line(
        "2.0.10",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "SlashCommand", "input": {"command": "/fold"}}]),
    );
    let result = result_line(
        "2.0.10",
        2,
        "t1",
        "Launching slash command: /fold",
        Some(json!({"success": true, "commandName": "fold"})),
    );
    let mut command = prompt(
        "2.0.10",
        3,
        "<command-message>fold</command-message>\n<command-name>/fold</command-name>",
        json!({}),
    );
    command["parentUuid"] = json!("u2");
    assert_eq!(
        authors(&[call, result, command]),
        [("agent".to_owned(), "/fold".to_owned())]
    );
}

#[test]
fn words_typed_when_denying_a_call_are_a_prompt() {
    let call = assistant_line(
        "2.1.150",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
    );
    let text = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse find";
    let mut result = result_line("2.1.150", 2, "t1", text, None);
    result["message"]["content"][0]["is_error"] = json!(true);
    assert_eq!(
        authors(&[call, result]),
        [("person".to_owned(), "use find".to_owned())]
    );
}

#[test]
fn a_call_that_an_interrupt_stopped_is_cancelled() {
    let call = assistant_line(
        "2.1.332",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
    );
    let denied = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let stopped = " Correction to the text above: this call was stopped while running, not refused before it ran.";
    let said = " To tell you how to proceed, the user said:\nuse find";
    let status = |text: &str| {
        let mut result = result_line("2.1.332", 2, "t1", text, None);
        result["message"]["content"][0]["is_error"] = json!(true);
        result["toolDenialKind"] = json!("user-rejected");
        let lines = [call.clone(), result];
        let denials = events(&lines, "meta")
            .iter()
            .filter(|event| event["label"] == "permission")
            .count();
        (events(&lines, "tool.result")[0]["status"].clone(), denials)
    };
    assert_eq!(status(denied), (json!("denied"), 1));
    assert_eq!(
        status(&format!("{denied}{stopped}")),
        (json!("cancelled"), 0)
    );
    assert_eq!(
        status(&format!("{denied}{said}{stopped}")),
        (json!("denied"), 1)
    );
}

#[test]
fn prompt_that_a_hook_has_blocked_is_the_person_s() {
    let notice = "UserPromptSubmit operation blocked by hook:\n- no\n\nOriginal prompt: fold it";
    let lines = [line(
        "2.0.0",
        1,
        "system",
        json!({"subtype": "informational", "content": notice}),
    )];
    assert_eq!(
        authors(&lines),
        [("person".to_owned(), "fold it".to_owned())]
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn queued_prompt_is_emitted_where_it_was_delivered() {
    let answer =
        |number, id| assistant_line("2.0.60", number, id, json!([{"type": "text", "text": id}]));
    let lines = [
        prompt("2.0.60", 1, "first", json!({})),
        queue("enqueue", 2, Some("second")),
        queue("remove", 3, Some("second")),
        answer(4, "m1"),
        prompt("2.0.60", 5, "third", json!({})),
        answer(6, "m2"),
    ];
    let texts: Vec<Value> = tape(&lines, Policy::Strict)
        .unwrap()
        .iter()
        .filter(|event| event["k"] != "meta")
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(texts, ["first", "second", "m1", "third", "m2"]);
    let notice = r#"{"task_id":"b1","task_type":"local_bash"}"#;
    assert_eq!(
        authors(&[
            queue("enqueue", 2, Some(notice)),
            prompt("2.1.45", 3, "go", json!({}))
        ])[0]
            .0,
        "harness"
    );
}

#[test]
fn queued_command_that_no_line_repeats_comes_before_the_next_prompt() {
    let tags = "<command-name>/context</command-name>\n<command-message>context</command-message>\n<command-args></command-args>";
    let answer =
        |number, id| assistant_line("2.1.90", number, id, json!([{"type": "text", "text": id}]));
    let sent = |second, text| {
        [
            queue("enqueue", second, Some(text)),
            queue("dequeue", second, None),
        ]
    };
    let mut lines = vec![prompt("2.1.90", 1, "first", json!({}))];
    lines.extend(sent(4, "/unknown"));
    // A line of the turn before.
    lines.push(answer(3, "m1"));
    lines.push(prompt(
        "2.1.90",
        5,
        "Unknown skill: unknown",
        json!({"isMeta": true}),
    ));
    lines.extend(sent(7, "/context"));
    lines.push(prompt("2.1.90", 6, "late", json!({})));
    lines.push(prompt("2.1.90", 8, tags, json!({})));
    lines.extend(sent(9, "second"));
    lines.push(answer(8, "m2"));
    lines.extend([prompt("2.1.90", 10, "second", json!({})), answer(11, "m3")]);
    let tape = tape(&lines, Policy::Strict).unwrap();
    let texts: Vec<&str> = tape
        .iter()
        .filter(|event| event["k"] != "meta")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "first",
            "m1",
            "Unknown skill: unknown",
            "/unknown",
            "late",
            "/context",
            "m2",
            "second",
            "m3"
        ]
    );
}

#[test]
fn notes_after_a_result_are_by_the_harness_in_the_database() {
    let text = |number: u32, parent: u32, text: &str| {
        line(
            "0.2.96",
            number,
            "user",
            json!({"parentUuid": format!("u{parent}"), "message": {"role": "user", "content": text}}),
        )
    };
    let call = assistant_line(
        "0.2.96",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "X", "input": {}}]),
    );
    let result = result_line("0.2.96", 2, "t1", "done", None);
    let lines = [
        call,
        result,
        text(3, 2, "⎿  Read a.py (1 line)"),
        text(4, 3, "a = 1"),
        text(5, 9, "a = 1"),
        text(6, 2, "hello"),
    ];
    let by: Vec<Value> = events(&lines, "msg.in")
        .iter()
        .map(|message| message["by"].clone())
        .collect();
    assert_eq!(by, ["harness", "harness", "person", "person"]);
}

#[test]
fn a_queued_prompt_with_images_is_a_prompt_as_others_are() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9v"}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let queued = |content: &Value| {
        let mut line = queue("enqueue", 2, None);
        line["content"] = content.clone();
        line
    };
    let sent = |content: &Value| {
        line(
            "2.0.45",
            3,
            "user",
            json!({"message": {"role": "user", "content": content}}),
        )
    };
    let start = prompt("2.0.45", 1, "first", json!({}));
    for content in [
        json!([text("before"), image, text("after"), image]),
        json!([image]),
    ] {
        let delivered = [
            start.clone(),
            queued(&content),
            queue("dequeue", 2, None),
            sent(&content),
        ];
        let lost = [start.clone(), queued(&content)];
        for lines in [&delivered[..], &lost[..]] {
            let prompts = events(lines, "msg.in");
            let texts: Vec<&str> = prompts[1..]
                .iter()
                .map(|prompt| prompt["text"].as_str().unwrap_or_default())
                .collect();
            assert_eq!(
                texts,
                if content[0]["type"] == "text" {
                    vec!["before", "after"]
                } else {
                    vec![""]
                }
            );
            let images = content
                .as_array()
                .unwrap()
                .iter()
                .filter(|block| block["type"] == "image")
                .count();
            assert_eq!(
                prompts[1]["attachments"].as_array().map(Vec::len),
                Some(images)
            );
            assert!(prompts.iter().all(|prompt| prompt["by"] == "person"));
            assert_eq!(unaccounted_bytes(lines), 0);
        }
    }
    let malformed = [start, queued(&json!([{"type": "other"}]))];
    assert_eq!(
        tape(&malformed, Policy::Strict)
            .unwrap_err()
            .pointer
            .as_deref(),
        Some("/content")
    );
}

#[test]
fn words_that_a_denial_states_to_be_a_persons_are_a_prompt() {
    let call = assistant_line(
        "2.1.330",
        1,
        "m1",
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
    );
    let denied = |text: &str, source: &str| {
        let mut result = result_line(
            "2.1.330",
            2,
            "t1",
            text,
            Some(json!(format!("Error: {text}"))),
        );
        result["message"]["content"][0]["is_error"] = json!(true);
        (result["toolDenialKind"], result["holdsPersonsWords"]) =
            (json!("permission-rule"), json!(true));
        result["permissionDecision"] = json!({"decision": "reject", "source": source});
        [call.clone(), result]
    };
    assert_eq!(
        authors(&denied("use find", "user_reject")),
        [("person".to_owned(), "use find".to_owned())]
    );
    assert_eq!(authors(&denied("no", "config")), []);
    let framed = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse rg";
    assert_eq!(
        authors(&denied(framed, "user_reject")),
        [("person".to_owned(), "use rg".to_owned())]
    );
}

#[test]
fn what_the_model_sees_before_the_text_of_a_hook_is_context() {
    let lead = json!({"isMeta": true, "rowSource": "hook", "hookText": true, "hookTextLead": "What follows is of a hook."});
    let lines = [prompt("2.1.331", 1, "Stop hook feedback:\ngo on", lead)];
    assert_eq!(authors(&lines)[0].0, "harness");
    assert_eq!(
        events(&lines, "meta")
            .iter()
            .filter(|event| event["text"] == "What follows is of a hook.")
            .count(),
        1
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}
