//! What the kit must know about each registered adapter: the gaps of one harness only, and how to fake an unknown version.

use engram_core::event::Kind;
use serde_json::Value;

use crate::case::Case;
use crate::gaps::{EDIT_NOT_UTF8, EDIT_PATCH_TEXT, EDITORS, GapRow, edits_by, has_no_hashes, is_snippet, lacks_file_before_hash};
use crate::tape::Event;

/// The gap rows of one adapter.
pub fn gap_rows(adapter: &str) -> &'static [GapRow] {
    match adapter {
        "claude-code" => CLAUDE_CODE,
        "codex" => CODEX,
        "opencode" => OPENCODE,
        "gemini" => GEMINI,
        "cursor" => CURSOR,
        _ => &[],
    }
}

/// Rewrites a session of one adapter as if an unknown version had written it. `None` if all its logs name their version.
pub fn unknown_version_rewrite(adapter: &str) -> Option<fn(&str) -> Option<String>> {
    (adapter == "gemini").then_some(rename_header_field)
}

/// Replaces a header field by one that no known version writes. These logs name no version, so the header identifies the schema.
fn rename_header_field(text: &str) -> Option<String> {
    let renamed = text.replacen("\"projectHash\"", "\"projectKey\"", 1);
    (renamed != text).then_some(renamed)
}

fn any(case: &Case<'_>, kind: Kind, shows: impl Fn(&Event) -> bool) -> bool {
    case.events(kind).any(|(_, event)| shows(event))
}

const CLAUDE_CODE: &[GapRow] = &[
    EDIT_NOT_UTF8,
    GapRow::new("edit.write_no_before", Kind::CodeEdit, |case| {
        edits_by(case, &["write"], |edit, real| lacks_file_before_hash(edit) && real.before.is_some())
    })
    .without_hash(lacks_file_before_hash),
    GapRow::new("edit.notebook_no_text", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| real.file.ends_with(".ipynb") && lacks_file_before_hash(edit) && real.before.is_some())
    })
    .without_hash(has_no_hashes),
    GapRow::new("edit.copied_snippet", Kind::CodeEdit, |case| any(case, Kind::CodeEdit, |edit| is_snippet(edit) && edit.is_replay()))
        .without_lines(Event::is_replay),
    GapRow::new("edit.agent_snippet", Kind::CodeEdit, |case| any(case, Kind::CodeEdit, |edit| is_snippet(edit) && is_sub_agents(edit)))
        .without_lines(is_sub_agents),
];

const CODEX: &[GapRow] = &[
    EDIT_PATCH_TEXT,
    GapRow::new("call.nested_parent", Kind::ToolCall, |case| {
        any(case, Kind::ToolCall, |call| call.text("call_id").is_some_and(|id| id.starts_with("exec-")) && !call.has("parent"))
    }),
];

const GEMINI: &[GapRow] = &[
    EDIT_NOT_UTF8,
    GapRow::new("edit.snippet", Kind::CodeEdit, |case| edits_by(case, EDITORS, |edit, _| is_snippet(edit) && !edit.has("confirmed")))
        .without_lines(|edit| !edit.has("confirmed")),
    GapRow::new("edit.parallel_lost", Kind::CodeEdit, |case| any(case, Kind::CodeEdit, is_unconfirmed))
        .without_lines(is_unconfirmed)
        .without_hash(is_unconfirmed),
    GapRow::new("prompt.delegated", Kind::MsgIn, |case| {
        let is_prompt = |text: &str| case.truth.prompts.iter().any(|prompt| prompt == text);
        let is_delegated = |text: &str| text.starts_with("Your task is to ") && !is_prompt(text);
        any(case, Kind::MsgIn, |message| !message.has("synthetic") && message.text("text").is_some_and(is_delegated))
    }),
];

const OPENCODE: &[GapRow] = &[
    GapRow::new("edit.formatter", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            is_snippet(edit) && !edit.has("file_after_hash") && real.after.is_some() && is_write(case, edit)
        })
    })
    .without_lines(|_| true),
    GapRow::new("edit.no_file_hash", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            edit.range("after_range").is_some() && lacks_file_before_hash(edit) && !edit.has("file_after_hash") && real.after.is_some()
        })
    })
    .without_hash(|edit| !edit.has("file_after_hash") || lacks_file_before_hash(edit)),
    GapRow::new("edit.altered_diff", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            has_no_hashes(edit) && !edit.has("after_hash") && edit.range("after_range").is_some() && real.after.is_some()
        })
    })
    .without_hash(has_no_hashes),
    GapRow::new("edit.after_error", Kind::CodeEdit, has_edit_of_failed_call),
    GapRow::new("stream.no_reasoning", Kind::MsgOut, |case| {
        let is_stream = |start: &Event| start.0.pointer("/harness/schema").and_then(Value::as_str) == Some("run-stream");
        let reasoned = |event: &Event| event.0.pointer("/tokens/reasoning").and_then(Value::as_u64).is_some_and(|tokens| tokens > 0);
        case.sessions.iter().filter(|session| session.events.first().is_some_and(is_stream)).any(|session| {
            session.events.iter().any(reasoned) && !session.events.iter().any(|event| event.text("channel") == Some("reasoning"))
        })
    }),
];

