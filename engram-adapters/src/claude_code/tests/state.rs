//! State across records: truncation marks, late usage, queued prompts, a version change inside one file.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, result_line, tape, unaccounted_bytes};

#[test]
fn result_that_the_harness_truncated_is_marked() {
    let truncated = |tool: &str, result: Value| {
        let call = assistant_line(
            "2.1.80",
            1,
            "m1",
            json!([{"type": "tool_use", "id": "t1", "name": tool, "input": {"pattern": "*"}}]),
        );
        events(
            &[call, result_line("2.1.80", 2, "t1", "a", Some(result))],
            "tool.result",
        )[0]["truncated"]
            .clone()
    };
    assert_eq!(
        truncated(
            "Glob",
            json!({"filenames": ["a"], "numFiles": 1, "truncated": true})
        ),
        true
    );
    assert_eq!(
        truncated(
            "Bash",
            json!({"stdout": "a", "persistedOutputPath": "/tmp/all.txt", "persistedOutputSize": 9})
        ),
        true
    );
    assert_eq!(
        truncated(
            "Glob",
            json!({"filenames": ["a"], "numFiles": 1, "truncated": false})
        ),
        Value::Null
    );
}

#[test]
fn late_usage_of_one_session_does_not_change_the_session_of_later_events() {
    let answer = |number: u32, message: &str, session: &str| {
        let message = json!({"id": message, "role": "assistant", "model": "m", "content": [{"type": "text", "text": session}],
            "usage": {"output_tokens": number}});
        line(
            "2.0.0",
            number,
            "assistant",
            json!({"message": message, "sessionId": session}),
        )
    };
    let prompt = line(
        "2.0.0",
        2,
        "user",
        json!({"message": {"role": "user", "content": "s2"}, "sessionId": "s2"}),
    );
    let lines = [answer(1, "m1", "s1"), prompt, answer(3, "m2", "s2")];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let usages: Vec<&Value> = tape
        .iter()
        .filter(|event| event["label"] == "usage")
        .map(|event| &event["source"]["session_id"])
        .collect();
    assert_eq!(usages, ["s1", "s2"]);
    let messages: Vec<&Value> = tape
        .iter()
        .filter(|event| event["k"] == "msg.out" || event["k"] == "msg.in")
        .collect();
    assert_eq!(messages.len(), 3);
    assert!(
        messages
            .iter()
            .all(|message| message["source"]["session_id"] == message["text"]),
        "{messages:?}"
    );
}

/// A line with a call of message `m1`, which goes on after it.
fn part(number: u32, call: &str) -> Value {
    let mut line = assistant_line(
        "2.1.329",
        number,
        "m1",
        json!([{"type": "tool_use", "id": call, "name": "X", "input": {}}]),
    );
    line["message"]["stop_reason"] = json!("tool_use");
    line
}

fn kinds(tape: &[Value]) -> Vec<&str> {
    let told = |event: &&Value| {
        event["k"] != "meta"
            || ["usage", "unrecognized"].contains(&event["label"].as_str().unwrap_or_default())
    };
    tape.iter()
        .filter(told)
        .map(|event| {
            event["label"]
                .as_str()
                .or(event["k"].as_str())
                .unwrap_or_default()
        })
        .collect()
}

#[test]
fn usage_follows_the_last_part_of_a_response_with_results_between_its_parts() {
    let result = |number, call| result_line("2.1.329", number, call, "done", None);
    let text = json!([{"type": "text", "text": "end"}]);
    let lines = [
        part(1, "t1"),
        result(2, "t1"),
        part(3, "t2"),
        result(4, "t2"),
        assistant_line("2.1.329", 5, "m2", text),
    ];
    let between = tape(&lines, Policy::Strict).unwrap();
    let expected = [
        "tool.call",
        "tool.result",
        "tool.call",
        "usage",
        "tool.result",
        "msg.out",
        "usage",
    ];
    assert_eq!(kinds(&between), expected);
    assert_eq!(between.last().unwrap()["ledger"]["records"], 5);
    let ends = tape(&lines[..4], Policy::Strict).unwrap();
    assert_eq!(kinds(&ends), expected[..5]);
    let parallel = [
        lines[0].clone(),
        part(2, "t2"),
        result(3, "t1"),
        result(4, "t2"),
    ];
    let parallel = tape(&parallel, Policy::Strict).unwrap();
    assert_eq!(
        kinds(&parallel),
        [
            "tool.call",
            "tool.call",
            "usage",
            "tool.result",
            "tool.result"
        ]
    );
}

