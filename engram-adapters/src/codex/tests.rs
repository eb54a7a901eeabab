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
fn session_with(facts: Value, lines: &[(&str, Value)]) -> String {
    let mut meta = json!({"id": "s", "cwd": "/p", "originator": "codex_cli_rs", "cli_version": VERSION, "source": "cli"});
    meta.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    let header = line(0, "session_meta", meta);
    let rest = lines.iter().enumerate().map(|(number, (kind, payload))| line(number + 1, kind, payload.clone()));
    std::iter::once(header).chain(rest).map(|line| format!("{line}\n")).collect()
}

/// The events of a session. Fails if any text of the session is not accounted for.
fn events_of(log: &str) -> Vec<Value> {
    let options = Options { policy: Policy::Strict, ..Options::default() };
    let tape = convert_str(&Codex, log, &options).expect("the session converts");
    let report = audit(log.as_bytes(), &tape, Codex.describe()).expect("the tape is valid");
    assert_eq!(report.left_over.bytes, 0, "{report:?}");
    assert!(report.disagreements.is_empty(), "{report:?}");
    tape.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events(lines: &[(&str, Value)]) -> Vec<Value> {
    events_of(&session_with(json!({}), lines))
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["k"] == kind).collect()
}

fn system_events(events: &[Value]) -> Vec<(&str, &str)> {
    let system = events.iter().filter(|event| event["label"] == "system");
    system.map(|event| (event["name"].as_str().unwrap(), event["text"].as_str().unwrap_or_default())).collect()
}

fn by_and_text(events: &[Value]) -> Vec<(&str, &str)> {
    let inputs = events.iter().filter(|event| event["k"] == "msg.in");
    inputs.map(|event| (event["by"].as_str().unwrap(), event["text"].as_str().unwrap_or_default())).collect()
}

fn sent(text: &str) -> (&'static str, Value) {
    event(json!({"type": "user_message", "message": text, "images": []}))
}

fn item(item: Value) -> (&'static str, Value) {
    event(json!({"type": "item_completed", "item": item}))
}

fn message(role: &str, text: &str) -> (&'static str, Value) {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    ("response_item", json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn event(payload: Value) -> (&'static str, Value) {
    ("event_msg", payload)
}

fn call(id: &str, name: &str, arguments: &str) -> (&'static str, Value) {
    ("response_item", json!({"type": "function_call", "name": name, "call_id": id, "arguments": arguments}))
}

fn output(id: &str, text: &str) -> (&'static str, Value) {
    ("response_item", json!({"type": "function_call_output", "call_id": id, "output": text}))
}

#[test]
fn web_search_in_event_and_item_is_one_call() {
    let action = json!({"type": "search", "query": "how to fold", "queries": ["how to fold", "how to fold paper"]});
    let result = json!({"type": "text_result", "title": "Folding paper", "url": "https://e.invalid/fold", "snippet": "Fold it once."});
    let events = events(&[
        event(json!({"type": "web_search_end", "call_id": "ws_1", "query": "how to fold ...", "action": action, "results": [result]})),
        ("response_item", json!({"type": "web_search_call", "status": "completed", "action": action})),
        (
            "response_item",
            json!({"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": "u"}}),
        ),
    ]);
    let calls = of_kind(&events, "tool.call");
    assert_eq!(calls.iter().map(|call| &call["kind"]).collect::<Vec<_>>(), ["web_search", "web_search"]);
    assert_eq!((&calls[0]["call_id"], &calls[0]["args"]), (&json!("ws_1"), &action));
    assert_eq!(calls[1]["call_id"], "ws_2");
    let results = of_kind(&events, "tool.result");
    assert_eq!(results[0]["stdout"], "Folding paper\nhttps://e.invalid/fold\nFold it once.");
    assert_eq!((results.len(), &results[1]["status"]), (2, &json!("ok")));
}

