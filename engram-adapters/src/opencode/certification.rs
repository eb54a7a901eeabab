//! What the compatibility kit needs to know about OpenCode.

use engram_conformance::Case;
use engram_conformance::gaps::{EDITORS, GapRow, edits_by, has_event, has_no_hashes, is_snippet, lacks_file_before_hash};
use engram_conformance::tape::Event;
use engram_core::event::Kind;
use serde_json::Value;

use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new().with_gap_rows(GAP_ROWS).with_printed_sessions();

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
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
        real.call_ids.iter().all(is_editor) && has_event(case, Kind::ToolResult, has_failed) && !has_event(case, Kind::CodeEdit, of_edit)
    })
}
