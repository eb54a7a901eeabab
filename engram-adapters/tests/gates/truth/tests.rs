//! The truth gate over everything, and proof that it catches what it is for.

use std::path::PathBuf;

use engram_core::hash::Hash;
use serde_json::{Value, json};

use super::{Side, Truth, check};
use crate::report;
use crate::tape::Event;
use crate::tree::Case;

#[test]
fn tapes_say_what_really_happened() {
    let tally = report::run("truth", super::findings);
    for what in ["prompts", "calls", "results", "edits", "edit spans", "ranges", "file hashes"] {
        assert!(tally.of(what) > 0, "nothing to check: {what}");
    }
    let (logged, not) = (tally.of("calls") + tally.of("results"), tally.of("calls not logged") + tally.of("results not logged"));
    assert!(not * 10 < logged, "{not} calls and results are not logged, {logged} are: the gate looks in the wrong place");
}

const BEFORE: &str = "one\ntwo\nthree\n";
const AFTER: &str = "one\nTWO\nthree\n";

/// What really happened in a small session.
fn truth() -> Truth {
    let sha = |text: &str| Value::from(text.len().to_string());
    serde_json::from_value(json!({
        "prompts": ["please do it"],
        "calls": [
            {"id": "c1", "tool": "Read", "args": {"file_path": "/home/dev/proj/a.txt"}, "thread": "main"},
            {"id": "c2", "tool": "Edit", "args": {"file_path": "/home/dev/proj/a.txt", "old_string": "two", "new_string": "TWO"}, "thread": "main"},
            {"id": "c3", "tool": "Edit", "args": {"file_path": "/home/dev/proj/b.txt", "old_string": "x", "new_string": "y"}, "thread": "main"},
        ],
        "results": [
            {"id": "c1", "tool": null, "text": "1\tone\n2\ttwo\n3\tthree\n4\t", "is_error": null},
            {"id": "c2", "tool": null, "text": "The file was updated", "is_error": null},
            {"id": "c3", "tool": null, "text": "Exit code 2\nnot found", "is_error": true},
        ],
        "edits": [
            {"call_ids": ["c2"], "tools": ["Edit"], "file": "a.txt", "before": BEFORE, "after": AFTER,
             "before_sha256": sha(BEFORE), "after_sha256": sha(AFTER)},
        ],
    }))
    .expect("a truth")
}

/// A tape that says just that.
fn tape() -> Vec<Value> {
    let hash = |text: &str| Hash::of_text(text).to_string();
    let anchors = |text: &str| Value::from_iter(engram_core::anchor::anchors(text).iter().map(|anchor| format!("{anchor:016x}")));
    let text = "one\ntwo\nthree";
    vec![
        json!({"seq": 0, "k": "msg.in", "role": "user", "text": "please do it"}),
        json!({"seq": 1, "k": "tool.call", "tool": "Read", "call_id": "c1", "args": {"file_path": "/home/dev/proj/a.txt"}}),
        json!({"seq": 2, "k": "tool.result", "call_id": "c1", "status": "ok", "stdout": "1\tone\n2\ttwo\n3\tthree\n4\t", "parent": 1}),
        json!({"seq": 3, "k": "code.read", "call_id": "c1", "file": "/home/dev/proj/a.txt", "range": [1, 3], "hash": hash(text), "anchor_hashes": anchors(text), "parent": 1}),
        json!({"seq": 4, "k": "tool.call", "tool": "Edit", "call_id": "c2", "args": {"file_path": "/home/dev/proj/a.txt", "old_string": "two", "new_string": "TWO"}}),
        json!({"seq": 5, "k": "tool.result", "call_id": "c2", "status": "ok", "stdout": "The file was updated", "parent": 4}),
        json!({"seq": 6, "k": "code.edit", "call_id": "c2", "op": "update", "file": "/home/dev/proj/a.txt", "before_range": [2, 2], "after_range": [2, 2],
               "before_hash": hash("two"), "after_hash": hash("TWO"), "file_before_hash": hash(BEFORE), "file_after_hash": hash(AFTER),
               "before_anchor_hashes": anchors("two"), "after_anchor_hashes": anchors("TWO"), "parent": 4}),
        json!({"seq": 7, "k": "tool.call", "tool": "Edit", "call_id": "c3", "args": {"file_path": "/home/dev/proj/b.txt", "old_string": "x", "new_string": "y"}}),
        json!({"seq": 8, "k": "tool.result", "call_id": "c3", "status": "error", "exit": 2, "stderr": "not found", "parent": 7}),
    ]
}

