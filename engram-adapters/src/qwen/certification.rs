//! What the compatibility kit needs to know about Qwen Code.

use engram_conformance::gaps::{
    EDITORS, GapRow, PROMPT_COMMAND, edits_by, has_event, has_no_file_hash, is_snippet,
    truth_hash_only,
};
use engram_conformance::tape::Event;
use engram_conformance::{Case, ConvertedSession, RealEdit};
use engram_core::event::Kind;
use serde_json::Value;

use super::revisions::PRINTED;
use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_printed_sessions()
    .with_gap_rows(GAP_ROWS)
    .with_unit_tests(UNIT_TESTS);

/// True for a session that a run printed.
fn is_printed(session: &ConvertedSession) -> bool {
    let schema = session
        .events
        .first()
        .and_then(|start| start.0.pointer("/harness/schema"));
    schema.and_then(Value::as_str) == Some(PRINTED)
}

/// True if a run printed such an event.
fn has_printed(case: &Case<'_>, is: impl Fn(&Event) -> bool) -> bool {
    let printed = case.sessions.iter().filter(|session| is_printed(session));
    printed.flat_map(|session| &session.events).any(is)
}

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("record.repeated", "a_line_that_is_there_twice_is_one"),
    ("title.repeated", "a_title_that_is_written_again_is_one"),
    ("signature", "a_signature_is_not_on_the_tape"),
    ("image", "an_image_is_its_hash"),
    ("hook.context", "what_a_hook_adds_is_not_the_persons"),
    ("agent.ready", "the_state_of_a_sub_agent_is_no_event"),
];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    GapRow::new("usage.cache_write", Kind::Meta, |case| {
        has_event(case, Kind::Meta, |usage| {
            usage.is_meta("usage") && usage.0.pointer("/tokens/input").is_none()
        })
    }),
    GapRow::new("usage.cached_input", Kind::Meta, |case| {
        has_printed(case, |usage| {
            usage.is_meta("usage") && usage.0.pointer("/tokens/input").is_none()
        })
    }),
    GapRow::new("usage.beside", Kind::Meta, |case| {
        has_printed(case, |_| true) && case.truth.usage.len() > printed_usages(case)
    }),
    PROMPT_COMMAND,
    GapRow::new("agent.not_printed", Kind::MsgOut, |case| {
        has_printed(case, |event| event.0.pointer("/source/agent_id").is_some())
    }),
    GapRow::new("prompt.not_printed", Kind::MsgIn, |case| {
        has_printed(case, |_| true) && !case.truth.prompts.is_empty()
    })
    .without_prompts(),
    GapRow::new("result.display_only", Kind::ToolResult, |case| {
        has_printed(case, |result| {
            result
                .text("stdout")
                .is_some_and(|shown| shown.starts_with("Read lines ") && !shown.contains('\n'))
        })
    }),
    GapRow::new("edit.big_file", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_diff)
    })
    .without_hash(is_diff),
    GapRow::new("edit.agent_snippet", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_snippet)
    })
    .without_lines(is_snippet)
    .without_hash(|edit| is_snippet(edit) && !edit.has("before_hash")),
    GapRow::new("edit.bom", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            edit.has("before_hash") && text_before(real).starts_with('\u{feff}')
        })
    }),
    GapRow::new("edit.not_utf8", Kind::CodeEdit, |case| {
        edits_by(case, EDITORS, |edit, real| {
            edit.has("before_hash") && truth_hash_only(real)
        })
    }),
    GapRow::new("result.no_denial", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, |result| {
            result.text("status") == Some("cancelled")
        })
    }),
    GapRow::new("read.trimmed", Kind::CodeRead, |case| {
        has_event(case, Kind::CodeRead, has_lines_alone)
    })
    .without_hash(has_lines_alone),
];

/// How many responses have tokens in what runs printed.
fn printed_usages(case: &Case<'_>) -> usize {
    let printed = case.sessions.iter().filter(|session| is_printed(session));
    let events = printed.flat_map(|session| &session.events);
    events.filter(|event| event.is_meta("usage")).count()
}

fn text_before(real: &RealEdit) -> &str {
    real.before.as_deref().unwrap_or_default()
}

/// True for an edit of which the diff is known and not the file.
fn is_diff(edit: &Event) -> bool {
    edit.text("op") == Some("update")
        && has_no_file_hash(edit)
        && edit.range("after_range").is_some()
}

/// True for a read whose lines are known, and not their text.
fn has_lines_alone(read: &Event) -> bool {
    read.range("range").is_some() && !read.has("hash")
}
