//! Messages, parts and lines with the id of an earlier one.

use engram_core::adapter::SideInfo;
use engram_core::policy::Policy;
use serde_json::Value;

use super::convert;

/// The texts, calls and results of a log, and how many responses it counts.
fn facts(source: &str) -> (Vec<String>, usize) {
    let tape = convert(source, SideInfo::default(), Policy::Strict).unwrap();
    let events = tape.iter().filter(|event| event["k"] != "meta");
    let facts = events
        .map(|event| {
            format!("{}{}{}", event["text"], event["args"], event["stdout"]).replace("null", "")
        })
        .collect();
    (
        facts,
        tape.iter()
            .filter(|event| event["label"] == "usage")
            .count(),
    )
}

fn export(messages: &[String]) -> String {
    let info = r#"{"id":"ses_1","version":"1.18.34","time":{"created":1000,"updated":2000}}"#;
    format!(r#"{{"info":{info},"messages":[{}]}}"#, messages.join(","))
}

fn prompt(id: &str, created: u32, part: &str) -> String {
    format!(
        r#"{{"info":{{"id":"{id}","role":"user","time":{{"created":{created}}}}},"parts":[{part}]}}"#
    )
}

fn answer(id: &str, created: u32, parts: &str) -> String {
    let tokens =
        r#""cost":0,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    let info = format!(
        r#"{{"id":"{id}","role":"assistant","time":{{"created":{created}}},"modelID":"m",{tokens}}}"#
    );
    format!(r#"{{"info":{info},"parts":[{parts}]}}"#)
}

fn text(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","type":"text","text":"{text}"}}"#)
}

fn call(id: &str, call: &str, state: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"tool","callID":"{call}","tool":"bash","state":{{"input":{{"command":"{call}"}},{state}}}}}"#
    )
}

const RUNNING: &str = r#""status":"running","time":{"start":1003}"#;
const COMPLETED: &str = r#""status":"completed","output":"out","title":"t","metadata":{},"time":{"start":1003,"end":1004}"#;

#[test]
fn records_with_one_id_and_other_content_are_all_converted() {
    let messages = |message: [&str; 4], part: [&str; 6]| {
        export(&[
            prompt(message[0], 1001, &text(part[0], "go")),
            answer(
                message[1],
                1002,
                &format!(
                    "{},{}",
                    text(part[1], "one"),
                    call(part[2], "c1", COMPLETED)
                ),
            ),
            answer(
                message[2],
                1003,
                &format!(
                    "{},{}",
                    call(part[3], "c2", COMPLETED),
                    text(part[4], "two")
                ),
            ),
            prompt(message[3], 1004, &text(part[5], "on")),
        ])
    };
    let distinct = facts(&messages(
        ["m1", "m2", "m3", "m4"],
        ["p1", "p2", "p3", "p4", "p5", "p6"],
    ));
    assert_eq!((distinct.0.len(), distinct.1), (8, 2));
    assert_eq!(facts(&messages(["m1"; 4], ["p1"; 6])), distinct);
    assert_eq!(facts(&messages([""; 4], [""; 6])), distinct);
    assert_eq!(
        facts(&messages(
            ["m1", "m2", "m1", "m4"],
            ["p1", "p2", "p3", "p1", "p5", "p2"]
        )),
        distinct
    );
}

#[test]
fn a_record_that_is_written_again_adds_only_what_is_new() {
    let once = answer("m1", 1002, &call("p1", "c1", RUNNING));
    let again = answer(
        "m1",
        1002,
        &format!("{},{}", call("p1", "c1", COMPLETED), text("p2", "done")),
    );
    let expected = [r#"{"command":"c1"}"#, r#""out""#, r#""done""#];
    let (facts, usages) = facts(&export(&[once.clone(), again.clone(), once, again]));
    assert_eq!(
        (facts.as_slice(), usages),
        (expected.map(str::to_owned).as_slice(), 1)
    );
}

#[test]
fn a_result_of_a_call_that_was_stated_before_belongs_to_it() {
    let messages = [
        answer("m1", 1002, &call("p1", "c1", RUNNING)),
        answer("m1", 1002, &call("p1", "c1", COMPLETED)),
    ];
    let tape = convert(&export(&messages), SideInfo::default(), Policy::Strict).unwrap();
    let of_kind = |kind: &str| {
        tape.iter()
            .filter(|event| event["k"] == kind)
            .collect::<Vec<&Value>>()
    };
    let (calls, results) = (of_kind("tool.call"), of_kind("tool.result"));
    assert_eq!(
        (calls.len(), results.len(), &results[0]["parent"]),
        (1, 1, &calls[0]["seq"])
    );
}

#[test]
fn equal_parts_without_ids_are_as_many_as_the_message_has() {
    let part = r#"{"type":"text","text":"again"}"#;
    let message = answer("m1", 1002, &format!("{part},{part}"));
    assert_eq!(facts(&export(&[message.clone(), message])).0.len(), 2);
}
