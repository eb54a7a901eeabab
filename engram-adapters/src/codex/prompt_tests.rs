//! Who wrote a message, and which records state the same one.

use serde_json::{Value, json};

use super::tests::{
    by_and_text, call, event, events, item, message, of_kind, output, sent, system_events,
};

#[test]
fn a_message_is_of_a_person_if_the_next_record_says_that_it_was_sent() {
    let said = [
        "# AGENTS.md instructions are out of date",
        "<image> tags are broken",
        "<skill> is the tag",
    ];
    let mut lines = vec![
        message("user", "<hook_prompt>go on</hook_prompt>"),
        message("user", "Codex could not read the image"),
    ];
    for text in said {
        lines.extend([message("user", text), sent(text)]);
    }
    lines.extend([
        message("user", "injected by a client"),
        message("assistant", "Yes."),
        message("user", "the end of the file"),
    ]);
    let events = events(&lines);
    let expected: Vec<&str> = of_kind(&events, "msg.in")
        .iter()
        .filter(|event| event["by"] == "person")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(expected, said);
    assert_eq!(by_and_text(&events).len(), 7);
    let order: Vec<u64> = of_kind(&events, "msg.in")
        .iter()
        .map(|event| event["origin"]["line"].as_u64().unwrap())
        .collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn a_prompt_stands_once_although_other_records_are_before_its_twin() {
    let settings = ("turn_context", json!({"cwd": "/p", "model": "m"}));
    let notice = event(json!({"type": "token_count", "info": null, "rate_limits": null}));
    let harness = || message("user", "<environment_context>x</environment_context>");
    let behind: [&[(&str, Value)]; 4] = [
        std::slice::from_ref(&settings),
        &[notice.clone(), settings.clone()],
        &[harness()],
        &[settings.clone(), harness(), notice.clone()],
    ];
    for between in behind {
        let lines = [
            &[harness(), message("user", "do it")][..],
            between,
            &[sent("do it"), message("assistant", "Yes.")],
        ]
        .concat();
        let events = events(&lines);
        let prompts: Vec<_> = of_kind(&events, "msg.in")
            .into_iter()
            .filter(|event| event["by"] == "person")
            .collect();
        assert_eq!(prompts.len(), 1, "{between:?}");
        assert_eq!(
            (&prompts[0]["text"], &prompts[0]["origin"]["line"]),
            (&json!("do it"), &json!(3)),
            "{between:?}"
        );
        let order: Vec<u64> = events
            .iter()
            .filter_map(|event| event["origin"]["line"].as_u64())
            .collect();
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!(
            events.last().unwrap()["ledger"]["records"],
            json!(lines.len() + 1)
        );
    }
}

#[test]
fn two_messages_with_their_twins_behind_both_are_two_prompts() {
    let events = events(&[
        message("user", "a"),
        message("user", "b"),
        sent("a"),
        sent("b"),
        message("assistant", "Yes."),
    ]);
    assert_eq!(by_and_text(&events), [("person", "a"), ("person", "b")]);
}

#[test]
fn a_message_without_a_twin_is_of_the_harness() {
    let notice = event(json!({"type": "token_count", "info": null, "rate_limits": null}));
    let mut lines = vec![message("user", "injected")];
    lines.extend(std::iter::repeat_n(notice, 40));
    assert_eq!(by_and_text(&events(&lines)), [("harness", "injected")]);
}

#[test]
fn parts_that_were_sent_together_have_one_twin() {
    let parts = ["<image name=[Image #1]>", "first", "second"]
        .map(|text| json!({"type": "input_text", "text": text}));
    let events = events(&[
        (
            "response_item",
            json!({"type": "message", "role": "user", "content": parts}),
        ),
        sent("first\nsecond"),
    ]);
    assert_eq!(
        by_and_text(&events),
        [
            ("harness", "<image name=[Image #1]>"),
            ("person", "first"),
            ("person", "second")
        ]
    );
}

#[test]
fn the_texts_around_an_image_are_context_and_name_it() {
    let part = |text: &str| json!({"type": "input_text", "text": text});
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,aaaa"});
    let open = "<image name=[Image #1] path=\"C:\\a b.png\">";
    let parts = [
        part(open),
        image,
        part("</image>"),
        part("</image> what is it?"),
    ];
    let events = events(&[
        (
            "response_item",
            json!({"type": "message", "role": "user", "content": parts}),
        ),
        sent("</image> what is it?"),
    ]);
    assert_eq!(by_and_text(&events), [("person", "</image> what is it?")]);
    let prompt = of_kind(&events, "msg.in")[0];
    assert_eq!(prompt["attachments"][0]["name"], "C:\\a b.png");
    let tags: Vec<&Value> = of_kind(&events, "meta")
        .into_iter()
        .filter(|event| event["name"] == "media_tag")
        .map(|event| &event["text"])
        .collect();
    assert_eq!(tags, [open, "</image>"]);
}

#[test]
fn a_prompt_of_white_space_is_of_a_person() {
    let events = events(&[
        message("user", "\n"),
        sent("\n"),
        message("user", " "),
        message("assistant", "Yes."),
    ]);
    assert_eq!(by_and_text(&events), [("person", "\n"), ("harness", " ")]);
}

#[test]
fn the_image_of_a_tool_is_of_the_harness_although_it_has_a_twin() {
    let url = |name: &str| format!("data:image/png;base64,{name}");
    let image = |name: &str| {
        (
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": url(name)}]}),
        )
    };
    let twin = |name: &str| {
        event(
            json!({"type": "user_message", "message": "", "images": [url(name)], "local_images": [], "text_elements": []}),
        )
    };
    let view = |id: &str, told: &str| {
        [
            call(id, "view_image", "{\"path\": \"a.png\"}"),
            output(id, told),
        ]
    };
    let lines = [
        &view("c1", "attached local image path")[..],
        &[image("aaaa"), twin("aaaa"), image("bbbb"), twin("bbbb")],
        &view("c2", "unable to locate image at `/p/a.png`"),
        &[image("cccc"), twin("cccc")],
        &view("c3", "attached local image path"),
        &[
            event(json!({"type": "turn_aborted", "reason": "interrupted"})),
            image("dddd"),
            twin("dddd"),
        ],
    ];
    let events = events(&lines.concat());
    assert_eq!(
        by_and_text(&events),
        [
            ("harness", ""),
            ("person", ""),
            ("person", ""),
            ("person", "")
        ]
    );
}

#[test]
fn an_image_that_only_the_event_of_a_prompt_states_is_on_the_tape() {
    let image = "data:image/png;base64,aaaa";
    let event = event(json!({"type": "user_message", "message": "", "images": [image]}));
    let lines = [
        message("user", "<environment_context>x</environment_context>"),
        event,
        message("user", "look"),
        sent("look"),
    ];
    let events = events(&lines);
    let prompts: Vec<&Value> = of_kind(&events, "msg.in")
        .into_iter()
        .filter(|event| event["by"] == "person")
        .collect();
    assert_eq!(prompts.len(), 2);
    assert_eq!(
        (
            &prompts[0]["text"],
            &prompts[0]["attachments"][0]["media_type"]
        ),
        (&Value::Null, &json!("image/png"))
    );
    assert_eq!(
        (&prompts[1]["text"], &prompts[1]["attachments"]),
        (&json!("look"), &Value::Null)
    );
    let parts = json!([{"type": "input_image", "image_url": image}]);
    let sent = (
        "response_item",
        json!({"type": "message", "role": "user", "content": parts}),
    );
    let events = super::tests::events(&[lines[0].clone(), sent, lines[1].clone()]);
    let prompts: Vec<&Value> = of_kind(&events, "msg.in")
        .into_iter()
        .filter(|event| event["by"] == "person")
        .collect();
    assert_eq!(
        (prompts.len(), &prompts[0]["origin"]["line"]),
        (1, &json!(3))
    );
}

#[test]
fn a_message_may_state_what_its_parts_are() {
    let noted = |text: &str, kind: &str| {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}],
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": [kind]}})
    };
    let events = events(&[
        (
            "response_item",
            noted("copied without an event", "user.text"),
        ),
        ("response_item", noted("a notice", "generic.notice")),
        message("assistant", "Yes."),
    ]);
    assert_eq!(
        by_and_text(&events),
        [
            ("person", "copied without an event"),
            ("harness", "a notice")
        ]
    );
}

