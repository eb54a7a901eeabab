//! Records of real sessions that no fixture has.

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::audit;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::Codex;

const VERSION: &str = "0.142.5";

fn line(number: usize, kind: &str, payload: Value) -> Value {
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
fn web_search_in_event_and_item_is_one_call() {
    let action = json!({"type": "search", "query": "how to fold", "queries": ["how to fold", "how to fold paper"]});
    let result = json!({"type": "text_result", "title": "Folding paper", "url": "https://e.invalid/fold", "snippet": "Fold it once."});
    let events = events(&[
        event(
            json!({"type": "web_search_end", "call_id": "ws_1", "query": "how to fold ...", "action": action, "results": [result]}),
        ),
        (
            "response_item",
            json!({"type": "web_search_call", "status": "completed", "action": action}),
        ),
        (
            "response_item",
            json!({"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": "u"}}),
        ),
    ]);
    let calls = of_kind(&events, "tool.call");
    assert_eq!(
        calls.iter().map(|call| &call["kind"]).collect::<Vec<_>>(),
        ["web_search", "web_search"]
    );
    assert_eq!(
        (&calls[0]["call_id"], &calls[0]["args"]),
        (&json!("ws_1"), &action)
    );
    assert_eq!(calls[1]["call_id"], "ws_2");
    let results = of_kind(&events, "tool.result");
    assert_eq!(
        results[0]["stdout"],
        "Folding paper\nhttps://e.invalid/fold\nFold it once."
    );
    assert_eq!((results.len(), &results[1]["status"]), (2, &json!("ok")));
}

#[test]
fn web_search_event_of_a_tool_call_is_a_duplicate() {
    let search = json!({"type": "web_search_end", "call_id": "c1", "query": "a b", "action": {"type": "search", "query": "a b"}, "results": [{"title": "A page"}]});
    let shown = item(
        json!({"type": "WebSearch", "id": "c1", "query": "a b", "action": {"type": "search", "query": "a b"}}),
    );
    let events = events(&[
        call("c1", "run", "{\"q\":\"a b\"}"),
        event(search),
        shown,
        output("c1", "A page"),
    ]);
    assert_eq!(
        (
            of_kind(&events, "tool.call").len(),
            of_kind(&events, "tool.result").len()
        ),
        (1, 1)
    );
}

#[test]
fn a_sleep_on_the_screen_is_that_of_the_call_of_its_tool() {
    let slept = |id: &str| item(json!({"type": "Sleep", "id": id, "duration_ms": 5}));
    let of_tool = |tool| events(&[call("c1", tool, "{}"), slept("c1"), output("c1", "done")]);
    assert_eq!(of_kind(&of_tool("sleep"), "tool.call").len(), 1);
    assert_eq!(of_kind(&of_tool("run"), "tool.call").len(), 2);
}

#[test]
fn generated_image_in_event_and_item_is_one_result() {
    let image = |kind: &str, id: &str| json!({"type": kind, id: "ig_1", "status": "completed", "revised_prompt": "a red fox", "result": "Zm94"});
    let events = events(&[
        event(image("image_generation_end", "call_id")),
        ("response_item", image("image_generation_call", "id")),
    ]);
    let results = of_kind(&events, "tool.result");
    assert_eq!(
        (results.len(), &results[0]["stdout"]),
        (1, &json!("a red fox"))
    );
    assert_eq!(results[0]["attachments"][0]["bytes"], 3);
}

#[test]
fn approval_review_is_a_permission() {
    let review = |status: &str| {
        json!({"type": "guardian_assessment", "id": "g", "target_item_id": "c1", "status": status, "rationale": "It only reads files.",
            "action": {"type": "command", "command": "/bin/sh -c \"ls -la\""}})
    };
    let (begun, denied) = (review("in_progress"), review("denied"));
    let events = events(&[
        call("c1", "exec_command", "{\"cmd\":\"ls -la\"}"),
        event(begun),
        event(denied),
        output("c1", "no"),
    ]);
    let permissions: Vec<&Value> = events
        .iter()
        .filter(|event| event["label"] == "permission")
        .collect();
    assert_eq!(permissions.len(), 1);
    assert_eq!(
        (&permissions[0]["decision"], &permissions[0]["tool"]),
        (&json!("deny"), &json!("exec_command"))
    );
    assert_eq!(
        (&permissions[0]["call_id"], &permissions[0]["text"]),
        (&json!("c1"), &json!("It only reads files."))
    );
    let alone = json!({"type": "guardian_assessment", "status": "approved", "action": {"type": "network_access", "host": "e.invalid"}});
    assert_eq!(
        system_events(&self::events(&[event(alone)])),
        [(
            "guardian_assessment",
            r#"{"host":"e.invalid","type":"network_access"}"#
        )]
    );
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
fn patch_without_changes_gives_no_edit() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a b\n+a b\n*** End Patch";
    let done = "Success. Updated the following files:\nM a.txt\n";
    let changes = json!({"/p/a.txt": {"type": "update", "unified_diff": "", "move_path": null}});
    let events = events(&[
        (
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch}),
        ),
        event(
            json!({"type": "patch_apply_end", "call_id": "c1", "stdout": done, "success": true, "changes": changes, "status": "completed"}),
        ),
        (
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "c1", "output": format!("Exit code: 0\nOutput:\n{done}")}),
        ),
    ]);
    assert_eq!(
        (
            of_kind(&events, "code.edit").len(),
            of_kind(&events, "tool.result").len()
        ),
        (0, 1)
    );
}