#[test]
fn web_search_event_of_a_tool_call_is_a_duplicate() {
    let search = json!({"type": "web_search_end", "call_id": "c1", "query": "a b", "action": {"type": "search", "query": "a b"}, "results": [{"title": "A page"}]});
    let shown = item(json!({"type": "WebSearch", "id": "c1", "query": "a b", "action": {"type": "search", "query": "a b"}}));
    let slept = item(json!({"type": "Sleep", "id": "c1", "duration_ms": 5}));
    let events = events(&[call("c1", "run", "{\"q\":\"a b\"}"), event(search), shown, slept, output("c1", "A page")]);
    assert_eq!((of_kind(&events, "tool.call").len(), of_kind(&events, "tool.result").len()), (1, 1));
}

#[test]
fn generated_image_in_event_and_item_is_one_result() {
    let image =
        |kind: &str, id: &str| json!({"type": kind, id: "ig_1", "status": "completed", "revised_prompt": "a red fox", "result": "Zm94"});
    let events = events(&[event(image("image_generation_end", "call_id")), ("response_item", image("image_generation_call", "id"))]);
    let results = of_kind(&events, "tool.result");
    assert_eq!((results.len(), &results[0]["stdout"]), (1, &json!("a red fox")));
    assert_eq!(results[0]["attachments"][0]["bytes"], 3);
}

#[test]
fn approval_review_is_a_permission() {
    let review = |status: &str| {
        json!({"type": "guardian_assessment", "id": "g", "target_item_id": "c1", "status": status, "rationale": "It only reads files.",
            "action": {"type": "command", "command": "/bin/sh -c \"ls -la\""}})
    };
    let (begun, denied) = (review("in_progress"), review("denied"));
    let events = events(&[call("c1", "exec_command", "{\"cmd\":\"ls -la\"}"), event(begun), event(denied), output("c1", "no")]);
    let permissions: Vec<&Value> = events.iter().filter(|event| event["label"] == "permission").collect();
    assert_eq!(permissions.len(), 1);
    assert_eq!((&permissions[0]["decision"], &permissions[0]["tool"]), (&json!("deny"), &json!("exec_command")));
    assert_eq!((&permissions[0]["call_id"], &permissions[0]["text"]), (&json!("c1"), &json!("It only reads files.")));
    let alone = json!({"type": "guardian_assessment", "status": "approved", "action": {"type": "network_access", "host": "e.invalid"}});
    assert_eq!(system_events(&self::events(&[event(alone)])), [("guardian_assessment", r#"{"host":"e.invalid","type":"network_access"}"#)]);
}

#[test]
fn review_mode_gives_system_events() {
    let target = json!({"type": "custom", "instructions": "look at the tests"});
    let review = json!({"findings": [{"title": "No test", "body": "Nothing tests it."}], "overall_explanation": "It has no test."});
    let events = events(&[
        event(json!({"type": "entered_review_mode", "target": target, "user_facing_hint": "the tests"})),
        event(json!({"type": "exited_review_mode", "review_output": review})),
        message("assistant", "It has no test.\n\n- No test: Nothing tests it."),
        message("user", "<user_action>\n  <action>review</action>\n</user_action>"),
        message("user", "<recommended_plugins>\n  none\n</recommended_plugins>"),
    ]);
    assert_eq!(system_events(&events), [("entered_review_mode", "the tests"), ("exited_review_mode", "")]);
    let inputs: Vec<(&str, &str)> = by_and_text(&events);
    assert_eq!(inputs[0], ("person", "look at the tests"));
    assert!(inputs[1..].iter().all(|(by, _)| *by == "harness"));
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
}

#[test]
fn agent_activity_is_a_child_of_its_call() {
    let spawned =
        json!({"type": "collab_agent_spawn_end", "call_id": "c1", "new_thread_id": "t", "prompt": "look at it", "status": "pending_init"});
    let done = json!({"t": {"completed": "I have looked at it."}});
    let waited = json!({"type": "collab_waiting_end", "call_id": "c2", "statuses": done, "agent_statuses": [{"status": done["t"]}]});
    let events = events(&[
        call("c1", "spawn_agent", "{\"message\":\"look at it\"}"),
        event(spawned),
        call("c2", "wait_agent", "{}"),
        event(waited),
        output("c2", "{\"status\":{\"t\":{\"completed\":\"I have looked at it.\"}}}"),
        event(json!({"type": "sub_agent_activity", "event_id": "c1", "agent_thread_id": "t", "agent_path": "/root/a", "kind": "started"})),
        (
            "response_item",
            json!({"type": "agent_message", "author": "/root/a", "content": [{"type": "encrypted_content", "encrypted_content": "x".repeat(80)}]}),
        ),
    ]);
    let expected =
        [("collab_agent_spawn_end", "t"), ("collab_waiting_end", ""), ("sub_agent_activity.started", "t"), ("agent_message", "/root/a")];
    assert_eq!(system_events(&events), expected);
    let spawn = of_kind(&events, "tool.call")[0]["seq"].clone();
    assert!(events.iter().any(|event| event["name"] == "collab_agent_spawn_end" && event["parent"] == spawn));
}

#[test]
fn answer_with_citations_is_not_repeated() {
    let entry = json!({"path": "MEMORY.md", "line_start": 3, "line_end": 5, "note": "how we fold"});
    let answer =
        "Fold it.\n\n<oai-mem-citation>\n<citation_entries>\nMEMORY.md:3-5|note=[how we fold]\n</citation_entries>\n</oai-mem-citation>";
    let events = events(&[
        event(json!({"type": "agent_message", "message": "Fold it.\n\n", "memory_citation": {"entries": [entry]}})),
        message("assistant", answer),
        event(json!({"type": "task_complete", "last_agent_message": "Fold it.\n\n"})),
    ]);
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
    assert_eq!(system_events(&events), [("memory_citation", "MEMORY.md:3-5: how we fold")]);
}

#[test]
fn patch_without_changes_gives_no_edit() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a b\n+a b\n*** End Patch";
    let done = "Success. Updated the following files:\nM a.txt\n";
    let changes = json!({"/p/a.txt": {"type": "update", "unified_diff": "", "move_path": null}});
    let events = events(&[
        ("response_item", json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch})),
        event(
            json!({"type": "patch_apply_end", "call_id": "c1", "stdout": done, "success": true, "changes": changes, "status": "completed"}),
        ),
        ("response_item", json!({"type": "custom_tool_call_output", "call_id": "c1", "output": format!("Exit code: 0\nOutput:\n{done}")})),
    ]);
    assert_eq!((of_kind(&events, "code.edit").len(), of_kind(&events, "tool.result").len()), (0, 1));
}

