//! Sessions that no fixture shows: damage, values that decide something, limits.

use engram_core::error::AdapterError;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use serde_json::{Value, json};

fn convert(lines: &[Value], policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    converted(&lines.join("\n"), policy)
}

fn converted(text: &str, policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let options = Options {
        policy,
        ..Options::default()
    };
    let mut tape = Vec::new();
    crate::ingest(
        Input::new(text.as_bytes(), options.limits),
        &options,
        &mut engram_core::tape::JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

fn strict(lines: &[Value]) -> Vec<Value> {
    convert(lines, Policy::Strict).unwrap()
}

/// A line: its id, the id of the line that it continues, its type, and further members.
fn line(id: &str, parent: Option<&str>, kind: &str, more: Value) -> Value {
    let mut line = json!({
        "uuid": id, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-11-28T10:00:00.000Z", "type": kind, "provenance": "system", "cwd": "/p", "version": "0.24.4"
    });
    let members = line.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    line
}

fn said(role: &str, parts: Value) -> Value {
    json!({"message": {"role": role, "parts": parts}})
}

fn prompt(id: &str, parent: Option<&str>) -> Value {
    line(id, parent, "user", said("user", json!([{"text": "hello"}])))
}

/// The labels of `meta` events, and the kinds of the others, without the first and the last one.
fn names(tape: &[Value]) -> Vec<&str> {
    let name = tape[1..tape.len() - 1]
        .iter()
        .map(|event| event["label"].as_str().or(event["k"].as_str()));
    name.map(Option::unwrap_or_default).collect()
}

#[test]
fn a_line_that_is_there_twice_is_one() {
    let tape = strict(&[prompt("a", None), prompt("a", None)]);
    assert_eq!(names(&tape), ["session", "msg.in"]);
    assert_eq!(tape[3]["ledger"]["duplicate"], 1);
}

#[test]
fn a_signature_is_not_on_the_tape() {
    let part = json!({"text": "so", "thought": true, "thoughtSignature": "c2lnbmF0dXJl"});
    let answer = line("b", Some("a"), "assistant", said("model", json!([part])));
    let tape = strict(&[prompt("a", None), answer]);
    assert_eq!(tape[3]["channel"], "reasoning");
    assert!(!format!("{tape:?}").contains("c2lnbmF0dXJl"));
}

#[test]
fn what_a_hook_adds_is_not_the_persons() {
    let mut more = said(
        "user",
        json!([{"text": "hello"}, {"text": "<hook>added</hook>"}]),
    );
    more["systemPayload"] = json!({"displayText": "hello", "hookContext": "added"});
    let tape = strict(&[line("a", None, "user", more)]);
    assert_eq!(names(&tape), ["session", "msg.in", "context"]);
    assert_eq!(
        (&tape[2]["text"], &tape[3]["text"]),
        (&"hello".into(), &"<hook>added</hook>".into())
    );
}

#[test]
fn words_in_the_place_of_a_command_are_not_the_persons() {
    let template = || said("user", json!([{"text": "Template my words end"}]));
    let mut with_hook = template();
    with_hook["systemPayload"] = json!({"displayText": "/cmd my words", "hookContext": ""});
    let command = |sent: bool| {
        let payload =
            json!({"phase": "invocation", "rawCommand": "/cmd my words", "sentToModel": sent});
        line(
            "a",
            None,
            "system",
            json!({"subtype": "slash_command", "systemPayload": payload}),
        )
    };
    let next = |more: Value| line("b", Some("a"), "user", more);
    let sessions = [
        strict(&[line("a", None, "user", with_hook.clone())]),
        strict(&[command(true), next(template())]),
        strict(&[command(true), next(with_hook)]),
    ];
    for tape in sessions {
        assert_eq!(names(&tape), ["session", "msg.in", "context"]);
        assert_eq!(
            (&tape[2]["text"], &tape[3]["name"], &tape[3]["text"]),
            (
                &"/cmd my words".into(),
                &"command".into(),
                &"Template my words end".into()
            )
        );
    }
    let tape = strict(&[
        command(false),
        next(said("user", json!([{"text": "hello"}]))),
    ]);
    assert_eq!(names(&tape), ["session", "system", "msg.in"]);
}

#[test]
fn a_prompt_with_a_link_is_the_persons() {
    let mut more = said("user", json!([{"text": "read it"}]));
    let links = json!([{"type": "resource_link", "name": "a.txt", "uri": "file:///p/a.txt"}]);
    more["systemPayload"] =
        json!({"displayText": "read it", "hookContext": "", "resourceLinks": links});
    let tape = strict(&[line("a", None, "user", more)]);
    assert_eq!(names(&tape), ["session", "msg.in"]);
    assert_eq!(
        (&tape[2]["by"], &tape[2]["text"]),
        (&"person".into(), &"read it".into())
    );
    assert_eq!(tape[2]["attachments"][0]["name"], "file:///p/a.txt");
}

#[test]
fn what_is_typed_meanwhile_is_the_persons() {
    let words = "\n[User message received during tool execution]: and this";
    let mut more = said("user", json!([{"text": words}]));
    more["subtype"] = json!("mid_turn_user_message");
    more["systemPayload"] = json!({"displayText": "and this"});
    let tape = strict(&[prompt("a", None), line("b", Some("a"), "user", more)]);
    assert_eq!(names(&tape), ["session", "msg.in", "context", "msg.in"]);
    assert_eq!(
        (&tape[4]["by"], &tape[4]["text"]),
        (&"person".into(), &"and this".into())
    );
}

#[test]
fn an_image_is_its_hash() {
    let image = json!({"mimeType": "image/png", "data": "aW1hZ2U="});
    let parts = json!([{"text": "look"}, {"inlineData": image}]);
    let call = json!([{"functionCall": {"id": "c", "name": "read_file", "args": {"file_path": "/p/a.png"}}}]);
    let answer = json!([{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "x"}, "parts": [{"inlineData": image}]}}]);
    let tape = strict(&[
        line("a", None, "user", said("user", parts)),
        line("b", Some("a"), "assistant", said("model", call)),
        line("c", Some("b"), "tool_result", said("user", answer)),
    ]);
    for event in [&tape[2], &tape[4]] {
        assert_eq!(event["attachments"][0]["bytes"], 5);
    }
    assert!(!format!("{tape:?}").contains("aW1hZ2U="));
}

