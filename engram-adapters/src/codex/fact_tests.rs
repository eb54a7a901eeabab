//! What is one fact in several records, who wrote a message, and what newer versions and `exec --json` write.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::error::ErrorCode;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;
use super::tests::{
    by_and_text, call, event, events, events_of, item, message, of_kind, output, sent,
    session_with, system_events,
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
fn an_item_of_another_thread_is_marked() {
    let command = json!({"type": "CommandExecution", "id": "call_1", "command": ["ls"], "cwd": "/p", "parsed_cmd": [], "source": "agent",
        "status": "completed", "aggregated_output": "a", "exit_code": 0});
    let mirrored = |thread: &str| {
        event(
            json!({"type": "item_completed", "thread_id": thread, "turn_id": "t", "item": command}),
        )
    };
    for (thread, is_foreign) in [("s", false), ("reviewer", true)] {
        let events = events(&[mirrored(thread), message("assistant", "Done.")]);
        let call = of_kind(&events, "tool.call")[0];
        assert_eq!(
            (
                call["replay"] == true,
                call["source"]["agent_id"] == "reviewer"
            ),
            (is_foreign, is_foreign)
        );
        let answer = of_kind(&events, "msg.out")[0];
        assert!(answer["source"]["agent_id"].is_null() && answer["replay"].is_null());
    }
}

#[test]
fn a_proposed_plan_stands_once() {
    let plan = "# Plan\n- one\n";
    let full = format!("Here.\n<proposed_plan>\n{plan}</proposed_plan>\nMore?");
    let answer = event(json!({"type": "agent_message", "message": "Here.\nMore?"}));
    let proposed = item(json!({"type": "Plan", "id": "p", "text": plan}));
    let texts = |lines: &[(&str, Value)]| -> Vec<String> {
        of_kind(&events(lines), "msg.out")
            .iter()
            .map(|event| event["text"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        texts(&[
            proposed.clone(),
            answer.clone(),
            message("assistant", &full)
        ]),
        [plan, "Here.\nMore?"]
    );
    assert_eq!(
        texts(&[message("assistant", &full), answer, proposed]),
        [full]
    );
}

#[test]
fn the_server_of_an_mcp_tool_is_stated() {
    let spaced = (
        "response_item",
        json!({"type": "function_call", "name": "echo", "namespace": "mcp__mock", "call_id": "c1", "arguments": "{}"}),
    );
    let nested = event(
        json!({"type": "mcp_tool_call_end", "call_id": "c2", "invocation": {"server": "mock", "tool": "echo", "arguments": {}},
        "duration": {"secs": 0, "nanos": 0}, "result": {"Ok": {"content": [{"type": "text", "text": "x"}], "isError": false}}}),
    );
    let events = events(&[
        spaced,
        nested,
        call("c3", "mcp__mock__echo", "{}"),
        call("c4", "mcp__a__b__c", "{}"),
        call("c5", "shell", "{}"),
    ]);
    let calls: Vec<(&Value, &Value)> = of_kind(&events, "tool.call")
        .iter()
        .map(|call| (&call["tool"], &call["server"]))
        .collect();
    let (echo, mock, none) = (json!("echo"), json!("mock"), Value::Null);
    assert_eq!(
        calls,
        [
            (&echo, &mock),
            (&echo, &mock),
            (&json!("mcp__mock__echo"), &mock),
            (&json!("mcp__a__b__c"), &none),
            (&json!("shell"), &none)
        ]
    );
}

#[test]
fn a_sum_with_a_count_that_is_none_is_left_out() {
    let counts = |input: &Value, cached: &Value| json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": 2, "reasoning_output_tokens": 1, "total_tokens": 12});
    let event = |last: Value, total: Value| {
        event(
            json!({"type": "token_count", "info": {"last_token_usage": last, "total_token_usage": total}}),
        )
    };
    let good = |input: u64| counts(&json!(input), &json!(1));
    // The total of the second record cannot be read, so the third one gives no difference to it.
    let lines = [
        event(good(10), good(10)),
        event(good(20), counts(&json!(-30), &json!(1))),
        event(good(40), good(70)),
        event(counts(&json!(50), &json!(1.5)), good(120)),
    ];
    let options = Options {
        policy: Policy::Permissive,
        ..Options::default()
    };
    let tape = convert_str(&Codex, &session_with(json!({}), &lines), &options).unwrap();
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let usage = events.iter().filter(|event| event["label"] == "usage");
    assert_eq!(
        usage
            .map(|usage| usage["tokens"]["input"].as_u64())
            .collect::<Vec<_>>(),
        [Some(9), Some(19), Some(39), None]
    );
    assert!(tape.contains(r#""unknown_members":[{"type":"event_msg/token_count","pointer":"/payload/info/last_token_usage/cached_input_tokens","found":"number","count":1}"#), "{tape}");
}

#[test]
fn a_response_counts_once_and_has_its_model() {
    let counts = |input: u64| json!({"input_tokens": input, "cached_input_tokens": 1, "output_tokens": 2, "reasoning_output_tokens": 1, "total_tokens": input + 2});
    let zero = json!({"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": 77});
    let event = |last: &Value, total: u64| {
        event(
            json!({"type": "token_count", "info": {"last_token_usage": last, "total_token_usage": counts(total)}}),
        )
    };
    let record = |id: &str, input: u64| {
        let line = json!({"thread_id": "s", "turn_id": "t", "session_id": "s", "root_turn_id": "t", "response_id": id, "usage": counts(input),
            "turn_token_usage": counts(9), "thread_token_usage": counts(900 + input)});
        ("token_usage_record", line)
    };
    let context = (
        "turn_context",
        json!({"cwd": "/p", "model": "gpt-x", "approval_policy": "never", "sandbox_policy": {"type": "x"}, "effort": "low", "summary": "auto"}),
    );
    let events = events(&[
        context,
        record("r1", 10),
        event(&counts(10), 10),
        record("r2", 20),
        event(&zero, 10),
        record("r3", 30),
        event(&counts(30), 40),
    ]);
    let usage: Vec<&Value> = events
        .iter()
        .filter(|event| event["label"] == "usage")
        .collect();
    assert_eq!(
        usage
            .iter()
            .map(|usage| usage["tokens"]["input"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [9, 19, 29]
    );
    assert!(usage.iter().all(|usage| usage["model"] == "gpt-x"));
    assert_eq!(usage[1]["message_id"], "r2");
    let facts: Vec<&Value> = events
        .iter()
        .filter(|event| event["label"] == "session")
        .collect();
    assert_eq!(
        (
            &facts[1]["effort"],
            &facts[1]["permission_mode"],
            &facts[2]["context_tokens"]
        ),
        (&json!("low"), &json!("never"), &json!(77))
    );
}

#[test]
fn a_repeated_record_changes_nothing() {
    let lines = [
        message("user", "do it"),
        sent("do it"),
        call("c1", "exec_command", "{\"cmd\":\"x\"}"),
        output("c1", "Chunk ID: a\nProcess exited with code 3\nOutput:\nno"),
        event(
            json!({"type": "web_search_end", "call_id": "ws", "query": "q", "action": {"type": "search", "query": "q"}}),
        ),
        (
            "response_item",
            json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}),
        ),
        message("assistant", "It failed."),
    ];
    let log = session_with(json!({}), &lines);
    let facts = |log: &str| -> Vec<Value> {
        let keep = |event: &Value| event["label"] != "tape.stop" && event["label"] != "tape.start";
        let strip = |mut event: Value| {
            event.as_object_mut().unwrap().remove("origin");
            event
        };
        events_of(log).into_iter().filter(keep).map(strip).collect()
    };
    let twice: String = log
        .lines()
        .map(|line| format!("{line}\n{line}\n"))
        .collect();
    assert_eq!(facts(&twice), facts(&log));
    assert_eq!(facts(&format!("{log}{log}")), facts(&log));
}

#[test]
fn an_item_with_a_known_id_is_a_repeat_only_if_it_states_the_same() {
    let said = |id: &str, text: &str| {
        let content = json!([{"type": "output_text", "text": text}]);
        (
            "response_item",
            json!({"type": "message", "id": id, "role": "assistant", "content": content}),
        )
    };
    let answers = |lines: &[(&str, Value)]| of_kind(&events(lines), "msg.out").len();
    // Each line has a time of its own.
    assert_eq!(answers(&[said("i", "one"), said("i", "one")]), 1);
    assert_eq!(
        answers(&[said("i", "one"), said("i", "two"), said("i", "one")]),
        3
    );
    assert_eq!(answers(&[said("", "one"), said("", "one")]), 2);
}

#[test]
fn a_used_again_call_id_has_its_own_result() {
    let events = events(&[
        call("c", "exec_command", "{}"),
        output("c", "one"),
        call("c", "exec_command", "{}"),
        output("c", "two"),
    ]);
    let parents: Vec<&Value> = of_kind(&events, "tool.result")
        .iter()
        .map(|result| &result["parent"])
        .collect();
    let calls: Vec<&Value> = of_kind(&events, "tool.call")
        .iter()
        .map(|call| &call["seq"])
        .collect();
    assert_eq!(parents, calls);
}

#[test]
fn open_calls_with_one_id_have_results_of_their_own() {
    let end = |text: &str| {
        event(
            json!({"type": "exec_command_end", "call_id": "c", "command": ["ls"], "stdout": text, "exit_code": 0}),
        )
    };
    let calls = [
        call("c", "exec_command", "{}"),
        call("c", "exec_command", "{}"),
    ];
    let rest = [
        end("one"),
        end("two"),
        output("c", "one"),
        output("c", "two"),
    ];
    let events_of_both = events(&[calls.as_slice(), rest.as_slice()].concat());
    let parents: Vec<&Value> = of_kind(&events_of_both, "tool.result")
        .iter()
        .map(|result| &result["parent"])
        .collect();
    let seqs: Vec<&Value> = of_kind(&events_of_both, "tool.call")
        .iter()
        .rev()
        .map(|call| &call["seq"])
        .collect();
    assert_eq!(
        (parents.len(), &parents),
        (2, &seqs),
        "the latest open call first"
    );
    // Calls that only their ends state.
    let nested = events(&[end("one"), end("two")]);
    assert_eq!(
        (
            of_kind(&nested, "tool.call").len(),
            of_kind(&nested, "tool.result").len()
        ),
        (2, 2)
    );
}

#[test]
fn a_second_session_in_a_file_has_its_own_id_and_a_notice() {
    let session = |id: &str, text: &str| {
        let (kind, said) = message("user", text);
        session_with(json!({"id": id}), &[(kind, said)])
    };
    let (first, second) = (
        "01a1fda2-91ca-71a0-a417-d9f717746c13",
        "01a1fda2-a14b-7e01-b89f-6f9f4c327587",
    );
    let events = events_of(&format!(
        "{}{}",
        session(first, "one"),
        session(second, "two")
    ));
    let sessions: Vec<&Value> = of_kind(&events, "msg.in")
        .iter()
        .map(|event| &event["source"]["session_id"])
        .collect();
    assert_eq!(sessions, [first, second]);
    assert_eq!(system_events(&events), [("other_session", second)]);
    assert!(events.iter().all(|event| event["replay"].is_null()));
}

#[test]
fn the_session_of_a_sub_agent_has_an_agent_id() {
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}});
    let events = events_of(&session_with(
        json!({"id": "s", "source": source}),
        &[sent("go")],
    ));
    assert!(
        events
            .iter()
            .all(|event| event["source"]["agent_id"] == "s"),
        "{events:?}"
    );
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
fn items_of_newer_sessions_are_known() {
    let made = json!({"type": "ImageGeneration", "id": "ig", "status": "completed", "revised_prompt": "a red fox", "result": "Zm94"});
    let tool = json!({"type": "DynamicToolCall", "id": "c1", "tool": "client_tool", "arguments": {"x": 1}, "status": "completed",
        "content_items": [{"type": "inputText", "text": "client tool says hi"}], "success": true});
    let hook = |id: &str| {
        item(
            json!({"type": "HookPrompt", "id": id, "fragments": [{"text": "please go on", "hookRunId": "stop:1"}]}),
        )
    };
    let hook_message = json!({"type": "message", "id": "m1", "role": "user", "content": [{"type": "input_text", "text": "<hook_prompt>please go on</hook_prompt>"}]});
    let answer = json!({"type": "verified_answer", "turn_id": "t", "call_id": "c1", "questions": [{"question": "Which one?", "answer": "B"}], "acceptance_order": 1});
    let entered = json!({"type": "EnteredReviewMode", "id": "r", "target": {"type": "custom", "instructions": "look at it"}, "user_facing_hint": "look at it"});
    let events = events(&[
        item(
            json!({"type": "WebSearch", "id": "ws", "query": "q", "action": {"type": "search", "query": "q"}}),
        ),
        (
            "response_item",
            json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}),
        ),
        item(
            json!({"type": "WebSearch", "id": "ws", "query": "u", "action": {"type": "open_page", "url": "u"}}),
        ),
        item(made),
        item(tool),
        item(json!({"type": "Sleep", "id": "sl", "duration_ms": 5})),
        ("response_item", hook_message),
        hook("m1"),
        hook("m2"),
        ("retained_context", answer),
        item(entered),
        item(json!({"type": "ExitedReviewMode", "id": "r2", "review_output": null})),
    ]);
    let tools: Vec<&str> = of_kind(&events, "tool.call")
        .iter()
        .map(|call| call["tool"].as_str().unwrap())
        .collect();
    assert_eq!(
        tools,
        [
            "web_search",
            "web_search",
            "image_generation",
            "client_tool",
            "sleep"
        ]
    );
    assert_eq!(
        by_and_text(&events),
        [
            ("harness", "<hook_prompt>please go on</hook_prompt>"),
            ("person", "look at it")
        ]
    );
    let expected = [
        ("hook_prompt", "please go on"),
        ("verified_answer", "Which one?"),
        ("verified_answer", "B"),
        ("exited_review_mode", ""),
    ];
    assert_eq!(system_events(&events), expected);
}

#[test]
fn what_exec_prints_is_converted() {
    let item = |stage: &str, item: Value| json!({"type": format!("item.{stage}"), "item": item});
    let todo = |done: bool| json!({"id": "item_0", "type": "todo_list", "items": [{"text": "look at it", "completed": done}]});
    let change = json!({"id": "item_2", "type": "file_change", "changes": [{"path": "/p/a b.txt", "kind": "add"}], "status": "completed"});
    let lines = [
        json!({"type": "thread.started", "thread_id": "t 1"}),
        json!({"type": "turn.started"}),
        item("started", todo(false)),
        item("updated", todo(true)),
        item("completed", todo(true)),
        item(
            "started",
            json!({"id": "item_1", "type": "command_execution", "command": "ls -l", "aggregated_output": "", "exit_code": null, "status": "in_progress"}),
        ),
        item(
            "completed",
            json!({"id": "item_1", "type": "command_execution", "command": "ls -l", "aggregated_output": "no such file", "exit_code": 2, "status": "failed"}),
        ),
        item("completed", change),
        item(
            "completed",
            json!({"id": "item_3", "type": "agent_message", "text": "It is done."}),
        ),
        json!({"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}}),
        json!({"type": "error", "message": "stream lost"}),
    ];
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let log = log.replacen(
        r#"{"thread_id":"t 1","type":"thread.started"}"#,
        r#"{"type":"thread.started","thread_id":"t 1"}"#,
        1,
    );
    let options = Options {
        policy: Policy::Permissive,
        ..Options::default()
    };
    let tape = convert_str(&Codex, &log, &options).unwrap();
    let report = audit(log.as_bytes(), &tape, Codex.describe()).unwrap();
    assert_eq!(
        (report.left_over.bytes, report.leaves.left_over),
        (0, 0),
        "{report:?}"
    );
    let spaced = convert_str(
        &Codex,
        &log.replace("\"items\":[{", "\"items\": [ {"),
        &options,
    )
    .unwrap();
    let lists = |tape: &str| {
        tape.lines()
            .filter(|line| line.contains("\"name\":\"todo_list\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lists(&spaced),
        lists(&tape),
        "white space of the JSON is no text"
    );
    assert!(report.disagreements.is_empty(), "{report:?}");
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (
            &events[0]["harness"]["schema"],
            &events[0]["source"]["session_id"]
        ),
        (&json!("exec-json"), &json!("t 1"))
    );
    assert_eq!(events.last().unwrap()["ledger"]["unrecognized"], 0);
    assert_eq!(system_events(&events).len(), 2);
    let results = of_kind(&events, "tool.result");
    assert_eq!(
        (
            &results[0]["status"],
            &results[0]["exit"],
            &results[0]["stdout"]
        ),
        (&json!("error"), &json!(2), &json!("no such file"))
    );
    let edit = of_kind(&events, "code.edit")[0];
    assert_eq!(
        (&edit["file"], &edit["op"], &edit["parent"]),
        (
            &json!("/p/a b.txt"),
            &json!("create"),
            &of_kind(&events, "tool.call")[1]["seq"]
        )
    );
    assert!(events.iter().all(|event| event["label"] != "usage"));
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
}

#[test]
fn going_back_names_the_last_event_that_holds() {
    let mut lines = Vec::new();
    for text in ["one", "two", "three"] {
        lines.extend([
            message("user", text),
            sent(text),
            message("assistant", &format!("{text} is done")),
        ]);
    }
    lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 2})));
    lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 5})));
    let events = events(&lines);
    let first_answer = of_kind(&events, "msg.out")[0];
    let rewind = events
        .iter()
        .find(|event| event["label"] == "rewind")
        .expect("a rewind");
    assert_eq!(rewind["to"], first_answer["seq"]);
    assert_eq!(system_events(&events), [("thread_rolled_back", "5")]);
}