/// The log of that session, as far as the gate looks into it.
fn source() -> String {
    let whole = super::escaped(BEFORE);
    format!(
        "please do it\nc1 1\\tone\\n2\\ttwo\\n3\\tthree\nc2 The file was updated \"{whole}\" \"{}\"\nc3 Exit code 2 not found\n",
        super::escaped(AFTER)
    )
}

fn findings_of(tape: Vec<Value>) -> Vec<String> {
    findings_in("claude-code", &truth(), &source(), tape)
}

fn findings_in(harness: &str, truth: &Truth, source: &str, tape: Vec<Value>) -> Vec<String> {
    let (version, scenario) = ("2.1.329".into(), "small".into());
    let case = Case { harness: harness.into(), version, scenario, folder: PathBuf::new(), earlier: Vec::new() };
    let events = tape.into_iter().map(Event).collect();
    check(&case, truth, &[Side { name: "a.jsonl", source: source.as_bytes().into(), events }]).1
}

/// Changes one event of the good tape and gives what the gate finds.
fn broken(seq: usize, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut tape = tape();
    change(&mut tape[seq]);
    findings_of(tape)
}

#[test]
fn a_true_tape_passes() {
    assert_eq!(findings_of(tape()), Vec::<String>::new());
}

#[test]
fn lost_facts_are_found() {
    for (seq, what) in [(0, "no msg.in"), (2, "no tool.result c1"), (4, "no tool.call c2"), (6, "no code.edit of c2")] {
        let mut tape = tape();
        tape[seq]["k"] = "meta".into();
        let found = findings_of(tape);
        assert!(found.iter().any(|finding| finding.contains(what)), "{what}: {found:?}");
    }
}

#[test]
fn facts_said_twice_are_found() {
    for (seq, what) in [(0, "2 msg.in"), (1, "2 tool.call c1"), (2, "2 tool.result c1")] {
        let mut tape = tape();
        tape.push(tape[seq].clone());
        let found = findings_of(tape);
        assert!(found.iter().any(|finding| finding.contains(what)), "{what}: {found:?}");
    }
}

#[test]
fn made_up_facts_are_found() {
    let mut tape = tape();
    tape.push(json!({"seq": 9, "k": "tool.call", "tool": "Read", "call_id": "c9", "args": {}}));
    tape.push(json!({"seq": 10, "k": "code.edit", "call_id": "c3", "op": "update", "file": "/home/dev/proj/b.txt"}));
    tape.push(json!({"seq": 11, "k": "code.read", "call_id": "c3", "file": "/home/dev/proj/b.txt"}));
    let found = findings_of(tape);
    for what in ["tool.call `c9`", "nothing changed in the real file", "code.read of c3, which failed"] {
        assert!(found.iter().any(|finding| finding.contains(what)), "{what}: {found:?}");
    }
}

#[test]
fn false_facts_are_found() {
    let wrong = Hash::of_text("wrong").to_string();
    let changes: [(usize, &str, Value, &str); 15] = [
        (1, "args", json!({"file_path": "/home/dev/proj/b.txt"}), "has args"),
        (1, "tool", "Write".into(), "has tool"),
        (2, "stdout", "something else".into(), "lacks"),
        (2, "status", "error".into(), "has status"),
        (8, "exit", 1.into(), "has exit"),
        (8, "status", "ok".into(), "has status"),
        (3, "range", json!([1, 2]), "the model saw up to"),
        (3, "hash", wrong.clone().into(), "has hash"),
        (3, "anchor_hashes", json!([]), "anchors"),
        (6, "op", "create".into(), "op `create`"),
        (6, "before_range", json!([1, 1]), "before_hash is not that of lines"),
        (6, "after_hash", wrong.clone().into(), "after_hash is not that of lines"),
        (6, "file_before_hash", wrong.clone().into(), "file_before_hash is refuted"),
        (6, "file_after_hash", wrong.into(), "file_after_hash is refuted"),
        (6, "after_anchor_hashes", json!(["0000000000000000"]), "after_anchor_hashes"),
    ];
    for (seq, key, value, what) in changes {
        let found = broken(seq, |event| event[key] = value.clone());
        assert!(found.iter().any(|finding| finding.contains(what)), "{key}: {found:?}");
    }
}

