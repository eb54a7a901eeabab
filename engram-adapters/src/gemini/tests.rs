//! Records that no fixture shows: token counts, prompts of the harness, unknown and malformed records.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Gemini;

pub(super) const HEADER: &str = r#"{"sessionId":"s","projectHash":"bb97ae4cdb5b0dd7e32b198a7ebcb35332fca3343779f0895ffb11258627aa8f","startTime":"2026-11-21T09:58:15.922Z","lastUpdated":"2026-11-21T09:58:15.922Z","kind":"main"}"#;

fn convert(lines: &[&str], policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let source = format!("{HEADER}\n{}\n", lines.join("\n"));
    let tape = convert_str(
        &Gemini,
        &source,
        &Options {
            policy,
            ..Options::default()
        },
    )?;
    Ok(tape
        .lines()
        .map(|line| serde_json::from_str(line).expect("a tape is JSON"))
        .collect())
}

/// The events of the lines, without those of the header and of the tape itself.
pub(super) fn events(lines: &[&str]) -> Vec<Value> {
    let mut tape = convert(lines, Policy::Strict).expect("the lines convert");
    tape.retain(|event| {
        event["origin"]["line"]
            .as_u64()
            .is_some_and(|line| line > 1)
    });
    tape
}

pub(super) fn texts(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["text"].as_str())
        .collect()
}

pub(super) const TIME: &str = r#""timestamp":"2026-11-21T09:58:16.010Z""#;

pub(super) fn user(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}",{TIME},"type":"user","content":[{{"text":"{text}"}}]}}"#)
}

#[test]
fn a_sum_with_a_count_that_is_none_is_left_out() {
    let turn = |cached: &str, thoughts: &str| {
        let tokens = format!(
            r#"{{"input":10,"output":3,"cached":{cached},"thoughts":{thoughts},"tool":0,"total":14}}"#
        );
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[],"tokens":{tokens},"model":"m1"}}"#
        )
    };
    for (cached, thoughts, expected) in [
        (
            "2",
            "1",
            json!({"input": 8, "cache_read": 2, "output": 4, "reasoning": 1}),
        ),
        ("-2", "1", json!({"output": 4, "reasoning": 1})),
        ("2", "1.5", json!({"input": 8, "cache_read": 2})),
    ] {
        let tape = convert(&[&turn(cached, thoughts)], Policy::Permissive).unwrap();
        let usage = tape.iter().find(|event| event["label"] == "usage").unwrap();
        assert_eq!(usage["tokens"], expected);
    }
}