#[test]
fn a_repeated_record_of_a_copy_is_a_duplicate() {
    let record = |kind: &str, payload: Value| {
        format!(
            "{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n"
        )
    };
    let header = |id: &str, fork_of: Option<&str>| {
        record(
            "session_meta",
            json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p",
        "originator": "o", "cli_version": "0.125.0", "source": "cli", "forked_from_id": fork_of}),
        )
    };
    let (_, said) = message("user", "hello");
    let said = record("response_item", said);
    let own = "01a1fda2-a14b-7e01-b89f-6f9f4c327587";
    let copied = "01a1fda2-91ca-71a0-a417-d9f717746c13";
    let once = format!(
        "{}{}{said}",
        header(own, Some(copied)),
        header(copied, None)
    );
    let twice = format!("{once}{said}{said}");
    let count = |log: &str| events_of(log).len();
    assert_eq!(count(&twice), count(&once));
    assert_eq!(
        events_of(&twice)
            .iter()
            .filter(|event| event["k"] == "msg.in")
            .count(),
        1
    );
}

#[test]
fn the_error_text_of_an_end_is_kept_beside_its_output() {
    let end = json!({"type": "patch_apply_end", "call_id": "c1", "stdout": "done", "stderr": "a warning", "success": true, "changes": {},
        "status": "completed"});
    let patch = (
        "response_item",
        json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": "*** Begin Patch"}),
    );
    let output = (
        "response_item",
        json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}),
    );
    let before = events(&[patch.clone(), event(end.clone()), output.clone()]);
    assert_eq!(of_kind(&before, "tool.result")[0]["stderr"], "a warning");
    let other = json!({"type": "exec_command_end", "call_id": "c0", "aggregated_output": "", "exit_code": 0, "duration": {"secs": 1, "nanos": 0}});
    let after = events(&[patch, event(other), output, event(end)]);
    assert!(
        after
            .iter()
            .any(|event| event["text"] == "a warning" || event["stderr"] == "a warning"),
        "{after:?}"
    );
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
fn a_large_end_gives_no_second_result() {
    let printed = "x".repeat(16 << 20);
    let end = event(
        json!({"type": "exec_command_end", "call_id": "c1", "exit_code": 3, "stdout": printed, "aggregated_output": printed}),
    );
    let events = events(&[
        call("c1", "exec_command", r#"{"cmd":"a"}"#),
        end,
        output("c1", "short"),
    ]);
    let results = of_kind(&events, "tool.result");
    assert_eq!(results.len(), 1);
    assert_eq!(
        (&results[0]["exit"], &results[0]["stdout"]),
        (&json!(3), &json!("short"))
    );
    assert!(
        system_events(&events)
            .iter()
            .any(|(name, text)| *name == "exec_command_end" && text.len() == 16 << 20)
    );
}

#[test]
fn a_call_that_a_hook_blocks_is_denied_and_a_command_that_it_rewrites_is_on_the_tape() {
    let ran = json!({"type": "CommandExecution", "id": "c2", "command": ["/bin/bash", "-lc", "echo rewritten > rw.txt"], "cwd": "/p",
        "source": "unified_exec_startup", "status": "completed", "aggregated_output": "", "exit_code": 0});
    let kept = json!({"type": "CommandExecution", "id": "c3", "command": ["/bin/bash", "-lc", "ls \"a\""], "cwd": "/p", "status": "completed", "exit_code": 0});
    let blocked = "Command blocked by PreToolUse hook: HOOK no rm. Command: rm -rf docs";
    let done = "Chunk ID: b\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\n";
    let events = events(&[
        call("c1", "exec_command", r#"{"cmd": "rm -rf docs"}"#),
        output("c1", blocked),
        call("c2", "exec_command", r#"{"cmd": "echo REWRITE"}"#),
        item(ran),
        output("c2", done),
        call("c3", "exec_command", r#"{"cmd": "ls \"a\""}"#),
        item(kept),
        output("c3", done),
    ]);
    let permission = events
        .iter()
        .find(|event| event["label"] == "permission")
        .expect("a permission");
    assert_eq!(
        (
            &permission["decision"],
            &permission["call_id"],
            &permission["text"]
        ),
        (&json!("deny"), &json!("c1"), &json!(blocked))
    );
    assert_eq!(of_kind(&events, "tool.result")[0]["status"], "denied");
    assert_eq!(
        system_events(&events),
        [("command", "echo rewritten > rw.txt")]
    );
}

/// A turn of a thread: its id, a prompt, an answer, and what it cost.
fn turn(id: &str, text: &str, input: u64, total: u64) -> Vec<(&'static str, Value)> {
    let counts = |input: u64| json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": 1, "reasoning_output_tokens": 0, "total_tokens": input + 1});
    vec![
        event(json!({"type": "task_started", "turn_id": id, "collaboration_mode_kind": "default"})),
        message("user", text),
        sent(text),
        message("assistant", &format!("{text} is done")),
        event(
            json!({"type": "token_count", "info": {"last_token_usage": counts(input), "total_token_usage": counts(total)}}),
        ),
        event(json!({"type": "task_complete", "turn_id": id, "last_agent_message": null})),
    ]
}

/// The replay marks of prompts and usages.
fn replays(events: &[Value]) -> Vec<bool> {
    let facts = events
        .iter()
        .filter(|event| event["k"] == "msg.in" || event["label"] == "usage");
    facts.map(|event| event["replay"] == true).collect()
}

#[test]
fn a_fork_that_copies_no_header_begins_with_turns_that_are_older_than_it() {
    // From findings/cases/codex-fork-noembed: the thread began between the second and the third turn.
    let own = "01a1fda5-274f-75a1-901c-86e305a064c3";
    let turns = [
        turn(
            "01a1fda1-0000-7f32-8610-8497a7a0196a",
            "one",
            20_000,
            20_000,
        ),
        turn(
            "01a1fda2-0000-7f32-8610-8497a7a0196a",
            "two",
            20_001,
            40_001,
        ),
        turn("01a1fda6-0000-7f32-8610-8497a7a0196a", "own", 5_000, 45_001),
    ];
    let fork = json!({"id": own, "forked_from_id": "01a1fda0-0000-7130-904a-9e7c17f8fecb"});
    let spawned = json!({"id": own, "source": {"subagent": {"thread_spawn": {"parent_thread_id": "01a1fda0-0000-7130-904a-9e7c17f8fecb", "depth": 1}}}});
    for facts in [fork, spawned] {
        assert_eq!(
            replays(&events_of(&session_with(facts, &turns.concat()))),
            [true, true, true, true, false, false]
        );
    }
    assert_eq!(
        replays(&events_of(&session_with(
            json!({"id": own}),
            &turns.concat()
        ))),
        [false; 6]
    );
}

#[test]
fn an_imported_session_is_a_replay_up_to_its_first_own_turn() {
    // From findings/cases/codex-import.
    let own = "01a1fda5-274f-75a1-901c-86e305a064c0";
    let turns = [
        turn("external-import-turn-1", "one", 10, 10),
        turn("01a1fda5-2792-7f32-8610-8497a7a0196a", "own", 20, 30),
    ];
    assert_eq!(
        replays(&events_of(&session_with(
            json!({"id": own}),
            &turns.concat()
        ))),
        [true, true, false, false]
    );
}

#[test]
fn totals_without_the_counts_of_a_response_give_their_differences() {
    // From findings/cases/ccusage-totals-only.
    let counts = |input: u64, output: u64| {
        let total = json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output, "reasoning_output_tokens": 0, "total_tokens": input + output});
        event(json!({"type": "token_count", "info": {"total_token_usage": total}}))
    };
    let log = session_with(
        json!({}),
        &[
            counts(1000, 50),
            counts(2000, 90),
            counts(2000, 90),
            counts(3000, 120),
        ],
    );
    let tape = convert_str(
        &Codex,
        &log,
        &Options {
            policy: Policy::Permissive,
            ..Options::default()
        },
    )
    .unwrap();
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let usage = events
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|usage| usage["tokens"]["input"].as_u64().unwrap());
    assert_eq!(usage.collect::<Vec<_>>(), [1000, 1000, 1000]);
}