#[test]
fn truncated_end_event_is_a_duplicate_of_the_output() {
    let middle = "m".repeat(500);
    let full = format!("Chunk ID: a\nProcess exited with code 0\nOutput:\nhead {middle} tail");
    let truncated = "head …500 chars truncated… tail";
    let ended = json!({"type": "exec_command_end", "call_id": "c1", "aggregated_output": truncated, "exit_code": 0, "duration": {"secs": 1, "nanos": 0}});
    let events = events(&[call("c1", "exec_command", "{\"cmd\":\"x\"}"), event(ended), output("c1", &full)]);
    assert_eq!(system_events(&events), []);
    assert_eq!(of_kind(&events, "tool.result")[0]["duration_ms"], 1000);
}

#[test]
fn desktop_client_header_and_settings_are_converted() {
    let tools = json!([{"name": "automation_update", "description": "Makes or changes an automation."}]);
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
            ("response_item", json!({"type": "ghost_snapshot", "ghost_commit": snapshot})),
            message("user", "Judge this call."),
        ],
    );
    let events = events_of(&log);
    assert!(events.iter().any(|event| event["label"] == "context" && event["name"] == "tools"));
    assert!(events.iter().any(|event| event["label"] == "session" && event["agent"] == "guardian"));
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
    assert_eq!((&results[0]["status"], &results[0]["duration_ms"]), (&json!("ok"), &json!(2000)));
    let alone = events_of(&session_with(json!({}), &[event(request), event(done)]));
    assert_eq!(of_kind(&alone, "tool.call")[0]["tool"], "open_page");
    assert_eq!(of_kind(&alone, "tool.result")[0]["stdout"], "page one is open");
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
        event(json!({"type": "error", "message": "It is too long.", "codex_error_info": "context_window_exceeded"})),
    ]);
    assert_eq!(system_events(&events), [("thread_goal.active", "keep it green"), ("undo_completed", "Two files are back.")]);
    assert_eq!(of_kind(&events, "tool.call").len(), 1);
    assert!(events.iter().any(|event| event["label"] == "error" && event["code"] == "context_window_exceeded"));
}

