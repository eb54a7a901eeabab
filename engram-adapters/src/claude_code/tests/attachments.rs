//! Attachments: what is emitted as text, as a hash, or left out.

use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::{assistant_line, events, line, tape, unaccounted_bytes, unaccounted_values};

fn attached(number: u32, attachment: Value) -> Value {
    line(
        "2.1.220",
        number,
        "attachment",
        json!({"attachment": attachment}),
    )
}

#[test]
fn rare_attachments_are_emitted_as_context() {
    let lines = [
        attached(1, json!({"type": "date_change", "newDate": "2026-01-02"})),
        attached(
            2,
            json!({"type": "command_permissions", "allowedTools": ["Bash(git add:*)"]}),
        ),
        attached(
            3,
            json!({"type": "mcp_instructions_delta", "addedNames": ["m"], "addedBlocks": ["How to ask the server."], "removedNames": []}),
        ),
        attached(
            4,
            json!({"type": "invoked_skills", "skills": [{"name": "fold", "path": "/s/fold", "content": "Fold it once."}]}),
        ),
        attached(
            5,
            json!({"type": "nested_memory", "path": "/p/a dir/CLAUDE.md", "displayPath": "a dir/CLAUDE.md",
                "content": {"path": "/p/a dir/CLAUDE.md", "content": "Be brief.", "rawContent": "<!-- x -->\nBe brief."}}),
        ),
        attached(
            6,
            json!({"type": "task_status", "taskId": "t", "description": "Run the tests", "status": "running"}),
        ),
    ];
    let metas = events(&lines, "meta");
    let context: Vec<&Value> = metas
        .iter()
        .filter(|event| event["label"] == "context")
        .collect();
    let names: Vec<&str> = context
        .iter()
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "date_change",
            "command_permissions",
            "mcp_instructions_delta",
            "invoked_skills",
            "nested_memory",
            "task_status"
        ]
    );
    assert_eq!(
        (&context[4]["file"], &context[4]["text"]),
        (&json!("/p/a dir/CLAUDE.md"), &json!("Be brief."))
    );
    assert!(context[2]["hash"].is_string() && context[3]["hash"].is_string());
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn plans_and_selections_are_emitted_as_text_and_names_are_omitted() {
    let plan = json!({"type": "plan_file_reference", "planFilePath": "/p/a plan.md", "planContent": "Fold it, then cut it."});
    let chosen = json!({"type": "selected_lines_in_ide", "ideName": "An Editor", "lineStart": 2, "lineEnd": 3,
        "filename": "/p/a file", "content": "two lines\nof it", "displayPath": "a file"});
    let name = "mcp__a_plugin_with_a_long_name__".repeat(3);
    let tools = json!({"type": "deferred_tools_delta", "addedNames": [name], "addedLines": [name], "removedNames": [name]});
    let server = json!({"type": "mcp_instructions_delta", "addedNames": ["A Server"], "addedBlocks": ["Ask it."], "removedNames": ["B Server"]});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9v".repeat(40)}});
    let queued = json!({"type": "queued_command", "prompt": [image]});
    let lines = [
        attached(1, plan),
        attached(2, chosen),
        attached(3, tools),
        attached(4, server),
        attached(5, queued),
    ];
    let metas = events(&lines, "meta");
    let context: Vec<_> = metas
        .iter()
        .filter(|event| event["label"] == "context")
        .map(|event| (&event["file"], &event["text"]))
        .collect();
    assert_eq!(
        context[0],
        (&json!("/p/a plan.md"), &json!("Fold it, then cut it."))
    );
    assert_eq!(
        context[1],
        (&json!("/p/a file"), &json!("two lines\nof it"))
    );
    assert_eq!(events(&lines, "msg.in")[0]["attachments"][0]["bytes"], 120);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn instructions_goals_and_findings_of_an_editor_are_context() {
    let lines = [
        attached(
            1,
            json!({"type": "instructions", "files": [{"path": "/p/CLAUDE.md", "type": "Project", "content": "Use tabs."},
            {"path": "/h/CLAUDE.md", "type": "User", "content": "Be brief."}]}),
        ),
        attached(
            2,
            json!({"type": "directory", "path": "/p/src", "content": "a.py\nb.py", "displayPath": "src"}),
        ),
        attached(
            3,
            json!({"type": "already_read_file", "filename": "/p/b.py",
            "content": {"type": "text", "file": {"filePath": "/p/b.py", "content": "b = 1\nc = 2\n", "numLines": 3}}}),
        ),
        attached(
            4,
            json!({"type": "unknown_command_fallback", "commandName": "nosuch", "availableCommandNames": ["init"]}),
        ),
        attached(
            5,
            json!({"type": "diagnostics", "files": [{"uri": "file:///p/a.rs", "diagnostics": [{"message": "unused value"}]}], "isNew": true}),
        ),
        attached(
            6,
            json!({"type": "opened_file_in_ide", "filename": "/p/a.rs"}),
        ),
        attached(
            7,
            json!({"type": "goal_status", "met": false, "condition": "all tests pass", "reason": "three tests fail"}),
        ),
    ];
    let metas = events(&lines, "meta");
    let context: Vec<&Value> = metas
        .iter()
        .filter(|event| event["label"] == "context")
        .collect();
    let names: Vec<&str> = context
        .iter()
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    let expected = [
        "instructions",
        "instructions",
        "directory",
        "already_read_file",
        "unknown_command_fallback",
        "diagnostics",
        "opened_file_in_ide",
        "goal_status",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        (&context[1]["file"], &context[1]["text"]),
        (&json!("/h/CLAUDE.md"), &json!("Be brief."))
    );
    assert_eq!(
        context[3]["hash"],
        engram_core::hash::Hash::of_text("b = 1\nc = 2\n").to_string()
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn structured_output_of_a_known_call_is_a_duplicate() {
    let answer = json!({"folds": ["one fold", "another one"]});
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "StructuredOutput", "input": answer}]);
    let lines = [
        assistant_line("2.1.220", 1, "m1", call),
        attached(
            2,
            json!({"type": "structured_output", "data": answer, "toolUseID": "t1"}),
        ),
    ];
    let tape = tape(&lines, Policy::Strict).unwrap();
    assert_eq!(tape.last().unwrap()["ledger"]["duplicate"], 1);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn hook_output_is_emitted_once() {
    let hook = json!({"type": "hook_success", "hookName": "PreToolUse:Bash", "toolUseID": "t1", "command": "check it",
        "content": "all well", "stdout": "all well", "stderr": "", "exitCode": 0});
    let blocked = json!({"type": "hook_blocking_error", "hookName": "Stop", "blockingError": {"blockingError": "not done yet"}});
    let stopped = json!({"type": "hook_stopped_continuation", "hookName": "Stop", "message": "stop everything"});
    let cancelled = json!({"type": "hook_cancelled", "hookName": "Stop"});
    let deferred = json!({"type": "hook_deferred_tool", "hookName": "settings", "hookEvent": "PreToolUse", "toolUseID": "t1", "toolName": "Bash",
        "toolInput": {"command": "touch a"}, "permissionMode": "default"});
    let lines = [
        attached(1, hook),
        attached(2, blocked),
        attached(3, cancelled),
        attached(4, stopped),
        attached(5, deferred),
    ];
    let metas = events(&lines, "meta");
    let notices: Vec<_> = metas
        .iter()
        .filter(|event| event["label"] == "system")
        .map(|event| (&event["name"], &event["text"]))
        .collect();
    let (bash, stop) = (json!("PreToolUse:Bash"), json!("Stop"));
    let expected = [
        (&bash, &json!("check it")),
        (&bash, &json!("all well")),
        (&stop, &json!("not done yet")),
        (&stop, &json!("hook_cancelled")),
        (&stop, &json!("hook_stopped_continuation")),
        (&json!("settings"), &json!("hook_deferred_tool")),
    ];
    assert_eq!(notices, expected);
    let stopped: Vec<_> = metas
        .iter()
        .filter(|event| event["label"] == "interrupt")
        .map(|event| &event["text"])
        .collect();
    assert_eq!(stopped, ["stop everything"]);
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn words_of_a_hook_that_the_model_got_are_context() {
    let given = |number, hook: Value| {
        let mut line = attached(number, hook);
        line["rendered"] =
            json!([{"content": "<system-reminder>\nas the model got it\n</system-reminder>"}]);
        line
    };
    let prompt = json!({"type": "hook_success", "hookName": "UserPromptSubmit", "command": "day", "content": "today is monday", "stdout": "today is monday\n"});
    let quiet = json!({"type": "hook_success", "hookName": "PostToolUse:Write", "command": "format", "content": "done", "stdout": "done"});
    let added = json!({"type": "hook_additional_context", "hookName": "PreToolUse:Bash", "content": ["docs are old"]});
    let blocked = json!({"type": "hook_blocking_error", "hookName": "Stop", "blockingError": {"blockingError": "run the tests", "command": "stop"}});
    let lines = [
        given(1, prompt),
        attached(2, quiet),
        attached(3, added),
        given(4, blocked),
    ];
    let metas = events(&lines, "meta");
    let of = |label: &str| -> Vec<String> {
        metas
            .iter()
            .filter(|event| event["label"] == label)
            .map(|event| {
                format!(
                    "{}={}",
                    event["name"].as_str().unwrap(),
                    event["text"].as_str().unwrap()
                )
            })
            .collect()
    };
    assert_eq!(
        of("context"),
        [
            "hook=today is monday",
            "hook=docs are old",
            "hook=run the tests"
        ]
    );
    assert_eq!(
        of("system"),
        [
            "UserPromptSubmit=day",
            "UserPromptSubmit=today is monday\n",
            "PostToolUse:Write=format",
            "PostToolUse:Write=done",
            "PreToolUse:Bash=hook_additional_context",
            "Stop=stop",
        ]
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn a_resource_that_a_prompt_names_is_context() {
    let resource = |contents: Value| json!({"type": "mcp_resource", "server": "rich", "uri": "doc://one", "name": "one", "content": {"contents": contents}});
    let read = json!([
        {"uri": "doc://one", "mimeType": "text/plain", "text": "text of it"},
        {"uri": "doc://one", "mimeType": "image/png", "blob": "Zm9v"},
    ]);
    let mut unread = resource(json!([]));
    unread["unread"] = json!("denied");
    let mut lines = [attached(1, resource(read)), attached(2, unread)];
    lines[0]["rendered"] =
        json!([{"content": [{"type": "text", "text": "Full contents of resource:"}]}]);
    let found: Vec<Value> = events(&lines, "meta")
        .iter()
        .filter(|event| event["name"] == "mcp_resource")
        .map(|event| json!([event["label"], event["file"], event["text"], event["bytes"]]))
        .collect();
    assert_eq!(
        json!(found),
        json!([
            ["context", "doc://one", "text of it", null],
            ["context", "doc://one", null, 3],
            ["context", "doc://one", null, null],
        ])
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn what_a_prompt_mentions_is_context_as_the_log_has_it() {
    let file = |kind: &str, file: Value| json!({"type": "file", "filename": "/p/a", "content": {"type": kind, "file": file}});
    let cells =
        json!([{"cellType": "code", "source": "print(1)", "cell_id": "c1", "language": "python"}]);
    let lines = [
        attached(
            1,
            file(
                "pdf",
                json!({"filePath": "/p/a", "base64": "", "originalSize": 7725}),
            ),
        ),
        attached(
            2,
            file("notebook", json!({"filePath": "/p/a", "cells": cells})),
        ),
        attached(3, json!({"type": "agent_mention", "agentType": "Explore"})),
    ];
    let found: Vec<Value> = events(&lines, "meta")
        .iter()
        .filter(|event| event["label"] == "context")
        .map(|event| json!([event["name"], event["hash"], event["bytes"], event["text"]]))
        .collect();
    assert_eq!(
        json!(found),
        json!([
            ["file", null, 7725, null],
            ["file", null, null, cells.to_string()],
            ["agent_mention", null, null, "Explore"],
        ])
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
    assert!(tape(&lines, Policy::Strict).is_ok());
}

#[test]
fn a_file_that_was_not_read_is_context() {
    let mut mention = attached(
        1,
        json!({"type": "at_mention_reference", "mentions": ["/p/big.txt"], "unread": "too_large", "fileSize": 2_160_000,
            "displayPath": "big.txt"}),
    );
    mention["rendered"] = json!([{"content": "The user @-mentioned /p/big.txt (2.1MB)."}]);
    let found = events(&[mention], "meta");
    let found = found
        .iter()
        .find(|event| event["name"] == "at_mention_reference")
        .unwrap();
    assert_eq!(
        json!([found["label"], found["name"], found["file"], found["text"]]),
        json!([
            "context",
            "at_mention_reference",
            "big.txt",
            "The user @-mentioned /p/big.txt (2.1MB)."
        ])
    );
}

#[test]
fn changed_settings_are_context() {
    let environment = json!({"workingDirectory": "/p", "isWorktree": false, "isGitRepo": true, "additionalWorkingDirectories": ["/q"],
        "platform": "linux", "shell": "bash", "osVersion": "Linux"});
    let changes =
        json!([{"field": "additionalWorkingDirectories", "added": ["/q"], "removed": []}]);
    let mut reset = attached(
        3,
        json!({"type": "output_style_instructions", "style": null}),
    );
    reset["rendered"] = json!([{"content": "The output style was reset to the default."}]);
    let mut asked = attached(2, json!({"type": "ultrathink_effort"}));
    asked["rendered"] = json!([{"content": "Reason as thoroughly as the task warrants."}]);
    let lines = [
        attached(1, json!({"type": "language", "language": "german"})),
        asked,
        reset,
        attached(
            4,
            json!({"type": "environment", "snapshot": environment, "changes": changes}),
        ),
    ];
    let found: Vec<Value> = events(&lines, "meta")
        .iter()
        .filter(|event| event["label"] == "context")
        .map(|event| {
            json!([
                event["name"],
                event["text"].as_str().map(|text| text.contains("reset"))
            ])
        })
        .collect();
    assert_eq!(
        json!(found),
        json!([
            ["language", false],
            ["ultrathink_effort", false],
            ["output_style_instructions", true],
            ["environment", false],
        ])
    );
    assert!(tape(&lines, Policy::Strict).is_ok());
}

#[test]
fn attached_document_is_hashed() {
    let file = json!({"type": "file", "filename": "/p/a.pdf", "content": {"type": "pdf", "file": {"base64": "Zm9v".repeat(40)}}});
    let lines = [attached(1, file)];
    let metas = events(&lines, "meta");
    assert_eq!(
        metas.iter().find(|event| event["name"] == "file").unwrap()["bytes"],
        120
    );
    assert_eq!(unaccounted_bytes(&lines), 0);
}

#[test]
fn attached_text_is_hashed_without_its_escapes() {
    let of = |source: Value| {
        let document = json!({"type": "document", "source": source, "title": "notes"});
        let content = json!([{"type": "text", "text": "read"}, document]);
        let lines = [line(
            "2.1.329",
            1,
            "user",
            json!({"message": {"role": "user", "content": content}}),
        )];
        assert_eq!(unaccounted_bytes(&lines), 0);
        events(&lines, "msg.in")[0]["attachments"][0].clone()
    };
    for body in ["one\n\"two\"\n", "Zm9v"] {
        let attachment = of(json!({"type": "text", "media_type": "text/plain", "data": body}));
        let hash = format!("{}", engram_core::hash::Hash::of_bytes(body.as_bytes()));
        assert_eq!(
            [
                &attachment["hash"],
                &attachment["bytes"],
                &attachment["name"]
            ],
            [&json!(hash), &json!(body.len()), &json!("notes")]
        );
    }
    let decoded = of(json!({"type": "base64", "media_type": "application/pdf", "data": "Zm9v"}));
    assert_eq!(decoded["bytes"], 3);
}

/// Types that only the program lists (`given.members`).
#[test]
fn a_type_that_only_the_program_lists_is_what_the_model_got() {
    let mut memories = attached(
        1,
        json!({"type": "relevant_memories", "memories": [{"path": "/m/a.md"}]}),
    );
    memories["rendered"] = json!([
        {"content": "Use tabs."},
        {"content": [{"type": "text", "text": "And no spaces."}]}
    ]);
    let usage = json!({"type": "token_usage", "used": 1, "total": 3, "remaining": 2});
    let goals = json!({"type": "goals", "any": {"more": 1}});
    let lines = [
        memories,
        attached(2, usage.clone()),
        attached(3, json!({"type": "workflow_keyword_request"})),
        // The program lists its name alone.
        attached(4, goals.clone()),
    ];
    let metas = events(&lines, "meta");
    let given: Vec<(&str, Option<&str>)> = metas
        .iter()
        .filter(|event| event["label"] == "context")
        .map(|event| (event["name"].as_str().unwrap(), event["text"].as_str()))
        .collect();
    assert_eq!(
        given,
        [
            ("relevant_memories", Some("Use tabs.\nAnd no spaces.")),
            ("token_usage", Some(usage.to_string().as_str())),
            ("workflow_keyword_request", None),
            ("goals", Some(goals.to_string().as_str()))
        ]
    );
    assert_eq!(unaccounted_values(&lines), [""; 0]);
    let surprise = attached(5, json!({"type": "token_usage", "surprise": 1}));
    assert!(tape(&[surprise], Policy::Strict).is_err());
}
