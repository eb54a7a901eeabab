//! What it means that a recording shows a gap of one harness only.

use engram_core::event::Kind;
use serde_json::Value;

use crate::gaps::{EDIT_NOT_UTF8, EDIT_PATCH_TEXT, EDITORS, GapRow, edits_by, is_bare, is_snippet, lacks_before};
use crate::scene::Scene;
use crate::tape::Event;

/// The rows of one adapter.
pub fn of(adapter: &str) -> &'static [GapRow] {
    match adapter {
        "claude-code" => CLAUDE_CODE,
        "codex" => CODEX,
        "opencode" => OPENCODE,
        "gemini" => GEMINI,
        "cursor" => CURSOR,
        _ => &[],
    }
}

fn any(scene: &Scene<'_>, kind: Kind, shows: impl Fn(&Event) -> bool) -> bool {
    scene.events(kind).any(|(_, event)| shows(event))
}

const CLAUDE_CODE: &[GapRow] = &[
    EDIT_NOT_UTF8,
    GapRow::new("edit.write_no_before", Kind::CodeEdit, |scene| {
        edits_by(scene, &["write"], |edit, real| lacks_before(edit) && real.before.is_some())
    })
    .without_hash(lacks_before),
    GapRow::new("edit.notebook_no_text", Kind::CodeEdit, |scene| {
        edits_by(scene, EDITORS, |edit, real| real.file.ends_with(".ipynb") && lacks_before(edit) && real.before.is_some())
    })
    .without_hash(is_bare),
    GapRow::new("edit.copied_snippet", Kind::CodeEdit, |scene| any(scene, Kind::CodeEdit, |edit| is_snippet(edit) && edit.is_replay()))
        .without_lines(Event::is_replay),
    GapRow::new("edit.agent_snippet", Kind::CodeEdit, |scene| any(scene, Kind::CodeEdit, |edit| is_snippet(edit) && is_agents(edit)))
        .without_lines(is_agents),
];

const CODEX: &[GapRow] = &[
    EDIT_PATCH_TEXT,
    GapRow::new("call.nested_parent", Kind::ToolCall, |scene| {
        any(scene, Kind::ToolCall, |call| call.text("call_id").is_some_and(|id| id.starts_with("exec-")) && !call.has("parent"))
    }),
];

const GEMINI: &[GapRow] = &[
    EDIT_NOT_UTF8,
    GapRow::new("edit.snippet", Kind::CodeEdit, |scene| edits_by(scene, EDITORS, |edit, _| is_snippet(edit) && !edit.has("confirmed")))
        .without_lines(|edit| !edit.has("confirmed")),
    GapRow::new("edit.parallel_lost", Kind::CodeEdit, |scene| any(scene, Kind::CodeEdit, is_unconfirmed))
        .without_lines(is_unconfirmed)
        .without_hash(is_unconfirmed),
    GapRow::new("prompt.delegated", Kind::MsgIn, |scene| {
        let is_prompt = |text: &str| scene.truth.prompts.iter().any(|prompt| prompt == text);
        let is_delegated = |text: &str| text.starts_with("Your task is to ") && !is_prompt(text);
        any(scene, Kind::MsgIn, |said| !said.has("synthetic") && said.text("text").is_some_and(is_delegated))
    }),
];

const OPENCODE: &[GapRow] = &[
    GapRow::new("edit.formatter", Kind::CodeEdit, |scene| {
        edits_by(scene, EDITORS, |edit, real| {
            is_snippet(edit) && !edit.has("file_after_hash") && real.after.is_some() && is_write(scene, edit)
        })
    })
    .without_lines(|_| true),
    GapRow::new("edit.no_file_hash", Kind::CodeEdit, |scene| {
        edits_by(scene, EDITORS, |edit, real| {
            edit.range("after_range").is_some() && lacks_before(edit) && !edit.has("file_after_hash") && real.after.is_some()
        })
    })
    .without_hash(|edit| !edit.has("file_after_hash") || lacks_before(edit)),
    GapRow::new("edit.altered_diff", Kind::CodeEdit, |scene| {
        edits_by(scene, EDITORS, |edit, real| {
            is_bare(edit) && !edit.has("after_hash") && edit.range("after_range").is_some() && real.after.is_some()
        })
    })
    .without_hash(is_bare),
    GapRow::new("edit.after_error", Kind::CodeEdit, edit_of_a_failed_call),
    GapRow::new("stream.no_reasoning", Kind::MsgOut, |scene| {
        let is_stream = |start: &Event| start.0.pointer("/harness/schema").and_then(Value::as_str) == Some("run-stream");
        let reasoned = |event: &Event| event.0.pointer("/tokens/reasoning").and_then(Value::as_u64).is_some_and(|tokens| tokens > 0);
        scene
            .sides
            .iter()
            .filter(|side| side.events.first().is_some_and(is_stream))
            .any(|side| side.events.iter().any(reasoned) && !side.events.iter().any(|event| event.text("channel") == Some("reasoning")))
    }),
];