#[test]
fn header_on_a_shared_line_is_found() {
    let prompt = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]});
    let log = session_with(json!({}), &[("response_item", prompt)]);
    for log in [log.clone(), log.replacen("\n", "", 1)] {
        let tape = convert_str(&Codex, &log, &Options::default()).unwrap();
        let start: Value = serde_json::from_str(tape.lines().next().unwrap()).unwrap();
        assert_eq!((&start["harness"]["version"], &start["source"]["session_id"]), (&VERSION.into(), &"s".into()), "{log}");
    }
}

#[test]
fn web_search_records_on_one_line_are_one_call() {
    let action = json!({"type": "search", "query": "how to fold paper"});
    let log = session_with(
        json!({}),
        &[
            ("event_msg", json!({"type": "web_search_end", "call_id": "ws_1", "query": "how to fold paper", "action": action})),
            ("response_item", json!({"type": "web_search_call", "status": "completed", "action": action})),
        ],
    );
    for log in [log.clone(), log.replace("}\n{", "}{"), log.replace('\n', "\n\n")] {
        let calls = events_of(&log).iter().filter(|event| event["k"] == "tool.call").count();
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
            ("session_meta", again("01a1fda5-0000-7000-bbe5-da9ea7a40358", "main")),
            message("assistant", "It is the parent's."),
            ("session_meta", again(mine, "other")),
            message("assistant", "It is mine again."),
        ],
    );
    let events = events_of(&log);
    let answers: Vec<bool> = of_kind(&events, "msg.out").iter().map(|answer| answer["replay"] == true).collect();
    assert_eq!(answers, [false, false, true, false]);
    let branches: Vec<&Value> = events.iter().filter(|event| event["label"] == "session").map(|event| &event["repo_branch"]).collect();
    assert_eq!(branches, ["main", "other", "main"]);
}

#[test]
fn structured_mcp_answer_is_the_result_and_its_plain_text_a_system_event() {
    let done = |id: &str, text: &str| {
        let answer =
            json!({"content": [{"type": "text", "text": text}], "structuredContent": {"title": "fold it twice"}, "isError": false});
        event(json!({"type": "mcp_tool_call_end", "call_id": id, "invocation": {"server": "m", "tool": "look", "arguments": {}},
            "duration": {"secs": 0, "nanos": 0}, "result": {"Ok": answer}}))
    };
    let structured = r#"{"title":"fold it twice"}"#;
    let events = events(&[
        call("c1", "look", "{}"),
        done("c1", "It is done."),
        output("c1", &format!("Wall time: 1.0 seconds\nOutput:\n{structured}")),
        done("nested", "It is done."),
        done("the same", structured),
    ]);
    let outputs: Vec<&str> = of_kind(&events, "tool.result").iter().map(|result| result["stdout"].as_str().unwrap()).collect();
    assert_eq!(outputs, [&format!("Wall time: 1.0 seconds\nOutput:\n{structured}"), structured, structured]);
    assert_eq!(system_events(&events), [("mcp_tool_call_end", "It is done."); 2]);
}