#[test]
fn the_prompts_of_a_reviewer_are_no_prompts_of_the_thread() {
    let target = json!({"type": "uncommittedChanges"});
    let events = events(&[
        event(
            json!({"type": "entered_review_mode", "target": target, "user_facing_hint": "current changes"}),
        ),
        sent("Review the current code changes."),
        sent("Review the current code changes."),
        event(json!({"type": "exited_review_mode", "review_output": null})),
        message("user", "thanks"),
        sent("thanks"),
    ]);
    assert_eq!(
        by_and_text(&events),
        [
            ("harness", "Review the current code changes."),
            ("person", "thanks")
        ]
    );
}

#[test]
fn a_large_message_is_on_the_tape_once() {
    let large = "a large text\n".repeat(700_000);
    let events = events(&[
        message("user", "first"),
        sent("first"),
        message("user", &large),
        sent(&large),
    ]);
    let messages = by_and_text(&events);
    assert!(
        messages == [("person", "first"), ("person", large.as_str())],
        "{} messages",
        messages.len()
    );
}

#[test]
fn an_image_of_the_provider_and_a_sound_are_attachments_of_their_prompt() {
    let events = events(&[
        (
            "response_item",
            json!({"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "look and listen"},
                {"type": "input_image", "file_id": "file_1", "detail": "high"},
                {"type": "input_audio", "audio_url": "data:audio/wav;base64,AAAA"},
            ]}),
        ),
        item(json!({"type": "UserMessage", "id": "u", "content": [
            {"type": "text", "text": "look and listen", "text_elements": []},
            {"type": "image", "file_id": "file_1", "detail": "high"},
            {"type": "audio", "audio_url": "data:audio/wav;base64,AAAA"},
        ]})),
    ]);
    assert_eq!(by_and_text(&events), [("person", "look and listen")]);
    let attachments = &of_kind(&events, "msg.in")[0]["attachments"];
    assert_eq!(attachments[0]["name"], "file_1");
    assert_eq!(attachments[1]["media_type"], "audio/wav");
    assert_eq!(attachments[1]["bytes"], 3);
}