/// What stands in place of content that was not kept.
const PLACEHOLDERS: &[&str] = &["[Image]", "[File: ", "[Oversize transcript blob omitted"];

const CURSOR: &[GapRow] = &[
    GapRow::new("evidence.made_up", Kind::Meta, |_| true),
    GapRow::new("session.not_recorded", Kind::Meta, |scene| !any(scene, Kind::Meta, |meta| meta.is_meta("session") && meta.has("model"))),
    GapRow::new("usage.not_recorded", Kind::Meta, |scene| !any(scene, Kind::Meta, |meta| meta.is_meta("usage"))),
    GapRow::new("message.placeholder", Kind::MsgOut, |scene| {
        PLACEHOLDERS.iter().any(|mark| any(scene, Kind::MsgOut, |out| says(out, mark)))
    }),
    GapRow::new("reasoning.unmarked", Kind::MsgOut, |scene| any(scene, Kind::MsgOut, |out| says(out, "\n\n[REDACTED]"))),
    GapRow::new("call.no_id", Kind::ToolCall, |scene| any(scene, Kind::ToolCall, |call| !call.has("call_id"))),
    GapRow::new("call.args_as_text", Kind::ToolCall, |scene| any(scene, Kind::ToolCall, |call| call.text("args").is_some())),
    GapRow::new("result.name_only", Kind::ToolResult, |scene| {
        any(scene, Kind::ToolResult, |result| ["status", "stdout", "stderr"].iter().all(|key| !result.has(key)))
    }),
    GapRow::new("result.as_told", Kind::ToolResult, |scene| {
        any(scene, Kind::ToolResult, |result| !result.has("status") && result.has("stdout"))
    }),
    GapRow::new("result.stub", Kind::ToolResult, |scene| {
        any(scene, Kind::ToolResult, |result| result.text("stdout").is_some_and(|out| out.contains("totalLinesInFile")))
    }),
    GapRow::new("edit.request_only", Kind::CodeEdit, |scene| any(scene, Kind::CodeEdit, |edit| edit.has("confirmed")))
        .without_lines(|edit| edit.has("confirmed"))
        .without_hash(|edit| edit.has("confirmed")),
    GapRow::new("edit.no_range", Kind::CodeEdit, |scene| {
        any(scene, Kind::CodeEdit, |edit| is_snippet(edit) && !edit.has("call_id") && !edit.has("confirmed"))
    })
    .without_lines(|edit| !edit.has("confirmed")),
];

fn is_agents(edit: &Event) -> bool {
    edit.0.pointer("/source/agent_id").is_some()
}

fn is_unconfirmed(edit: &Event) -> bool {
    edit.0.get("confirmed") == Some(&Value::Bool(false))
}

fn says(event: &Event, text: &str) -> bool {
    event.text("text").is_some_and(|said| said.contains(text))
}

/// True for the edit of a call that gives the whole new file.
fn is_write(scene: &Scene<'_>, edit: &Event) -> bool {
    let call = edit.text("call_id").and_then(|id| scene.said_call(id));
    call.is_some_and(|call| call.text("kind") == Some("write"))
}

/// A file that only edit tools can have changed, by a call that came back as failed and left no edit.
fn edit_of_a_failed_call(scene: &Scene<'_>) -> bool {
    scene.truth.edits.iter().any(|real| {
        let of_edit = |event: &Event| event.text("call_id").is_some_and(|id| real.call_ids.iter().any(|call| call == id));
        let is_editor = |id: &String| {
            let kind = scene.said_call(id).and_then(|call| call.text("kind"));
            kind.is_none_or(|kind| EDITORS.contains(&kind))
        };
        let has_failed = |result: &Event| of_edit(result) && result.text("status") == Some("error");
        real.call_ids.iter().all(is_editor) && any(scene, Kind::ToolResult, has_failed) && !any(scene, Kind::CodeEdit, of_edit)
    })
}
