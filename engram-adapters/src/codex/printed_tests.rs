//! What `exec --json` prints, up to 0.42 as events of the protocol: lines that no fixture has.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;
use super::tests::{of_kind, system_events};

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

#[test]
fn what_exec_prints_is_converted() {
    let item = |stage: &str, item: Value| json!({"type": format!("item.{stage}"), "item": item});
    let todo = |done: bool| json!({"id": "item_0", "type": "todo_list", "items": [{"text": "look at it", "completed": done}]});
    let change = json!({"id": "item_2", "type": "file_change", "changes": [{"path": "/p/a b.txt", "kind": "add"}], "status": "completed"});
    let lines = [
        json!({"type": "thread.started", "thread_id": "t 1"}),
        json!({"type": "turn.started"}),
        item("started", todo(false)),
        item("updated", todo(true)),
        item("completed", todo(true)),
        item(
            "started",
            json!({"id": "item_1", "type": "command_execution", "command": "ls -l", "aggregated_output": "", "exit_code": null, "status": "in_progress"}),
        ),
        item(
            "completed",
            json!({"id": "item_1", "type": "command_execution", "command": "ls -l", "aggregated_output": "no such file", "exit_code": 2, "status": "failed"}),
        ),
        item("completed", change),
        item(
            "completed",
            json!({"id": "item_3", "type": "agent_message", "text": "It is done."}),
        ),
        json!({"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}}),
        json!({"type": "error", "message": "stream lost"}),
    ];
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let log = log.replacen(
        r#"{"thread_id":"t 1","type":"thread.started"}"#,
        r#"{"type":"thread.started","thread_id":"t 1"}"#,
        1,
    );
    let options = Options {
        policy: Policy::Permissive,
        ..Options::default()
    };
    let tape = convert_str(&Codex, &log, &options).unwrap();
    let report = audit(log.as_bytes(), &tape, Codex.describe()).unwrap();
    assert_eq!(
        (report.left_over.bytes, report.leaves.left_over),
        (0, 0),
        "{report:?}"
    );
    let spaced = convert_str(
        &Codex,
        &log.replace("\"items\":[{", "\"items\": [ {"),
        &options,
    )
    .unwrap();
    let lists = |tape: &str| {
        tape.lines()
            .filter(|line| line.contains("\"name\":\"todo_list\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lists(&spaced),
        lists(&tape),
        "white space of the JSON is no text"
    );
    assert!(report.disagreements.is_empty(), "{report:?}");
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (
            &events[0]["harness"]["schema"],
            &events[0]["source"]["session_id"]
        ),
        (&json!("exec-json"), &json!("t 1"))
    );
    assert_eq!(events.last().unwrap()["ledger"]["unrecognized"], 0);
    assert_eq!(system_events(&events).len(), 2);
    let results = of_kind(&events, "tool.result");
    assert_eq!(
        (
            &results[0]["status"],
            &results[0]["exit"],
            &results[0]["stdout"]
        ),
        (&json!("error"), &json!(2), &json!("no such file"))
    );
    let edit = of_kind(&events, "code.edit")[0];
    assert_eq!(
        (&edit["file"], &edit["op"], &edit["parent"]),
        (
            &json!("/p/a b.txt"),
            &json!("create"),
            &of_kind(&events, "tool.call")[1]["seq"]
        )
    );
    assert!(events.iter().all(|event| event["label"] != "usage"));
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
}