#[test]
fn image_tags_are_synthetic_messages() {
    let parts = ["Look at this.", "<image>", "<image name=[Image #1]>", "</image>"].map(|text| json!({"type": "input_text", "text": text}));
    let events = events(&[("response_item", json!({"type": "message", "role": "user", "content": parts}))]);
    let synthetic: Vec<bool> = of_kind(&events, "msg.in").iter().map(|event| event["by"] != "person").collect();
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
    let copy = at(5, 990, "session_meta", &parent) + &at(5, 999, kind, &answer) + &at(6, 2, kind, &answer);
    let events = events_of(&(header + &copy + &at(9, 0, kind, &answer) + &at(9, 1, kind, &answer)));
    let replayed: Vec<bool> = of_kind(&events, "msg.out").iter().map(|answer| answer["replay"] == true).collect();
    assert_eq!(replayed, [true, true, false, false]);
}

#[test]
fn exit_code_of_the_end_event_outranks_that_of_the_output() {
    let end = json!({"type": "exec_command_end", "call_id": "c1", "aggregated_output": "no", "exit_code": 3,
        "duration": {"secs": 1, "nanos": 0}});
    let text = "Chunk ID: a\nWall time: 2.0 seconds\nProcess exited with code 7\nOutput:\nno";
    let events = events(&[call("c1", "exec_command", "{\"cmd\":\"x\"}"), event(end), output("c1", text)]);
    let results = of_kind(&events, "tool.result");
    assert_eq!((results.len(), &results[0]["exit"], &results[0]["duration_ms"]), (1, &json!(3), &json!(1000)));
    let alone = self::events(&[call("c1", "exec_command", "{\"cmd\":\"x\"}"), output("c1", text)]);
    assert_eq!(of_kind(&alone, "tool.result")[0]["exit"], 7);
}

#[test]
fn instructions_in_the_header_of_a_document_have_its_pointer() {
    let item = json!({"role": "user", "content": [{"type": "input_text", "text": "go"}], "type": "message"});
    let header = json!({"timestamp": "2026-01-01T00:00:00.000Z", "id": "s", "instructions": "be brief"});
    let document = format!(r#"{{"session":{header},"items":[{item}]}}"#);
    // The document states no version.
    let options = Options { policy: Policy::Permissive, ..Options::default() };
    let tape = convert_str(&Codex, &document, &options).unwrap();
    let events: Vec<Value> = tape.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let context = events.iter().find(|event| event["label"] == "context").unwrap();
    assert_eq!((&context["text"], &context["origin"]["pointer"]), (&json!("be brief"), &json!("/session/instructions")));
}

#[test]
fn a_message_is_of_a_person_if_the_next_record_says_that_it_was_sent() {
    let said = ["# AGENTS.md instructions are out of date", "<image> tags are broken", "<skill> is the tag"];
    let mut lines = vec![message("user", "<hook_prompt>go on</hook_prompt>"), message("user", "Codex could not read the image")];
    for text in said {
        lines.extend([message("user", text), sent(text)]);
    }
    lines.extend([message("user", "injected by a client"), message("assistant", "Yes."), message("user", "the end of the file")]);
    let events = events(&lines);
    let expected: Vec<&str> =
        of_kind(&events, "msg.in").iter().filter(|event| event["by"] == "person").map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(expected, said);
    assert_eq!(by_and_text(&events).len(), 7);
    let order: Vec<u64> = of_kind(&events, "msg.in").iter().map(|event| event["origin"]["line"].as_u64().unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn parts_that_were_sent_together_have_one_twin() {
    let parts = ["<image name=[Image #1]>", "first", "second"].map(|text| json!({"type": "input_text", "text": text}));
    let events = events(&[("response_item", json!({"type": "message", "role": "user", "content": parts})), sent("first\nsecond")]);
    assert_eq!(by_and_text(&events), [("harness", "<image name=[Image #1]>"), ("person", "first"), ("person", "second")]);
}

#[test]
fn a_message_may_state_what_its_parts_are() {
    let noted = |text: &str, kind: &str| {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}],
            "internal_chat_message_metadata_passthrough": {"content_item_kinds": [kind]}})
    };
    let events = events(&[
        ("response_item", noted("copied without an event", "user.text")),
        ("response_item", noted("a notice", "generic.notice")),
        message("assistant", "Yes."),
    ]);
    assert_eq!(by_and_text(&events), [("person", "copied without an event"), ("harness", "a notice")]);
}

