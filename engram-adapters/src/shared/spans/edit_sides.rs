//! Sets what is known of the two sides of an edit: the text before it and the text after it.

use std::borrow::Cow;

use engram_core::anchor::anchors;
use engram_core::event::{CodeEdit, EditOp, Range};
use engram_core::hash::Hash;

use super::lines::{full_range, line_count, with_unix_line_ends, without_final_line_end};
use crate::shared::patch::ChangedRun;

/// The hash of a text, its anchors, and the text itself.
pub type SpanFacts = (Option<Hash>, Vec<u64>, Option<Cow<'static, str>>);

/// What a tape has of the text of a span, with `\n` for each `\r\n` as it is hashed. Nothing if the text may differ from the file's bytes.
pub fn span_facts(text: &str) -> SpanFacts {
    match Hash::of_lossless_text(text) {
        None => Default::default(),
        hash => {
            let hashed = with_unix_line_ends(text.into()).into_owned();
            (hash, anchors(text), Some(Cow::Owned(hashed)))
        }
    }
}

/// Sets hash, anchors and text of the side before. Nothing if the text may differ from the file's bytes.
pub fn set_before(edit: &mut CodeEdit<'_>, text: &str) {
    (
        edit.before_hash,
        edit.before_anchor_hashes,
        edit.before_text,
    ) = span_facts(text);
}

/// Sets hash, anchors and text of the side after. Nothing if the text may differ from the file's bytes.
pub fn set_after(edit: &mut CodeEdit<'_>, text: &str) {
    (edit.after_hash, edit.after_anchor_hashes, edit.after_text) = span_facts(text);
}

/// Sets all lines of a file that was created or overwritten with this text, or deleted with it. Of the other side nothing is known.
pub fn set_whole_file(edit: &mut CodeEdit<'_>, text: &str) {
    let (lines, hash) = (without_final_line_end(text), Hash::of_lossless_text(text));
    if edit.op == EditOp::Delete {
        (edit.before_range, edit.file_before_hash) = (Some(full_range(text)), hash);
        set_before(edit, lines);
    } else {
        (edit.after_range, edit.file_after_hash) = (Some(full_range(text)), hash);
        set_after(edit, lines);
    }
}

/// Sets the ranges of a changed run of a diff. A run that is numbered from 0 has no range. A created file has no side before, and a deleted
/// file has no side after.
pub fn set_run_ranges(edit: &mut CodeEdit<'_>, run: &ChangedRun<'_>) {
    let range = |first: u64, lines: &[Cow<'_, str>]| {
        (first > 0).then(|| Range {
            first,
            last: first + lines.len() as u64 - 1,
        })
    };
    if edit.op != EditOp::Create {
        edit.before_range = range(run.before_first, &run.before);
    }
    if edit.op != EditOp::Delete {
        edit.after_range = range(run.after_first, &run.after);
    }
}

/// Sets ranges, hashes, anchors and texts of a changed run of a diff.
pub fn set_run(edit: &mut CodeEdit<'_>, run: &ChangedRun<'_>) {
    set_run_ranges(edit, run);
    if edit.op != EditOp::Create {
        set_before(edit, &run.before.join("\n"));
    }
    if edit.op != EditOp::Delete {
        set_after(edit, &run.after.join("\n"));
    }
}

/// Sets the old and new text of an edit at unknown lines, as far as they are known.
pub fn set_snippet(edit: &mut CodeEdit<'_>, before: Option<&str>, after: Option<&str>) {
    before.into_iter().for_each(|text| set_before(edit, text));
    after.into_iter().for_each(|text| set_after(edit, text));
    edit.before_lines = edit.before_hash.and(before).map(line_count);
    edit.after_lines = edit.after_hash.and(after).map(line_count);
    edit.snippet |= edit.before_hash.is_some() || edit.after_hash.is_some();
}
