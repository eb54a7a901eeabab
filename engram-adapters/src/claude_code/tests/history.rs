//! History that a file has again: after a compaction, in a resumed session, in the file of an agent.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::repeats::{call, chained, prompt};
use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes};

#[test]
fn history_that_the_file_repeats_is_a_duplicate() {
    let said = |number: u32, id: &str| {
        assistant_line("1.0.60", number, id, json!([{"type": "text", "text": id}]))
    };
    let first = chained(vec![prompt("1.0.60", 1, "one"), said(2, "m1")]);
    let copy = chained(vec![
        prompt("1.0.60", 3, "one"),
        said(4, "m1"),
        prompt("1.0.60", 5, "one"),
        said(6, "m2"),
    ]);
    let lines = [first, copy].concat();
    let texts: Vec<Value> = tape(&lines, Policy::Strict)
        .unwrap()
        .iter()
        .filter(|event| event["k"] != "meta")
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(
        texts,
        ["one", "m1", "one", "m2"],
        "the same prompt may be given again"
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn copy_may_begin_with_an_answer() {
    let said = |number: u32, id: &str| {
        assistant_line("1.0.60", number, id, json!([{"type": "text", "text": id}]))
    };
    let mut answer = said(2, "m1");
    answer["requestId"] = json!("r1");
    let first = chained(vec![prompt("1.0.60", 1, "one"), answer]);
    let copy = chained(vec![
        said(3, "m1"),
        prompt("1.0.60", 4, "two"),
        said(5, "m2"),
    ]);
    let lines = [first, copy].concat();
    assert_eq!(events(&lines, "msg.out").len(), 2);
    let tape = tape(&lines, Policy::Strict).unwrap();
    let requests: Vec<&Value> = tape
        .iter()
        .filter(|event| event["message_id"] == "m1" && event["label"] == "usage")
        .collect();
    assert_eq!(
        (requests.len(), &requests[0]["request_id"]),
        (1, &json!("r1"))
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn a_prompt_that_is_given_again_is_no_copy() {
    let said = |number: u32, id: &str| {
        assistant_line("2.0.0", number, id, json!([{"type": "text", "text": id}]))
    };
    let first = chained(vec![prompt("2.0.0", 1, "one"), said(2, "m1")]);
    let again = chained(vec![prompt("2.0.0", 3, "one"), said(4, "m2")]);
    let lines = [first.clone(), again, vec![prompt("2.0.0", 5, "one")]].concat();
    let texts: Vec<Value> = ["msg.in", "msg.out"]
        .iter()
        .flat_map(|kind| events(&lines, kind))
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(texts, ["one", "one", "one", "m1", "m2"]);
    assert_eq!(unaccounted_bytes(&lines), 0);
    let doubled = [&lines[..3], &lines[2..3], &lines[3..]].concat();
    assert_eq!(
        events(&doubled, "msg.in").len(),
        3,
        "a repeated line shows nothing"
    );
}

#[test]
fn a_copy_may_leave_out_prompts_and_is_over_with_the_history() {
    let said = |number: u32, id: &str| {
        assistant_line("1.0.60", number, id, json!([{"type": "text", "text": id}]))
    };
    let first = chained(vec![
        prompt("1.0.60", 1, "one"),
        said(2, "m1"),
        prompt("1.0.60", 3, "go on"),
    ]);
    let copy = chained(vec![
        said(4, "m1"),
        prompt("1.0.60", 5, "go on"),
        said(6, "m2"),
    ]);
    let texts: Vec<Value> = events(&[first, copy].concat(), "msg.in")
        .iter()
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(texts, ["one", "go on", "go on"]);
}

#[test]
fn agent_that_compacts_replays_the_session() {
    let of_agent = |mut line: Value| {
        line["agentId"] = json!("acompact-1");
        line["isSidechain"] = json!(true);
        line
    };
    let lines = [
        prompt("2.1.90", 1, "go"),
        call("2.1.90", 2, "m1", "t1"),
        prompt("2.1.90", 3, "CRITICAL: Respond with TEXT ONLY."),
        call("2.1.90", 4, "m2", "t2"),
    ];
    let tape = tape(&lines.map(of_agent), Policy::Strict).unwrap();
    let replayed: Vec<bool> = tape
        .iter()
        .filter(|event| event["k"] != "meta")
        .map(|event| event["replay"] == true)
        .collect();
    assert_eq!(replayed, [true, true, false, false]);
    assert_eq!(
        tape.iter()
            .filter(|event| event["label"] == "usage" && event["replay"].is_null())
            .count(),
        1
    );
}

#[test]
fn hook_before_the_first_prompt_is_no_copy() {
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:05.000Z", "sessionId": "s", "content": "go"});
    let hook = json!({"attachment": {"type": "hook_success", "hookName": "SessionStart:startup", "command": "true", "toolUseID": "x", "hookEvent": "SessionStart", "content": ""}});
    let own = [
        queued.clone(),
        line("2.1.329", 1, "attachment", hook),
        prompt("2.1.329", 9, "go"),
    ];
    assert!(
        tape(&own, Policy::Strict)
            .unwrap()
            .iter()
            .all(|event| event["replay"].is_null())
    );
    let forked = [
        queued,
        prompt("2.1.329", 1, "old"),
        prompt("2.1.329", 9, "go"),
    ];
    let replayed: Vec<bool> = events(&forked, "msg.in")
        .iter()
        .map(|event| event["replay"] == true)
        .collect();
    assert_eq!(replayed, [true, false]);
}

/// Lines with the blocks of these, one block in each and under new ids, as a resumed session has them again.
fn rewritten(lines: &[Value], time: Option<&str>) -> Vec<Value> {
    let mut again: Vec<Value> = Vec::new();
    for line in lines {
        let content = &line["message"]["content"];
        let blocks = content
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![json!({"type": "text", "text": content})]);
        for block in blocks {
            let mut copy = line.clone();
            copy["message"]["content"] = json!([block]);
            copy["uuid"] = json!(format!("again {}", again.len()));
            if let Some(before) = again.last() {
                copy["parentUuid"] = before["uuid"].clone();
            }
            if let Some(time) = time {
                copy["timestamp"] = json!(time);
            }
            again.push(copy);
        }
    }
    again
}

/// A session with a prompt of several blocks, an edit and the same words twice.
fn session_to_resume(version: &str) -> Vec<Value> {
    let blocks = json!([{"type": "text", "text": "look"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9v"}}]);
    let input = json!({"file_path": "/p/f", "old_string": "a", "new_string": "b"});
    let patch = json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]);
    let edited = json!({"filePath": "/p/f", "oldString": "a", "newString": "b", "originalFile": "a\n", "structuredPatch": patch, "userModified": false, "replaceAll": false});
    let edit = json!([{"type": "text", "text": "editing"}, {"type": "tool_use", "id": "t1", "name": "Edit", "input": input}]);
    chained(vec![
        prompt(version, 1, "go"),
        line(
            version,
            2,
            "user",
            json!({"message": {"role": "user", "content": blocks}}),
        ),
        assistant_line(version, 3, "m1", edit),
        result_line(version, 4, "t1", "changed", Some(edited)),
        prompt(version, 5, "again"),
        assistant_line(version, 6, "m2", json!([{"type": "text", "text": "done"}])),
        prompt(version, 7, "again"),
        assistant_line(version, 8, "m3", json!([{"type": "text", "text": "done"}])),
    ])
}

#[test]
fn history_that_a_resumed_session_has_again_is_a_duplicate() {
    let of = |lines: &[Value]| -> Vec<Value> {
        let events = tape(lines, Policy::Strict).unwrap().into_iter();
        events
            .filter(|event| event["label"] != "tape.stop")
            .collect()
    };
    for (version, time) in [
        ("2.0.69", None),
        ("2.1.10", None),
        ("2.0.10", Some("2026-01-01T01:00:00.000Z")),
    ] {
        let first = session_to_resume(version);
        // What follows the first line is there again, with the result that a second resumption adds.
        let mut again = rewritten(&first[1..], time);
        let expected = of(&first);
        assert_eq!(
            of(&[first.clone(), again.clone()].concat()),
            expected,
            "{version}"
        );
        let mut next = prompt(version, 60, "again");
        next["parentUuid"] = again.last().unwrap()["uuid"].clone();
        again.push(next);
        let lines = [first, again].concat();
        assert_eq!(
            of(&lines).len(),
            expected.len() + 1,
            "{version}: the same words at another time are a prompt"
        );
        assert_eq!(unaccounted_bytes(&lines), 0, "{version}");
    }
}

#[test]
fn history_that_leaves_out_a_call_without_a_result_is_a_duplicate() {
    let first = session_to_resume("2.1.10");
    let mut call = call("2.1.10", 2, "m0", "t0");
    call["uuid"] = json!("without result");
    call["parentUuid"] = first[1]["uuid"].clone();
    let mut lines = first.clone();
    lines.insert(2, call);
    lines[3]["parentUuid"] = json!("without result");
    lines.extend(rewritten(&first[2..], None));
    assert_eq!(
        [
            events(&lines, "code.edit").len(),
            events(&lines, "tool.result").len(),
            events(&lines, "msg.in").len()
        ],
        [1, 1, 4]
    );
}

#[test]
fn equal_lines_of_one_time_that_follow_each_other_are_all_converted() {
    let mut lines = chained(vec![
        prompt("2.0.69", 1, "go"),
        prompt("2.0.69", 2, "go"),
        prompt("2.0.69", 3, "go"),
    ]);
    for at in 1..lines.len() {
        lines[at]["timestamp"] = lines[0]["timestamp"].clone();
    }
    assert_eq!(events(&lines, "msg.in").len(), 3);
}
