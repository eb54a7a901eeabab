//! Sessions that no fixture shows: damage, values that decide something, limits.

use engram_core::error::AdapterError;
use engram_core::pipeline::{Input, Options};
use engram_core::policy::Policy;
use serde_json::Value;

fn convert(lines: &[&str], policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let options = Options {
        policy,
        ..Options::default()
    };
    let (text, mut tape) = (lines.join("\n"), Vec::new());
    crate::ingest(
        Input::new(text.as_bytes(), options.limits),
        &options,
        &mut engram_core::tape::JsonLines::new(&mut tape),
    )?;
    Ok(String::from_utf8(tape)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-28T10:00:00.000Z","cwd":"/p"}"#;
const PROMPT: &str = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-28T10:00:01.000Z","message":{"role":"user","content":"hello","timestamp":1}}"#;

/// The labels of `meta` events, and the kinds of the others.
fn names(tape: &[Value]) -> Vec<&str> {
    let name = tape
        .iter()
        .map(|event| event["label"].as_str().or(event["k"].as_str()));
    name.map(Option::unwrap_or_default).collect()
}

#[test]
fn an_entry_that_is_there_twice_is_one() {
    let tape = convert(&[HEADER, PROMPT, PROMPT], Policy::Strict).unwrap();
    assert_eq!(
        names(&tape),
        ["tape.start", "session", "msg.in", "tape.stop"]
    );
    assert_eq!(tape[3]["ledger"]["duplicate"], 1);
}

#[test]
fn a_response_that_was_stopped_before_it_was_counted_has_no_usage() {
    let response = |stop: &str, input: u64| {
        format!(
            r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-28T10:00:02.000Z","message":{{"role":"assistant","content":[],"api":"x","provider":"p","model":"m","usage":{{"input":{input},"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":{input},"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}},"stopReason":"{stop}","errorMessage":"why","timestamp":1}}}}"#
        )
    };
    let of = |stop, input| {
        let tape = convert(&[HEADER, PROMPT, &response(stop, input)], Policy::Strict).unwrap();
        let names = names(&tape)[4..tape.len() - 1].join(" ");
        (names, tape)
    };
    assert_eq!(of("aborted", 0).0, "interrupt");
    assert_eq!(of("error", 0).0, "error");
    let (names, tape) = of("aborted", 7);
    assert_eq!(names, "usage interrupt");
    assert_eq!(tape[4]["provisional"], true);
    assert_eq!(of("stop", 0).0, "usage error");
}

#[test]
fn what_the_harness_puts_before_a_prompt_is_not_the_persons() {
    let prompt = PROMPT.replace("hello", r#"<file name=\"/p/a.txt\">\nx\n</file>\nread it"#);
    let tape = convert(&[HEADER, &prompt], Policy::Strict).unwrap();
    assert_eq!(
        (&tape[2]["name"], &tape[3]["text"]),
        (&"file".into(), &"read it".into())
    );
}

#[test]
fn what_openclaw_tells_of_sub_agents_is_by_the_harness() {
    let by = |source: &str| {
        let provenance =
            format!(r#""provenance":{{"kind":"inter_session","sourceTool":"{source}"}}"#);
        let prompt = PROMPT.replace(
            r#""timestamp":1"#,
            &format!(r#""timestamp":1,{provenance}"#),
        );
        let tape = convert(&[HEADER, &prompt], Policy::Permissive).unwrap();
        tape[2]["by"].clone()
    };
    assert_eq!([by("subagent_settle"), by("message")], ["harness", "agent"]);
}

#[test]
fn what_a_run_prints_is_no_session() {
    let event = r#"{"type":"agent_start"}"#;
    let error = convert(&[HEADER, event], Policy::Permissive).unwrap_err();
    assert_eq!(error.code.as_str(), "unknown_harness");
}

#[test]
fn a_signature_is_not_on_the_tape() {
    let signature = "c2lnbmF0dXJlIG9mIHRoZSBwcm92aWRlcg==";
    let block = format!(
        r#"{{"type":"thinking","thinking":"","thinkingSignature":"{signature}","redacted":true}}"#
    );
    let usage = r#"{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    let response = format!(
        r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-28T10:00:02.000Z","message":{{"role":"assistant","content":[{block}],"api":"x","provider":"p","model":"m","usage":{usage},"stopReason":"stop","timestamp":1}}}}"#
    );
    let tape = convert(&[HEADER, PROMPT, &response], Policy::Strict).unwrap();
    assert_eq!(tape[4]["redacted"], true);
    assert!(
        !tape
            .iter()
            .any(|event| event.to_string().contains(signature))
    );
}

#[test]
fn an_edit_is_of_the_file_that_its_patch_names() {
    let call = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-28T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"edit","arguments":{"path":"asked.py"}}],"api":"x","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":2}}"#;
    let result = r#"{"type":"message","id":"d","parentId":"b","timestamp":"2026-11-28T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"edit","content":[{"type":"text","text":"done"}],"details":{"diff":"-1 a\n+1 b","patch":"--- /p/other.py\n+++ /p/other.py\n@@ -1,1 +1,1 @@\n-a\n+b\n"},"isError":false,"timestamp":3}}"#;
    let tape = convert(&[HEADER, PROMPT, call, result], Policy::Strict).unwrap();
    let edit = tape.iter().find(|event| event["k"] == "code.edit").unwrap();
    assert_eq!(edit["file"], "/p/other.py");
}