#[test]
fn words_between_agents_are_by_an_agent() {
    let words = |content: &str| {
        (
            "inter_agent_communication",
            json!({"author": "/root/ada", "recipient": "/root", "content": content, "trigger_turn": false}),
        )
    };
    // What the harness writes in the place of an answer names the agent, too.
    let failed = "Agent errored: no more\n\nThis agent's turn failed. If you still need this agent, use the available collaboration tools to give it another task.";
    let quoted = "Agent errored: so it said.";
    let events = events(&[words("done here"), words(failed), words(quoted), words("")]);
    assert_eq!(
        by_and_text(&events),
        [
            ("agent", "done here"),
            ("harness", failed),
            ("agent", quoted)
        ]
    );
    assert_eq!(system_events(&events), [("agent_message", "/root/ada")]);
}

#[test]
fn an_answer_that_a_client_got_stands_once() {
    let delivered = |text: &str| {
        (
            "retained_context",
            json!({"type": "delivered_assistant_message", "turn_id": "t", "text": text, "complete": true, "acceptance_order": 1, "message_id": "m", "phase": "final_answer"}),
        )
    };
    let events = events(&[
        message("assistant", "Seen."),
        delivered("Seen."),
        delivered("New."),
    ]);
    let answers = of_kind(&events, "msg.out");
    let texts: Vec<&Value> = answers.iter().map(|answer| &answer["text"]).collect();
    assert_eq!(texts, ["Seen.", "New."]);
}