#[test]
fn malformed_line_that_waits_is_reported_at_its_own_line() {
    let mut broken = result_line("2.1.329", 2, "t1", "done", None);
    broken["message"]["content"][0]["tool_use_id"] = json!(7);
    let lines = [part(1, "t1"), broken, part(3, "t2")];
    let error = tape(&lines, Policy::Strict).unwrap_err();
    assert_eq!(error.line, Some(2), "{error}");
    let permissive = tape(&lines, Policy::Permissive).unwrap();
    assert_eq!(
        kinds(&permissive),
        ["tool.call", "unrecognized", "tool.call", "usage"]
    );
    let stop = permissive.last().unwrap();
    assert_eq!(
        (&stop["ledger"]["records"], &stop["ledger"]["malformed"]),
        (&json!(3), &json!(1))
    );
}

/// A line of a sub-agent that writes into the file of its session.
fn of_agent(mut line: Value, parent: Option<&str>) -> Value {
    line["isSidechain"] = json!(true);
    line["parentUuid"] = json!(parent);
    line
}

#[test]
fn usage_follows_its_response_where_agents_write_into_one_file() {
    const VERSION: &str = "1.0.80";
    let call = |number, id: &str, call: &str| {
        assistant_line(
            VERSION,
            number,
            id,
            json!([{"type": "tool_use", "id": call, "name": "Task", "input": {}}]),
        )
    };
    let text = |number, id: &str| {
        assistant_line(VERSION, number, id, json!([{"type": "text", "text": id}]))
    };
    let prompt = |number, text: &str| {
        line(
            VERSION,
            number,
            "user",
            json!({"message": {"role": "user", "content": text}}),
        )
    };
    let lines = [
        call(1, "m1", "t1"),
        of_agent(prompt(2, "a"), None),
        of_agent(call(3, "m2", "t2"), Some("u2")),
        of_agent(prompt(4, "b"), None),
        of_agent(text(5, "m3"), Some("u4")),
        of_agent(result_line(VERSION, 6, "t2", "done", None), Some("u3")),
        of_agent(text(7, "m4"), Some("u6")),
        result_line(VERSION, 8, "t1", "done", None),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    let expected = [
        "tool.call",
        "usage",
        "msg.in",
        "tool.call",
        "usage",
        "msg.in",
        "msg.out",
        "usage",
        "tool.result",
        "msg.out",
        "usage",
        "tool.result",
    ];
    assert_eq!(kinds(&tape), expected);
    for (at, event) in tape
        .iter()
        .enumerate()
        .filter(|(_, event)| event["label"] == "usage")
    {
        assert_eq!(
            (&event["message_id"], &event["source"]),
            (&tape[at - 1]["message_id"], &tape[at - 1]["source"])
        );
    }
    assert_eq!(tape.last().unwrap()["ledger"]["records"], 8);
}

/// Synthetic input: a fixture, and lines that a newer version could have added.
#[test]
fn lines_of_several_versions_in_one_file_have_their_own_dialects() {
    let fixture = "../fixtures/claude-code/2.0.10/b_edit/session/.claude/projects/-home-dev-proj";
    let directory =
        std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture)).unwrap();
    let log = std::fs::read_to_string(directory.map(|file| file.unwrap().path()).next().unwrap())
        .unwrap();
    let original: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answers_after = |version: &str| {
        let text = |number, id: &str| {
            assistant_line(version, number, id, json!([{"type": "text", "text": id}]))
        };
        let prompt = line(
            version,
            1,
            "user",
            json!({"message": {"role": "user", "content": "go on"}, "parentUuid": "before"}),
        );
        let mut lines = original.clone();
        lines.extend([prompt, text(2, "m1"), text(3, "m2"), text(4, "m1")]);
        let answers = events(&lines, "msg.out");
        (
            answers.len(),
            answers.iter().filter(|event| event["text"] == "m1").count(),
        )
    };
    let (before, once) = answers_after("2.0.10");
    assert_eq!(once, 1, "this version may append a message again");
    assert_eq!(
        answers_after("2.1.329"),
        (before + 1, 2),
        "this one does not"
    );
}

#[test]
fn a_queued_prompt_is_emitted_once_when_it_arrives() {
    let lines: Vec<Value> = (0..3_u32)
        .flat_map(|number| {
            let text = format!("prompt {number}");
            let queued = json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:00.000Z",
                "sessionId": "s", "content": text});
            [queued, line("2.1.329", number, "user", json!({"message": {"role": "user", "content": text}}))]
        })
        .collect();
    assert_eq!(events(&lines, "msg.in").len(), 3);
}

