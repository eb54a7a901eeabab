//! Messages of the SDK, run stores and hook logs of the SDK: what no recording shows.

use std::fs;

use engram_core::audit::audit;
use engram_core::limits::Limits;
use serde_json::Value;

use super::repeats::events as without_lines;
use super::valid_tape;
use crate::registry::Registry;
use crate::sessions::open_store;

/// The events of a tape, without its frame.
fn events(tape: &str) -> Vec<Value> {
    let events = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .filter(|event| {
            !["tape.start", "tape.stop"]
                .map(Value::from)
                .contains(&event["label"])
        })
        .collect()
}

/// The values of a member in the events of a kind.
fn values(tape: &str, kind: &str, member: &str) -> Vec<String> {
    let of_kind = events(tape).into_iter().filter(|event| event["k"] == kind);
    of_kind
        .map(|event| event[member].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn message(rest: &str) -> String {
    format!("{{\"agent_id\":\"a\",\"run_id\":\"r\",{rest}}}\n")
}

fn answer(text: &str) -> String {
    message(&format!(
        r#""type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

/// The lines of an opened run store: an agent, a run with this result, and events with these messages.
fn store(result: &str, messages: &[(u64, String)]) -> String {
    let mut text = format!(
        "{}\n{{\"store\":\"run\",\"run\":{{\"runId\":\"r\",\"requestId\":\"q\",\"agentId\":\"a\",\"model\":\"m\",\
         \"createdAt\":\"2026-11-23T02:40:51.876Z\"}}}}\n",
        r#"{"store":"agent","agent":{"agentId":"a","name":"New Agent","cwd":"/w","createdAt":1795401651709}}"#
    );
    for (seq, message) in messages {
        let kind = serde_json::from_str::<Value>(message).unwrap()["type"].clone();
        text.push_str(&format!(
            "{{\"type\":{kind},\"store\":\"run_event\",\"event\":{{\"runId\":\"r\",\"seq\":{seq},\"createdAt\":\"2026-11-23T02:40:5{seq}.000Z\",\
             \"payload\":{{\"type\":\"sdk_message\",\"agentId\":\"a\",\"message\":{}}}}}}}\n",
            message.trim_end()
        ));
    }
    text + &format!(
        "{{\"store\":\"run_end\",\"run\":{{\"status\":\"CANCELLED\",\"result\":\"{result}\",\
         \"usage\":{{\"inputTokens\":1,\"outputTokens\":2}}}}}}\n"
    )
}

#[test]
fn pieces_of_a_message_are_joined() {
    let request = message(r#""type":"request","request_id":"q""#);
    let tape = valid_tape(
        &[
            request,
            answer("One, "),
            answer("two."),
            message(r#""type":"status","status":"FINISHED""#),
        ]
        .concat(),
    );
    assert_eq!(values(&tape, "msg.out", "text"), ["One, two."]);
    let tape = valid_tape(&store(
        "One, two.",
        &[(1, answer("One, ")), (2, answer("two."))],
    ));
    assert_eq!(values(&tape, "msg.out", "text"), ["One, two."]);
    assert_eq!(values(&tape, "msg.out", "t"), ["2026-11-23T02:40:51.000Z"]);
}

#[test]
fn pictures_of_a_server_are_attachments() {
    let call = |id: &str, status: &str, result: &str| {
        message(&format!(
            r#""type":"tool_call","call_id":"{id}","name":"mcp","status":"{status}","args":{{"providerIdentifier":"s","toolName":"see","args":{{}}}}{result}"#
        ))
    };
    let returned = |id: &str, content: &str, is_error: bool| {
        let result = format!(
            r#","result":{{"status":"success","value":{{"content":[{content}],"isError":{is_error}}}}}"#
        );
        call(id, "running", "") + &call(id, "completed", &result)
    };
    let picture = r#"{"image":{"data":{"0":137,"1":80,"2":78},"mimeType":"image/png"}}"#;
    let words = r#"{"text":{"text":"a picture"}}"#;
    let log = [
        returned("c1", &format!("{words},{picture}"), false),
        returned("c2", picture, false),
        returned(
            "c3",
            r#"{"image":{"data":{"1":137},"mimeType":"image/png"}}"#,
            false,
        ),
        returned("c4", words, true),
        returned(
            "c5",
            &format!(r#"{words},{{"text":{{"text":"a \"word\""}}}}"#),
            false,
        ),
        returned("c6", r#"{"text":{"text":""}}"#, false),
    ]
    .concat();
    let tape = valid_tape(&log);
    let results: Vec<Value> = events(&tape)
        .into_iter()
        .filter(|event| event["k"] == "tool.result")
        .collect();
    assert_eq!(results[0]["stdout"], "a picture");
    let hash = engram_core::hash::Hash::of_bytes(&[137, 80, 78]).to_string();
    for result in &results[..2] {
        let attachment = &result["attachments"][0];
        assert_eq!(
            (&attachment["hash"], &attachment["media_type"]),
            (&Value::from(hash.clone()), &Value::from("image/png"))
        );
    }
    assert!(results[1].get("stdout").is_none());
    assert!(results[2]["stdout"].as_str().unwrap().contains("137"));
    assert_eq!(
        (&results[3]["stderr"], &results[3]["status"]),
        (&Value::from("a picture"), &Value::from("error"))
    );
    assert_eq!(results[4]["stdout"], "a picture\na \"word\"");
    assert!(results[5].get("stdout").is_none());
}

#[test]
fn events_of_a_run_count_once() {
    let once = store(
        "",
        &[
            (1, answer("a")),
            (2, message(r#""type":"status","status":"CANCELLED""#)),
        ],
    );
    let again = store(
        "",
        &[
            (1, answer("a")),
            (2, message(r#""type":"status","status":"CANCELLED""#)),
            (1, answer("a")),
        ],
    );
    let (once, again) = (valid_tape(&once), valid_tape(&again));
    assert_eq!(without_lines(&once), without_lines(&again));
    assert!(
        again.contains(r#""rule":"repeated_event","count":1"#),
        "{again}"
    );
}

#[test]
fn events_with_one_number_and_other_content_are_all_converted() {
    let tape = valid_tape(&store(
        "",
        &[
            (1, answer("a")),
            (1, message(r#""type":"status","status":"CANCELLED""#)),
            (1, answer("b")),
        ],
    ));
    assert!(
        values(&tape, "msg.out", "text").concat().contains('a')
            && values(&tape, "msg.out", "text").concat().contains('b'),
        "{tape}"
    );
    assert!(!tape.contains("repeated_event"), "{tape}");
}

#[test]
fn the_record_of_a_run_adds_what_its_events_do_not_state() {
    let tape = valid_tape(&store("Done.", &[(1, answer("Half"))]));
    let labels = values(&tape, "meta", "label");
    assert_eq!(labels, ["session", "session", "usage", "interrupt"]);
    assert_eq!(values(&tape, "msg.out", "text"), ["Half", "Done."]);
}

/// A payload of the SDK's hooks.
fn hook(step: &str, rest: &str) -> String {
    format!(
        r#"{{"conversation_id":"c","generation_id":"g","model":"unknown","hook_event_name":"{step}","session_id":"c","cursor_version":"1.0.0","workspace_roots":["/w"]{rest}}}"#
    ) + "\n"
}

fn tool(step: &str, tool: &str, id: &str, rest: &str) -> String {
    let input = format!(r#""tool_input":{{"file_path":"/w/{id}","content":"new\n"}}"#);
    let output = if step == "preToolUse" {
        ""
    } else {
        r#","tool_output":"{}","duration":1"#
    };
    hook(
        step,
        &format!(r#","tool_name":"{tool}",{input},"tool_use_id":"{id}"{output}{rest}"#),
    )
}

fn content(id: &str) -> String {
    hook(
        "beforeReadFile",
        &format!(r#","content":"old\n","file_path":"/w/{id}","attachments":[]"#),
    )
}

#[test]
fn an_edit_is_one_call_and_a_read_is_its_own() {
    let read = |id: &str| {
        [
            tool("preToolUse", "Read", id, ""),
            content(id),
            tool("postToolUse", "Read", id, ""),
        ]
        .concat()
    };
    let write = |id: &str| {
        [
            tool("preToolUse", "Write", id, ""),
            tool("postToolUse", "Write", id, ""),
        ]
        .concat()
    };
    let tape = valid_tape(&[read("a"), read("b"), write("b"), read("c")].concat());
    let calls = events(&tape)
        .into_iter()
        .filter(|event| event["k"] == "tool.call");
    let calls: Vec<String> = calls
        .map(|call| format!("{} {}", call["tool"], call["call_id"]))
        .collect();
    assert_eq!(calls, [r#""Read" "a""#, r#""Write" "b""#, r#""Read" "c""#]);
    let edits: Vec<Value> = events(&tape)
        .into_iter()
        .filter(|event| event["k"] == "code.edit")
        .collect();
    assert_eq!(edits.len(), 1, "{tape}");
    assert_eq!(
        (&edits[0]["call_id"], &edits[0]["before_range"]),
        (&Value::from("b"), &serde_json::json!([1, 1]))
    );
    // The model's name is a placeholder.
    assert!(!tape.contains(r#""model""#), "{tape}");
}

#[test]
fn edits_side_by_side_are_one_call_each() {
    let first = |id: &str| tool("preToolUse", "Read", id, "") + &content(id);
    let rest =
        |id: &str| tool("preToolUse", "Write", id, "") + &tool("postToolUse", "Write", id, "");
    let read = |id: &str| tool("postToolUse", "Read", id, "");
    let tape = valid_tape(
        &[
            first("a"),
            first("b"),
            read("a"),
            read("b"),
            rest("a"),
            rest("b"),
        ]
        .concat(),
    );
    assert_eq!(values(&tape, "tool.call", "tool"), ["Write", "Write"]);
    assert_eq!(values(&tape, "code.edit", "call_id"), ["a", "b"]);
}

#[test]
fn a_duration_that_cannot_be_makes_a_payload_malformed() {
    let steps = |duration: &str| {
        let end = tool("postToolUse", "Write", "a", "")
            .replace(r#""duration":1"#, &format!(r#""duration":{duration}"#));
        valid_tape(&(tool("preToolUse", "Write", "a", "") + &end))
    };
    for (duration, millis) in [("41.5", 41), ("7", 7)] {
        let tape = steps(duration);
        let results: Vec<Value> = events(&tape)
            .into_iter()
            .filter(|event| event["k"] == "tool.result")
            .collect();
        assert_eq!(results[0]["duration_ms"], millis, "{tape}");
    }
    for duration in ["-1", "1e3", "1.5e3", "18446744073709551616"] {
        assert!(
            steps(duration).contains(r#""reason":"malformed""#)
                || steps(duration).contains(r#""malformed":1"#),
            "{duration}"
        );
    }
}

#[test]
fn a_text_store_with_a_broken_line_keeps_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write(
        "agents.ndjson",
        "{\"agentId\":\"a\",\"cwd\":\"/w\",\"sdkMetadata\":{\"blobEncryptionKey\":\"c2VjcmV0\"}}\n{\"blobEncryptionKey\":\"c2Vj",
    );
    write(
        "runs.ndjson",
        "{\"runId\":\"r\",\"agentId\":\"a\",\"turnNumber\":1,\"status\":\"running\"}\n{\"runId\":",
    );
    let path = directory.path().join("runs.ndjson");
    let (_, opened) = open_store(&Registry::builtin(), &path, Limits::default())
        .unwrap()
        .unwrap();
    assert_eq!(opened.sessions().len(), 1);
    let text = opened.export(&opened.sessions()[0]).unwrap().text;
    assert!(!text.contains("c2Vj"), "{text}");
    let tape = valid_tape(&text);
    assert!(
        tape.contains(r#""cwd":"/w""#) && tape.contains(r#""malformed":1"#),
        "{tape}"
    );
}

#[test]
fn a_prompt_is_the_words_alone() {
    let line = r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\nfix it\n</user_query>"}]}}"#;
    assert_eq!(values(&valid_tape(line), "msg.in", "text"), ["fix it"]);
}

#[test]
fn an_input_that_the_result_states_otherwise_is_a_notice() {
    let call = tool("preToolUse", "Shell", "a", "");
    let other = tool("postToolUse", "Shell", "a", "").replace("new", "other");
    for (log, notices) in [
        (call.clone() + &tool("postToolUse", "Shell", "a", ""), 0),
        (
            call.clone() + &tool("postToolUse", "Shell", "a", "").replace("\":", "\" : "),
            0,
        ),
        (call.clone() + &other, 1),
        (other.clone(), 0),
    ] {
        let tape = valid_tape(&log);
        assert_eq!(
            tape.matches(r#""label":"system","name":"tool_input""#)
                .count(),
            notices,
            "{tape}"
        );
        let report = audit(
            log.as_bytes(),
            &tape,
            &crate::cursor::descriptor::DESCRIPTOR,
        )
        .unwrap();
        assert!(
            report.holds(),
            "{:?} {:?}",
            report.examples,
            report.disagreements
        );
    }
}

/// The turn of a chat store says only that the server's answer is an error; the words are in the message.
#[test]
fn a_failure_of_a_server_without_content_is_an_error() {
    let log = concat!(
        r#"{"store":"chat","meta":{"agentId":"s","createdAt":1780000000000}}"#,
        "\n",
        r#"{"store":"message","role":"tool","blob":"c","message":{"role":"tool","content":[{"type":"tool-result","toolCallId":"t","toolName":"CallMcpTool","result":"it failed"}]},"steps":{"0":{"toolCall":{"mcpToolCall":{"result":{"success":{"isError":true}}},"toolCallId":"t"}}}}"#,
        "\n",
    );
    let tape = valid_tape(log);
    let result = events(&tape)
        .into_iter()
        .find(|event| event["k"] == "tool.result");
    let result = result.expect("a result");
    assert_eq!(
        (&result["status"], &result["stderr"]),
        (&Value::from("error"), &Value::from("it failed"))
    );
}