#[test]
fn what_a_client_puts_before_the_words_is_context() {
    let setup = "# Context from my IDE setup:\n\n## Active file: a.md\n\n## Active selection of the file:\n## My request for Codex:\nold\n## Open tabs:\n- a.md: a.md\n\n## My request for Codex:";
    let files = "# Files mentioned by the user:\n\n## x.png: /tmp/x.png\n\n## My request:";
    let browser = "<in-app-browser-context source=\"ambient-ui-state\">\n# In app browser:\n</in-app-browser-context>\n\n## My request:";
    for (before, name) in [
        (setup, "ide_context"),
        (files, "mentioned_files"),
        (browser, "browser"),
    ] {
        let text = format!("\n{before}\nfix it\n");
        let events = events(&[message("user", &text), sent(&text)]);
        assert_eq!(by_and_text(&events), [("person", "fix it")]);
        let context = events.iter().find(|event| event["name"] == name).unwrap();
        assert_eq!(context["text"], before);
    }
    // A person may write all of these words.
    for text in [
        "why \"# Context from my IDE setup:\"?",
        "# Files mentioned by the user:\nnone",
    ] {
        assert_eq!(
            by_and_text(&events(&[message("user", text), sent(text)])),
            [("person", text)]
        );
    }
}

/// As 0.171.0 (with the item) and 0.135.0 (without) write a command that a person ran behind `!`.
#[test]
fn a_command_that_a_person_ran_is_theirs() {
    let ran = json!({"type": "CommandExecution", "id": "e1", "command": ["/bin/bash", "-lc", "cat none.txt; echo ohé"], "cwd": "/p",
        "source": "user_shell", "status": "completed", "aggregated_output": "ohé\n", "exit_code": 0});
    let told = "<user_shell_command>\n<command>\ncat none.txt; echo ohé\n</command>\n<result>\nExit code: 0\nOutput:\nohé\n\n</result>\n</user_shell_command>";
    for lines in [
        vec![item(ran), message("user", told)],
        vec![message("user", told)],
    ] {
        let events = events(&lines);
        assert_eq!(by_and_text(&events), [("person", "cat none.txt; echo ohé")]);
        let around: String = events
            .iter()
            .filter(|event| event["label"] == "context" && event["name"] == "user_shell")
            .filter_map(|event| event["text"].as_str())
            .collect();
        assert!(around.ends_with("</result>\n</user_shell_command>"));
    }
}

/// The end of a command of a log that lacks the words: the record of the prompt may be lost.
#[test]
fn the_end_of_a_command_whose_words_are_lost_is_accounted_for() {
    let ran = json!({"command": ["/bin/bash", "-lc", "cat none.txt; echo ohé"], "cwd": "/p", "source": "user_shell", "status": "completed",
        "parsed_cmd": [{"type": "unknown", "cmd": "cat none.txt; echo ohé"}], "stdout": "ohé\n", "stderr": "", "aggregated_output": "ohé\n",
        "exit_code": 0, "duration": {"secs": 0, "nanos": 1}, "formatted_output": "ohé\n"});
    let with = |more: Value| {
        let mut ran = ran.clone();
        let more = more.as_object().unwrap().clone();
        ran.as_object_mut().unwrap().extend(more);
        ran
    };
    let ends = [
        item(with(json!({"type": "CommandExecution", "id": "e1"}))),
        event(with(
            json!({"type": "exec_command_end", "call_id": "e1", "turn_id": "t"}),
        )),
    ];
    for end in ends {
        assert!(by_and_text(&events(&[end])).is_empty());
    }
}
