//! Where a person went back: by a line that says so, and to a saved conversation.

use serde_json::Value;

use super::tests::{TIME, events, user};

#[test]
fn a_rewind_names_the_last_event_that_holds() {
    let rewind = |to: &str| format!(r#"{{"$rewindTo":"{to}",{TIME}}}"#);
    let again = [user("d", "one"), user("e", "three")].join(",");
    let history = format!(r#"{{"$set":{{"messages":[{again}]}}}}"#);
    let events = events(&[
        &user("a", "one"),
        &user("b", "two"),
        &rewind("b"),
        &user("c", "three"),
        &history,
        &rewind("e"),
        &rewind("unknown"),
    ]);
    let first = &events[0]["seq"];
    let rewound: Vec<_> = events
        .iter()
        .filter(|event| event["label"] == "rewind")
        .map(|event| &event["to"])
        .collect();
    assert_eq!(rewound, [first]);
    // What the log does not have cannot be named, and what it only repeats under another id is not.
    let unnamed: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "rewind")
        .map(|event| &event["text"])
        .collect();
    assert_eq!(unnamed, ["e", "unknown"]);
}

#[test]
fn a_rewind_may_name_the_response_of_a_call() {
    let response =
        r#"{"functionResponse":{"id":"c","name":"read_file","response":{"output":"x"}}}"#;
    let call = format!(
        r#"{{"id":"c","name":"read_file","args":{{}},"result":[{response}],"status":"success",{TIME}}}"#
    );
    let turn = format!(r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{call}]}}"#);
    let answer = format!(r#"{{"id":"r",{TIME},"type":"user","content":[{response}]}}"#);
    let again = format!(
        r#"{{"$set":{{"messages":[{}]}}}}"#,
        answer.replace(r#""r""#, r#""h""#)
    );
    let rewind = |to: &str| format!(r#"{{"$rewindTo":"{to}",{TIME}}}"#);
    let events = events(&[
        &user("a", "one"),
        &turn,
        &answer,
        &user("b", "two"),
        &rewind("r"),
        &again,
        &rewind("h"),
    ]);
    let seq = |kind: &str| {
        let event = events.iter().find(|event| event["k"] == kind);
        event.expect("the event").get("seq").cloned()
    };
    let rewound: Vec<_> = events
        .iter()
        .filter(|event| event["label"] == "rewind")
        .map(|event| event.get("to").cloned())
        .collect();
    assert_eq!(rewound, [seq("tool.result"), seq("tool.call")]);
}

/// The places of the rewinds.
fn places(events: &[Value]) -> Vec<&Value> {
    let rewinds = events.iter().filter(|event| event["label"] == "rewind");
    rewinds.map(|event| &event["to"]).collect()
}

/// Shortened from a recording with 0.61.0: `/rewind` behind calls that were stopped names the message with their results.
#[test]
fn a_rewind_behind_results_that_the_call_has_keeps_the_counts_of_the_response() {
    let response = r#"[{"functionResponse":{"id":"c","name":"replace","response":{"error":"[Operation Cancelled] Reason: User cancelled operation"}}}]"#;
    let turn = |calls: &str| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":{{"input":2,"output":1,"cached":0,"thoughts":0,"tool":0,"total":3}},"model":"pro"{calls}}}"#
        )
    };
    let calls = format!(
        r#","toolCalls":[{{"id":"c","name":"replace","args":{{}},"result":{response},"status":"cancelled",{TIME}}}]"#
    );
    let results = format!(r#"{{"id":"r",{TIME},"type":"user","content":{response}}}"#);
    let answer = format!(
        r#"{{"id":"n",{TIME},"type":"gemini","content":"never","thoughts":[],"tokens":null}}"#
    );
    let events = events(&[
        &user("a", "go"),
        &turn(""),
        &turn(&calls),
        &results,
        &answer,
        r#"{"$rewindTo":"r"}"#,
    ]);
    let usage = events
        .iter()
        .find(|event| event["label"] == "usage")
        .expect("a usage");
    assert_eq!(places(&events), [&usage["seq"]]);
}

/// Shortened from a recording with 0.61.0: `/resume save` after the first turn, and `/resume resume` after the second.
#[test]
fn a_saved_conversation_that_is_taken_up_is_a_rewind() {
    let at = |id: &str, kind: &str, content: &str, second: u32| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-11-21T10:00:{second:02}.000Z","type":"{kind}","content":{content},"thoughts":[]}}"#
        )
    };
    let prompt = |id: &str, text: &str, second| {
        at(id, "user", &format!(r#"[{{"text":"{text}"}}]"#), second)
            .replace(r#","thoughts":[]"#, "")
    };
    let context = r#"{"text":"<session_context>\nThis is the Gemini CLI. Context"}"#;
    let ask = at("x", "user", &format!(r#"[{context},{{"text":"one"}}]"#), 30)
        .replace(r#","thoughts":[]"#, "");
    let answer = at("y", "gemini", r#"[{"text":"first"}]"#, 30);
    let history = format!(r#"{{"$set":{{"messages":[{ask},{answer}]}}}}"#);
    let notice = prompt("i", "", 25)
        .replace("user", "info")
        .replace(r#"[{"text":""}]"#, r#""Request cancelled.""#);
    let log = |between: &[&str]| {
        let (first, second) = (prompt("a", "one", 1), prompt("c", "two", 3));
        let (done, more) = (
            at("b", "gemini", r#""first""#, 2),
            at("d", "gemini", r#""second""#, 4),
        );
        let mut lines = vec![&*first, &*done, &*second, &*more];
        lines.extend(between);
        lines.extend([&*ask, &*answer, &*history]);
        events(&lines)
    };
    let taken_up = log(&[]);
    let last = taken_up
        .iter()
        .find(|event| event["text"] == "first")
        .expect("the first answer");
    assert_eq!(places(&taken_up), [&last["seq"]]);
    assert!(places(&log(&[&notice])).is_empty());
}
