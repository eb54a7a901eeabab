//! User and assistant lines: duplicates, malformed and unknown content.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::error::ErrorCode;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes};
use crate::claude_code::ClaudeCode;

#[test]
fn repeated_message_and_result_are_duplicates() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let text = json!({"type": "text", "text": "looking"});
    let output = json!({"stdout": "a", "stderr": "", "interrupted": false});
    let lines = [
        assistant_line("2.0.0", 1, "m1", json!([text, call])),
        result_line("2.0.0", 2, "t1", "a", Some(output)),
        assistant_line("2.0.0", 3, "m2", json!([{"type": "text", "text": "done"}])),
        assistant_line("2.0.0", 4, "m1", json!([text])),
        assistant_line("2.0.0", 5, "m1", json!([call])),
        result_line("2.0.0", 6, "t1", "a", None),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let count = |kind: &str| tape.iter().filter(|event| event["k"] == kind).count();
    assert_eq!(
        [count("msg.out"), count("tool.call"), count("tool.result")],
        [2, 1, 1]
    );
    let stop = tape.last().unwrap();
    assert_eq!(stop["ledger"]["duplicate"], 3);
    assert_eq!(
        tape.iter()
            .filter(|event| event["label"] == "usage")
            .count(),
        2
    );
}

#[test]
fn open_message_may_contain_the_same_block_twice() {
    let text = json!({"type": "text", "text": "again"});
    let mut lines = [
        assistant_line("2.0.0", 1, "msg_1", json!([text])),
        assistant_line("2.0.0", 2, "msg_1", json!([text])),
    ];
    lines[1]["parentUuid"] = json!("u1");
    assert_eq!(events(&lines, "msg.out").len(), 2);
}

#[test]
fn malformed_field_is_named_by_its_pointer() {
    let block = |block: Value| assistant_line("2.1.329", 1, "m1", json!([block]));
    let cases = [
        (
            line("2.1.329", 1, "user", json!({"message": "hi"})),
            "/message",
        ),
        (
            line("2.1.329", 1, "user", json!({"message": {"content": 7}})),
            "/message/content",
        ),
        (
            line("2.1.329", 1, "assistant", json!({})),
            "/message/content",
        ),
        (
            line(
                "2.1.329",
                1,
                "user",
                json!({"message": {"content": [{"type": "image"}]}}),
            ),
            "/message/content/0/source",
        ),
        (
            line(
                "2.1.329",
                1,
                "user",
                json!({"isMeta": "yes", "message": {"content": "x"}}),
            ),
            "/isMeta",
        ),
        (line("2.1.329", 1, "attachment", json!({})), "/attachment"),
        (
            block(json!({"type": "text", "text": 7})),
            "/message/content/0/text",
        ),
        (block(json!({"type": "text"})), "/message/content/0/text"),
        (
            block(json!({"type": "tool_use", "id": "t1"})),
            "/message/content/0/name",
        ),
        (block(json!("text")), "/message/content/0"),
    ];
    for (line, pointer) in cases {
        let error = tape(std::slice::from_ref(&line), Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.pointer.as_deref()),
            (ErrorCode::MalformedRecord, Some(pointer)),
            "{line}"
        );
        let kept = tape(&[line], Policy::Permissive).unwrap();
        assert_eq!(kept.last().unwrap()["ledger"]["malformed"], 1);
    }
}

#[test]
fn pointer_of_a_malformed_block_has_the_block_s_index() {
    let good = json!({"type": "text", "text": "so far"});
    let lines = [assistant_line(
        "2.1.329",
        1,
        "m1",
        json!([good, {"type": "text"}]),
    )];
    let error = tape(&lines, Policy::Strict).unwrap_err();
    assert_eq!(error.pointer.as_deref(), Some("/message/content/1/text"));
}

#[test]
fn unknown_type_is_unrecognized() {
    let cases = [
        (line("2.1.329", 1, "hologram", json!({})), "hologram"),
        (
            line("2.1.329", 1, "system", json!({"subtype": "dance"})),
            "system/dance",
        ),
        (
            line(
                "2.1.329",
                1,
                "attachment",
                json!({"attachment": {"type": "gift"}}),
            ),
            "attachment/gift",
        ),
        (
            line("2.1.80", 1, "progress", json!({"data": {"type": "slow"}})),
            "progress/slow",
        ),
        (
            assistant_line("2.1.329", 1, "m1", json!([{"type": "smoke"}])),
            "smoke",
        ),
    ];
    for (line, name) in cases {
        let error = tape(&[line], Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.found.as_deref()),
            (ErrorCode::UnrecognizedRecord, Some(name))
        );
    }
}

