//! Prompts of several parts, and whose words they are.

use engram_core::adapter::SideInfo;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::convert;

const INFO: &str = r#"{"id":"ses_1","version":"1.18.34","title":"A title","time":{"created":1000,"updated":2000}}"#;

/// An export of messages: the role of each, and its parts.
fn tape(info: &str, messages: &[(&str, &str)]) -> Vec<Value> {
    let message = |(n, (role, parts)): (usize, &(&str, &str))| {
        format!(
            r#"{{"info":{{"id":"msg_{n}","role":"{role}","time":{{"created":{}}}}},"parts":[{parts}]}}"#,
            1001 + n
        )
    };
    let messages: Vec<String> = messages.iter().enumerate().map(message).collect();
    let text = format!(r#"{{"info":{info},"messages":[{}]}}"#, messages.join(","));
    convert(&text, SideInfo::default(), Policy::Strict).unwrap()
}

/// Author and text of each message, and how many files it has.
fn said(tape: &[Value]) -> Vec<(&str, &str, usize)> {
    let messages = tape.iter().filter(|event| event["k"] == "msg.in");
    messages
        .map(|event| {
            (
                event["by"].as_str().unwrap_or_default(),
                event["text"].as_str().unwrap_or_default(),
                event["attachments"].as_array().map_or(0, Vec::len),
            )
        })
        .collect()
}

const FILE: &str =
    r#"{"type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,aGk="}"#;

#[test]
fn the_files_of_a_message_are_attachments_of_its_words() {
    let read = r#"{"type":"text","synthetic":true,"text":"Called the Read tool"}"#;
    let parts = format!(r#"{FILE},{{"type":"text","text":"look"}},{read},{FILE}"#);
    let files = format!("{FILE},{FILE}");
    let tape = tape(INFO, &[("user", &parts), ("user", &files)]);
    assert_eq!(
        said(&tape),
        [
            ("person", "look", 2),
            ("harness", "Called the Read tool", 0),
            ("person", "", 2)
        ]
    );
    let ledger = &tape.last().unwrap()["ledger"];
    assert_eq!(
        ledger["omitted"],
        json!([
            {"type":"message/user","rule":"message.envelope","count":2},
            {"type":"part/file","rule":"prompt.file","count":3}
        ])
    );
}

#[test]
fn a_picture_that_the_harness_has_read_for_a_prompt_is_the_prompt_s() {
    let read = r#"{"type":"text","synthetic":true,"text":"Called the Read tool"}"#;
    let picture = FILE.replace("{\"type\"", "{\"synthetic\":true,\"type\"");
    let with_words = format!(r#"{read},{picture},{{"type":"text","text":"look"}}"#);
    let alone = format!("{read},{picture}");
    let tape = tape(INFO, &[("user", &with_words), ("user", &alone)]);
    assert_eq!(
        said(&tape),
        [
            ("harness", "Called the Read tool", 0),
            ("person", "look", 1),
            ("harness", "Called the Read tool", 0),
            ("person", "", 1)
        ]
    );
}

#[test]
fn words_that_no_person_typed_are_the_harness_s() {
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let ignored = r#"{"type":"text","text":"3 pruned","ignored":true}"#;
    let overflow = r#"{"type":"compaction","auto":true,"overflow":true}"#;
    let manual = r#"{"type":"compaction","auto":false}"#;
    let (one, two) = (text("one"), text("two"));
    let plugin = text("[SYSTEM DIRECTIVE: OH-MY-OPENCODE - TODO CONTINUATION]");
    let tape = tape(
        INFO,
        &[
            ("user", &one),
            ("user", overflow),
            ("user", &one),
            ("user", manual),
            ("user", &one),
            ("user", ignored),
            ("user", &format!("{two},{ignored}")),
            ("user", &plugin),
        ],
    );
    let again = tape.iter().filter(|event| event["name"] == "prompt_again");
    assert_eq!(
        again.map(|event| &event["text"]).collect::<Vec<_>>(),
        ["one"]
    );
    assert_eq!(
        said(&tape)
            .into_iter()
            .map(|(by, text, _)| (by, text))
            .collect::<Vec<_>>(),
        [
            ("person", "one"),
            ("person", "one"),
            ("harness", "3 pruned"),
            ("person", "two"),
            ("person", "3 pruned"),
            (
                "harness",
                "[SYSTEM DIRECTIVE: OH-MY-OPENCODE - TODO CONTINUATION]"
            ),
        ]
    );
}

#[test]
fn a_child_session_that_no_agent_started_has_a_persons_prompts() {
    let by = |title: &str| {
        let info = INFO.replace(
            r#""title":"A title""#,
            &format!(r#""parentID":"ses_0","title":"{title}""#),
        );
        let prompt = r#"{"type":"text","text":"go"}"#;
        said(&tape(&info, &[("user", prompt)]))[0].0.to_owned()
    };
    assert_eq!(by("work (@general subagent)"), "agent");
    assert_eq!(by("A child of the client"), "person");
}

#[test]
fn each_request_of_a_message_has_a_usage() {
    let end = |n| {
        format!(
            r#"{{"id":"prt_{n}","type":"step-finish","cost":0,"tokens":{{"total":{n},"input":{n},"output":0,"reasoning":0,"cache":{{"read":0,"write":0}}}}}}"#
        )
    };
    let several = [end(1), end(2), end(3)].join(",");
    let tape = tape(INFO, &[("assistant", &several), ("assistant", &end(4))]);
    let usages: Vec<_> = tape
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|event| {
            (
                event["tokens"]["input"].as_u64(),
                event["message_id"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        usages,
        [
            (Some(1), None),
            (Some(2), None),
            (Some(3), None),
            (Some(4), Some("msg_1"))
        ]
    );
}

#[test]
fn words_beside_a_refusal_are_its_reason_and_a_persons() {
    let error = "The user rejected permission to use this specific tool call";
    let part = |error: &str| {
        format!(
            r#"{{"type":"tool","tool":"bash","callID":"c","state":{{"status":"error","input":{{"command":"rm a"}},"error":"{error}"}}}}"#
        )
    };
    let words = format!("{error} with the following feedback: not this one");
    let end = r#"{"id":"prt_9","type":"step-finish","cost":0,"tokens":{"total":3,"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}"#;
    let with_words = tape(INFO, &[("assistant", &format!("{},{end}", part(&words)))]);
    assert_eq!(said(&with_words), [("person", "not this one", 0)]);
    let place = |name: &str, value: &str| with_words.iter().position(|event| event[name] == value);
    assert!(
        place("label", "usage") < place("k", "msg.in"),
        "behind its response"
    );
    let denied: Vec<_> = with_words
        .iter()
        .filter(|event| event["label"] == "permission")
        .map(|event| (event["decision"].as_str(), event["text"].as_str()))
        .collect();
    assert_eq!(denied, [(Some("deny"), Some("not this one"))]);
    assert!(said(&tape(INFO, &[("assistant", &part(error))])).is_empty());
}

#[test]
fn what_the_harness_has_read_for_a_prompt_is_context_with_its_file() {
    let synthetic = |text: &str| json!({"type": "text", "synthetic": true, "text": text});
    let called = "Called the Read tool with the following input: {\"filePath\":\"/p/b.py\"}";
    let content = "<path>/p/b.py</path>\n<content>\n1: b = 1\n</content>";
    let parts = [
        synthetic(called),
        synthetic(content),
        synthetic("Go on."),
        json!({"type": "text", "text": "look"}),
    ];
    let parts = parts.map(|part| part.to_string()).join(",");
    let tape = tape(INFO, &[("user", &parts)]);
    assert_eq!(
        said(&tape),
        [("harness", "Go on.", 0), ("person", "look", 0)]
    );
    let files: Vec<_> = tape
        .iter()
        .filter(|event| event["name"] == "referenced_files")
        .map(|event| (&event["file"], &event["text"]))
        .collect();
    let file = json!("/p/b.py");
    assert_eq!(files, [(&file, &json!(called)), (&file, &json!(content))]);
}

/// As 1.18.33 prints them: after a compaction the harness goes on by itself.
#[test]
fn printed_words_of_the_harness_are_no_answer() {
    let part = |part: Value| {
        json!({"type": "text", "timestamp": 1003, "sessionID": "ses_1", "part": part}).to_string()
            + "\n"
    };
    let own = json!({"messageID": "msg_1", "type": "text", "text": "Go on.", "synthetic": true, "metadata": {"compaction_continue": true}});
    let log = part(own) + &part(json!({"messageID": "msg_2", "type": "text", "text": "Done."}));
    let tape = convert(&log, SideInfo::default(), Policy::Permissive).unwrap();
    let of = |name: &str, value: &str| {
        let events = tape.iter().filter(|event| event[name] == value);
        events.map(|event| &event["text"]).collect::<Vec<_>>()
    };
    assert_eq!(of("name", "synthetic"), [&json!("Go on.")]);
    assert_eq!(of("k", "msg.out"), [&json!("Done.")]);
}
