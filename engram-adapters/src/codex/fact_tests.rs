//! What is one fact in several records: plans, responses and their counts, repeated records, items of newer versions.

use engram_core::adapter::convert_str;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;
use super::tests::{
    by_and_text, call, event, events, events_of, item, message, of_kind, output, sent,
    session_with, system_events,
};

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
    let planned = message("assistant", &full);
    assert_eq!(
        texts(&[proposed.clone(), answer.clone(), planned.clone()]),
        [&*full]
    );
    assert_eq!(texts(&[planned, answer, proposed.clone()]), [full]);
    let alone = events(&[proposed]);
    assert!(of_kind(&alone, "msg.out").is_empty());
    assert_eq!(system_events(&alone), [("plan", plan)]);
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