#[test]
fn a_call_that_code_of_the_model_made_is_on_the_tape() {
    let event = json!({
        "event.name": "qwen-code.tool_call", "event.timestamp": "2026-11-28T10:00:00.000Z", "call_id": "nested", "function_name": "read_file",
        "function_args": {"file_path": "/p/a"}, "duration_ms": 1, "status": "success", "success": true, "tool_type": "native"
    });
    let more = json!({"subtype": "ui_telemetry", "systemPayload": {"uiEvent": event}});
    let tape = strict(&[prompt("a", None), line("b", Some("a"), "system", more)]);
    assert_eq!(tape[3]["name"], "tool_call");
    assert!(tape[3]["text"].as_str().unwrap().contains("/p/a"));
}

#[test]
fn a_title_that_is_written_again_is_one() {
    let title = |id, parent| {
        let more = json!({"subtype": "custom_title", "systemPayload": {"customTitle": "T", "titleSource": "manual"}});
        line(id, parent, "system", more)
    };
    let tape = strict(&[
        prompt("a", None),
        title("b", Some("a")),
        title("c", Some("b")),
        prompt("d", Some("b")),
    ]);
    assert_eq!(names(&tape), ["session", "msg.in", "session", "msg.in"]);
}

#[test]
fn a_line_of_another_type_is_a_fault() {
    let other = line("b", Some("a"), "later", json!({}));
    let lines = [prompt("a", None), other];
    let error = convert(&lines, Policy::Strict).unwrap_err();
    assert_eq!(error.code.as_str(), "unrecognized_record");
    let tape = convert(&lines, Policy::Permissive).unwrap();
    assert_eq!(names(&tape), ["session", "msg.in", "unrecognized"]);
}

