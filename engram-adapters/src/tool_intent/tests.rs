//! Frames, answers, violations and repeats.

use engram_core::error::ErrorCode;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;
use engram_profiles::grammar::{Answer, Request, Response, request_frame, response_frame};
use engram_profiles::nonce::Nonce;
use serde_json::{Value, json};

fn nonce() -> Nonce {
    Nonce::scripted("tests", "e1")
}

fn header() -> Value {
    json!({
        "schema": "engram.episode/1", "work_id": "w1", "episode_id": "e1", "session_id": "s1", "adapter_profile_hash": "blake3:00",
        "harness": "codex-cli", "version": "0.169.0", "nonce_hash": nonce().hash().as_str(),
        "capability_map": [{"intent": "read", "tool_class": "read"}],
        "tool_limits": {"max_args_bytes": 1000, "max_line_bytes": 2000, "max_requests": 2}, "t": "2026-11-27T10:00:00.000Z",
    })
}

fn agent(text: &str) -> Value {
    json!({"t": "2026-11-27T10:00:01.000Z", "from": "agent", "text": text})
}

fn driver(text: &str) -> Value {
    json!({"from": "driver", "text": text})
}

fn asked(id: &str, tool: &str) -> String {
    request_frame(
        &nonce(),
        &Request {
            id: id.into(),
            tool: tool.into(),
            args: r#"{"path":"a.txt"}"#.into(),
        },
    )
}

fn answered(id: &str, answer: Answer) -> String {
    response_frame(
        &nonce(),
        &Response {
            id: id.into(),
            answer,
        },
    )
}

fn hash() -> String {
    engram_profiles::hash::of_bytes(b"result")
}

