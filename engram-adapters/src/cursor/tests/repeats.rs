//! Records that a log has several times.

use serde_json::Value;

use super::valid_tape;

/// The texts of the answers and results on a tape, in order.
fn texts(tape: &str) -> Vec<String> {
    let events = tape.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter_map(|event| Some(event.get("text").or_else(|| event.get("stdout"))?.as_str()?.to_owned())).collect()
}

fn answer(text: &str, rest: &str) -> String {
    let message = format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#);
    format!("{{\"type\":\"assistant\",\"message\":{message},\"session_id\":\"s\"{rest}}}\n")
}

#[test]
fn a_repeated_line_of_a_capture_changes_nothing_but_equal_pieces_are_two() {
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"apiKeySource\":\"login\",\"cwd\":\"/w\",\"session_id\":\"s\",\"model\":\"m\",\"permissionMode\":\"default\"}\n";
    let whole = answer("done", ",\"model_call_id\":\"c-1\",\"timestamp_ms\":1789644625717");
    let piece = answer("ab", ",\"timestamp_ms\":1789644625718");
    let tape = valid_tape(&[init, &whole, &piece, &piece, &whole].concat());
    assert_eq!(texts(&tape), ["done", "abab"]);
    assert!(tape.contains(r#""type":"assistant","rule":"record.repeated","count":1"#), "{tape}");
}
