//! Calls and their results, which several records state: searches, images, patches, commands, tools of clients and of MCP servers.

use serde_json::{Value, json};

use super::tests::{
    call, event, events, events_of, item, of_kind, output, session_with, system_events,
};

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
fn the_server_of_an_mcp_tool_is_stated() {
    let spaced = (
        "response_item",
        json!({"type": "function_call", "name": "echo", "namespace": "mcp__mock", "call_id": "c1", "arguments": "{}"}),
    );
    let nested = event(
        json!({"type": "mcp_tool_call_end", "call_id": "c2", "invocation": {"server": "mock", "tool": "echo", "arguments": {}},
        "duration": {"secs": 0, "nanos": 0}, "result": {"Ok": {"content": [{"type": "text", "text": "x"}], "isError": false}}}),
    );
    let events = events(&[
        spaced,
        nested,
        call("c3", "mcp__mock__echo", "{}"),
        call("c4", "mcp__a__b__c", "{}"),
        call("c5", "shell", "{}"),
    ]);
    let calls: Vec<(&Value, &Value)> = of_kind(&events, "tool.call")
        .iter()
        .map(|call| (&call["tool"], &call["server"]))
        .collect();
    let (echo, mock, none) = (json!("echo"), json!("mock"), Value::Null);
    assert_eq!(
        calls,
        [
            (&echo, &mock),
            (&echo, &mock),
            (&json!("mcp__mock__echo"), &mock),
            (&json!("mcp__a__b__c"), &none),
            (&json!("shell"), &none)
        ]
    );
}

#[test]
fn a_used_again_call_id_has_its_own_result() {
    let events = events(&[
        call("c", "exec_command", "{}"),
        output("c", "one"),
        call("c", "exec_command", "{}"),
        output("c", "two"),
    ]);
    let parents: Vec<&Value> = of_kind(&events, "tool.result")
        .iter()
        .map(|result| &result["parent"])
        .collect();
    let calls: Vec<&Value> = of_kind(&events, "tool.call")
        .iter()
        .map(|call| &call["seq"])
        .collect();
    assert_eq!(parents, calls);
}

#[test]
fn open_calls_with_one_id_have_results_of_their_own() {
    let end = |text: &str| {
        event(
            json!({"type": "exec_command_end", "call_id": "c", "command": ["ls"], "stdout": text, "exit_code": 0}),
        )
    };
    let calls = [
        call("c", "exec_command", "{}"),
        call("c", "exec_command", "{}"),
    ];
    let rest = [
        end("one"),
        end("two"),
        output("c", "one"),
        output("c", "two"),
    ];
    let events_of_both = events(&[calls.as_slice(), rest.as_slice()].concat());
    let parents: Vec<&Value> = of_kind(&events_of_both, "tool.result")
        .iter()
        .map(|result| &result["parent"])
        .collect();
    let seqs: Vec<&Value> = of_kind(&events_of_both, "tool.call")
        .iter()
        .rev()
        .map(|call| &call["seq"])
        .collect();
    assert_eq!(
        (parents.len(), &parents),
        (2, &seqs),
        "the latest open call first"
    );
    // Calls that only their ends state.
    let nested = events(&[end("one"), end("two")]);
    assert_eq!(
        (
            of_kind(&nested, "tool.call").len(),
            of_kind(&nested, "tool.result").len()
        ),
        (2, 2)
    );
}

#[test]
fn the_error_text_of_an_end_is_kept_beside_its_output() {
    let end = json!({"type": "patch_apply_end", "call_id": "c1", "stdout": "done", "stderr": "a warning", "success": true, "changes": {},
        "status": "completed"});
    let patch = (
        "response_item",
        json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": "*** Begin Patch"}),
    );
    let output = (
        "response_item",
        json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}),
    );
    let before = events(&[patch.clone(), event(end.clone()), output.clone()]);
    assert_eq!(of_kind(&before, "tool.result")[0]["stderr"], "a warning");
    let other = json!({"type": "exec_command_end", "call_id": "c0", "aggregated_output": "", "exit_code": 0, "duration": {"secs": 1, "nanos": 0}});
    let after = events(&[patch, event(other), output, event(end)]);
    assert!(
        after
            .iter()
            .any(|event| event["text"] == "a warning" || event["stderr"] == "a warning"),
        "{after:?}"
    );
}

