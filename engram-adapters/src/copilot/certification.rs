//! What the compatibility kit needs to know about Copilot CLI.

use engram_conformance::gaps::{
    EDIT_NOT_UTF8, GapRow, edits_by, has_event, has_no_file_hash, lacks_file_before_hash,
    names_only,
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
    ("signature", "a_signature_is_not_on_the_tape"),
    ("record.repeated", "a_line_that_is_there_twice_is_one"),
    ("facts.repeated", "a_fact_is_stated_again_when_it_changes"),
    (
        "compaction.bounds",
        "a_compaction_gives_its_summary_and_its_tokens",
    ),
];

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    EDIT_NOT_UTF8,
    GapRow::new("usage.run", Kind::Meta, |case| {
        has_event(case, Kind::Meta, is_of_run)
    }),
    GapRow::new("usage.cached_input", Kind::Meta, |case| {
        let is_cached = case
            .truth
            .usage
            .iter()
            .any(|real| real.cache_read > Some(0));
        is_cached
            && has_event(case, Kind::Meta, |usage| {
                is_of_run(usage) && !has_cache(usage)
            })
    }),
    GapRow::new("rewind.cut", Kind::MsgIn, |case| {
        has_event(case, Kind::Meta, |event| event.is_meta("rewind"))
    })
    .without_prompts(),
    GapRow::new("edit.names_only", Kind::CodeEdit, |case| {
        edits_by(case, &["execute"], |edit, _| names_only(edit))
    }),
    GapRow::new("edit.no_file_hash", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_diff)
    })
    .without_hash(is_diff),
    GapRow::new("edit.file_end", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_in_doubt)
    })
    .without_lines(is_in_doubt),
];

/// True for tokens of no single response.
fn is_of_run(meta: &Event) -> bool {
    meta.text("label") == Some("usage") && !meta.has("message_id")
}

fn has_cache(usage: &Event) -> bool {
    usage.0.pointer("/tokens/cache_read").is_some()
}

/// True for an edit of which a diff is known.
fn is_diff(edit: &Event) -> bool {
    edit.text("op") == Some("update") && has_no_file_hash(edit)
}

/// True for an edit by a tool of which the diff does not tell the lines.
fn is_in_doubt(edit: &Event) -> bool {
    edit.text("op") == Some("update") && lacks_file_before_hash(edit) && names_only(edit)
}