#[test]
fn the_prompts_of_a_reviewer_are_no_prompts_of_the_thread() {
    let target = json!({"type": "uncommittedChanges"});
    let events = events(&[
        event(json!({"type": "entered_review_mode", "target": target, "user_facing_hint": "current changes"})),
        sent("Review the current code changes."),
        sent("Review the current code changes."),
        event(json!({"type": "exited_review_mode", "review_output": null})),
        message("user", "thanks"),
        sent("thanks"),
    ]);
    assert_eq!(by_and_text(&events), [("harness", "Review the current code changes."), ("person", "thanks")]);
}

#[test]
fn an_item_of_another_thread_is_marked() {
    let command = json!({"type": "CommandExecution", "id": "call_1", "command": ["ls"], "cwd": "/p", "parsed_cmd": [], "source": "agent",
        "status": "completed", "aggregated_output": "a", "exit_code": 0});
    let mirrored = |thread: &str| event(json!({"type": "item_completed", "thread_id": thread, "turn_id": "t", "item": command}));
    for (thread, is_foreign) in [("s", false), ("reviewer", true)] {
        let events = events(&[mirrored(thread), message("assistant", "Done.")]);
        let call = of_kind(&events, "tool.call")[0];
        assert_eq!((call["replay"] == true, call["source"]["agent_id"] == "reviewer"), (is_foreign, is_foreign));
        let answer = of_kind(&events, "msg.out")[0];
        assert!(answer["source"]["agent_id"].is_null() && answer["replay"].is_null());
    }
}

#[test]
fn a_proposed_plan_stands_once() {
    let plan = "# Plan\n- one\n";
    let full = format!("Here.\n<proposed_plan>\n{plan}</proposed_plan>\nMore?");
    let answer = event(json!({"type": "agent_message", "message": "Here.\nMore?"}));
    let proposed = item(json!({"type": "Plan", "id": "p", "text": plan}));
    let texts = |lines: &[(&str, Value)]| -> Vec<String> {
        of_kind(&events(lines), "msg.out").iter().map(|event| event["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&[proposed.clone(), answer.clone(), message("assistant", &full)]), [plan, "Here.\nMore?"]);
    assert_eq!(texts(&[message("assistant", &full), answer, proposed]), [full]);
}

#[test]
fn the_server_of_an_mcp_tool_is_stated() {
    let spaced =
        ("response_item", json!({"type": "function_call", "name": "echo", "namespace": "mcp__mock", "call_id": "c1", "arguments": "{}"}));
    let nested =
        event(json!({"type": "mcp_tool_call_end", "call_id": "c2", "invocation": {"server": "mock", "tool": "echo", "arguments": {}},
        "duration": {"secs": 0, "nanos": 0}, "result": {"Ok": {"content": [{"type": "text", "text": "x"}], "isError": false}}}));
    let events =
        events(&[spaced, nested, call("c3", "mcp__mock__echo", "{}"), call("c4", "mcp__a__b__c", "{}"), call("c5", "shell", "{}")]);
    let calls: Vec<(&Value, &Value)> = of_kind(&events, "tool.call").iter().map(|call| (&call["tool"], &call["server"])).collect();
    let (echo, mock, none) = (json!("echo"), json!("mock"), Value::Null);
    assert_eq!(
        calls,
        [(&echo, &mock), (&echo, &mock), (&json!("mcp__mock__echo"), &mock), (&json!("mcp__a__b__c"), &none), (&json!("shell"), &none)]
    );
}

#[test]
fn a_response_counts_once_and_has_its_model() {
    let counts = |input: u64| json!({"input_tokens": input, "cached_input_tokens": 1, "output_tokens": 2, "reasoning_output_tokens": 1, "total_tokens": input + 2});
    let zero = json!({"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": 77});
    let event = |last: &Value, total: u64| {
        event(json!({"type": "token_count", "info": {"last_token_usage": last, "total_token_usage": counts(total)}}))
    };
    let record = |id: &str, input: u64| {
        let line = json!({"thread_id": "s", "turn_id": "t", "session_id": "s", "root_turn_id": "t", "response_id": id, "usage": counts(input),
            "turn_token_usage": counts(9), "thread_token_usage": counts(900 + input)});
        ("token_usage_record", line)
    };
    let context = (
        "turn_context",
        json!({"cwd": "/p", "model": "gpt-x", "approval_policy": "never", "sandbox_policy": {"type": "x"}, "effort": "low", "summary": "auto"}),
    );
    let events = events(&[
        context,
        record("r1", 10),
        event(&counts(10), 10),
        record("r2", 20),
        event(&zero, 10),
        record("r3", 30),
        event(&counts(30), 40),
    ]);
    let usage: Vec<&Value> = events.iter().filter(|event| event["label"] == "usage").collect();
    assert_eq!(usage.iter().map(|usage| usage["tokens"]["input"].as_u64().unwrap()).collect::<Vec<_>>(), [9, 19, 29]);
    assert!(usage.iter().all(|usage| usage["model"] == "gpt-x"));
    assert_eq!(usage[1]["message_id"], "r2");
    let facts: Vec<&Value> = events.iter().filter(|event| event["label"] == "session").collect();
    assert_eq!(
        (&facts[1]["effort"], &facts[1]["permission_mode"], &facts[2]["context_tokens"]),
        (&json!("low"), &json!("never"), &json!(77))
    );
}

#[test]
fn a_repeated_record_changes_nothing() {
    let lines = [
        message("user", "do it"),
        sent("do it"),
        call("c1", "exec_command", "{\"cmd\":\"x\"}"),
        output("c1", "Chunk ID: a\nProcess exited with code 3\nOutput:\nno"),
        event(json!({"type": "web_search_end", "call_id": "ws", "query": "q", "action": {"type": "search", "query": "q"}})),
        ("response_item", json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}})),
        message("assistant", "It failed."),
    ];
    let log = session_with(json!({}), &lines);
    let facts = |log: &str| -> Vec<Value> {
        let keep = |event: &Value| event["label"] != "tape.stop" && event["label"] != "tape.start";
        let strip = |mut event: Value| {
            event.as_object_mut().unwrap().remove("origin");
            event
        };
        events_of(log).into_iter().filter(keep).map(strip).collect()
    };
    let twice: String = log.lines().map(|line| format!("{line}\n{line}\n")).collect();
    assert_eq!(facts(&twice), facts(&log));
    assert_eq!(facts(&format!("{log}{log}")), facts(&log));
}