#[test]
fn a_file_that_is_moved_onto_itself_is_deleted() {
    let patch =
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: a.txt\n@@\n-a\n+b\n*** End Patch";
    let call = (
        "response_item",
        json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch}),
    );
    let end = |moved: &str| {
        let changes = json!({"/p/a.txt": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": moved}});
        event(
            json!({"type": "patch_apply_end", "call_id": "c1", "stdout": "", "success": true, "changes": changes, "status": "completed"}),
        )
    };
    let ops = |moved: &str| -> Vec<Value> {
        let events = events(&[call.clone(), end(moved)]);
        of_kind(&events, "code.edit")
            .iter()
            .map(|edit| json!([edit["op"], edit["file"]]))
            .collect()
    };
    assert_eq!(ops("/p/a.txt"), [json!(["delete", "/p/a.txt"])]);
    assert_eq!(
        ops("/p/b.txt"),
        [json!(["move", "/p/a.txt"]), json!(["update", "/p/b.txt"])]
    );
}

#[test]
fn truncated_end_event_is_a_duplicate_of_the_output() {
    let middle = "m".repeat(500);
    let full = format!("Chunk ID: a\nProcess exited with code 0\nOutput:\nhead {middle} tail");
    let truncated = "head …500 chars truncated… tail";
    let ended = json!({"type": "exec_command_end", "call_id": "c1", "aggregated_output": truncated, "exit_code": 0, "duration": {"secs": 1, "nanos": 0}});
    let events = events(&[
        call("c1", "exec_command", "{\"cmd\":\"x\"}"),
        event(ended),
        output("c1", &full),
    ]);
    assert_eq!(system_events(&events), []);
    assert_eq!(of_kind(&events, "tool.result")[0]["duration_ms"], 1000);
}

#[test]
fn an_output_that_was_cut_to_be_saved_is_truncated() {
    let mark = "\n... command output truncated for persistence ...\n";
    let (start, end) = ("1\n".repeat(16_000), "2\n".repeat(16_000));
    let ended = |text: &str| json!({"type": "exec_command_end", "call_id": "c1", "aggregated_output": text, "exit_code": 0});
    for (text, expected) in [
        (format!("{start}{mark}{end}"), json!(true)),
        (mark.to_owned(), Value::Null),
        (start + &end, Value::Null),
    ] {
        let events = events(&[
            call("c1", "exec_command", "{\"cmd\":\"x\"}"),
            event(ended(&text)),
        ]);
        assert_eq!(of_kind(&events, "tool.result")[0]["truncated"], expected);
    }
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
fn client_tool_call_in_item_and_events_is_one_call() {
    let request = json!({"type": "dynamic_tool_call_request", "callId": "c1", "turnId": "t", "tool": "open_page", "arguments": {"page": "the first one"}});
    let done = json!({"type": "dynamic_tool_call_response", "call_id": "c1", "tool": "open_page", "arguments": {"page": "the first one"},
        "content_items": [{"type": "inputText", "text": "page one is open"}], "success": true, "error": null, "duration": {"secs": 2, "nanos": 0}});
    let events = events(&[
        call("c1", "open_page", "{\"page\":\"the first one\"}"),
        event(request.clone()),
        event(done.clone()),
        output("c1", "page one is open"),
    ]);
    let results = of_kind(&events, "tool.result");
    assert_eq!((of_kind(&events, "tool.call").len(), results.len()), (1, 1));
    assert_eq!(
        (&results[0]["status"], &results[0]["duration_ms"]),
        (&json!("ok"), &json!(2000))
    );
    let alone = events_of(&session_with(json!({}), &[event(request), event(done)]));
    assert_eq!(of_kind(&alone, "tool.call")[0]["tool"], "open_page");
    assert_eq!(
        of_kind(&alone, "tool.result")[0]["stdout"],
        "page one is open"
    );
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
fn web_search_records_on_one_line_are_one_call() {
    let action = json!({"type": "search", "query": "how to fold paper"});
    let log = session_with(
        json!({}),
        &[
            (
                "event_msg",
                json!({"type": "web_search_end", "call_id": "ws_1", "query": "how to fold paper", "action": action}),
            ),
            (
                "response_item",
                json!({"type": "web_search_call", "status": "completed", "action": action}),
            ),
        ],
    );
    for log in [
        log.clone(),
        log.replace("}\n{", "}{"),
        log.replace('\n', "\n\n"),
    ] {
        let calls = events_of(&log)
            .iter()
            .filter(|event| event["k"] == "tool.call")
            .count();
        assert_eq!(calls, 1, "{log}");
    }
}

#[test]
fn repeated_own_header_does_not_start_a_replay() {
    let mine = "01a1fda5-4307-7000-bbe5-da9ea7a40358";
    let again = |id: &str, branch: &str| {
        let git = json!({"branch": branch});
        json!({"id": id, "cwd": "/p", "cli_version": VERSION, "source": "cli", "originator": "codex_cli_rs", "git": git, "memory_mode": "enabled"})
    };
    let log = session_with(
        json!({"id": mine, "git": {"branch": "main"}}),
        &[
            ("session_meta", again(mine, "main")),
            message("assistant", "It is mine."),
            ("session_meta", again(mine, "other")),
            message("assistant", "It is mine too."),
            (
                "session_meta",
                again("01a1fda5-0000-7000-bbe5-da9ea7a40358", "main"),
            ),
            message("assistant", "It is the parent's."),
            ("session_meta", again(mine, "other")),
            message("assistant", "It is mine again."),
        ],
    );
    let events = events_of(&log);
    let answers: Vec<bool> = of_kind(&events, "msg.out")
        .iter()
        .map(|answer| answer["replay"] == true)
        .collect();
    assert_eq!(answers, [false, false, true, false]);
    let branches: Vec<&Value> = events
        .iter()
        .filter(|event| event["label"] == "session")
        .map(|event| &event["repo_branch"])
        .collect();
    assert_eq!(branches, ["main", "other", "main"]);
}

#[test]
fn structured_mcp_answer_is_the_result_and_its_plain_text_a_system_event() {
    let done = |id: &str, text: &str| {
        let answer = json!({"content": [{"type": "text", "text": text}], "structuredContent": {"title": "fold it twice"}, "isError": false});
        event(
            json!({"type": "mcp_tool_call_end", "call_id": id, "invocation": {"server": "m", "tool": "look", "arguments": {}},
            "duration": {"secs": 0, "nanos": 0}, "result": {"Ok": answer}}),
        )
    };
    let structured = r#"{"title":"fold it twice"}"#;
    let events = events(&[
        call("c1", "look", "{}"),
        done("c1", "It is done."),
        output(
            "c1",
            &format!("Wall time: 1.0 seconds\nOutput:\n{structured}"),
        ),
        done("nested", "It is done."),
        done("the same", structured),
    ]);
    let outputs: Vec<&str> = of_kind(&events, "tool.result")
        .iter()
        .map(|result| result["stdout"].as_str().unwrap())
        .collect();
    assert_eq!(
        outputs,
        [
            &format!("Wall time: 1.0 seconds\nOutput:\n{structured}"),
            structured,
            structured
        ]
    );
    assert_eq!(
        system_events(&events),
        [("mcp_tool_call_end", "It is done."); 2]
    );
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
fn replay_without_thread_time_ends_at_a_pause() {
    let id = |last: &str| format!("7803e6bd-9e47-4d44-bca1-44735c92b{last}");
    let parent = json!({"id": id("705"), "cwd": "/p", "cli_version": VERSION, "source": "cli"});
    let (kind, answer) = message("assistant", "It is the parent's.");
    let at = |number: usize, millis: usize, kind: &str, payload: &Value| {
        let mut line = line(number, kind, payload.clone());
        line["timestamp"] = json!(format!("2026-01-01T00:00:{number:02}.{millis:03}Z"));
        format!("{line}\n")
    };
    let header = session_with(json!({"id": id("701")}), &[]);
    let copy =
        at(5, 990, "session_meta", &parent) + &at(5, 999, kind, &answer) + &at(6, 2, kind, &answer);
    let events = events_of(&(header + &copy + &at(9, 0, kind, &answer) + &at(9, 1, kind, &answer)));
    let replayed: Vec<bool> = of_kind(&events, "msg.out")
        .iter()
        .map(|answer| answer["replay"] == true)
        .collect();
    assert_eq!(replayed, [true, true, false, false]);
}

#[test]
fn exit_code_of_the_end_event_outranks_that_of_the_output() {
    let end = json!({"type": "exec_command_end", "call_id": "c1", "aggregated_output": "no", "exit_code": 3,
        "duration": {"secs": 1, "nanos": 0}});
    let text = "Chunk ID: a\nWall time: 2.0 seconds\nProcess exited with code 7\nOutput:\nno";
    let events = events(&[
        call("c1", "exec_command", "{\"cmd\":\"x\"}"),
        event(end),
        output("c1", text),
    ]);
    let results = of_kind(&events, "tool.result");
    assert_eq!(
        (
            results.len(),
            &results[0]["exit"],
            &results[0]["duration_ms"]
        ),
        (1, &json!(3), &json!(1000))
    );
    let alone = self::events(&[
        call("c1", "exec_command", "{\"cmd\":\"x\"}"),
        output("c1", text),
    ]);
    assert_eq!(of_kind(&alone, "tool.result")[0]["exit"], 7);
}

#[test]
fn instructions_in_the_header_of_a_document_have_its_pointer() {
    let item = json!({"role": "user", "content": [{"type": "input_text", "text": "go"}], "type": "message"});
    let header =
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "id": "s", "instructions": "be brief"});
    let document = format!(r#"{{"session":{header},"items":[{item}]}}"#);
    // The document states no version.
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
