//! Repeated lines, results before their calls, ids that are used again, titles, and counts of tokens.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes};

pub(super) fn prompt(version: &str, number: u32, text: &str) -> Value {
    line(
        version,
        number,
        "user",
        json!({"message": {"role": "user", "content": text}}),
    )
}

pub(super) fn call(version: &str, number: u32, message: &str, id: &str) -> Value {
    assistant_line(
        version,
        number,
        message,
        json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}]),
    )
}

pub(super) fn chained(mut lines: Vec<Value>) -> Vec<Value> {
    for at in 1..lines.len() {
        lines[at]["parentUuid"] = lines[at - 1]["uuid"].clone();
    }
    lines
}

#[test]
fn repeating_a_line_changes_no_event() {
    let hook = json!({"attachment": {"type": "hook_success", "hookName": "Stop", "command": "true", "toolUseID": "x", "hookEvent": "Stop", "content": ""}});
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:09.000Z", "sessionId": "s", "content": "later"});
    let lines = chained(vec![
        prompt("2.1.329", 1, "go"),
        call("2.1.329", 2, "m1", "t1"),
        result_line(
            "2.1.329",
            3,
            "t1",
            "a",
            Some(json!({"stdout": "a", "stderr": "", "interrupted": false})),
        ),
        line("2.1.329", 4, "attachment", hook),
        assistant_line(
            "2.1.329",
            5,
            "m2",
            json!([{"type": "text", "text": "done"}]),
        ),
    ]);
    let title = json!({"type": "custom-title", "customTitle": "fold it", "sessionId": "s"});
    let lines = [lines, vec![queued, title]].concat();
    let facts = |lines: &[Value]| -> Vec<Value> {
        let kept = tape(lines, Policy::Strict)
            .unwrap()
            .into_iter()
            .filter(|event| event["label"] != "tape.stop");
        let without_line = |mut event: Value| {
            event["origin"]["line"] = json!(0);
            event
        };
        kept.map(without_line).collect()
    };
    let expected = facts(&lines);
    for repeated in 0..lines.len() {
        for at in repeated + 1..=lines.len() {
            let mut doubled = lines.clone();
            doubled.insert(at, lines[repeated].clone());
            assert_eq!(facts(&doubled), expected, "line {repeated} again at {at}");
            assert_eq!(unaccounted_bytes(&doubled), 0);
        }
    }
}

#[test]
fn every_compaction_is_a_fact_of_its_own() {
    let compacted = |version: &str, number: u32, tokens: u32| {
        let boundary = json!({"subtype": "compact_boundary", "content": "Conversation compacted",
            "compactMetadata": {"trigger": "manual", "preTokens": tokens}});
        let summary = json!({"isCompactSummary": true, "message": {"role": "user", "content": "the same summary"}});
        chained(vec![
            line(version, number, "system", boundary),
            line(version, number + 1, "user", summary),
        ])
    };
    let begin = vec![prompt("2.0.10", 1, "go")];
    let lines = [
        begin,
        compacted("2.0.10", 2, 7),
        compacted("2.0.10", 4, 7),
        compacted("2.1.120", 6, 8),
    ]
    .concat();
    let triggers: Vec<Value> = events(&lines, "meta")
        .iter()
        .filter(|event| event["label"] == "compaction")
        .map(|event| event["trigger"].clone())
        .collect();
    assert_eq!(triggers, ["manual", "manual", "manual"]);
    assert_eq!(
        events(&lines, "meta")
            .iter()
            .filter(|event| event["name"] == "compact_boundary")
            .count(),
        3
    );
    // The log may also begin with a compaction.
    let lines = [compacted("2.0.10", 2, 7), compacted("2.0.10", 4, 7)].concat();
    assert_eq!(
        events(&lines, "meta")
            .iter()
            .filter(|event| event["label"] == "compaction")
            .count(),
        2
    );
}