#[test]
fn a_tool_that_is_not_in_the_list_is_called_by_another_one() {
    let args = json!({"name": "mcp__lab__plain", "arguments": {"q": "x"}});
    let call = json!([{"functionCall": {"id": "c", "name": "tool_call", "args": args}}]);
    let tape = strict(&[
        prompt("a", None),
        line("b", Some("a"), "assistant", said("model", call)),
    ]);
    let call = tape.iter().find(|event| event["k"] == "tool.call").unwrap();
    assert_eq!(
        (&call["tool"], &call["server"], &call["kind"], &call["args"]),
        (&"tool_call".into(), &"lab".into(), &"mcp".into(), &args)
    );
}

#[test]
fn a_reminder_in_a_part_of_its_own_is_the_harnesss() {
    let reminder = "<system-reminder>\n2 agents.\n</system-reminder>\n\n";
    let both = said("user", json!([{"text": reminder}, {"text": "go on"}]));
    let alone = said("user", json!([{"text": reminder}]));
    let tape = strict(&[
        line("a", None, "user", both),
        line("b", Some("a"), "user", alone),
    ]);
    assert_eq!(names(&tape), ["session", "context", "msg.in", "msg.in"]);
    assert_eq!(tape[2]["name"], "reminder");
}

#[test]
fn the_state_of_a_sub_agent_is_no_event() {
    let payload = json!({"systemPayload": {"callId": "c", "subagentSessionReady": true}, "subtype": "agent_session_ready"});
    let tape = strict(&[prompt("a", None), line("b", Some("a"), "system", payload)]);
    assert_eq!(names(&tape), ["session", "msg.in"]);
    assert_eq!(tape[3]["ledger"]["bookkeeping"], 1);
}

#[test]
fn the_words_of_a_response_that_no_line_has_are_kept() {
    let event = json!({"event.name": "qwen-code.api_response", "event.timestamp": "2026-11-28T10:00:00.000Z", "response_text": "half", "model": "m", "response_id": "r"});
    let payload = json!({"systemPayload": {"uiEvent": event}, "subtype": "ui_telemetry"});
    let tape = convert(
        &[prompt("a", None), line("b", Some("a"), "system", payload)],
        Policy::Permissive,
    );
    let system = tape
        .unwrap()
        .into_iter()
        .find(|event| event["label"] == "system");
    assert_eq!(system.unwrap()["text"], "half");
}

#[test]
fn a_response_that_the_provider_does_not_count_has_the_notice_with_its_words() {
    let notice = |words: &str| {
        let event = json!({
            "event.name": "qwen-code.api_response", "event.timestamp": "2026-11-28T10:00:00.000Z", "response_text": words, "model": "m",
            "response_id": "r", "input_token_count": 0, "output_token_count": 0, "total_token_count": 0
        });
        json!({"systemPayload": {"uiEvent": event}, "subtype": "ui_telemetry"})
    };
    let tape = |words: &str| {
        strict(&[
            prompt("a", None),
            line("b", Some("a"), "system", notice(words)),
            line(
                "c",
                Some("b"),
                "assistant",
                said("model", json!([{"text": "hello"}])),
            ),
        ])
    };
    let same = tape("hello");
    assert_eq!(names(&same), ["session", "msg.in", "msg.out"]);
    assert_eq!(same[3]["message_id"], "r");
    // One that was stopped has no line: its words are not those of the next response.
    assert_eq!(
        names(&tape("half")),
        ["session", "msg.in", "system", "msg.out"]
    );
}

#[test]
fn a_text_of_the_responses_interface_may_have_a_phase() {
    let message = |phase: &str| {
        let part = json!({"text": "a1", "responsesMessage": {"id": "msg_1", "phase": phase}});
        line("b", Some("a"), "assistant", said("model", json!([part])))
    };
    let plain = json!([{"text": "a1", "responsesMessage": {"id": "msg_1"}}]);
    let plain = line("b", Some("a"), "assistant", said("model", plain));
    let channel = |answer: Value| strict(&[prompt("a", None), answer])[3]["channel"].clone();
    assert_eq!(channel(plain), Value::Null);
    assert_eq!(channel(message("commentary")), "commentary");
    assert_eq!(channel(message("final_answer")), "final");
}

