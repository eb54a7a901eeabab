//! Parts of responses, which a capture may have beside its lines.

use serde_json::{Value, json};

use super::stream::{assistant, convert, init, result};

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
