//! Records of real sessions that no fixture has.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::error::ErrorCode;
use engram_core::head::Head;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;

pub(super) const VERSION: &str = "0.142.5";

pub(super) fn line(number: usize, kind: &str, payload: Value) -> Value {
    json!({"timestamp": format!("2026-01-01T00:00:{number:02}.000Z"), "type": kind, "payload": payload})
}

/// A session of these lines (type and payload of each) after a header with these facts.
pub(super) fn session_with(facts: Value, lines: &[(&str, Value)]) -> String {
    let mut meta = json!({"id": "s", "cwd": "/p", "originator": "codex_cli_rs", "cli_version": VERSION, "source": "cli"});
    meta.as_object_mut()
        .unwrap()
        .extend(facts.as_object().unwrap().clone());
    let header = line(0, "session_meta", meta);
    let rest = lines
        .iter()
        .enumerate()
        .map(|(number, (kind, payload))| line(number + 1, kind, payload.clone()));
    std::iter::once(header)
        .chain(rest)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The events of a session. Fails if any text of the session is not accounted for.
pub(super) fn events_of(log: &str) -> Vec<Value> {
    let options = Options {
        policy: Policy::Strict,
        ..Options::default()
    };
    let tape = convert_str(&Codex, log, &options).expect("the session converts");
    let report = audit(log.as_bytes(), &tape, Codex.describe()).expect("the tape is valid");
    assert_eq!(report.left_over.bytes, 0, "{report:?}");
    assert!(report.disagreements.is_empty(), "{report:?}");
    tape.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) fn events(lines: &[(&str, Value)]) -> Vec<Value> {
    events_of(&session_with(json!({}), lines))
}

pub(super) fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["k"] == kind).collect()
}