#[test]
fn a_read_without_a_real_result_has_to_fit_the_file() {
    let mut truth = truth();
    truth.results.clear();
    let found = |change: &dyn Fn(&mut Value)| {
        let mut tape = tape();
        change(&mut tape[3]);
        findings_in("claude-code", &truth, &source(), tape)
    };
    assert_eq!(found(&|_| {}), Vec::<String>::new());
    let wrong = Hash::of_text("wrong").to_string();
    for (key, value) in [("range", json!([2, 3])), ("range", json!([1, 4])), ("total_lines", json!(4)), ("hash", wrong.into())] {
        let found = found(&|read| read[key] = value.clone());
        assert!(found.iter().any(|finding| finding.contains("fit no text that the file had")), "{key} {value}: {found:?}");
    }
}

#[test]
fn a_record_that_says_how_its_call_ended_has_a_result() {
    let truth: Truth = serde_json::from_value(json!({
        "prompts": [], "results": [], "edits": [],
        "calls": [{"id": "call_1", "tool": "bash", "args": {}}, {"id": "call_2", "tool": "bash", "args": {}}],
    }))
    .expect("a truth");
    let record = |id: &str, status: &str| format!(r#"{{"callID":"{id}","state":{{"status":"{status}"}}}}"#);
    let call = |id: &str| json!({"seq": 0, "k": "tool.call", "tool": "bash", "call_id": id, "args": {}});
    let found = |source: &str, tape: Vec<Value>| findings_in("opencode", &truth, source, tape);
    let both = format!("{}\n{}\n", record("call_1", "completed"), record("call_2", "running"));
    assert_eq!(found(&both, vec![call("call_1"), call("call_2")]), ["opencode/2.1.329/small: no tool.result call_1 (bash)"]);
    // What a record repeats of another session's calls is that session's to tell.
    let repeated = r#"{"summary":[{"callID":"call_1","state":{"status":"completed"}}]}"#;
    assert_eq!(found(repeated, Vec::new()), Vec::<String>::new());
    assert_eq!(found(&record("call_1", "running"), Vec::new()), ["opencode/2.1.329/small: no tool.call call_1 (bash)"]);
    let made_up = found("", vec![call("call_9"), call("01JTYPED")]);
    assert!(made_up.len() == 1 && made_up[0].contains("which the model never made"), "{made_up:?}");
}

#[test]
fn an_incomplete_edit_is_found() {
    let found = broken(6, |edit| {
        edit.as_object_mut().expect("an event").retain(|key, _| !key.starts_with("file_"));
    });
    assert!(found.iter().any(|finding| finding.contains("has no file_before_hash")), "{found:?}");
    let found = broken(6, |edit| {
        edit["after_range"] = json!([2, 1]);
        edit["after_hash"] = Hash::of_text("").to_string().into();
        edit["after_anchor_hashes"] = json!([]);
    });
    assert!(found.iter().any(|finding| finding.contains("outside of its spans")), "{found:?}");
}

#[test]
fn a_snippet_of_nothing_is_found() {
    let snippet = |hash: &str| {
        json!({"seq": 6, "k": "code.edit", "call_id": "c2", "op": "update", "file": "/home/dev/proj/a.txt", "basis": "snippet",
               "before_hash": Hash::of_text(hash).to_string(), "parent": 4})
    };
    let found = broken(6, |edit| *edit = snippet("wrong"));
    assert!(found.iter().any(|finding| finding.contains("of no text of the call")), "{found:?}");
    let found = broken(6, |edit| *edit = snippet("two"));
    assert!(found.iter().all(|finding| finding.contains("is a snippet") || finding.contains("has no file")), "{found:?}");
}