#[test]
fn a_large_end_gives_no_second_result() {
    let printed = "x".repeat(16 << 20);
    let end = event(
        json!({"type": "exec_command_end", "call_id": "c1", "exit_code": 3, "stdout": printed, "aggregated_output": printed}),
    );
    let short = "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nshort";
    let events = events(&[
        call("c1", "exec_command", r#"{"cmd":"a"}"#),
        end,
        output("c1", short),
    ]);
    let results = of_kind(&events, "tool.result");
    assert_eq!(results.len(), 1);
    assert_eq!(
        (&results[0]["exit"], &results[0]["stdout"]),
        (&json!(3), &json!(short))
    );
    assert!(
        system_events(&events)
            .iter()
            .any(|(name, text)| *name == "exec_command_end" && text.len() == 16 << 20)
    );
}

#[test]
fn a_tool_of_an_extension_is_a_call_with_its_result() {
    // The items of 0.159.2, as its types state them.
    let extension = |kind: &str, rest: Value| {
        let mut extension = json!({"type": "Extension", "kind": kind, "id": kind});
        let members = extension.as_object_mut().unwrap();
        members.extend(rest.as_object().unwrap().clone());
        item(extension)
    };
    let page = json!({"type": "text_result", "title": "Folding", "url": "https://e.invalid/fold"});
    let events = events(&[
        call("outer", "run", "{}"),
        extension(
            "web.search",
            json!({"query": "q", "results": [page], "action": {"type": "openPage", "url": "https://e.invalid"}}),
        ),
        extension("clock.sleep", json!({"durationMs": 1000})),
        extension(
            "image_gen.generation",
            json!({"status": "failed", "result": "", "revisedPrompt": "a dot", "failure": {"type": "usageLimitExceeded", "limitId": "l", "resetsAt": 1}}),
        ),
        extension(
            "image_gen.generation",
            json!({"status": "completed", "result": "aGVsbG8=", "savedPath": "/p/x.png"}),
        ),
    ]);
    let calls = of_kind(&events, "tool.call");
    let tools: Vec<&Value> = calls.iter().map(|call| &call["tool"]).collect();
    let expected = [
        "run",
        "web_search",
        "sleep",
        "image_generation",
        "image_generation",
    ];
    assert_eq!(tools, expected);
    assert_eq!(calls[2]["args"], 1000);
    let results = of_kind(&events, "tool.result");
    let states: Vec<&Value> = results.iter().map(|result| &result["status"]).collect();
    assert_eq!(states, ["ok", "error", "ok"]);
    assert_eq!(results[0]["stdout"], "Folding\nhttps://e.invalid/fold");
    assert_eq!(results[1]["stderr"], "usageLimitExceeded");
    assert_eq!(results[2]["artifact"]["path"], "/p/x.png");
    assert_eq!(results[2]["attachments"][0]["bytes"], 5);
}

/// As 0.171.0 writes a call that a person refuses, one that the approval policy forbids, and one whose server has an error. A script made the
/// second and the third: no output has their text.
#[test]
fn a_call_that_is_not_sent_to_its_server_is_denied() {
    let failed = |id: &str, message: &str| {
        item(
            json!({"type": "McpToolCall", "id": id, "server": "desk", "tool": "notes", "arguments": {"text": "b"}, "status": "failed",
            "error": {"message": message}, "duration": {"secs": 0, "nanos": 0}}),
        )
    };
    let (refused, forbidden, broken) = (
        "user rejected MCP tool call",
        "MCP tool call requires approval, but approval policy is never",
        "tool call error: tool call failed for `desk/notes`",
    );
    let call_of_server = (
        "response_item",
        json!({"type": "function_call", "name": "notes", "namespace": "mcp__desk", "arguments": "{\"text\":\"b\"}", "call_id": "c1"}),
    );
    let printed = json!([{"type": "input_text", "text": "Wall time: 0.0639 seconds\nOutput:"}, {"type": "input_text", "text": refused}]);
    let events = events(&[
        call_of_server,
        failed("c1", refused),
        (
            "response_item",
            json!({"type": "function_call_output", "call_id": "c1", "output": printed}),
        ),
        failed("exec-2", forbidden),
        failed("exec-3", broken),
    ]);
    let results: Vec<(&Value, &Value)> = of_kind(&events, "tool.result")
        .iter()
        .map(|result| (&result["status"], &result["stderr"]))
        .collect();
    assert_eq!(
        results,
        [
            (&json!("denied"), &json!(refused)),
            (&json!("denied"), &json!(forbidden)),
            (&json!("error"), &json!(broken))
        ]
    );
    let denied: Vec<&Value> = events
        .iter()
        .filter(|event| event["decision"] == "deny")
        .map(|event| &event["call_id"])
        .collect();
    assert_eq!(denied, ["c1", "exec-2"]);
}

/// As 0.171.0 writes an answer of two texts, of which the model gets another form.
#[test]
fn what_a_server_gave_is_the_output_of_its_tool() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let answer = item(
        json!({"type": "McpToolCall", "id": "c1", "server": "desk", "tool": "notes", "arguments": {}, "status": "completed",
        "result": {"content": [text("first "), text("second")]}, "duration": {"secs": 0, "nanos": 0}}),
    );
    let part = |text: &str| json!({"type": "input_text", "text": text});
    let shown = ["Wall time: 0.0639 seconds\nOutput:", "first ", "second"];
    let events = events(&[
        (
            "response_item",
            json!({"type": "function_call", "name": "notes", "namespace": "mcp__desk", "arguments": "{}", "call_id": "c1"}),
        ),
        answer,
        (
            "response_item",
            json!({"type": "function_call_output", "call_id": "c1", "output": shown.map(part)}),
        ),
    ]);
    let results = of_kind(&events, "tool.result");
    assert_eq!(results[0]["stdout"], "first \nsecond");
    let beside: Vec<_> = of_kind(&events, "meta")
        .into_iter()
        .map(|event| (&event["name"], &event["text"]))
        .collect();
    assert!(beside.contains(&(&json!("tool_result"), &json!(shown.join("\n")))));
    assert!(beside.iter().all(|(name, _)| *name != "McpToolCall"));
}

/// As 0.171.0 writes a script that calls `notify`.
#[test]
fn what_a_script_says_while_it_runs_is_no_result() {
    let said = |name: Option<&str>, text: &str| {
        let mut output =
            json!({"type": "custom_tool_call_output", "call_id": "c1", "output": text});
        if let Some(name) = name {
            output["name"] = name.into();
        }
        ("response_item", output)
    };
    let script = json!({"type": "custom_tool_call", "name": "exec", "call_id": "c1", "input": "notify('half'); await tools.wait_for()"});
    let events = events(&[
        ("response_item", script),
        said(
            None,
            "Script running with cell ID 4\nWall time 0.4 seconds\nOutput:\n",
        ),
        said(Some("exec"), "half"),
    ]);
    assert_eq!(of_kind(&events, "tool.result").len(), 1);
    assert_eq!(system_events(&events), [("notify", "half")]);
}