/// Texts that replace content which the harness did not keep.
const PLACEHOLDERS: &[&str] = &["[Image]", "[File: ", "[Oversize transcript blob omitted"];

const CURSOR: &[GapRow] = &[
    GapRow::new("evidence.made_up", Kind::Meta, |_| true),
    GapRow::new("session.not_recorded", Kind::Meta, |case| !any(case, Kind::Meta, |meta| meta.is_meta("session") && meta.has("model"))),
    GapRow::new("usage.not_recorded", Kind::Meta, |case| !any(case, Kind::Meta, |meta| meta.is_meta("usage"))),
    GapRow::new("message.placeholder", Kind::MsgOut, |case| {
        PLACEHOLDERS.iter().any(|mark| any(case, Kind::MsgOut, |out| has_text(out, mark)))
    }),
    GapRow::new("reasoning.unmarked", Kind::MsgOut, |case| any(case, Kind::MsgOut, |out| has_text(out, "\n\n[REDACTED]"))),
    GapRow::new("call.no_id", Kind::ToolCall, |case| any(case, Kind::ToolCall, |call| !call.has("call_id"))),
    GapRow::new("call.args_as_text", Kind::ToolCall, |case| any(case, Kind::ToolCall, |call| call.text("args").is_some())),
    GapRow::new("result.name_only", Kind::ToolResult, |case| {
        any(case, Kind::ToolResult, |result| ["status", "stdout", "stderr"].iter().all(|key| !result.has(key)))
    }),
    GapRow::new("result.as_told", Kind::ToolResult, |case| {
        any(case, Kind::ToolResult, |result| !result.has("status") && result.has("stdout"))
    }),
    GapRow::new("result.stub", Kind::ToolResult, |case| {
        any(case, Kind::ToolResult, |result| result.text("stdout").is_some_and(|out| out.contains("totalLinesInFile")))
    }),
    GapRow::new("edit.request_only", Kind::CodeEdit, |case| any(case, Kind::CodeEdit, |edit| edit.has("confirmed")))
        .without_lines(|edit| edit.has("confirmed"))
        .without_hash(|edit| edit.has("confirmed")),
    GapRow::new("edit.no_range", Kind::CodeEdit, |case| {
        any(case, Kind::CodeEdit, |edit| is_snippet(edit) && !edit.has("call_id") && !edit.has("confirmed"))
    })
    .without_lines(|edit| !edit.has("confirmed")),
];

fn is_sub_agents(edit: &Event) -> bool {
    edit.0.pointer("/source/agent_id").is_some()
}

fn is_unconfirmed(edit: &Event) -> bool {
    edit.0.get("confirmed") == Some(&Value::Bool(false))
}

fn has_text(event: &Event, text: &str) -> bool {
    event.text("text").is_some_and(|actual| actual.contains(text))
}

/// True if the edit's call contains the complete new file.
fn is_write(case: &Case<'_>, edit: &Event) -> bool {
    let call = edit.text("call_id").and_then(|id| case.tool_call(id));
    call.is_some_and(|call| call.text("kind") == Some("write"))
}

/// Only edit tools can have changed the file, and the call failed and has no edit.
fn has_edit_of_failed_call(case: &Case<'_>) -> bool {
    case.truth.edits.iter().any(|real| {
        let of_edit = |event: &Event| event.text("call_id").is_some_and(|id| real.call_ids.iter().any(|call| call == id));
        let is_editor = |id: &String| {
            let kind = case.tool_call(id).and_then(|call| call.text("kind"));
            kind.is_none_or(|kind| EDITORS.contains(&kind))
        };
        let has_failed = |result: &Event| of_edit(result) && result.text("status") == Some("error");
        real.call_ids.iter().all(is_editor) && any(case, Kind::ToolResult, has_failed) && !any(case, Kind::CodeEdit, of_edit)
    })
}
