//! Parts of responses, which a capture may have beside its lines.

use serde_json::{Value, json};

use super::stream::{assistant, convert, init, of_kind, result};

#[test]
fn a_part_of_a_response_has_its_last_counts() {
    let part = |message: &str, output: u64| {
        json!({"type": "stream_event", "event": {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": output}}, "session_id": "s", "parent_tool_use_id": null, "uuid": format!("p{output}"),
            "api_message_id": message})
    };
    let answer = assistant("a1", &json!({"type": "text", "text": "done"}), None);
    let message = answer["message"]["id"].as_str().unwrap().to_owned();
    let usage = |parts: &[Value]| {
        let lines = [&[init(), answer.clone()][..], parts, &[result("done")]].concat();
        let tape = convert(&lines);
        let usage = tape.iter().find(|event| event["label"] == "usage").unwrap();
        json!([
            usage["tokens"]["output"],
            usage["stop_reason"],
            usage["provisional"]
        ])
    };
    assert_eq!(
        usage(&[part(&message, 118)]),
        json!([118, "end_turn", null])
    );
    // A relay gave two responses one id.
    let relayed = [part(&message, 118), part(&message, 7)];
    assert_eq!(usage(&relayed), json!([1, null, true]));
}

#[test]
fn parts_of_an_answer_are_left_out() {
    let part = json!({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "do"}},
        "session_id": "s", "parent_tool_use_id": null, "uuid": "e1"});
    let line = json!({"type": "assistant", "session_id": "s", "uuid": "a1", "parent_tool_use_id": null,
        "message": {"id": "m", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "done"}]}});
    let tape = convert(&[init(), part, line, result("something else")]);
    assert_eq!(tape.last().unwrap()["ledger"]["duplicate"], 1);
    assert!(
        tape.iter()
            .any(|event| event["name"] == "result" && event["text"] == "something else")
    );
}

/// As a run prints whose connection breaks, and that is killed while it asks again (2.1.318: recorded).
#[test]
fn words_that_no_line_has_are_on_the_tape() {
    let part = |n: u32, event: Value| json!({"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": null, "uuid": format!("e{n}"), "api_message_id": "m"});
    let words = |n, index, words: &str| {
        let delta = json!({"type": "text_delta", "text": words});
        part(
            n,
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        )
    };
    let begin = |n, index| {
        let block = json!({"type": "text", "text": ""});
        part(
            n,
            json!({"type": "content_block_start", "index": index, "content_block": block}),
        )
    };
    let start = |n| {
        let message = json!({"id": "m", "model": "claude-x", "role": "assistant", "content": [], "usage": {}});
        part(n, json!({"type": "message_start", "message": message}))
    };
    let line = json!({"type": "assistant", "session_id": "s", "uuid": "a1", "parent_tool_use_id": null,
        "message": {"id": "m", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Whole."}]}});
    let tape = convert(&[
        init(),
        start(1),
        begin(2, 0),
        words(3, 0, "Whole."),
        line,
        begin(4, 1),
        words(5, 1, "Of this "),
        words(6, 1, "no line"),
        part(7, json!({"type": "message_stop"})),
        start(8),
        begin(9, 0),
        words(10, 0, "nor of this"),
    ]);
    let said = of_kind(&tape, "msg.out");
    let texts: Vec<_> = said.iter().map(|said| &said["text"]).collect();
    assert_eq!(texts, ["Whole.", "Of this no line", "nor of this"]);
    assert!(said.iter().all(|said| said["model"] == "claude-x"));
    assert_eq!(tape.last().unwrap()["ledger"]["duplicate"], 8);
}
