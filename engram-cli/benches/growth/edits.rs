//! Logs with edits: one part of them many times.

use std::path::Path;

use serde_json::{Value, json};

use super::Construct;
use super::constructs::{ID, line, prompt, session, write_lines};

pub const ALL: &[Construct] = &[
    Construct {
        name: "occurrences of one edit",
        from: 8_000,
        write: occurrences,
    },
    Construct {
        name: "replacements of one edit",
        from: 250,
        write: replacements,
    },
    Construct {
        name: "lines that a patch corrects",
        from: 4_000,
        write: corrected_lines,
    },
    Construct {
        name: "hunks of an edit without its file",
        from: 4_000,
        write: hunks,
    },
    Construct {
        name: "lines of an edit without its file",
        from: 8_000,
        write: patch_lines,
    },
    Construct {
        name: "edits of one file",
        from: 500,
        write: edits_of_one_file,
    },
    Construct {
        name: "numbered lines of one read",
        from: 8_000,
        write: numbered_lines,
    },
    Construct {
        name: "hunks of one diff (Codex)",
        from: 4_000,
        write: codex_hunks,
    },
    Construct {
        name: "files of one patch (Codex)",
        from: 2_000,
        write: codex_files,
    },
    Construct {
        name: "printed files of one patch (Codex)",
        from: 2_000,
        write: codex_printed_files,
    },
    Construct {
        name: "edits of one turn (Gemini CLI)",
        from: 1_000,
        write: gemini_edits,
    },
    Construct {
        name: "occurrences of one edit (Gemini CLI)",
        from: 8_000,
        write: gemini_occurrences,
    },
    Construct {
        name: "files of one patch (OpenCode)",
        from: 2_000,
        write: opencode_files,
    },
    Construct {
        name: "occurrences of one edit (OpenCode)",
        from: 8_000,
        write: opencode_occurrences,
    },
];

/// A text of lines that all contain `word`.
fn lines_with(word: &str, n: usize) -> String {
    (0..n)
        .map(|i| format!("line {i} has {word} in it\n"))
        .collect()
}

/// A session of Claude Code with one edit that has this result.
fn claude_edit(directory: &Path, input: &Value, result: &Value) {
    session(
        directory,
        [
            line(0, &prompt("go")),
            edit_call(1, input),
            edit_result(1, result),
        ]
        .into_iter(),
    );
}

fn edit_call(id: usize, input: &Value) -> String {
    let message = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "tool_use", "id": format!("toolu_{id}"), "name": "Edit", "input": input}]});
    line(
        2 * id,
        &format!(r#""type":"assistant","message":{message}"#),
    )
}

