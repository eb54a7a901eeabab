//! What `exec --json` prints up to 0.42: lines that no fixture has.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;

const SETTINGS: &str = r#"{"model":"m","provider":"p","workdir":"/p","approval":"never","sandbox":"read-only","reasoning effort":"low"}"#;

/// The events of a run with these events of the protocol.
fn events(printed: &[Value]) -> Vec<Value> {
    let lines = printed
        .iter()
        .map(|msg| format!("{}\n", json!({"id": "0", "msg": msg})));
    let log = format!(
        "{SETTINGS}\n{{\"prompt\":\"go\"}}\n{}",
        lines.collect::<String>()
    );
    let tape = convert_str(
        &Codex,
        &log,
        &Options {
            policy: Policy::Strict,
            ..Options::default()
        },
    )
    .unwrap();
    let report = audit(log.as_bytes(), &tape, Codex.describe()).unwrap();
    assert_eq!(report.leaves.left_over, 0, "{report:?}");
    tape.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn errors_and_notices_are_converted() {
    let events = events(&[
        json!({"type": "background_event", "message": "once more"}),
        json!({"type": "error", "message": "no more"}),
    ]);
    let texts: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["k"] == "meta")
        .map(|event| (&event["label"], &event["text"]))
        .collect();
    assert!(
        texts.contains(&(&json!("system"), &json!("once more")))
            && texts.contains(&(&json!("error"), &json!("no more"))),
        "{texts:?}"
    );
    let prompt = events
        .iter()
        .find(|event| event["k"] == "msg.in")
        .expect("a prompt");
    assert_eq!(
        (&prompt["text"], &prompt["by"]),
        (&json!("go"), &json!("person"))
    );
}

#[test]
fn a_patch_gives_edits_if_it_was_applied() {
    let begun = json!({"type": "patch_apply_begin", "call_id": "c1", "auto_approved": true, "changes": {"/p/a.txt": {"add": {"content": "a\n"}},
        "/p/b.txt": {"update": {"unified_diff": "@@ -1 +1 @@\n-b\n+c\n", "move_path": null}}, "/p/d.txt": "delete"}});
    let ended = |success: bool, stdout: &str| json!({"type": "patch_apply_end", "call_id": "c1", "stdout": stdout, "stderr": "", "success": success});
    let ops = |events: &[Value]| -> Vec<(String, bool)> {
        let edits = events.iter().filter(|event| event["k"] == "code.edit");
        edits
            .map(|edit| {
                (
                    edit["op"].as_str().unwrap().to_owned(),
                    edit["after_hash"].is_string(),
                )
            })
            .collect()
    };
    let applied = events(&[
        begun.clone(),
        ended(
            true,
            "Success. Updated the following files:\nA a.txt\nM b.txt\nD d.txt\n",
        ),
    ]);
    assert_eq!(
        ops(&applied),
        [
            ("create".to_owned(), true),
            ("update".to_owned(), true),
            ("delete".to_owned(), false)
        ]
    );
    let twice = events(&[
        begun.clone(),
        ended(
            true,
            "Success. Updated the following files:\nA a.txt\nM b.txt\nM b.txt\nD d.txt\n",
        ),
    ]);
    assert_eq!(
        ops(&twice)[1],
        ("update".to_owned(), false),
        "only one of two changes is listed"
    );
    assert!(ops(&events(&[begun, ended(false, "")])).is_empty());
}

/// The events of a session with their order in it in place of their numbers and lines.
fn of_session(tape: &str, id: &str) -> Vec<Value> {
    let events = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own: Vec<Value> = events
        .filter(|event| {
            event["source"]["session_id"] == id
                && event["label"] != "tape.start"
                && event["label"] != "tape.stop"
        })
        .collect();
    let place = |seq: &Value| own.iter().position(|event| event["seq"] == *seq);
    let fact = |event: &Value| {
        json!([
            event["k"],
            event["call_id"],
            event["text"],
            event["stdout"],
            event["file"],
            place(&event["parent"])
        ])
    };
    own.iter().map(fact).collect()
}

#[test]
fn runs_that_are_printed_one_after_the_other_are_sessions_of_their_own() {
    let fixtures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/codex/0.169.0");
    let runs = ["exec-json", "exec-json-mcp"].map(|name| {
        std::fs::read_to_string(fixtures.join(name).join("session/run0.jsonl")).unwrap()
    });
    let tape = |log: &str| {
        convert_str(
            &Codex,
            log,
            &Options {
                policy: Policy::Strict,
                ..Options::default()
            },
        )
        .unwrap()
    };
    let both = tape(&runs.concat());
    for run in &runs {
        let started: Value = serde_json::from_str(run.lines().next().unwrap()).unwrap();
        let id = started["thread_id"].as_str().unwrap();
        let alone = of_session(&tape(run), id);
        assert!(!alone.is_empty());
        assert_eq!(of_session(&both, id), alone, "{id}");
    }
}