#[test]
fn a_used_again_call_id_has_its_own_result() {
    let events = events(&[call("c", "exec_command", "{}"), output("c", "one"), call("c", "exec_command", "{}"), output("c", "two")]);
    let parents: Vec<&Value> = of_kind(&events, "tool.result").iter().map(|result| &result["parent"]).collect();
    let calls: Vec<&Value> = of_kind(&events, "tool.call").iter().map(|call| &call["seq"]).collect();
    assert_eq!(parents, calls);
}

#[test]
fn a_patch_names_files_from_the_directory_of_its_call() {
    let patch = |before: &str, extra: Value| {
        let script = format!("{before}apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** End Patch\nE");
        let mut arguments = json!({"cmd": script});
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let done = "Wall time: 0.1 seconds\nOutput:\n{\"output\":\"Success. Updated the following files:\\nM a.py\\n\",\"metadata\":{\"exit_code\":0}}";
        let events = events(&[call("c1", "exec_command", &arguments.to_string()), output("c1", done)]);
        let edit = of_kind(&events, "code.edit")[0].clone();
        assert_eq!((&edit["before_lines"], &edit["after_lines"]), (&json!(1), &json!(2)));
        edit["file"].as_str().unwrap().to_owned()
    };
    assert_eq!(patch("", json!({})), "/p/a.py");
    assert_eq!(patch("", json!({"workdir": "/q/src"})), "/q/src/a.py");
    assert_eq!(patch("cd src && ", json!({})), "/p/src/a.py");
    assert_eq!(patch("mkdir d && cd d && ", json!({})), "a.py");
}

