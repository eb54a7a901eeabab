//! Records that no fixture shows: repetitions, unknown and malformed records, truncated outputs.

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

fn texts(events: &[Value]) -> Vec<&str> {
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
fn a_prompt_given_twice_is_two_prompts_in_repeated_histories_too() {
    let (first, second) = (user("a", "go on"), user("b", "go on"));
    let history = format!(r#"{{"$set":{{"messages":[{first},{second}]}}}}"#);
    let events = events(&[&first, &second, &history, &history]);
    assert_eq!(texts(&events), ["go on", "go on"]);
}

#[test]
fn a_history_that_is_written_again_changes_no_model() {
    let turn = |id: &str, model: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"gemini","content":"{id}","thoughts":[],"tokens":null,"model":"{model}"}}"#
        )
    };
    let [first, second, third] = [turn("a", "pro"), turn("b", "flash"), turn("c", "pro")];
    let history = format!(r#"{{"$set":{{"messages":[{first},{second}]}}}}"#);
    let events = events(&[&first, &second, &history, &third, &history]);
    let models: Vec<&str> = events
        .iter()
        .filter(|event| event["label"] == "session")
        .filter_map(|event| event["model"].as_str())
        .collect();
    assert_eq!(
        (models, texts(&events)),
        (vec!["pro", "flash", "pro"], vec!["a", "b", "c"])
    );
}

#[test]
fn a_rewind_names_the_last_event_that_holds() {
    let rewind = |to: &str| format!(r#"{{"$rewindTo":"{to}",{TIME}}}"#);
    let events = events(&[
        &user("a", "one"),
        &user("b", "two"),
        &rewind("b"),
        &user("c", "three"),
        &rewind("unknown"),
    ]);
    let first = &events[0]["seq"];
    let rewound: Vec<_> = events
        .iter()
        .filter(|event| event["label"] == "rewind")
        .map(|event| &event["to"])
        .collect();
    assert_eq!(rewound, [first]);
    // What the log does not have cannot be named.
    assert_eq!(
        events.last().map(|event| &event["name"]),
        Some(&Value::from("rewind"))
    );
}

#[test]
fn a_line_that_repeats_another_changes_nothing() {
    let prompt = user("a", "go on");
    let turn = |time: &str| {
        format!(
            r#"{{"id":"m","timestamp":"{time}","type":"gemini","content":"done","thoughts":[],"tokens":null}}"#
        )
    };
    // The harness writes a turn again under its id, with a new time.
    let (first, rewritten) = (
        turn("2026-11-21T09:58:17.010Z"),
        turn("2026-11-21T09:58:18.010Z"),
    );
    let once = events(&[&prompt, &first]);
    assert_eq!(texts(&once), ["go on", "done"]);
    let repeated = events(&[
        &prompt, &prompt, &first, &rewritten, &first, HEADER, &prompt,
    ]);
    assert_eq!(texts(&repeated), ["go on", "done"]);
    assert_eq!(repeated.len(), once.len());
}

#[test]
fn a_turn_that_is_written_again_adds_only_what_is_new_in_it() {
    let thought = |text: &str, second: u8| {
        format!(
            r#"{{"subject":"","description":"{text}","timestamp":"2026-11-21T09:58:{second}.010Z"}}"#
        )
    };
    let turn = |thoughts: &[String]| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[{}],"tokens":null}}"#,
            thoughts.join(",")
        )
    };
    let first = turn(&[thought("a", 16), thought("a", 17)]);
    let again = turn(&[thought("a", 26), thought("a", 27), thought("b", 28)]);
    assert_eq!(texts(&events(&[&first])), ["a", "a", "x"]);
    assert_eq!(texts(&events(&[&first, &again])), ["a", "a", "x", "b"]);
    let of_other_turn = again.replace(r#""id":"m""#, r#""id":"n""#);
    assert_eq!(
        texts(&events(&[&first, &of_other_turn])),
        ["a", "a", "x", "a", "a", "b", "x"]
    );
}

#[test]
fn a_thought_that_moves_in_its_turn_stands_once() {
    let thought = |text: &str, second: u8| {
        format!(
            r#"{{"subject":"","description":"{text}","timestamp":"2026-11-21T09:58:{second}.010Z"}}"#
        )
    };
    let turn = |thoughts: &str| {
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[{thoughts}],"tokens":null}}"#
        )
    };
    let (first, again) = (
        turn(&thought("a", 16)),
        turn(&format!("{},{}", thought("b", 17), thought("a", 18))),
    );
    assert_eq!(texts(&events(&[&first, &again])), ["a", "x", "b"]);
}