#[test]
fn result_before_its_call_follows_it() {
    let mut result = result_line("2.1.150", 2, "t1", "a", None);
    result["sourceToolAssistantUUID"] = json!("u3");
    let lines = [
        prompt("2.1.150", 1, "go"),
        result.clone(),
        call("2.1.150", 3, "m1", "t1"),
        prompt("2.1.150", 4, "on"),
    ];
    let tape_of = |lines: &[Value]| -> Vec<(String, Value, Value)> {
        let events = tape(lines, Policy::Strict)
            .unwrap()
            .into_iter()
            .filter(|event| event["k"] != "meta");
        events
            .map(|event| {
                (
                    event["k"].as_str().unwrap().to_owned(),
                    event["tool"].clone(),
                    event["origin"]["line"].clone(),
                )
            })
            .collect()
    };
    let kinds = |lines: &[Value]| {
        tape_of(lines)
            .into_iter()
            .map(|(kind, _, _)| kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(&lines),
        ["msg.in", "tool.call", "tool.result", "msg.in"]
    );
    assert_eq!(
        tape_of(&lines)[2],
        ("tool.result".to_owned(), json!("Bash"), json!(2))
    );

    // It does not wait for itself if it has the id of that line.
    let mut own = lines.clone();
    own[1]["uuid"] = json!("u3");
    assert_eq!(
        kinds(&own),
        ["msg.in", "tool.call", "tool.result", "msg.in"]
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
    // The call never comes.
    assert_eq!(
        kinds(&[lines[0].clone(), result]),
        ["msg.in", "tool.result"]
    );
}

#[test]
fn a_call_id_may_be_used_again() {
    let lines = [
        call("2.1.150", 1, "m1", "t0"),
        result_line("2.1.150", 2, "t0", "one", None),
        call("2.1.150", 3, "m2", "t0"),
        result_line("2.1.150", 4, "t0", "two", None),
    ];
    let results = events(&lines, "tool.result");
    let calls = events(&lines, "tool.call");
    let parents: Vec<&Value> = results.iter().map(|event| &event["parent"]).collect();
    assert_eq!(
        parents,
        calls.iter().map(|event| &event["seq"]).collect::<Vec<_>>()
    );
}

#[test]
fn parallel_calls_of_a_message_may_have_one_id() {
    for version in ["2.0.0", "2.1.329"] {
        let command = |number: u32, command: &str| {
            assistant_line(
                version,
                number,
                "m1",
                json!([{"type": "tool_use", "id": "t0", "name": "Bash", "input": {"command": command}}]),
            )
        };
        let both = json!([{"type": "tool_result", "tool_use_id": "t0", "content": "one"}, {"type": "tool_result", "tool_use_id": "t0", "content": "two"}]);
        let lines = [
            command(1, "ls"),
            command(2, "pwd"),
            line(
                version,
                3,
                "user",
                json!({"message": {"role": "user", "content": both}}),
            ),
        ];
        let calls: Vec<Value> = events(&lines, "tool.call")
            .iter()
            .rev()
            .map(|event| event["seq"].clone())
            .collect();
        let parents: Vec<Value> = events(&lines, "tool.result")
            .iter()
            .map(|event| event["parent"].clone())
            .collect();
        assert_eq!((calls.len(), &calls), (2, &parents), "{version}");
    }
}

#[test]
fn title_of_another_session_is_a_notice() {
    let title = |leaf: &str| json!({"type": "summary", "summary": "fold it", "leafUuid": leaf});
    let session = [
        prompt("2.0.0", 1, "go"),
        assistant_line("2.0.0", 2, "m1", json!([{"type": "text", "text": "done"}])),
    ];
    let facts = |lines: &[Value]| -> Vec<Value> {
        let metas = events(lines, "meta").into_iter();
        metas
            .filter(|event| event["name"] == "summary" || !event["title"].is_null())
            .map(|event| event["label"].clone())
            .collect()
    };
    let with = |titles: &[Value]| [titles, session.as_slice()].concat();
    assert_eq!(facts(&with(&[title("u9")])), ["system"]);
    assert_eq!(facts(&with(&[title("u2"), title("u2")])), ["session"]);
    assert_eq!(
        facts(&[session.as_slice(), &[title("u2"), title("u2")]].concat()),
        ["session"]
    );
    assert_eq!(
        facts(&[title("u9")]),
        ["system"],
        "a file may have nothing but titles"
    );
    assert_eq!(
        unaccounted_bytes(&with(&[title("u9"), title("u2"), title("u2")])),
        0
    );
}

#[test]
fn usage_comes_before_the_next_prompt() {
    let part = |number: u32, output: u32, stop: Option<&str>| {
        let usage = json!({"input_tokens": 2, "output_tokens": output, "cache_creation_input_tokens": 9, "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 4, "ephemeral_5m_input_tokens": 5}});
        let content = json!([{"type": "text", "text": format!("part {number}")}]);
        let message = json!({"id": "m1", "role": "assistant", "model": "m", "content": content, "stop_reason": stop, "usage": usage});
        line(
            "2.1.329",
            number,
            "assistant",
            json!({"message": message, "requestId": "r1"}),
        )
    };
    let lines = [
        prompt("2.1.329", 1, "one"),
        part(2, 1, None),
        part(3, 30, Some("end_turn")),
        prompt("2.1.329", 4, "two"),
        part(5, 1, None),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let usages: Vec<&Value> = tape
        .iter()
        .filter(|event| event["label"] == "usage")
        .collect();
    assert_eq!(usages.len(), 1, "a response is counted once");
    let expected = json!({"input": 2, "cache_write": 9, "cache_write_1h": 4, "output": 30});
    assert_eq!(
        (&usages[0]["tokens"], &usages[0]["stop_reason"]),
        (&expected, &json!("end_turn"))
    );
    assert_eq!(
        [
            &usages[0]["message_id"],
            &usages[0]["request_id"],
            &usages[0]["service_tier"]
        ],
        ["m1", "r1", "standard"]
    );
    let at = |found: &dyn Fn(&Value) -> bool| tape.iter().position(found).unwrap();
    assert!(at(&|event| event["label"] == "usage") < at(&|event| event["text"] == "two"));
    let stopped = super::tape(&lines[..2], Policy::Strict).unwrap();
    assert!(
        stopped
            .iter()
            .any(|event| event["label"] == "usage" && event["provisional"] == true)
    );
}

/// The texts, calls and results of the lines, in order.
fn facts(lines: &[Value]) -> Vec<String> {
    let events = tape(lines, Policy::Strict)
        .unwrap()
        .into_iter()
        .filter(|event| event["k"] != "meta");
    events
        .map(|event| {
            format!("{}{}{}", event["text"], event["args"], event["stdout"]).replace("null", "")
        })
        .collect()
}

#[test]
fn lines_with_one_uuid_and_other_content_are_all_converted() {
    let said = |number: u32, id: &str, text: &str| {
        assistant_line(
            "2.1.329",
            number,
            id,
            json!([{"type": "text", "text": text}]),
        )
    };
    let lines = [
        prompt("2.1.329", 1, "go"),
        call("2.1.329", 2, "m1", "t1"),
        result_line(
            "2.1.329",
            3,
            "t1",
            "a",
            Some(json!({"stdout": "a", "stderr": "", "interrupted": false})),
        ),
        said(4, "m2", "done"),
        prompt("2.1.329", 5, "go"),
        said(6, "m3", "done again"),
    ];
    let expected = facts(&lines);
    for uuid in ["u1", ""] {
        let shared: Vec<Value> = lines
            .iter()
            .cloned()
            .map(|line| with(line, "uuid", uuid))
            .collect();
        assert_eq!(facts(&shared), expected, "all with the uuid {uuid:?}");
        assert_eq!(
            facts(&[shared.clone(), shared].concat()),
            expected,
            "all again"
        );
    }
    for later in 1..lines.len() {
        let mut shared = lines.to_vec();
        shared[later] = with(shared[later].clone(), "uuid", "u1");
        // The last prompt is the first one again, at another time.
        let expected: Vec<String> = expected
            .iter()
            .enumerate()
            .filter(|(at, _)| later != 4 || *at != 4)
            .map(|(_, fact)| fact.clone())
            .collect();
        assert_eq!(
            facts(&shared),
            expected,
            "line {later} with the uuid of the first one"
        );
        assert_eq!(unaccounted_bytes(&shared), 0);
    }
}

fn with(mut line: Value, name: &str, value: &str) -> Value {
    line[name] = json!(value);
    line
}

#[test]
fn a_line_that_is_written_again_with_more_content_adds_only_that() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let once = assistant_line("2.1.329", 1, "m1", json!([text("one")]));
    let more = assistant_line("2.1.329", 1, "m1", json!([text("one"), text("two")]));
    assert_eq!(
        facts(&[once.clone(), more.clone(), once, more]),
        [r#""one""#, r#""two""#]
    );
    let patch = json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]);
    let edited = json!({"filePath": "/p/f", "oldString": "a", "newString": "b", "originalFile": "a\n", "structuredPatch": patch, "userModified": false, "replaceAll": false});
    let input = json!({"file_path": "/p/f", "old_string": "a", "new_string": "b"});
    let edit = assistant_line(
        "2.1.329",
        2,
        "m2",
        json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": input}]),
    );
    let result = |structured: Option<Value>| result_line("2.1.329", 3, "t1", "changed", structured);
    let lines = [
        edit,
        result(None),
        result(Some(edited.clone())),
        with_empty_file(result(Some(edited))),
    ];
    assert_eq!(
        (
            events(&lines, "tool.result").len(),
            events(&lines, "code.edit").len()
        ),
        (1, 1)
    );
}

/// The line as a harness writes it again: without the file before, and with other links.
fn with_empty_file(mut line: Value) -> Value {
    line["toolUseResult"]["originalFile"] = json!("");
    line["gitBranch"] = json!("other");
    line["promptId"] = json!("p2");
    line
}

#[test]
fn another_result_of_a_call_is_converted() {
    let lines = [
        call("2.1.329", 1, "m1", "t1"),
        result_line("2.1.329", 2, "t1", "one", None),
        result_line("2.1.329", 3, "t1", "one", None),
        result_line("2.1.329", 4, "t1", "two", None),
    ];
    let results = events(&lines, "tool.result");
    let outputs: Vec<&Value> = results.iter().map(|event| &event["stdout"]).collect();
    assert_eq!(outputs, ["one", "two"]);
    assert!(
        results
            .iter()
            .all(|event| event["parent"] == results[0]["parent"])
    );
}

#[test]
fn responses_with_one_message_id_count_by_their_requests() {
    let said = |number: u32, request: &str| {
        let line = assistant_line(
            "2.1.329",
            number,
            "m",
            json!([{"type": "text", "text": format!("part {number}")}]),
        );
        with(line, "requestId", request)
    };
    let lines = [
        said(1, "r1"),
        said(2, "r1"),
        said(3, "r2"),
        prompt("2.1.329", 4, "on"),
        said(5, "r1"),
        said(6, "r3"),
    ];
    let usages: Vec<Value> = events(&lines, "meta")
        .into_iter()
        .filter(|event| event["label"] == "usage")
        .map(|event| event["request_id"].clone())
        .collect();
    assert_eq!(usages, ["r1", "r2", "r3"]);
}