#[test]
fn items_of_newer_sessions_are_known() {
    let made = json!({"type": "ImageGeneration", "id": "ig", "status": "completed", "revised_prompt": "a red fox", "result": "Zm94"});
    let tool = json!({"type": "DynamicToolCall", "id": "c1", "tool": "client_tool", "arguments": {"x": 1}, "status": "completed",
        "content_items": [{"type": "inputText", "text": "client tool says hi"}], "success": true});
    let hook = |id: &str| item(json!({"type": "HookPrompt", "id": id, "fragments": [{"text": "please go on", "hookRunId": "stop:1"}]}));
    let hook_message = json!({"type": "message", "id": "m1", "role": "user", "content": [{"type": "input_text", "text": "<hook_prompt>please go on</hook_prompt>"}]});
    let answer = json!({"type": "verified_answer", "turn_id": "t", "call_id": "c1", "questions": [{"question": "Which one?", "answer": "B"}], "acceptance_order": 1});
    let entered = json!({"type": "EnteredReviewMode", "id": "r", "target": {"type": "custom", "instructions": "look at it"}, "user_facing_hint": "look at it"});
    let events = events(&[
        item(json!({"type": "WebSearch", "id": "ws", "query": "q", "action": {"type": "search", "query": "q"}})),
        (
            "response_item",
            json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}),
        ),
        item(json!({"type": "WebSearch", "id": "ws", "query": "u", "action": {"type": "open_page", "url": "u"}})),
        item(made),
        item(tool),
        item(json!({"type": "Sleep", "id": "sl", "duration_ms": 5})),
        ("response_item", hook_message),
        hook("m1"),
        hook("m2"),
        ("retained_context", answer),
        item(entered),
        item(json!({"type": "ExitedReviewMode", "id": "r2", "review_output": null})),
    ]);
    let tools: Vec<&str> = of_kind(&events, "tool.call").iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["web_search", "web_search", "image_generation", "client_tool", "sleep"]);
    assert_eq!(by_and_text(&events), [("harness", "<hook_prompt>please go on</hook_prompt>"), ("person", "look at it")]);
    let expected =
        [("hook_prompt", "please go on"), ("verified_answer", "Which one?"), ("verified_answer", "B"), ("exited_review_mode", "")];
    assert_eq!(system_events(&events), expected);
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
        item("completed", json!({"id": "item_3", "type": "agent_message", "text": "It is done."})),
        json!({"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}}),
        json!({"type": "error", "message": "stream lost"}),
    ];
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let log = log.replacen(r#"{"thread_id":"t 1","type":"thread.started"}"#, r#"{"type":"thread.started","thread_id":"t 1"}"#, 1);
    let options = Options { policy: Policy::Permissive, ..Options::default() };
    let tape = convert_str(&Codex, &log, &options).unwrap();
    let report = audit(log.as_bytes(), &tape, Codex.describe()).unwrap();
    assert_eq!((report.left_over.bytes, report.leaves.left_over), (0, 0), "{report:?}");
    assert!(report.disagreements.is_empty(), "{report:?}");
    let events: Vec<Value> = tape.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&events[0]["harness"]["schema"], &events[0]["source"]["session_id"]), (&json!("exec-json"), &json!("t 1")));
    assert_eq!(events.last().unwrap()["ledger"]["unrecognized"], 0);
    assert_eq!(system_events(&events).len(), 2);
    let results = of_kind(&events, "tool.result");
    assert_eq!((&results[0]["status"], &results[0]["exit"], &results[0]["stdout"]), (&json!("error"), &json!(2), &json!("no such file")));
    let edit = of_kind(&events, "code.edit")[0];
    assert_eq!(
        (&edit["file"], &edit["op"], &edit["parent"]),
        (&json!("/p/a b.txt"), &json!("create"), &of_kind(&events, "tool.call")[1]["seq"])
    );
    assert!(events.iter().all(|event| event["label"] != "usage"));
    assert_eq!(of_kind(&events, "msg.out").len(), 1);
}
