//! What the compatibility kit needs to know about Qwen Code.

use engram_conformance::RealEdit;
use engram_conformance::gaps::{
    EDITORS, GapRow, edits_by, has_event, has_no_file_hash, is_snippet, truth_hash_only,
};
use engram_conformance::tape::Event;
use engram_core::event::Kind;

use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_gap_rows(GAP_ROWS)
    .with_unit_tests(UNIT_TESTS);

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