fn edit_result(id: usize, result: &Value) -> String {
    let message = json!({"role": "user", "content": [{"tool_use_id": format!("toolu_{id}"), "type": "tool_result", "content": "ok"}]});
    line(
        2 * id + 1,
        &format!(r#""type":"user","message":{message},"toolUseResult":{result}"#),
    )
}

fn result_of(before: &str, old: &str, new: &str, patch: Value) -> Value {
    json!({"filePath": "/p/f", "oldString": old, "newString": new, "originalFile": before, "structuredPatch": patch,
        "userModified": false, "replaceAll": true})
}

fn occurrences(n: usize, directory: &Path) {
    let input = json!({"file_path": "/p/f", "old_string": "old", "new_string": "newer", "replace_all": true});
    let lines: Vec<String> = (0..n)
        .flat_map(|i| {
            ["old", "newer"].map(|word| {
                format!(
                    "{}line {i} has {word} in it",
                    if word == "old" { '-' } else { '+' }
                )
            })
        })
        .collect();
    let patch =
        json!([{"oldStart": 1, "oldLines": n, "newStart": 1, "newLines": n, "lines": lines}]);
    claude_edit(
        directory,
        &input,
        &result_of(&lines_with("old", n), "old", "newer", patch),
    );
}

fn replacements(n: usize, directory: &Path) {
    let edits: Vec<Value> = (0..n)
        .map(|i| json!({"old_string": format!("line {i} has old"), "new_string": format!("line {i} has new"), "replace_all": false}))
        .collect();
    let input = json!({"file_path": "/p/f", "edits": edits});
    let result = json!({"filePath": "/p/f", "edits": edits, "originalFileContents": lines_with("old", n), "structuredPatch": [], "userModified": false});
    claude_edit(directory, &input, &result);
}

/// The patch shows other quotation marks than the new text.
fn corrected_lines(n: usize, directory: &Path) {
    let lines: Vec<String> = (0..n)
        .flat_map(|i| {
            [
                format!("-line {i} has old in it"),
                format!("+line {i} has “new” in it"),
            ]
        })
        .collect();
    let patch =
        json!([{"oldStart": 1, "oldLines": n, "newStart": 1, "newLines": n, "lines": lines}]);
    let input = json!({"file_path": "/p/f", "old_string": "old", "new_string": "\"new\"", "replace_all": true});
    claude_edit(
        directory,
        &input,
        &result_of(&lines_with("old", n), "old", "\"new\"", patch),
    );
}

fn without_file(lines: impl Iterator<Item = Value>) -> Value {
    json!({"filePath": "/p/f", "oldString": "old", "newString": "new", "originalFile": null, "structuredPatch": lines.collect::<Vec<_>>(),
        "userModified": false, "replaceAll": true})
}

fn hunks(n: usize, directory: &Path) {
    let hunk = |i: usize| json!({"oldStart": 10 * i + 1, "oldLines": 1, "newStart": 10 * i + 1, "newLines": 1, "lines": ["-old", "+new"]});
    claude_edit(
        directory,
        &json!({"file_path": "/p/f"}),
        &without_file((0..n).map(hunk)),
    );
}

fn patch_lines(n: usize, directory: &Path) {
    let lines: Vec<String> = (0..n)
        .flat_map(|i| {
            [
                format!("-old {i}"),
                format!("+new {i}"),
                format!(" line {i}"),
            ]
        })
        .collect();
    let hunk =
        json!({"oldStart": 1, "oldLines": 2 * n, "newStart": 1, "newLines": 2 * n, "lines": lines});
    claude_edit(
        directory,
        &json!({"file_path": "/p/f"}),
        &without_file([hunk].into_iter()),
    );
}

/// Each record has the whole file, which does not grow with them.
fn edits_of_one_file(n: usize, directory: &Path) {
    let file = lines_with("old", 100);
    let both = |i: usize| {
        let (old, new) = (
            format!("line {} has old", i % 100),
            format!("line {} has new", i % 100),
        );
        let input = json!({"file_path": "/p/f", "old_string": old, "new_string": new});
        edit_call(i, &input) + &edit_result(i, &result_of(&file, &old, &new, json!([])))
    };
    session(directory, (0..n).map(both));
}

fn numbered_lines(n: usize, directory: &Path) {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/p/f"}}]});
    let shown: String = (1..=n).map(|i| format!("{i:>6}\tline {i}\n")).collect();
    let content: String = (1..=n).map(|i| format!("line {i}\n")).collect();
    let result = json!({"type": "text", "file": {"filePath": "/p/f", "content": content, "numLines": n, "startLine": 1, "totalLines": n}});
    let reply = json!({"role": "user", "content": [{"tool_use_id": "toolu_1", "type": "tool_result", "content": shown}]});
    let lines = [
        line(0, &prompt("go")),
        line(1, &format!(r#""type":"assistant","message":{message}"#)),
        line(
            2,
            &format!(r#""type":"user","message":{reply},"toolUseResult":{result}"#),
        ),
    ];
    session(directory, lines.into_iter());
}

/// A session of Codex with these events.
fn codex(directory: &Path, payloads: impl Iterator<Item = (&'static str, Value)>) {
    let meta = json!({"id": ID, "timestamp": "2026-11-21T10:24:30.000Z", "cwd": "/p", "originator": "codex_cli_rs", "cli_version": "0.169.0", "source": "cli"});
    let payloads = [("session_meta", meta)].into_iter().chain(payloads);
    let record = |(kind, payload): (&str, Value)| {
        json!({"timestamp": "2026-11-21T10:24:30.000Z", "type": kind, "payload": payload})
            .to_string()
            + "\n"
    };
    write_lines(
        &directory.join(format!("rollout-2026-11-21T10-24-30-{ID}.jsonl")),
        payloads.map(record),
    );
}

fn codex_patch(changes: &Value) -> [(&'static str, Value); 1] {
    [(
        "event_msg",
        json!({"type": "patch_apply_end", "call_id": "call_1", "turn_id": "t", "stdout": "ok", "stderr": "", "success": true, "changes": changes, "status": "completed"}),
    )]
}

fn codex_hunks(n: usize, directory: &Path) {
    let diff: String = (0..n)
        .map(|i| format!("@@ -{0} +{0} @@\n-a\n+b\n", 2 * i + 1))
        .collect();
    codex(
        directory,
        codex_patch(&json!({"/p/f": {"type": "update", "unified_diff": diff, "move_path": null}}))
            .into_iter(),
    );
}

fn codex_files(n: usize, directory: &Path) {
    let change = |i: usize| {
        (
            format!("/p/f{i}"),
            json!({"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": null}),
        )
    };
    codex(
        directory,
        codex_patch(&Value::Object((0..n).map(change).collect())).into_iter(),
    );
}

/// `codex exec --json` of 0.34: the changes are listed before they are made, and the tool prints their names.
fn codex_printed_files(n: usize, directory: &Path) {
    let change = |i: usize| {
        (
            format!("/p/f{i}"),
            json!({"update": {"unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": null}}),
        )
    };
    let changes = Value::Object((0..n).map(change).collect());
    let printed: String = (0..n).map(|i| format!("M f{i}\n")).collect();
    let lines = [
        json!({"model": "m", "workdir": "/p", "provider": "openai", "approval": "never", "sandbox": "read-only", "reasoning effort": "none", "reasoning summaries": "auto"}),
        json!({"prompt": "go"}),
        json!({"id": "0", "msg": {"type": "patch_apply_begin", "call_id": "call_1", "auto_approved": true, "changes": changes}}),
        json!({"id": "0", "msg": {"type": "patch_apply_end", "call_id": "call_1", "stdout": format!("Success. Updated the following files:\n{printed}"), "stderr": "", "success": true}}),
    ];
    write_lines(
        &directory.join("exec.jsonl"),
        lines.into_iter().map(|line| line.to_string() + "\n"),
    );
}

/// A session of Gemini CLI with one answer that made these calls.
fn gemini(directory: &Path, calls: impl Iterator<Item = Value>) {
    const TIME: &str = "2026-11-21T09:58:21.330Z";
    let head = json!({"sessionId": ID, "projectHash": "bb97ae4cdb5b0dd7e32b198a7ebcb35332fca3343779f0895ffb11258627aa8f", "startTime": TIME, "lastUpdated": TIME, "kind": "main"});
    let answer = json!({"id": "a1", "timestamp": TIME, "type": "gemini", "content": "", "model": "m", "toolCalls": calls.collect::<Vec<_>>()});
    write_lines(
        &directory.join("session-2026-11-21T09-58-08a7d153.jsonl"),
        [head, answer]
            .into_iter()
            .map(|line| line.to_string() + "\n"),
    );
}

fn gemini_edit(
    i: usize,
    file: &str,
    (old, new): (&str, &str),
    (before, after): (&str, &str),
) -> Value {
    json!({"id": format!("call_{i}"), "name": "replace", "args": {"file_path": file, "old_string": old, "new_string": new}, "status": "success",
        "timestamp": "2026-11-21T09:58:21.330Z", "result": [{"functionResponse": {"id": format!("call_{i}"), "name": "replace", "response": {"output": "ok"}}}],
        "resultDisplay": {"fileDiff": "", "fileName": "f", "filePath": file, "originalContent": before, "newContent": after}})
}

fn gemini_edits(n: usize, directory: &Path) {
    gemini(
        directory,
        (0..n).map(|i| gemini_edit(i, &format!("/p/f{i}"), ("old", "new"), ("old\n", "new\n"))),
    );
}

fn gemini_occurrences(n: usize, directory: &Path) {
    let (before, after) = (lines_with("old", n), lines_with("newer", n));
    gemini(
        directory,
        [gemini_edit(1, "/p/f", ("old", "newer"), (&before, &after))].into_iter(),
    );
}

/// An exported session of OpenCode with one call.
fn opencode(directory: &Path, tool: &str, input: &Value, metadata: &Value) {
    const SESSION: &str = "ses_e0262ac77ffe1739GenJMa6wLZ";
    let state = json!({"status": "completed", "input": input, "output": "ok", "title": "t", "metadata": metadata, "time": {"start": 1_790_000_000_001_u64, "end": 1_790_000_000_002_u64}});
    let part = json!({"id": "prt_1", "sessionID": SESSION, "messageID": "msg_1", "type": "tool", "callID": "call_1", "tool": tool, "state": state});
    let info = json!({"id": "msg_1", "sessionID": SESSION, "role": "assistant", "parentID": "msg_0", "mode": "build", "agent": "build", "path": {"cwd": "/p", "root": "/"},
        "cost": 0, "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}, "modelID": "m", "providerID": "p", "time": {"created": 1_790_000_000_000_u64}});
    let session = json!({"id": SESSION, "slug": "s", "projectID": "p", "directory": "/p", "title": "t", "version": "1.3.2", "time": {"created": 1_790_000_000_000_u64, "updated": 1_790_000_000_000_u64}});
    let document = json!({"info": session, "messages": [{"info": info, "parts": [part]}]});
    write_lines(
        &directory.join(format!("{SESSION}.json")),
        [document.to_string()].into_iter(),
    );
}

fn opencode_files(n: usize, directory: &Path) {
    let patch: String = (0..n)
        .map(|i| format!("*** Update File: f{i}\n@@\n-old\n+new\n"))
        .collect();
    let input = json!({"patchText": format!("*** Begin Patch\n{patch}*** End Patch")});
    let file = |i: usize| {
        json!({"filePath": format!("/p/f{i}"), "relativePath": format!("f{i}"), "type": "update", "diff": "@@ -1,1 +1,1 @@\n-old\n+new\n",
            "patch": "@@ -1,1 +1,1 @@\n-old\n+new\n", "additions": 1, "deletions": 1})
    };
    opencode(
        directory,
        "apply_patch",
        &input,
        &json!({"files": (0..n).map(file).collect::<Vec<_>>(), "diff": ""}),
    );
}

fn opencode_occurrences(n: usize, directory: &Path) {
    let (before, after) = (lines_with("old", n), lines_with("newer", n));
    let input =
        json!({"filePath": "/p/f", "oldString": "old", "newString": "newer", "replaceAll": true});
    let filediff =
        json!({"file": "/p/f", "before": before, "after": after, "additions": n, "deletions": n});
    opencode(
        directory,
        "edit",
        &input,
        &json!({"filediff": filediff, "diff": ""}),
    );
}
