//! What the compatibility kit needs to know about Cursor.

use engram_conformance::gaps::{GapRow, has_event, is_snippet};
use engram_conformance::tape::Event;
use engram_core::event::Kind;

use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new().with_gap_rows(GAP_ROWS).with_unit_tests(UNIT_TESTS);

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("selection_address", "selections_files_and_images_of_a_prompt_are_converted"),
    ("selection_rendered", "selections_files_and_images_of_a_prompt_are_converted"),
];

/// Texts that replace content which the harness did not keep.
const PLACEHOLDERS: &[&str] = &["[Image]", "[File: ", "[Oversize transcript blob omitted"];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    GapRow::new("evidence.made_up", Kind::Meta, |_| true),
    GapRow::new("session.not_recorded", Kind::Meta, |case| {
        !has_event(case, Kind::Meta, |meta| meta.is_meta("session") && meta.has("model"))
    }),
    GapRow::new("usage.not_recorded", Kind::Meta, |case| !has_event(case, Kind::Meta, |meta| meta.is_meta("usage"))),
    GapRow::new("message.placeholder", Kind::MsgOut, |case| {
        PLACEHOLDERS.iter().any(|mark| has_event(case, Kind::MsgOut, |out| has_text(out, mark)))
    }),
    GapRow::new("reasoning.unmarked", Kind::MsgOut, |case| has_event(case, Kind::MsgOut, |out| has_text(out, "\n\n[REDACTED]"))),
    GapRow::new("call.no_id", Kind::ToolCall, |case| has_event(case, Kind::ToolCall, |call| !call.has("call_id"))),
    GapRow::new("call.args_as_text", Kind::ToolCall, |case| has_event(case, Kind::ToolCall, |call| call.text("args").is_some())),
    GapRow::new("result.name_only", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, |result| ["status", "stdout", "stderr"].iter().all(|key| !result.has(key)))
    }),
    GapRow::new("result.as_told", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, |result| !result.has("status") && result.has("stdout"))
    }),
    GapRow::new("result.stub", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, |result| result.text("stdout").is_some_and(|out| out.contains("totalLinesInFile")))
    }),
    GapRow::new("edit.request_only", Kind::CodeEdit, |case| has_event(case, Kind::CodeEdit, |edit| edit.has("confirmed")))
        .without_lines(|edit| edit.has("confirmed"))
        .without_hash(|edit| edit.has("confirmed")),
    GapRow::new("edit.no_range", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, |edit| is_snippet(edit) && !edit.has("call_id") && !edit.has("confirmed"))
    })
    .without_lines(|edit| !edit.has("confirmed")),
];

fn has_text(event: &Event, text: &str) -> bool {
    event.text("text").is_some_and(|actual| actual.contains(text))
}