#[test]
fn a_sub_agent_gets_one_prompt_and_the_rest_is_by_the_harness() {
    let source = |kind: &str| {
        let lines = [
            user("a", "do this"),
            user("a", "do this"),
            user("b", "one final chance"),
            user("c", "do this"),
        ];
        format!(
            "{}\n{}\n",
            HEADER.replace(r#""kind":"main""#, kind),
            lines.join("\n")
        )
    };
    let authors = |kind: &str| -> Vec<String> {
        let tape = convert_str(
            &Gemini,
            &source(kind),
            &Options {
                policy: Policy::Strict,
                ..Options::default()
            },
        )
        .unwrap();
        let events = tape
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        events
            .filter_map(|event| event["by"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(
        authors(r#""kind":"subagent""#),
        ["agent", "harness", "harness"]
    );
    assert_eq!(authors(r#""kind":"main""#), ["person"; 3]);
}

#[test]
fn token_counts_follow_the_calls_of_their_turn() {
    let tokens = r#""thoughts":[],"tokens":{"input":10,"output":3,"cached":2,"thoughts":1,"tool":0,"total":14},"model":"m1""#;
    let turn = |id: &str, rest: &str| {
        format!(r#"{{"id":"{id}",{TIME},"type":"gemini","content":"",{tokens}{rest}}}"#)
    };
    let calls = r#","toolCalls":[{"id":"c","name":"glob","args":{},"result":[],"status":"success","timestamp":"2026-11-21T09:58:17.010Z"}]"#;
    let response = format!(
        r#"{{"id":"r",{TIME},"type":"user","content":[{{"functionResponse":{{"id":"c","name":"glob","response":{{"output":"x"}}}}}}]}}"#
    );
    let (first, again, next) = (turn("m", ""), turn("m", calls), turn("n", ""));
    let broken =
        format!(r#"{{"id":"x",{TIME},"type":"gemini","content":"",{tokens},"toolCalls":{{}}}}"#);
    for lines in [
        &[&*first, &again, &response, &next][..],
        &[
            &first, &first, &again, &first, &response, &again, &next, &next, &first,
        ],
    ] {
        let events = events(lines);
        let of = |event: &Value| {
            (
                event["k"].as_str().unwrap().to_owned(),
                event["label"].as_str().unwrap_or_default().to_owned(),
            )
        };
        let kinds: Vec<_> = events
            .iter()
            .map(of)
            .filter(|(_, label)| label != "session")
            .collect();
        let usage = ("meta".to_owned(), "usage".to_owned());
        assert_eq!(
            kinds,
            [
                ("tool.call".into(), "".into()),
                ("tool.result".into(), "".into()),
                usage.clone(),
                usage
            ]
        );
        let usages: Vec<&Value> = events
            .iter()
            .filter(|event| event["label"] == "usage")
            .collect();
        assert_eq!(
            [&usages[0]["message_id"], &usages[1]["message_id"]],
            ["m", "n"]
        );
        assert_eq!(
            (&usages[0]["origin"]["id"], &usages[0]["t"]),
            (&"m".into(), &"2026-11-21T09:58:16.010Z".into())
        );
    }
    // Counts of a malformed line are forgotten, and those before it are emitted once.
    let tape = convert(&[&next, &broken], Policy::Permissive).expect("permissive policy");
    assert_eq!(
        tape.iter()
            .filter(|event| event["label"] == "usage")
            .count(),
        1
    );
    let ledger = &tape.last().unwrap()["ledger"];
    assert_eq!(
        (
            &ledger["mapped"],
            &ledger["duplicate"],
            &ledger["malformed"]
        ),
        (&2.into(), &0.into(), &1.into())
    );
}

#[test]
fn an_expanded_prompt_has_typed_and_synthetic_texts() {
    let line = format!(
        r#"{{"id":"u",{TIME},"type":"user","content":[{{"text":"see @a"}},{{"text":"\n--- Content from referenced files ---"}},{{"text":"A"}}],"displayContent":"see @a"}}"#
    );
    let events = events(&[&line]);
    assert_eq!(
        texts(&events),
        ["see @a", "\n--- Content from referenced files ---", "A"]
    );
    assert_eq!(
        events
            .iter()
            .map(|event| event["by"] != "person")
            .collect::<Vec<_>>(),
        [false, true, true]
    );
}

#[test]
fn an_unknown_change_is_an_error_or_unrecognized() {
    let line = r#"{"$set":{"colour":"red"}}"#;
    let refused = convert(&[line], Policy::Strict).expect_err("strict policy");
    assert_eq!(refused.code, ErrorCode::UnrecognizedRecord);
    let kept = convert(&[line], Policy::Permissive).expect("permissive policy");
    assert!(
        kept.iter()
            .any(|event| event["label"] == "unrecognized" && event["name"] == "$set.colour")
    );
}

#[test]
fn a_field_of_another_type_is_named_in_the_error() {
    let line = format!(r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":{{}}}}"#);
    let refused = convert(&[&line], Policy::Strict).expect_err("strict policy");
    assert_eq!(
        (refused.code, refused.pointer.as_deref()),
        (ErrorCode::MalformedRecord, Some("/toolCalls"))
    );
}

#[test]
fn a_fault_in_a_list_has_a_pointer_with_its_index() {
    let call = |rest: &str| format!(r#"{{"id":"c","name":"replace",{rest}"status":"success"}}"#);
    let turn = |content: &str, calls: &[String]| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":{content},"toolCalls":[{}]}}"#,
            calls.join(",")
        )
    };
    let history = |message: &str| {
        format!(
            r#"{{"$set":{{"messages":[{},{message}]}}}}"#,
            user("u", "go on")
        )
    };
    for (line, pointer) in [
        (turn("\"\"", &[call(r#""args":7,"#)]), "/toolCalls/0/args"),
        (
            turn("\"\"", &[call(""), call(r#""args":7,"#)]),
            "/toolCalls/1/args",
        ),
        (
            turn(
                "\"\"",
                &[call(r#""args":{"file_path":"a"},"resultDisplay":{},"#)],
            ),
            "/toolCalls/0/resultDisplay/newContent",
        ),
        (
            turn(r#"[{"text":"a"},{"functionCall":{}}]"#, &[]),
            "/content/1/functionCall/name",
        ),
        (
            history(&turn("\"\"", &[call(""), call(r#""args":7,"#)])),
            "/$set/messages/1/toolCalls/1/args",
        ),
    ] {
        let refused = convert(&[&line], Policy::Strict).expect_err("strict policy");
        assert_eq!(
            (refused.code, refused.pointer.as_deref()),
            (ErrorCode::MalformedRecord, Some(pointer)),
            "{line}"
        );
    }
}

#[test]
fn a_header_line_without_a_kind_has_no_known_schema() {
    let source = format!("{}\n", HEADER.replace("\"kind\"", "\"flavour\""));
    let refused = convert_str(
        &Gemini,
        &source,
        &Options {
            policy: Policy::Strict,
            ..Options::default()
        },
    )
    .expect_err("strict policy");
    assert_eq!(refused.code, ErrorCode::UnknownHarnessVersion);
}

#[test]
fn the_schema_does_not_depend_on_white_space_and_member_order() {
    let schema = |source: &str| {
        let tape = convert_str(&Gemini, source, &Options::default()).expect("it converts");
        let start: Value = serde_json::from_str(tape.lines().next().expect("a tape begins"))
            .expect("a tape is JSON");
        start["harness"]["schema"].clone()
    };
    let call = r#"{"id":"c","name":"t","args":{},"result":[],"status":"success"}"#;
    let turn = format!(r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{call}]}}"#);
    let document = format!(
        r#"{},"messages":[{turn}]}}"#,
        HEADER.replace(r#","kind":"main"}"#, "")
    );
    for spaced in [
        document.clone(),
        document.replace("\":", "\" : "),
        document.replace(',', ",\r\n\t"),
    ] {
        assert_eq!(schema(&spaced), "document-calls", "{spaced}");
    }
    for turn in [
        turn.replace(r#"{"id":"m","#, r#"{ "id" : "m","#),
        turn.replace(r#"{"id":"m","#, r#"{"flavour":"x","id":"m","#),
    ] {
        assert_eq!(schema(&format!("{HEADER}\n{turn}\n")), "lines", "{turn}");
    }
}

#[test]
fn a_document_without_messages_passes_the_audit() {
    let document = format!(
        "{},\n\"messages\": []\n}}\n",
        HEADER.replace(r#","kind":"main"}"#, "")
    );
    let tape = convert_str(&Gemini, &document, &Options::default()).expect("it converts");
    let report = audit(document.as_bytes(), &tape, Gemini.describe()).expect("the tape is one");
    assert!(
        report.holds(),
        "{:?} {:?}",
        report.examples,
        report.disagreements
    );
}

#[test]
fn half_a_surrogate_pair_is_text_without_file_hashes() {
    let change =
        r#"{"filePath":"/a","originalContent":"x\n","newContent":"\ud83d\n","isNewFile":false}"#;
    let call = format!(
        r#"{{"id":"c","name":"replace","args":{{"file_path":"/a","old_string":"x","new_string":"\ud83d"}},"result":[],"status":"success","resultDisplay":{change}}}"#
    );
    let turn =
        format!(r#"{{"id":"m",{TIME},"type":"gemini","content":"\ud83d","toolCalls":[{call}]}}"#);
    let source = format!("{HEADER}\n{turn}\n");
    let tape = convert_str(&Gemini, &source, &Options::default()).expect("the line converts");
    assert!(
        tape.contains(r#""text":"\ud83d""#) && tape.contains("tool.result"),
        "{tape}"
    );
    assert!(
        !tape.contains("file_after_hash") && !tape.contains("\"after_hash"),
        "{tape}"
    );
}

#[test]
fn a_last_change_without_a_time_string_is_malformed() {
    let error = convert(&[r#"{"$set":{"lastUpdated":7}}"#], Policy::Strict).unwrap_err();
    assert_eq!(
        (error.code, error.pointer.as_deref()),
        (ErrorCode::MalformedRecord, Some("/$set/lastUpdated"))
    );
}

#[test]
fn a_prompt_about_a_tag_is_a_prompt_and_the_context_is_not() {
    let context =
        r"<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.";
    let events = events(&[
        &user("a", context),
        &user("b", "<session_context> is a tag"),
    ]);
    assert_eq!(
        (&events[0]["label"], &events[0]["name"]),
        (&"context".into(), &"environment".into())
    );
    assert_eq!(
        (&events[1]["k"], &events[1]["by"]),
        (&"msg.in".into(), &"person".into())
    );
}

#[test]
fn the_filler_after_a_summary_is_not_the_models() {
    let model = |text: &str| {
        format!(r#"{{"id":"m",{TIME},"type":"gemini","content":[{{"text":"{text}"}}]}}"#)
    };
    let filler = model("Got it. Thanks for the additional context!");
    let summary = user("s", "<state_snapshot>goal</state_snapshot>");
    let history = format!(r#"{{"$set":{{"messages":[{summary},{filler}]}}}}"#);
    let compressed = events(&[&history]);
    assert_eq!(
        (&compressed[0]["label"], &compressed[1]["name"]),
        (&"compaction".into(), &"filler".into())
    );
    let said = events(&[&user("a", "some context"), &filler]);
    assert_eq!(said[1]["k"], "msg.out", "the model may write the same");
}

#[test]
fn printed_pieces_are_one_answer_and_the_sum_of_a_run_is_its_usage() {
    let time = |second: u32| format!(r#""timestamp":"2026-11-23T02:33:{second:02}.000Z""#);
    let lines = [
        format!(
            r#"{{"type":"init",{},"session_id":"s","model":"m"}}"#,
            time(1)
        ),
        format!(
            r#"{{"type":"message",{},"role":"user","content":"the prompt"}}"#,
            time(2)
        ),
        format!(
            r#"{{"type":"message",{},"role":"assistant","content":"the \"an","delta":true}}"#,
            time(3)
        ),
        format!(
            r#"{{"type":"message",{},"role":"assistant","content":"swer\"","delta":true}}"#,
            time(4)
        ),
        format!(
            r#"{{"type":"tool_use",{},"tool_name":"glob","tool_id":"c","parameters":{{}}}}"#,
            time(5)
        ),
        format!(
            r#"{{"type":"tool_result",{},"tool_id":"c","status":"success","output":"a"}}"#,
            time(6)
        ),
        format!(
            r#"{{"type":"result",{},"status":"success","stats":{{"total_tokens":1130,"input_tokens":1090,"output_tokens":33,"cached":22,"input":1068}}}}"#,
            time(7)
        ),
    ];
    let source = lines.join("\n") + "\n";
    let tape = convert_str(
        &Gemini,
        &source,
        &Options {
            policy: Policy::Strict,
            ..Options::default()
        },
    )
    .unwrap();
    let tape: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (
            &tape[0]["harness"]["schema"],
            &tape[0]["source"]["session_id"]
        ),
        (&"stream-json".into(), &"s".into())
    );
    let answer = tape.iter().find(|event| event["k"] == "msg.out").unwrap();
    assert_eq!(
        (&answer["text"], &answer["t"], &answer["origin"]["line"]),
        (
            &"the \"answer\"".into(),
            &"2026-11-23T02:33:03.000Z".into(),
            &3.into()
        )
    );
    let usage = tape.iter().find(|event| event["label"] == "usage").unwrap();
    assert_eq!(
        usage["tokens"],
        serde_json::json!({"input": 1068, "cache_read": 22, "output": 40, "reasoning": 7})
    );
    let cut: Vec<&str> = source.lines().take(4).collect();
    let tape = convert_str(&Gemini, &(cut.join("\n") + "\n"), &Options::default()).unwrap();
    assert!(
        tape.contains(r#""text":"the \"answer\"""#),
        "the answer of a run that was stopped"
    );
}

#[test]
fn a_scratchpad_is_a_notice_and_hides_no_other_change() {
    let change = r#"{"$set":{"memoryScratchpad":{"version":1,"workflowSummary":"replace | paths a.py","toolSequence":["replace"],"touchedPaths":["a.py"],"validationStatus":"passed"},"directories":["/p"],"lastUpdated":"2026-11-21T09:58:16.010Z"}}"#;
    let events = events(&[change]);
    let cwd: Vec<_> = events.iter().filter(|event| event["cwd"] == "/p").collect();
    let notices: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "memory_scratchpad")
        .collect();
    assert_eq!(
        (cwd.len(), texts(&events)),
        (1, vec!["replace | paths a.py"])
    );
    assert_eq!(notices.len(), 1);
}

#[test]
fn the_tracker_shows_its_tasks_as_a_plan() {
    let display = r#"{"todos":[{"description":"bug: x (1)","status":"pending"}]}"#;
    let result = r#"[{"functionResponse":{"id":"c","name":"tracker_create_task","response":{"output":"Created task 1: x"}}}]"#;
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{{"id":"c","name":"tracker_create_task","args":{{}},"result":{result},"status":"success","resultDisplay":{display}}}]}}"#
    );
    let events = events(&[&turn]);
    let call = events.iter().find(|event| event["k"] == "tool.call");
    assert_eq!(call.expect("a call")["kind"], "plan");
}
