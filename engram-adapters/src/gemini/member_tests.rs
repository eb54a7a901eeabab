//! The check against the member table.

use engram_core::adapter::convert_str;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Gemini;

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