#[test]
fn a_call_that_a_person_rejected_is_denied() {
    let statuses = |decision: &str| {
        let call = json!([{"functionCall": {"id": "c", "name": "write_file", "args": {"file_path": "/p/n.md", "content": "n\n"}}}]);
        let event = json!({
            "event.name": "qwen-code.tool_call", "event.timestamp": "2026-11-28T10:00:00.000Z", "call_id": "c", "function_name": "write_file",
            "function_args": {}, "duration_ms": 2052, "status": "cancelled", "execution_status": "not_started", "success": false, "decision": decision,
            "tool_type": "native"
        });
        let notice = json!({"subtype": "ui_telemetry", "systemPayload": {"uiEvent": event}});
        let error = "[Operation Cancelled] Reason: User did not allow tool call";
        let mut answer = said(
            "user",
            json!([{"functionResponse": {"id": "c", "name": "write_file", "response": {"error": error}}}]),
        );
        answer["toolCallResult"] =
            json!({"callId": "c", "status": "cancelled", "executionStatus": "not_started"});
        let tape = strict(&[
            prompt("a", None),
            line("b", Some("a"), "assistant", said("model", call)),
            line("c", Some("b"), "system", notice),
            line("d", Some("c"), "tool_result", answer),
        ]);
        let result = tape.iter().find(|event| event["k"] == "tool.result");
        result.unwrap()["status"].clone()
    };
    assert_eq!(statuses("reject"), "denied");
    assert_eq!(statuses("accept"), "cancelled");
}

#[test]
fn a_notebook_is_edited_like_a_file() {
    let call = json!([{"functionCall": {"id": "c", "name": "notebook_edit", "args": {"notebook_path": "/p/n.ipynb", "cell_id": "c1", "new_source": "2"}}}]);
    let output =
        "Notebook /p/n.ipynb has been updated. replace cell c1.\n\nUpdated source:\n\n---\n\n2";
    let mut answer = said(
        "user",
        json!([{"functionResponse": {"id": "c", "name": "notebook_edit", "response": {"output": output}}}]),
    );
    answer["toolCallResult"] = json!({"callId": "c", "status": "success", "executionStatus": "success", "resultDisplay": {
        "fileDiff": "--- n.ipynb\tCurrent\n+++ n.ipynb\tProposed\n@@ -1,2 +1,2 @@\n {\n-1}\n+2}\n", "fileName": "n.ipynb", "filePath": "/p/n.ipynb",
        "originalContent": "{\n1}\n", "newContent": "{\n2}\n"
    }});
    let tape = strict(&[
        prompt("a", None),
        line("b", Some("a"), "assistant", said("model", call)),
        line("c", Some("b"), "tool_result", answer),
    ]);
    let edit = tape.iter().find(|event| event["k"] == "code.edit").unwrap();
    assert_eq!(edit["file"], "/p/n.ipynb");
    assert_eq!(edit["after_range"], json!([2, 2]));
}

/// Lines that a run prints: the first one, and these.
fn printed(session: &str, lines: &[Value]) -> Vec<Value> {
    let init = json!({
        "type": "system", "subtype": "init", "uuid": session, "session_id": session, "cwd": "/p", "tools": ["edit"], "mcp_servers": [],
        "model": "m", "permission_mode": "yolo", "slash_commands": [], "qwen_code_version": "0.24.4", "agents": []
    });
    let line = |(n, line): (usize, &Value)| {
        let mut line = line.clone();
        line["uuid"] = json!(format!("{session}-{n}"));
        line["session_id"] = json!(session);
        line
    };
    let lines = lines.iter().enumerate().map(line);
    std::iter::once(init).chain(lines).collect()
}

fn block(kind: &str, content: Value) -> Value {
    let usage = json!({"input_tokens": 1010, "output_tokens": 50, "cache_read_input_tokens": 512, "total_tokens": 1060});
    let mut message = json!({"role": kind, "content": [content]});
    if kind == "assistant" {
        message["usage"] = usage;
    }
    json!({"type": kind, "parent_tool_use_id": null, "message": message})
}

fn ends(more: Value) -> Value {
    let mut line = json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1,
        "usage": {"input_tokens": 1010, "output_tokens": 50}, "permission_denials": []
    });
    let members = line.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    line
}