#[test]
fn a_session_of_openclaw_is_known_by_what_only_openclaw_writes() {
    let family = |lines: &[&str]| {
        let tape = convert(lines, Policy::Strict).unwrap();
        tape[0]["harness"]["family"].clone()
    };
    assert_eq!(family(&[HEADER, PROMPT]), "pi");
    let own = PROMPT.replace(r#""timestamp":1}"#, r#""timestamp":1,"__openclaw":{}}"#);
    assert_eq!(family(&[HEADER, &own]), "openclaw");
    let snapshot = r#"{"type":"custom","customType":"model-snapshot","data":{"modelApi":"x"},"id":"0","parentId":null,"timestamp":"2026-11-28T10:00:01.000Z"}"#;
    let call = r#"{"type":"message","id":"b","parentId":"0","timestamp":"2026-11-28T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a"},"partialArgs":"{\"path\":\"a\"}"}],"api":"x","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":2}}"#;
    assert_eq!(family(&[HEADER, snapshot, call]), "openclaw");
    // The next version of Pi's format is not OpenClaw's.
    let next = HEADER.replace(r#""version":3"#, r#""version":4"#);
    let tape = convert(&[&next, PROMPT], Policy::Permissive).unwrap();
    assert_eq!(tape[0]["harness"]["family"], "pi");
}

#[test]
fn tools_that_are_removed_are_named() {
    let system = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-28T10:00:02.000Z","message":{"role":"system","content":"","toolsRemoved":[{"name":"lab"}],"timestamp":2}}"#;
    let tape = convert(&[HEADER, PROMPT, system], Policy::Strict).unwrap();
    assert_eq!(tape[3]["name"], "tools_removed");
    assert_eq!(tape[3]["text"], r#"[{"name":"lab"}]"#);
}

/// The edits of a call of OpenClaw that succeeded, and what else is known of its files.
fn changes(tool: &str, args: &str, details: &str) -> Vec<Value> {
    let call = format!(
        r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-28T10:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"{tool}","arguments":{args}}}],"api":"x","provider":"p","model":"m","usage":{{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}},"stopReason":"toolUse","timestamp":2}}}}"#
    );
    let result = format!(
        r#"{{"type":"message","id":"d","parentId":"b","timestamp":"2026-11-28T10:00:03.000Z","message":{{"role":"toolResult","toolCallId":"c","toolName":"{tool}","content":[{{"type":"text","text":"done"}}],"details":{details},"isError":false,"timestamp":3,"__openclaw":{{}}}}}}"#
    );
    let header = HEADER.replace(r#""version":3"#, r#""version":4"#);
    let tape = convert(&[&header, PROMPT, &call, &result], Policy::Strict).unwrap();
    let kinds = ["code.edit", "span.link"];
    let of_files = |event: &Value| kinds.contains(&event["k"].as_str().unwrap_or_default());
    tape.into_iter().filter(of_files).collect()
}

#[test]
fn a_patch_has_the_lines_that_it_changes() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n+y\n*** Update File: b\n*** Move to: c\n@@\n k\n-o\n+n\n k\n+m\n*** Delete File: d\n*** End Patch";
    let args = serde_json::json!({ "input": patch }).to_string();
    let found = changes("apply_patch", &args, "{}");
    let facts = |event: &Value| {
        let op = event["op"].as_str().unwrap_or("link").to_owned();
        (op, event["file"].as_str().unwrap_or_default().to_owned())
    };
    let of = |op: &str, file: &str| (op.to_owned(), file.to_owned());
    assert_eq!(
        found.iter().map(facts).collect::<Vec<_>>(),
        [
            of("create", "/p/a"),
            of("move", "/p/b"),
            of("link", ""),
            of("update", "/p/c"),
            of("update", "/p/c"),
            of("delete", "/p/d")
        ]
    );
    let hash = |text: &str| engram_core::hash::Hash::of_text(text).to_string();
    assert_eq!(found[0]["file_after_hash"], hash("x\ny\n"));
    assert_eq!(found[2]["to_file"], "/p/c");
    assert_eq!(found[3]["before_hash"], hash("o"));
    assert_eq!(found[3]["after_hash"], hash("n"));
    assert_eq!(found[4]["after_hash"], hash("m"));
    assert!(found[4]["before_hash"].is_null() && found[4]["basis"] == "snippet");
}

#[test]
fn an_edit_whose_details_were_cut_is_what_was_asked_for() {
    let args =
        r#"{"path":"a","edits":[{"oldText":"o\n","newText":"n\n"},{"oldText":"p","newText":""}]}"#;
    let found = changes("edit", args, r#"{"persistedDetailsTruncated":true}"#);
    let hash = |text: &str| engram_core::hash::Hash::of_text(text).to_string();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["after_hash"], hash("n\n"));
    assert_eq!(found[1]["before_hash"], hash("p"));
    // An extension may leave the diff out, and change the arguments too.
    let found = changes("edit", args, "{}");
    assert_eq!((found.len(), &found[0]["basis"]), (1, &Value::Null));
}