pub(super) fn system_events(events: &[Value]) -> Vec<(&str, &str)> {
    let system = events.iter().filter(|event| event["label"] == "system");
    system
        .map(|event| {
            (
                event["name"].as_str().unwrap(),
                event["text"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}

pub(super) fn by_and_text(events: &[Value]) -> Vec<(&str, &str)> {
    let inputs = events.iter().filter(|event| event["k"] == "msg.in");
    inputs
        .map(|event| {
            (
                event["by"].as_str().unwrap(),
                event["text"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}

pub(super) fn sent(text: &str) -> (&'static str, Value) {
    event(json!({"type": "user_message", "message": text, "images": []}))
}

pub(super) fn item(item: Value) -> (&'static str, Value) {
    event(json!({"type": "item_completed", "item": item}))
}

pub(super) fn message(role: &str, text: &str) -> (&'static str, Value) {
    let kind = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    (
        "response_item",
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
    )
}

pub(super) fn event(payload: Value) -> (&'static str, Value) {
    ("event_msg", payload)
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> (&'static str, Value) {
    (
        "response_item",
        json!({"type": "function_call", "name": name, "call_id": id, "arguments": arguments}),
    )
}

pub(super) fn output(id: &str, text: &str) -> (&'static str, Value) {
    (
        "response_item",
        json!({"type": "function_call_output", "call_id": id, "output": text}),
    )
}

#[test]
fn review_mode_gives_system_events() {
    let target = json!({"type": "custom", "instructions": "look at the tests"});
    let review = json!({"findings": [{"title": "No test", "body": "Nothing tests it."}], "overall_explanation": "It has no test."});
    let events = events(&[
        event(
            json!({"type": "entered_review_mode", "target": target, "user_facing_hint": "the tests"}),
        ),
        event(json!({"type": "exited_review_mode", "review_output": review})),
        message(
            "assistant",
            "It has no test.\n\n- No test: Nothing tests it.",
        ),
        message(
            "user",
            "<user_action>\n  <action>review</action>\n</user_action>",
        ),
        message(
            "user",
            "<recommended_plugins>\n  none\n</recommended_plugins>",
        ),
    ]);
    assert_eq!(
        system_events(&events),
        [
            ("entered_review_mode", "the tests"),
            ("exited_review_mode", "")
        ]
    );
    let inputs: Vec<(&str, &str)> = by_and_text(&events);
    assert_eq!(inputs[0], ("person", "look at the tests"));
    assert!(inputs[1..].iter().all(|(by, _)| *by == "harness"));
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
}

#[test]
fn agent_activity_is_a_child_of_its_call() {
    let spawned = json!({"type": "collab_agent_spawn_end", "call_id": "c1", "new_thread_id": "t", "prompt": "look at it", "status": "pending_init"});
    let done = json!({"t": {"completed": "I have looked at it."}});
    let waited = json!({"type": "collab_waiting_end", "call_id": "c2", "statuses": done, "agent_statuses": [{"status": done["t"]}]});
    let events = events(&[
        call("c1", "spawn_agent", "{\"message\":\"look at it\"}"),
        event(spawned),
        call("c2", "wait_agent", "{}"),
        event(waited),
        output(
            "c2",
            "{\"status\":{\"t\":{\"completed\":\"I have looked at it.\"}}}",
        ),
        event(
            json!({"type": "sub_agent_activity", "event_id": "c1", "agent_thread_id": "t", "agent_path": "/root/a", "kind": "started"}),
        ),
        (
            "response_item",
            json!({"type": "agent_message", "author": "/root/a", "content": [{"type": "encrypted_content", "encrypted_content": "x".repeat(80)}]}),
        ),
    ]);
    let expected = [
        ("collab_agent_spawn_end", "t"),
        ("collab_waiting_end", ""),
        ("sub_agent_activity.started", "t"),
        ("agent_message", "/root/a"),
    ];
    assert_eq!(system_events(&events), expected);
    let spawn = of_kind(&events, "tool.call")[0]["seq"].clone();
    assert!(
        events
            .iter()
            .any(|event| event["name"] == "collab_agent_spawn_end" && event["parent"] == spawn)
    );
}

#[test]
fn words_of_another_agent_have_no_envelope() {
    let envelope = "Message Type: MESSAGE\nTask name: /root\nSender: /root/a\nPayload:\n";
    let sent = |content: Value| {
        (
            "response_item",
            json!({"type": "agent_message", "author": "/root/a", "content": content}),
        )
    };
    let part = |text: &str| json!({"type": "input_text", "text": text});
    let sealed = json!({"type": "encrypted_content", "encrypted_content": "x".repeat(80)});
    let events = events(&[
        sent(json!([part(&format!(
            "{envelope}I am done.\nPayload:\nnone"
        ))])),
        sent(json!([part(envelope), sealed])),
        sent(json!([part("Message Type: none")])),
    ]);
    let texts = |kind: &str| -> Vec<Value> {
        of_kind(&events, kind)
            .iter()
            .map(|event| event["text"].clone())
            .collect()
    };
    assert_eq!(
        texts("msg.in"),
        ["I am done.\nPayload:\nnone", "Message Type: none"]
    );
    assert!(
        of_kind(&events, "msg.in")
            .iter()
            .all(|event| event["by"] == "agent")
    );
    assert_eq!(
        texts("meta")
            .iter()
            .filter(|text| **text == *envelope)
            .count(),
        2
    );
}

#[test]
fn answer_with_citations_is_not_repeated() {
    let entry = json!({"path": "MEMORY.md", "line_start": 3, "line_end": 5, "note": "how we fold"});
    let answer = "Fold it.\n\n<oai-mem-citation>\n<citation_entries>\nMEMORY.md:3-5|note=[how we fold]\n</citation_entries>\n</oai-mem-citation>";
    let events = events(&[
        event(
            json!({"type": "agent_message", "message": "Fold it.\n\n", "memory_citation": {"entries": [entry]}}),
        ),
        message("assistant", answer),
        event(json!({"type": "task_complete", "last_agent_message": "Fold it.\n\n"})),
    ]);
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
    assert_eq!(
        system_events(&events),
        [("memory_citation", "MEMORY.md:3-5: how we fold")]
    );
}

#[test]
fn desktop_client_header_and_settings_are_converted() {
    let tools =
        json!([{"name": "automation_update", "description": "Makes or changes an automation."}]);
    let helper = json!({"subagent": {"other": "guardian"}});
    let facts = json!({"originator": "Codex Desktop", "dynamic_tools": tools, "source": helper});
    let profile = json!({"file_system": {"entries": [{"path": {"path": "/a path/of it"}}]}});
    let settings = json!({"model": "m", "cwd": "/p", "permission_profile": profile});
    let turn = json!({"model": "m", "cwd": "/p", "workspace_roots": ["/a path/of it"], "permission_profile": profile, "file_system_sandbox_policy": profile["file_system"]});
    let snapshot = json!({"id": "1", "preexisting_untracked_files": ["a file"]});
    let log = session_with(
        facts,
        &[
            ("turn_context", turn),
            event(json!({"type": "thread_settings_applied", "thread_settings": settings})),
            (
                "response_item",
                json!({"type": "ghost_snapshot", "ghost_commit": snapshot}),
            ),
            message("user", "Judge this call."),
        ],
    );
    let events = events_of(&log);
    assert!(
        events
            .iter()
            .any(|event| event["label"] == "context" && event["name"] == "tools")
    );
    assert!(
        events
            .iter()
            .any(|event| event["label"] == "session" && event["agent"] == "guardian")
    );
    assert_eq!(of_kind(&events, "msg.in")[0]["by"], "harness");
}

#[test]
fn goals_undo_and_errors_give_events_and_image_views_do_not() {
    let goal = json!({"objective": "keep it green", "status": "active", "tokensUsed": 0});
    let events = events(&[
        event(json!({"type": "thread_goal_updated", "threadId": "t", "goal": goal})),
        event(json!({"type": "undo_completed", "success": true, "message": "Two files are back."})),
        call("c1", "view_image", "{\"path\":\"/p/a b.png\"}"),
        event(json!({"type": "view_image_tool_call", "call_id": "c1", "path": "/p/a b.png"})),
        output("c1", "attached local image path"),
        event(
            json!({"type": "error", "message": "It is too long.", "codex_error_info": "context_window_exceeded"}),
        ),
    ]);
    assert_eq!(
        system_events(&events),
        [
            ("thread_goal.active", "keep it green"),
            ("undo_completed", "Two files are back.")
        ]
    );
    assert_eq!(of_kind(&events, "tool.call").len(), 1);
    assert!(
        events
            .iter()
            .any(|event| event["label"] == "error" && event["code"] == "context_window_exceeded")
    );
}

#[test]
fn header_on_a_shared_line_is_found() {
    let prompt = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]});
    let log = session_with(json!({}), &[("response_item", prompt)]);
    for log in [log.clone(), log.replacen("\n", "", 1)] {
        let tape = convert_str(&Codex, &log, &Options::default()).unwrap();
        let start: Value = serde_json::from_str(tape.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&start["harness"]["version"], &start["source"]["session_id"]),
            (&VERSION.into(), &"s".into()),
            "{log}"
        );
    }
}

#[test]
fn image_tags_are_synthetic_messages() {
    let parts = [
        "Look at this.",
        "<image>",
        "<image name=[Image #1]>",
        "</image>",
    ]
    .map(|text| json!({"type": "input_text", "text": text}));
    let events = events(&[(
        "response_item",
        json!({"type": "message", "role": "user", "content": parts}),
    )]);
    let synthetic: Vec<bool> = of_kind(&events, "msg.in")
        .iter()
        .map(|event| event["by"] != "person")
        .collect();
    assert_eq!(synthetic, [false, true, true, true]);
}

#[test]
fn instructions_in_the_header_of_a_document_have_its_pointer() {
    let item = json!({"role": "user", "content": [{"type": "input_text", "text": "go"}], "type": "message"});
    let header =
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "id": "s", "instructions": "be brief"});
    let document = format!(r#"{{"session":{header},"items":[{item}]}}"#);
    // The document has no version.
    let options = Options {
        policy: Policy::Permissive,
        ..Options::default()
    };
    let tape = convert_str(&Codex, &document, &options).unwrap();
    let events: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let context = events
        .iter()
        .find(|event| event["label"] == "context")
        .unwrap();
    assert_eq!(
        (&context["text"], &context["origin"]["pointer"]),
        (&json!("be brief"), &json!("/session/instructions"))
    );
}

/// Synthetic: the header is that of public readers' tests for TRAE CLI 0.201.4, whose program is closed.
#[test]
fn a_rollout_of_trae_is_not_codex() {
    let facts = |provider: &str| json!({"model_provider": provider, "originator": "codex-tui"});
    let line = (
        "event_msg",
        json!({"type": "user_message", "message": "Hello."}),
    );
    let detect = |provider: &str| {
        let log = session_with(facts(provider), std::slice::from_ref(&line));
        let found = crate::detect(&Head::new(log.as_bytes(), true));
        found
            .map(|(registration, _)| registration.id())
            .map_err(|error| error.code)
    };
    assert_eq!(detect("openai"), Ok("codex"));
    assert_eq!(detect("trae"), Err(ErrorCode::UnknownHarness));
}