#[test]
fn the_end_of_a_run_says_the_answer_again() {
    let answer = || block("assistant", json!({"type": "text", "text": "a1"}));
    let of = |end: Value| {
        let tape = strict(&printed("s", &[answer(), end]));
        let names: Vec<String> = names(&tape).into_iter().map(str::to_owned).collect();
        names.join(" ")
    };
    assert_eq!(of(ends(json!({"result": "a1"}))), "session msg.out usage");
    assert_eq!(
        of(ends(json!({"result": "other"}))),
        "session msg.out usage system"
    );
    // No model was asked.
    assert_eq!(
        of(ends(json!({"result": "a1", "num_turns": 0}))),
        "session system usage"
    );
    let failed = json!({"is_error": true, "error": {"message": "a1"}});
    assert_eq!(of(ends(failed)), "session error usage");
    let failed = json!({"is_error": true, "error": {"message": "other"}});
    assert_eq!(of(ends(failed)), "session msg.out usage error");
}

#[test]
fn what_two_runs_print_to_one_file_stays_apart() {
    let call =
        json!({"type": "tool_use", "id": "c", "name": "read_file", "input": {"file_path": "/p/a"}});
    let result = |output: &str| {
        let result =
            json!({"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": output});
        block("user", result)
    };
    let denial = json!({"permission_denials": [{"tool_name": "read_file", "tool_use_id": "c", "tool_input": {}}]});
    let of = |session, end| {
        printed(
            session,
            &[block("assistant", call.clone()), result("no"), end],
        )
    };
    let (one, two) = (of("s", ends(denial)), of("t", ends(json!({}))));
    let mixed: Vec<Value> = one.into_iter().zip(two).flat_map(|(a, b)| [a, b]).collect();
    let tape = strict(&mixed);
    let results = tape.iter().filter(|event| event["k"] == "tool.result");
    let statuses: Vec<_> = results
        .map(|result| {
            (
                result["source"]["session_id"].clone(),
                result["status"].clone(),
            )
        })
        .collect();
    let expected = [("s", "denied"), ("t", "error")].map(|(a, b)| (json!(a), json!(b)));
    assert_eq!(statuses, expected);
}

#[test]
fn an_output_of_a_command_is_framed_only_by_its_own_words() {
    let exit = |output: &str| {
        let call = json!({"type": "tool_use", "id": "c", "name": "run_shell_command", "input": {"command": "ls"}});
        let result =
            json!({"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": output});
        let tape = strict(&printed(
            "s",
            &[block("assistant", call), block("user", result)],
        ));
        let result = tape
            .iter()
            .find(|event| event["k"] == "tool.result")
            .unwrap();
        result["exit"].clone()
    };
    assert_eq!(
        exit("Command: ls\nDirectory: (root)\nOutput: x\nExit Code: 3\nSignal: (none)"),
        3
    );
    assert_eq!(exit("Command: rm\nDirectory: x\nExit Code: 3"), Value::Null);
    assert_eq!(exit("\nExit Code: 3"), Value::Null);
}

#[test]
fn a_warning_among_printed_lines_is_an_error_of_its_own() {
    let lines = printed("s", &[ends(json!({}))]);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let log = format!("Warning: no sandbox\n{}\n", lines.join("\n"));
    let tape = converted(&log, Policy::Strict).unwrap();
    let warning = tape.iter().find(|event| event["label"] == "error").unwrap();
    assert_eq!(
        (&warning["code"], &warning["text"]),
        (&json!("stderr"), &json!("Warning: no sandbox"))
    );
}