/// Synthetic input: the lines of a fixture, of which the second half names a version of the next revision.
#[test]
fn version_change_inside_one_file_is_a_revision_event() {
    let fixture = "../fixtures/claude-code/2.1.10/c_subagent/session/.claude/projects/-home-dev-proj/\
        838fee26-2737-406c-b2ed-a0e4f1f2a1a0/subagents/agent-a2aae1b.jsonl";
    let log =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture))
            .unwrap();
    let original: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let middle = original.len() / 2;
    let mut changed = original.clone();
    changed[middle..]
        .iter_mut()
        .for_each(|line| line["version"] = json!("2.1.20"));

    let (original, changed) = (
        tape(&original, Policy::Strict).unwrap(),
        tape(&changed, Policy::Strict).unwrap(),
    );
    let revisions: Vec<&Value> = changed
        .iter()
        .filter(|event| event["label"] == "revision")
        .collect();
    assert_eq!(revisions.len(), 1);
    let revision = revisions[0];
    assert_eq!(
        revision["harness"],
        json!({"family": "claude-code", "version": "2.1.20", "schema": "bare-agent-results"})
    );
    assert_eq!(
        (&revision["support"], &revision["origin"]["line"]),
        (&json!("tested"), &json!(middle + 1))
    );

    let facts = |tape: &[Value]| -> Vec<Value> {
        let events = tape
            .iter()
            .filter(|event| event["label"] != "revision" && event["label"] != "tape.stop");
        let without_numbers = |event: &Value| {
            let mut event = event.clone();
            event
                .as_object_mut()
                .unwrap()
                .retain(|key, _| key != "seq" && key != "parent");
            event
        };
        events.map(without_numbers).collect()
    };
    assert_eq!(facts(&changed), facts(&original));
}

#[test]
fn usage_of_a_response_whose_stream_broke_is_provisional() {
    let cut = |parent: &str, error: Option<Value>| {
        let message = json!({"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "Server error."}]});
        let rest = json!({"parentUuid": parent, "message": message, "isApiErrorMessage": true, "streamCutCause": "server_error"});
        let mut line = line("2.1.330", 4, "assistant", rest);
        if let Some(error) = error {
            line["streamCutError"] = error;
        }
        line
    };
    let named = |request: &str| {
        Some(json!({"message": "overloaded", "requestId": request, "isNetworkDown": false}))
    };
    let cases = [
        (cut("u2", named("r1")), true),
        (cut("u2", named("r2")), false),
        (cut("u2", None), true),
        (cut("u9", None), false),
    ];
    for (cut, is_provisional) in cases {
        let of_request = |mut line: Value| {
            line["version"] = json!("2.1.330");
            line["requestId"] = json!("r1");
            line
        };
        let result = result_line("2.1.330", 3, "t1", "done", None);
        let lines = [
            of_request(part(1, "t1")),
            of_request(part(2, "t2")),
            result,
            cut,
        ];
        let tape = tape(&lines, Policy::Strict).unwrap();
        let usages: Vec<&Value> = tape
            .iter()
            .filter(|event| event["label"] == "usage")
            .collect();
        assert_eq!(
            (usages.len(), usages[0]["provisional"] == true),
            (1, is_provisional),
            "{}",
            lines[3]
        );
        assert_eq!(unaccounted_bytes(&lines), 0);
    }
}

/// As 2.1.332 writes it: the process before was killed, and the total is that of the second one alone.
#[test]
fn a_total_without_earlier_responses_is_none_of_the_session() {
    let answer = |number: u32| {
        assistant_line(
            "2.1.332",
            number,
            &format!("m{number}"),
            json!([{"type": "text", "text": "done"}]),
        )
    };
    let total = |output: u64| {
        json!({"type": "cost-state", "sessionId": "s", "totalCostUSD": 0.03, "modelUsage": {"m": {"inputTokens": 1, "outputTokens": output,
            "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": 0.03}}})
    };
    let stated = |output: u64| {
        let metas = events(&[answer(5), answer(7), total(output)], "meta");
        let total = metas
            .iter()
            .find(|event| event.get("cost_total_usd").is_some());
        let notice = metas.iter().find(|event| event["name"] == "cost-state");
        (total.is_some(), notice.map(|event| event["text"].clone()))
    };
    assert_eq!(stated(12), (true, None));
    assert_eq!(stated(7), (false, Some(json!("0.03"))));
}