fn convert(
    lines: &[Value],
    policy: Policy,
) -> Result<Vec<Value>, engram_core::error::AdapterError> {
    let log: String = [header()]
        .iter()
        .chain(lines)
        .map(|line| format!("{line}\n"))
        .collect();
    let options = Options {
        policy,
        ..Options::default()
    };
    let mut tape = Vec::new();
    crate::ingest(
        Input::in_memory(&log, options.limits),
        &options,
        &mut JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

fn events(lines: &[Value]) -> Vec<Value> {
    convert(lines, Policy::Strict).unwrap()
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["k"] == kind || event["label"] == kind)
        .collect()
}

#[test]
fn header_gives_the_episode_and_the_session() {
    let events = events(&[]);
    let episode = of(&events, "episode")[0];
    assert_eq!(
        (
            &episode["work_id"],
            &episode["agent"],
            &episode["agent_version"]
        ),
        (&json!("w1"), &json!("codex-cli"), &json!("0.169.0"))
    );
    assert_eq!(episode["source"]["session_id"], "s1");
    assert_eq!(events[0]["harness"]["schema"], "tool-intent");
    // The agent is Codex, whatever reads the log.
    let sources = events.iter().map(|event| &event["source"]["harness"]);
    assert!(sources.clone().all(|harness| harness == "codex"));
    assert_eq!(events[0]["harness"]["family"], "codex");
}

#[test]
fn text_around_frames_is_said_and_frames_are_calls() {
    let events = events(&[
        agent(&format!(
            "I will look.\nAt once.\n{}Then rest.\n",
            asked("r1", "read")
        )),
        agent(&asked("r2", "dance")),
    ]);
    let said: Vec<&Value> = of(&events, "msg.out")
        .into_iter()
        .map(|event| &event["text"])
        .collect();
    assert_eq!(
        said,
        [&json!("I will look.\nAt once.\n"), &json!("Then rest.\n")]
    );
    let calls: Vec<(&Value, &Value)> = of(&events, "tool.call")
        .into_iter()
        .map(|call| (&call["tool"], &call["kind"]))
        .collect();
    assert_eq!(
        calls,
        [
            (&json!("read"), &json!("read")),
            (&json!("dance"), &json!("other"))
        ]
    );
    assert_eq!(
        of(&events, "tool.call")[0]["args"],
        json!({"path": "a.txt"})
    );
}

#[test]
fn answer_is_the_result_of_its_call() {
    let result = |status: &str, bytes: u64| json!({"bytes": 40, "status": status, "text": "done", "text_bytes": bytes});
    let with = |id: &str, result: Value| json!({"from": "driver", "text": answered(id, Answer::Ok(hash())), "result": result});
    let decided = |id: &str, decision: &str| json!({"from": "driver", "event": "ToolDecided", "id": id, "decision": decision});
    let events = events(&[
        agent(&asked("r1", "read")),
        decided("r1", "allow"),
        with("r1", result("ok", 4)),
        agent(&asked("r2", "read")),
        with("r2", result("error", 9)),
    ]);
    let results = of(&events, "tool.result");
    assert_eq!(
        (
            &results[0]["status"],
            &results[0]["stdout"],
            &results[0]["truncated"]
        ),
        (&json!("ok"), &json!("done"), &Value::Null)
    );
    assert_eq!(
        results[0]["artifact"],
        json!({"path": format!("cas:{}", hash()), "hash": hash(), "bytes": 40})
    );
    assert_eq!(
        (
            &results[1]["status"],
            &results[1]["stderr"],
            &results[1]["truncated"]
        ),
        (&json!("error"), &json!("done"), &json!(true))
    );
    assert_eq!(results[0]["parent"], of(&events, "tool.call")[0]["seq"]);
    let permission = of(&events, "permission")[0];
    assert_eq!(
        (
            &permission["decision"],
            &permission["tool"],
            &permission["call_id"]
        ),
        (&json!("allow"), &json!("read"), &json!("r1"))
    );
}

#[test]
fn denied_request_has_its_reason_and_no_artifact() {
    let events = events(&[
        agent(&asked("r1", "write")),
        json!({"from": "driver", "event": "ToolDecided", "id": "r1", "decision": "deny"}),
        driver(&answered("r1", Answer::Denied("NOT_ALLOWED".into()))),
    ]);
    let permission = of(&events, "permission")[0];
    assert_eq!(
        (&permission["decision"], &permission["text"]),
        (&json!("deny"), &json!("NOT_ALLOWED"))
    );
    let result = of(&events, "tool.result")[0];
    assert_eq!(
        (&result["status"], &result["stderr"], &result["artifact"]),
        (&json!("denied"), &json!("NOT_ALLOWED"), &Value::Null)
    );
}

#[test]
fn words_of_the_driver_are_those_of_the_harness_or_a_person() {
    let events = events(&[
        json!({"from": "driver", "part": "preamble", "text": "ask so"}),
        driver("do it"),
    ]);
    let said: Vec<(&Value, &Value)> = of(&events, "msg.in")
        .into_iter()
        .map(|event| (&event["by"], &event["text"]))
        .collect();
    assert_eq!(
        said,
        [
            (&json!("harness"), &json!("ask so")),
            (&json!("person"), &json!("do it"))
        ]
    );
}

#[test]
fn frame_of_another_episode_is_text() {
    let quoted = request_frame(
        &Nonce::scripted("tests", "e2"),
        &Request {
            id: "r1".into(),
            tool: "read".into(),
            args: "{}".into(),
        },
    );
    let events = events(&[agent(&quoted)]);
    assert_eq!(of(&events, "msg.out")[0]["text"], json!(quoted));
}

#[test]
fn line_that_breaks_the_grammar_is_refused_or_kept_as_text() {
    let twice = [
        agent(&asked("r1", "read")),
        agent(&format!("x\n{}", asked("r1", "read"))),
    ];
    let by_agent = [agent(&answered("r1", Answer::Denied("NO".into())))];
    let no_request = [driver(&answered("r9", Answer::Denied("NO".into())))];
    let too_many = [agent(
        &[asked("r1", "a"), asked("r2", "a"), asked("r3", "a")].concat(),
    )];
    for lines in [&twice[..], &by_agent[..], &no_request[..], &too_many[..]] {
        let error = convert(lines, Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.pointer.as_deref()),
            (ErrorCode::MalformedRecord, Some("/text")),
            "{lines:?}"
        );
        let events = convert(lines, Policy::Permissive).unwrap();
        let kept = of(&events, "unrecognized");
        assert!(
            kept.len() == 1
                && kept[0]["name"] == "tool_intent"
                && kept[0]["raw"].as_str().unwrap().starts_with('⟦'),
            "{kept:?}"
        );
    }
    let events = convert(&twice, Policy::Permissive).unwrap();
    assert_eq!(
        (of(&events, "tool.call").len(), of(&events, "msg.out").len()),
        (1, 1)
    );
}

#[test]
fn record_that_contradicts_itself_is_refused() {
    let without_answer = json!({"from": "driver", "text": "x", "result": {"bytes": 1, "status": "ok", "text": "", "text_bytes": 0}});
    let decision =
        json!({"from": "driver", "event": "ToolDecided", "id": "r1", "decision": "maybe"});
    let mut second = header();
    second["work_id"] = json!("w2");
    for (line, place) in [
        (without_answer, "/result"),
        (decision, "/decision"),
        (second, ""),
    ] {
        let error = convert(std::slice::from_ref(&line), Policy::Strict).unwrap_err();
        assert_eq!(
            (error.code, error.pointer.as_deref().unwrap_or_default()),
            (ErrorCode::MalformedRecord, place),
            "{line}"
        );
    }
    let unknown = convert(
        &[json!({"from": "driver", "event": "Lunch"})],
        Policy::Strict,
    )
    .unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnrecognizedRecord);
}

#[test]
fn a_record_with_its_time_that_is_there_twice_is_one() {
    let events = events(&[agent("hello\n"), agent("hello\n")]);
    assert_eq!(of(&events, "msg.out").len(), 1);
    assert_eq!(of(&events, "tape.stop")[0]["ledger"]["duplicate"], json!(1));
}

#[test]
fn later_version_is_unknown() {
    let log = format!("{}\n", header()).replace("episode/1", "episode/2");
    let identity =
        super::REGISTRATION.identify(&engram_core::head::Head::new(log.as_bytes(), true));
    assert_eq!(
        (identity.schema, identity.session_id.as_deref()),
        (None, Some("s1"))
    );
}