#[test]
fn notices_of_a_run_are_on_the_tape_as_they_are() {
    for name in ["model_fallback", "vision_routing", "worktree_started"] {
        let notice = json!({"type": "system", "subtype": name, "parent_tool_use_id": null, "data": {"notice": "words"}});
        let tape = strict(&printed("s", &[notice]));
        assert_eq!(tape[2]["name"], name);
        assert_eq!(tape[2]["text"], r#"{"notice":"words"}"#);
    }
    let other = json!({"type": "system", "subtype": "later", "parent_tool_use_id": null});
    let error = convert(&printed("s", &[other]), Policy::Strict).unwrap_err();
    assert_eq!(error.code.as_str(), "unrecognized_record");
}

/// As a run prints that is killed while it answers (0.24.4: recorded).
#[test]
fn words_that_no_line_has_are_on_the_tape() {
    let part =
        |event: Value| json!({"type": "stream_event", "parent_tool_use_id": null, "event": event});
    let words = |kind: &str, member: &str, words: &str| {
        let mut delta = json!({"type": kind});
        delta[member] = words.into();
        part(json!({"type": "content_block_delta", "index": 0, "delta": delta}))
    };
    let begin = || part(json!({"type": "content_block_start", "index": 0, "content_block": {}}));
    let message = json!({"id": "r", "role": "assistant", "model": "m", "content": []});
    let lines = printed(
        "s",
        &[
            part(json!({"type": "message_start", "message": message})),
            begin(),
            words("text_delta", "text", "Whole."),
            block("assistant", json!({"type": "text", "text": "Whole."})),
            begin(),
            words("thinking_delta", "thinking", "I th"),
            words("thinking_delta", "thinking", "ink"),
            begin(),
            words("text_delta", "text", "so"),
        ],
    );
    let tape = strict(&lines);
    let said = tape.iter().filter(|event| event["k"] == "msg.out");
    let said: Vec<_> = said
        .map(|said| {
            let model = said["model"].as_str();
            (
                said["text"].as_str().unwrap(),
                said["channel"].as_str(),
                model,
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("Whole.", None, None),
            ("I think", Some("reasoning"), Some("m")),
            ("so", None, Some("m"))
        ]
    );
}

fn texts(lines: &[Value]) -> Vec<String> {
    let tape = strict(lines);
    let said = tape.iter().filter(|event| event["k"] == "msg.out");
    said.map(|said| said["text"].as_str().unwrap().to_owned())
        .collect()
}

fn piece(call: Value, words: &str) -> Value {
    let delta = json!({"type": "text_delta", "text": words});
    json!({"type": "stream_event", "parent_tool_use_id": call, "event": {"type": "content_block_delta", "index": 0, "delta": delta}})
}

fn start(call: Value) -> Value {
    json!({"type": "stream_event", "parent_tool_use_id": call, "event": {"type": "content_block_start", "index": 0, "content_block": {}}})
}

/// A killed run goes on without partial messages, and its first line has the same bytes (0.24.4: recorded). Another run prints at once.
#[test]
fn only_a_line_with_its_words_has_a_part() {
    let say = |words: &str| block("assistant", json!({"type": "text", "text": words}));
    let before = printed(
        "s",
        &[
            start(json!(null)),
            piece(json!(null), "half"),
            piece(json!(null), " of it"),
        ],
    );
    let after = printed("s", &[say("of it"), say("something else")]);
    let other = printed("t", &[say("half of it")]);
    for (lines, expected) in [
        (
            [&before[..], &after].concat(),
            ["half of it", "of it", "something else"],
        ),
        (
            [&before[..], &other, &after[2..]].concat(),
            ["half of it", "half of it", "something else"],
        ),
    ] {
        assert_eq!(texts(&lines), expected);
    }
    let whole = [&before[..], &printed("s", &[say("half of it")])[1..]].concat();
    assert_eq!(texts(&whole), ["half of it"]);
    // A log that was joined with itself.
    assert_eq!(texts(&[&whole[..], &whole].concat()), ["half of it"]);
}

/// The first line of a sub-agent is a part: it says who started it.
#[test]
fn a_sub_agent_may_begin_with_a_part() {
    let call = json!({"type": "tool_use", "id": "c1", "name": "agent", "input": {"subagent_type": "Explore"}});
    let mut say = block("assistant", json!({"type": "text", "text": "all"}));
    say["parent_tool_use_id"] = json!("c1");
    let lines = printed(
        "s",
        &[
            block("assistant", call),
            start(json!("c1")),
            piece(json!("c1"), "all"),
            say,
        ],
    );
    let tape = strict(&lines);
    let ledger = &tape.last().unwrap()["ledger"];
    assert_eq!(
        (&ledger["mapped"], &ledger["duplicate"]),
        (&json!(4), &json!(1)),
        "{ledger}"
    );
}