/// The texts, calls and results of a log.
fn facts(tape: &[Value]) -> Vec<String> {
    let events = tape.iter().filter(|event| event["k"] != "meta");
    events
        .map(|event| {
            format!("{}{}{}", event["text"], event["args"], event["stdout"]).replace("null", "")
        })
        .collect()
}

#[test]
fn messages_with_one_id_and_other_content_are_all_converted() {
    let tokens = |input: u8| {
        format!(r#"{{"input":{input},"output":3,"cached":2,"thoughts":1,"tool":0,"total":14}}"#)
    };
    let turn = |second: u8, text: &str, rest: &str| {
        format!(
            r#"{{"id":"m","timestamp":"2026-11-21T09:58:{second}.010Z","type":"gemini","content":"{text}","thoughts":[],"tokens":{},"model":"m1"{rest}}}"#,
            tokens(second)
        )
    };
    let call = |id: &str, path: &str| {
        let result = format!(
            r#"[{{"functionResponse":{{"id":"{id}","name":"glob","response":{{"output":"{path}"}}}}}}]"#
        );
        format!(
            r#","toolCalls":[{{"id":"{id}","name":"glob","args":{{"p":"{path}"}},"result":{result},"status":"success",{TIME}}}]"#
        )
    };
    let messages = [
        user("m", "go"),
        turn(17, "one", &call("c", "a")),
        turn(18, "two", &call("c", "b")),
        user("m", "on"),
        turn(19, "three", ""),
        turn(20, "four", ""),
    ];
    let expected = [
        r#""go""#,
        r#""one""#,
        r#"{"p":"a"}"#,
        r#""a""#,
        r#""two""#,
        r#"{"p":"b"}"#,
        r#""b""#,
        r#""on""#,
        r#""three""#,
        r#""four""#,
    ];
    let header = HEADER.strip_suffix('}').unwrap();
    let document = format!(r#"{header},"messages":[{}]}}"#, messages.join(","));
    for source in [document, format!("{HEADER}\n{}\n", messages.join("\n"))] {
        let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
        assert!(
            audit(source.as_bytes(), &tape, Gemini.describe())
                .unwrap()
                .holds(),
            "{tape}"
        );
        let tape: Vec<Value> = tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(facts(&tape), expected);
        assert_eq!(
            tape.iter()
                .filter(|event| event["label"] == "usage")
                .count(),
            4,
            "{source}"
        );
    }
}

#[test]
fn a_message_of_a_document_that_is_written_again_adds_only_what_is_new() {
    let call = |id: &str| {
        format!(
            r#"{{"id":"{id}","name":"glob","args":{{}},"result":[],"status":"success",{TIME}}}"#
        )
    };
    let turn = |calls: &str| {
        let tokens = r#"{"input":10,"output":3,"cached":2,"thoughts":1,"tool":0,"total":14}"#;
        let thought = r#"{"subject":"","description":"a","timestamp":"2026-11-21T09:58:17.010Z"}"#;
        format!(
            r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[{thought}],"tokens":{tokens},"model":"m1","toolCalls":[{calls}]}}"#
        )
    };
    let (first, again) = (
        turn(&call("c1")),
        turn(&format!("{},{}", call("c1"), call("c2"))),
    );
    let source = format!(
        r#"{},"messages":[{first},{again},{again}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
    let tape: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |name: &str| {
        tape.iter()
            .filter(|event| event["k"] == name || event["label"] == name)
            .count()
    };
    assert_eq!(
        ["msg.out", "tool.call", "tool.result", "usage"].map(count),
        [2, 2, 2, 1]
    );
}

#[test]
fn a_turn_that_is_written_again_with_other_white_space_counts_once() {
    let tokens = r#"{"input":10,"output":3,"cached":2,"thoughts":1,"tool":0,"total":14}"#;
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"x","thoughts":[],"tokens":{tokens},"model":"m1"}}"#
    );
    let spaced = turn.replace("\":", "\": ").replace(",\"", ", \"");
    let history = format!(r#"{{"$set":{{"messages":[{turn}]}}}}"#);
    let usages = events(&[&spaced, &history, &turn])
        .iter()
        .filter(|event| event["label"] == "usage")
        .count();
    assert_eq!(usages, 1);
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
fn a_call_id_that_another_message_used_is_that_of_a_new_call() {
    let call = |text: &str| {
        format!(
            r#"{{"id":"c1","name":"run_shell_command","args":{{"command":"ls"}},"result":[{{"functionResponse":{{"id":"c1","name":"run_shell_command","response":{{"output":"{text}"}}}}}}],"status":"success",{TIME}}}"#
        )
    };
    let turn = |id: &str, calls: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{calls}]}}"#
        )
    };
    let (first, second) = (
        turn("m1", &call("one")),
        turn("m2", &format!("{},{}", call("two"), call("three"))),
    );
    let rewritten = second.replace("16.010Z", "17.010Z");
    let events = events(&[&user("a", "go on"), &first, &second, &rewritten]);
    let of_kind = |kind: &str| {
        events
            .iter()
            .filter(|event| event["k"] == kind)
            .collect::<Vec<_>>()
    };
    let calls: Vec<&Value> = of_kind("tool.call")
        .iter()
        .map(|event| &event["seq"])
        .collect();
    let parents: Vec<&Value> = of_kind("tool.result")
        .iter()
        .map(|event| &event["parent"])
        .collect();
    assert_eq!((calls.len(), &calls), (3, &parents));
}

