//! What the compatibility kit needs to know about Pi.

use engram_conformance::RealEdit;
use engram_conformance::gaps::{
    EDIT_NOT_UTF8, EDIT_PATCH_TEXT, EDITORS, GapRow, PROMPT_COMMAND, READ_BOM, edits_by, has_event,
    has_no_file_hash, lacks_file_before_hash, split_at_cr,
};
use engram_conformance::tape::Event;
use engram_core::event::Kind;

use super::revisions::{CLAW_FORMATS, FORMATS, Format};
use crate::certification::Certification;

/// See [`Certification`].
pub(super) const CERTIFICATION: Certification = Certification::new()
    .with_gap_rows(GAP_ROWS)
    .with_unknown_version(|text| with_format(text, FORMATS))
    .with_unit_tests(UNIT_TESTS);

/// See [`Certification`], for OpenClaw.
pub(super) const OPENCLAW: Certification = Certification::new()
    .with_gap_rows(CLAW_ROWS)
    .with_unknown_version(|text| with_format(text, CLAW_FORMATS));

/// Omission rules that no recording uses, with the unit tests that prove them.
const UNIT_TESTS: &[(&str, &str)] = &[
    ("record.repeated", "an_entry_that_is_there_twice_is_one"),
    ("signature", "a_signature_is_not_on_the_tape"),
    (
        "call.streamed",
        "a_session_of_openclaw_is_known_by_what_only_openclaw_writes",
    ),
];

/// How recordings show the gaps of OpenClaw.
const CLAW_ROWS: &[GapRow] = &[
    ADD_OVER_FILE,
    BARE_CR,
    BOM,
    FUZZY,
    NO_FILE_HASH,
    EDIT_PATCH_TEXT,
    READ_BOM,
];

const ADD_OVER_FILE: GapRow = GapRow::new("edit.add_over_file", Kind::CodeEdit, |case| {
    edits_by(case, &["write"], |edit, real| {
        edit.text("op") == Some("create") && real.before.is_some()
    })
});
const FUZZY: GapRow = GapRow::new("edit.fuzzy", Kind::CodeEdit, |case| {
    has_event(case, Kind::CodeEdit, has_only_after)
})
.without_hash(has_only_after);
const NO_FILE_HASH: GapRow = GapRow::new("edit.no_file_hash", Kind::CodeEdit, |case| {
    has_event(case, Kind::CodeEdit, is_diff)
})
.without_hash(is_diff);

const BOM: GapRow = GapRow::new("edit.bom", Kind::CodeEdit, |case| {
    edits_by(case, EDITORS, |edit, real| {
        let begins = edit
            .range("before_range")
            .is_some_and(|(first, _)| first == 1);
        begins && edit.has("before_hash") && text_before(real).starts_with('\u{feff}')
    })
});
const BARE_CR: GapRow = GapRow::new("edit.bare_cr", Kind::CodeEdit, |case| {
    edits_by(case, EDITORS, |edit, real| {
        edit.has("before_range") && split_at_cr(text_before(real)).is_some()
    })
});

/// How recordings show the gaps of this harness only.
const GAP_ROWS: &[GapRow] = &[
    EDIT_NOT_UTF8,
    ADD_OVER_FILE,
    FUZZY,
    NO_FILE_HASH,
    BOM,
    BARE_CR,
    GapRow::new("edit.script", Kind::CodeEdit, |case| {
        has_event(case, Kind::CodeEdit, is_of_script)
    })
    .without_lines(is_of_script)
    .without_hash(is_of_script),
    GapRow::new("result.script", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, is_of_script)
    }),
    GapRow::new("result.blocked", Kind::ToolResult, |case| {
        has_event(case, Kind::ToolResult, is_blocked)
    }),
    PROMPT_COMMAND,
];

fn text_before(real: &RealEdit) -> &str {
    real.before.as_deref().unwrap_or_default()
}

/// True for a changed span of which only the text after is known.
fn has_only_after(edit: &Event) -> bool {
    edit.text("op") == Some("update")
        && lacks_file_before_hash(edit)
        && edit.range("before_range").is_some()
        && !edit.has("before_hash")
        && edit.has("after_hash")
}

/// True for an event of a call that a script made: its id has that of the script.
fn is_of_script(event: &Event) -> bool {
    event.text("call_id").is_some_and(|id| id.contains('/'))
}

/// True for an edit of which a diff is known.
fn is_diff(edit: &Event) -> bool {
    edit.text("op") == Some("update") && has_no_file_hash(edit)
}

/// True for a command that failed without a word of the harness about how it ended.
fn is_blocked(result: &Event) -> bool {
    let last = result.text("stderr").and_then(|text| text.lines().last());
    result.text("tool") == Some("bash")
        && result.text("status") == Some("error")
        && !result.has("exit")
        && last.is_some_and(|last| !last.starts_with("Command "))
}

/// The log as a version of the format would be that is later than these.
fn with_format(text: &str, known: &[Format]) -> Option<String> {
    let version = |format: u64| format!("\"version\":{format}");
    let later = version(known.last()?.0 + 1);
    let mut known = known.iter().map(|(format, _)| version(*format));
    let found = known.find(|known| text.contains(known))?;
    Some(text.replacen(&found, &later, 1))
}