#[test]
fn repeated_message_with_a_new_cwd_is_not_a_duplicate() {
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -l"}}]);
    let again = |cwd: &str| -> Vec<Value> {
        let mut repeated = assistant_line("2.0.0", 3, "m1", call.clone());
        repeated["cwd"] = json!(cwd);
        vec![
            assistant_line("2.0.0", 1, "m1", call.clone()),
            result_line("2.0.0", 2, "t1", "a", None),
            repeated,
        ]
    };
    for (cwd, duplicates) in [("/p", 1), ("/q", 0)] {
        let log: String = again(cwd).iter().map(|line| format!("{line}\n")).collect();
        let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
        let stop: Value = serde_json::from_str(tape.lines().last().unwrap()).unwrap();
        assert_eq!(stop["ledger"]["duplicate"], duplicates, "{stop}");
        assert!(
            audit(log.as_bytes(), &tape, ClaudeCode.describe())
                .unwrap()
                .holds()
        );
    }
}

#[test]
fn deferred_usage_is_attributed_to_its_own_record_on_a_shared_line() {
    let count = |number| {
        json!({"id": format!("m{number}"), "role": "assistant", "model": "m", "content": [{"type": "text", "text": "so far"}],
        "stop_reason": null, "usage": {"output_tokens": number}})
    };
    let first = line(
        "2.0.0",
        1,
        "user",
        json!({"message": {"role": "user", "content": "go on"}}),
    );
    let log = [
        line("2.0.0", 2, "assistant", json!({"message": count(2)})),
        line("2.0.0", 3, "assistant", json!({"message": count(3)})),
    ];
    let log = format!("{first}{}{}\n", log[0], log[1]);
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    let usages = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["label"] == "usage");
    assert_eq!(
        usages
            .map(|event| event["origin"]["part"].clone())
            .collect::<Vec<_>>(),
        [1, 2]
    );
    assert!(
        audit(log.as_bytes(), &tape, ClaudeCode.describe())
            .unwrap()
            .holds()
    );
}

#[test]
fn error_details_and_scheduled_tasks_are_emitted() {
    let error = json!({"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "The prompt is too long."}]});
    let details = "400 {\"message\":\"2 tokens > 1 maximum\"}";
    let lines = [
        line(
            "2.1.111",
            1,
            "assistant",
            json!({"message": error, "isApiErrorMessage": true, "error": "invalid_request", "errorDetails": details}),
        ),
        line(
            "2.1.221",
            2,
            "system",
            json!({"subtype": "scheduled_task_fire", "content": "The loop goes on."}),
        ),
    ];
    let metas = events(&lines, "meta");
    let system: Vec<_> = metas
        .iter()
        .filter(|event| event["label"] == "system")
        .map(|event| (&event["name"], &event["text"]))
        .collect();
    assert_eq!(
        system,
        [
            (&json!("error_details"), &json!(details)),
            (&json!("scheduled_task_fire"), &json!("The loop goes on."))
        ]
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn raw_stream_in_place_of_a_message_is_malformed() {
    let mut message: serde_json::Map<String, Value> = "data: so"
        .chars()
        .enumerate()
        .map(|(at, character)| (at.to_string(), json!(character.to_string())))
        .collect();
    message.insert("content".to_owned(), json!([]));
    let lines = [line("2.1.81", 1, "assistant", json!({"message": message}))];
    let error = tape(&lines, Policy::Strict).unwrap_err();
    assert_eq!(
        (error.code, error.pointer.as_deref()),
        (ErrorCode::MalformedRecord, Some("/message"))
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn harness_text_in_the_user_s_place_is_synthetic() {
    let texts = [
        ("<ide_opened_file>A file is open.</ide_opened_file>", true),
        ("<ide_selection>Two lines are chosen.</ide_selection>", true),
        ("<bash-notification>It has ended.</bash-notification>", true),
        ("Unknown skill: fold", true),
        ("Operation stopped by hook: not now", true),
        ("<command-name>/fold</command-name>", false),
        ("fold it", false),
    ];
    let blocks: Vec<Value> = texts
        .iter()
        .map(|(text, _)| json!({"type": "text", "text": text}))
        .collect();
    let lines = [line(
        "2.1.92",
        1,
        "user",
        json!({"message": {"role": "user", "content": blocks}}),
    )];
    let synthetic: Vec<bool> = events(&lines, "msg.in")
        .iter()
        .map(|event| event["by"] != "person")
        .collect();
    assert_eq!(synthetic, texts.map(|(_, synthetic)| synthetic));
}