#[test]
fn new_messages_in_a_history_are_converted() {
    let history = format!(
        r#"{{"$set":{{"messages":[{},{}]}}}}"#,
        user("a", "one"),
        user("b", "two")
    );
    let events = events(&[&user("a", "one"), &history]);
    assert_eq!(texts(&events), ["one", "two"]);
    assert_eq!(
        events[1]["origin"]["pointer"],
        "/$set/messages/1/content/0/text"
    );
}

#[test]
fn a_history_without_results_removes_no_result() {
    let call = r#"{"id":"c","name":"read_file","args":{"file_path":"a"},"result":[{"functionResponse":{"id":"c","name":"read_file","response":{"output":"x\n"}}}],"status":"success","resultDisplay":""}"#;
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let history = format!(
        r#"{{"$set":{{"messages":[{{"id":"m",{TIME},"type":"gemini","content":[{{"functionCall":{{"id":"c","name":"read_file","args":{{"file_path":"a"}}}}}}]}}]}}}}"#
    );
    let kinds: Vec<Value> = events(&[&turn, &history])
        .iter()
        .map(|event| event["k"].clone())
        .collect();
    assert_eq!(kinds, ["tool.call", "tool.result", "code.read"]);
}

#[test]
fn a_response_is_the_result_of_a_call_without_one() {
    let response = format!(
        r#"{{"id":"r",{TIME},"type":"user","content":[{{"functionResponse":{{"id":"c","name":"t","response":{{"error":"[Operation Cancelled] Reason: User denied execution."}}}}}}]}}"#
    );
    let events = events(&[&response, &response]);
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["k"], &events[0]["status"]),
        (&Value::from("tool.result"), &Value::from("denied"))
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
fn a_document_may_repeat_a_result_as_a_response() {
    // The two copies have different indentation.
    let response = |gap: &str, output: &str| {
        format!(
            r#"{{"functionResponse":{{"id":"c","name":"look","response":{{{gap}"output":"{output}"}}}}}}"#
        )
    };
    let result = response("\n        ", "a lamp");
    let call = format!(
        r#"{{"id":"c","name":"look","args":{{}},"result":[{result}],"status":"success",{TIME},"resultDisplay":""}}"#
    );
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let user = |id: &str, parts: &str| {
        format!(r#"{{"id":"{id}",{TIME},"type":"user","content":[{parts}]}}"#)
    };
    let again = user(
        "u",
        &format!(r#"{{"text":"look twice"}},{}"#, response("", "a lamp")),
    );
    let (alone, other) = (
        user("v", &response("", "a lamp")),
        user("w", &response("", "no lamp")),
    );
    let source = format!(
        r#"{},"messages":[{turn},{again},{alone},{other}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
    let report = audit(source.as_bytes(), &tape, Gemini.describe()).unwrap();
    assert_eq!(
        (report.left_over.bytes, report.disagreements.len()),
        (0, 0),
        "{report:?}"
    );
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let results: Vec<&Value> = events
        .iter()
        .filter(|event| event["k"] == "tool.result")
        .map(|event| &event["stdout"])
        .collect();
    assert_eq!(results, ["a lamp", "no lamp"]);
    assert_eq!(events.last().unwrap()["ledger"]["duplicate"], 1);
}

#[test]
fn a_text_typed_while_a_tool_runs_is_one_prompt_and_not_part_of_the_result() {
    let response =
        r#"{"functionResponse":{"id":"c","name":"look","response":{"output":"a lamp"}}}"#;
    let typed = r#"{"text":"and look twice"}"#;
    let call = format!(
        r#"{{"id":"c","name":"look","args":{{}},"result":[{typed},{response}],"status":"success",{TIME},"resultDisplay":""}}"#
    );
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let user = format!(r#"{{"id":"u",{TIME},"type":"user","content":[{typed},{response}]}}"#);
    let document = format!(
        r#"{},"messages":[{turn},{user}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    for source in [document, format!("{HEADER}\n{turn}\n{user}\n")] {
        let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
        assert!(
            audit(source.as_bytes(), &tape, Gemini.describe())
                .unwrap()
                .holds(),
            "{tape}"
        );
        let events: Vec<Value> = tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let prompts: Vec<&Value> = events
            .iter()
            .filter(|event| event["k"] == "msg.in")
            .map(|event| &event["text"])
            .collect();
        let results: Vec<&Value> = events
            .iter()
            .filter(|event| event["k"] == "tool.result")
            .map(|event| &event["stdout"])
            .collect();
        assert_eq!(
            (prompts, results),
            (
                vec![&Value::from("and look twice")],
                vec![&Value::from("a lamp")]
            )
        );
    }
}

#[test]
fn a_document_with_a_response_but_no_call_claims_results() {
    let response =
        r#"{"functionResponse":{"id":"c","name":"look","response":{"output":"a lamp"}}}"#;
    let user = format!(r#"{{"id":"u",{TIME},"type":"user","content":[{response}]}}"#);
    let source = format!(
        r#"{},"messages":[{user}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
    let start: Value = serde_json::from_str(tape.lines().next().unwrap()).unwrap();
    assert_eq!(
        (
            &start["harness"]["schema"],
            &start["coverage"]["tool.result"]
        ),
        (&"document-calls".into(), &"partial".into())
    );
}

#[test]
fn a_masked_output_has_no_read_lines_and_the_displayed_result_is_emitted() {
    let cut = r#"<tool_output_masked>\n{\n  \"output\": \"one\\ntw\n... [TRUNCATED] ...\nree\"\n}\n\nOutput too large. Full output available at: /h/tool-outputs/s/c.txt\n</tool_output_masked>"#;
    let response = |output: &str| {
        format!(
            r#"{{"functionResponse":{{"id":"c","name":"read_file","response":{{"output":"{output}"}}}}}}"#
        )
    };
    let call = format!(
        r#"{{"id":"c","name":"read_file","args":{{"file_path":"a"}},"result":[{}],"status":"success",{TIME},"resultDisplay":""}}"#,
        response(cut)
    );
    let turn = format!(
        r#"{{"id":"m",{TIME},"type":"gemini","content":"","thoughts":[],"tokens":null,"toolCalls":[{call}]}}"#
    );
    let go_on = |id: &str, shown: &str| {
        format!(
            r#"{{"id":"{id}",{TIME},"type":"user","content":[{{"text":"System: Please continue."}}],"displayContent":[{shown}]}}"#
        )
    };
    let (whole, same) = (
        go_on("u", &response(r"one\ntwo\nthree")),
        go_on("v", &response(cut)),
    );
    let document = format!(
        r#"{},"messages":[{turn},{whole},{same}]}}"#,
        HEADER.strip_suffix('}').unwrap()
    );
    for source in [document, format!("{HEADER}\n{turn}\n{whole}\n{same}\n")] {
        let tape = convert_str(&Gemini, &source, &Options::default()).unwrap();
        assert!(
            audit(source.as_bytes(), &tape, Gemini.describe())
                .unwrap()
                .holds(),
            "{tape}"
        );
        let events: Vec<Value> = tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of = |kind: &str| {
            events
                .iter()
                .filter(|event| event["k"] == kind)
                .collect::<Vec<_>>()
        };
        let [result] = of("tool.result")[..] else {
            panic!("one result: {tape}")
        };
        assert_eq!(
            (&result["truncated"], &result["artifact"]["path"]),
            (&true.into(), &"/h/tool-outputs/s/c.txt".into())
        );
        assert!(of("code.read")[0]["hash"].is_null() && of("code.read")[0]["range"].is_null());
        let displayed: Vec<&Value> = events
            .iter()
            .filter(|event| event["name"] == "tool_result")
            .map(|event| &event["text"])
            .collect();
        assert_eq!(displayed, ["one\ntwo\nthree"]);
    }
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

/// The check against the member table.
mod members {
    use engram_core::adapter::convert_str;
    use engram_core::error::{AdapterError, ErrorCode};
    use engram_core::pipeline::Options;
    use engram_core::policy::Policy;
    use serde_json::{Value, json};

    use crate::gemini::Gemini;

    const HASH: &str = "bb97ae4cdb5b0dd7e32b198a7ebcb35332fca3343779f0895ffb11258627aa8f";
    const TIME: &str = "2026-11-21T09:58:15.922Z";

    fn header() -> Value {
        json!({"sessionId":"s","projectHash":HASH,"startTime":TIME,"lastUpdated":TIME,"kind":"main"})
    }

    fn user() -> Value {
        json!({"id":"u","timestamp":TIME,"type":"user","content":[{"text":"go on"}]})
    }

    fn turn() -> Value {
        let response = json!({"id":"c","name":"read_file","response":{"output":"x\n"}});
        let result = [json!({ "functionResponse": response })];
        let call = json!({"id":"c","name":"read_file","args":{"file_path":"a"},"result":result,"status":"success","timestamp":TIME,
            "resultDisplay":"","displayName":"ReadFile","description":"a","renderOutputAsMarkdown":true});
        let tokens = json!({"input":1,"output":2,"cached":0,"thoughts":0,"tool":0,"total":3});
        let thought = json!({"subject":"A","description":"b","timestamp":TIME});
        json!({"id":"m","timestamp":TIME,"type":"gemini","content":"done","thoughts":[thought],"tokens":tokens,"model":"g","toolCalls":[call]})
    }

    /// A document with a prompt and a turn.
    fn document() -> Value {
        let (mut document, mut turn) = (header(), turn());
        turn["toolCalls"][0]["agentId"] = json!("x");
        document["messages"] = json!([user(), turn]);
        document
    }

    fn typed() -> Value {
        json!([{"sessionId":"s","messageId":0,"type":"user","message":"go on","timestamp":TIME}])
    }

    fn saved() -> Value {
        let call = json!({"functionCall":{"name":"t","args":{},"id":"c"}});
        json!({"history":[{"role":"user","parts":[{"text":"go on"}]},{"role":"model","parts":[{"text":"done","thought":false},call]}]})
    }

    fn lines(records: &[Value]) -> String {
        records.iter().map(|record| format!("{record}\n")).collect()
    }

    fn convert(source: &str, policy: Policy) -> Result<Vec<Value>, AdapterError> {
        let tape = convert_str(
            &Gemini,
            source,
            &Options {
                policy,
                ..Options::default()
            },
        )?;
        Ok(tape
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect())
    }

    /// Renames the last member of a pointer.
    fn renamed(mut source: Value, pointer: &str) -> Value {
        let (object, name) = pointer.rsplit_once('/').unwrap();
        let object = source
            .pointer_mut(object)
            .and_then(Value::as_object_mut)
            .unwrap();
        let value = object
            .remove(name)
            .unwrap_or_else(|| panic!("no {pointer}"));
        object.insert(format!("{name}X"), value);
        source
    }

    fn refusal(source: &str) -> (ErrorCode, Option<u64>, Option<String>) {
        let error = convert(source, Policy::Strict).expect_err(source);
        (error.code, error.line, error.pointer)
    }

    #[test]
    fn a_renamed_member_of_each_record_of_a_log_is_refused() {
        let history = json!({"$set":{"messages":[user(), turn()],"lastUpdated":TIME}});
        let rewind = json!({"$rewindTo":"u","timestamp":TIME});
        let notice = |kind: &str| json!({"id":"i","timestamp":TIME,"type":kind,"content":"x"});
        let cases = [
            (header(), "/projectHash"),
            (user(), "/timestamp"),
            (turn(), "/tokens/output"),
            (turn(), "/thoughts/0/timestamp"),
            (turn(), "/toolCalls/0/status"),
            (
                turn(),
                "/toolCalls/0/result/0/functionResponse/response/output",
            ),
            (history.clone(), "/$set/messages/0/timestamp"),
            (history, "/$set/messages/1/toolCalls/0/resultDisplay"),
            (rewind, "/timestamp"),
            (notice("info"), "/content"),
            (notice("warning"), "/timestamp"),
            (notice("error"), "/id"),
        ];
        for (record, pointer) in cases {
            let log = |record: Value| lines(&[header(), record]);
            convert(&log(record.clone()), Policy::Strict)
                .unwrap_or_else(|error| panic!("{error} {record}"));
            let refused = refusal(&log(renamed(record, pointer)));
            assert_eq!(
                refused,
                (
                    ErrorCode::UnknownMember,
                    Some(2),
                    Some(format!("{pointer}X"))
                )
            );
        }
    }

    #[test]
    fn a_renamed_member_of_each_record_of_a_document_is_refused() {
        for (document, pointer) in [
            (document(), "/projectHash"),
            (document(), "/messages/0/timestamp"),
            (document(), "/messages/1/model"),
            (document(), "/messages/1/toolCalls/0/agentId"),
            (typed(), "/0/timestamp"),
            (saved(), "/history/1/parts/0/thought"),
        ] {
            convert(&format!("{document:#}"), Policy::Strict)
                .unwrap_or_else(|error| panic!("{error} {pointer}"));
            let refused = refusal(&format!("{:#}", renamed(document, pointer)));
            assert_eq!(
                refused,
                (ErrorCode::UnknownMember, None, Some(format!("{pointer}X")))
            );
        }
        let mut outer = saved();
        outer["tag"] = json!("x");
        assert_eq!(
            refusal(&outer.to_string()),
            (ErrorCode::UnknownMember, None, Some("/tag".into()))
        );
    }

    #[test]
    fn a_first_line_with_a_renamed_member_is_refused() {
        assert_eq!(
            refusal(&lines(&[renamed(header(), "/projectHash")])),
            (
                ErrorCode::UnknownMember,
                Some(1),
                Some("/projectHashX".into())
            )
        );
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let mut turn = turn();
        turn["tokens"]["output"] = json!("2");
        let error = convert(&lines(&[header(), turn]), Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.pointer.as_deref()),
            (ErrorCode::UnknownMember, Some("/tokens/output"))
        );
        assert_eq!(
            (error.expected.as_deref(), error.found.as_deref()),
            (Some("count"), Some("string"))
        );
    }

    #[test]
    fn a_status_that_is_not_known_is_refused() {
        let mut turn = turn();
        turn["toolCalls"][0]["status"] = json!("failed");
        assert_eq!(
            refusal(&lines(&[header(), turn])),
            (
                ErrorCode::UnknownMember,
                Some(2),
                Some("/toolCalls/0/status".into())
            )
        );
    }

    #[test]
    fn a_last_change_with_another_member_is_refused() {
        let line = json!({"$set":{"lastUpdated":TIME},"by":"x"});
        assert_eq!(
            refusal(&lines(&[header(), line])),
            (ErrorCode::UnknownMember, Some(2), Some("/by".into()))
        );
    }

    #[test]
    fn permissive_policy_counts_a_renamed_member_and_converts_the_rest() {
        let mut other = user();
        other["id"] = json!("another");
        let source = lines(&[
            header(),
            user(),
            renamed(turn(), "/toolCalls/0/status"),
            other,
        ]);
        let tape = convert(&source, Policy::Permissive).unwrap();
        let revisions: Vec<&Value> = tape
            .iter()
            .filter(|event| event["label"] == "revision")
            .collect();
        let [revision] = revisions[..] else {
            panic!("one revision: {tape:?}")
        };
        assert_eq!(
            (&revision["degraded"], &revision["origin"]["line"]),
            (&json!(["unknown_members"]), &json!(3))
        );
        assert_eq!(revision["coverage"]["tool.result"], "partial");
        let unknown = json!([{"type":"gemini","pointer":"/toolCalls/*/statusX","count":1}]);
        assert_eq!(tape.last().unwrap()["ledger"]["unknown_members"], unknown);
        let kinds: Vec<&str> = tape
            .iter()
            .filter_map(|event| event["k"].as_str())
            .filter(|kind| *kind != "meta")
            .collect();
        assert_eq!(
            kinds,
            ["msg.in", "msg.out", "msg.out", "tool.call", "msg.in"]
        );
    }
}
