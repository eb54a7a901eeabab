//! `code.edit`: which lines of a file a tool changed, from its structured result.
//!
//! Whole texts come from `originalFile` and similar fields. The diffs in `structuredPatch` are for display (tabs become spaces):
//! they give line numbers, never text.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::{DecodeBuffer, Text};
use memchr::memmem;

use super::patches;
use super::result_context::EditTarget;
use crate::claude_code::schema::{Replacement, Structured};
use crate::claude_code::state::last_edit::LastEdit;
use crate::shared::spans::{ChangedSpan, Rewrite, full_range, hash_and_anchors, with_unix_line_ends};
use crate::shared::value::{Field, is_true, raw_str, text};

/// Where the events of an edit point to.
const RESULT: Pointer<'static> = Pointer::At("/toolUseResult");

/// The text of the edited file before the edit.
fn text_before<'a>(result: &Structured<'a>) -> Option<Text<'a>> {
    text(result.original_file().or(result.original_file_contents()))
}

/// Edit, MultiEdit and Write.
pub(super) fn emit_file_edit(
    edit: &EditTarget<'_>,
    result: &Structured<'_>,
    last: &mut LastEdit,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    match (raw_str(result.kind()), result.old_string(), result.edits()) {
        ("create" | "update", _, _) => emit_write(edit, result, last, buffer, out),
        (_, Some(_), _) | (_, _, Some(_)) => emit_replacements(edit, result, last, buffer, out),
        _ => Ok(false),
    }
}

/// The whole text of a file, if the log has it exactly, with `\n` as line ends: 0.2.96 logs a file with its `\r\n`, later versions
/// without.
fn decoded<'a>(field: Option<Text<'a>>) -> Option<Cow<'a, str>> {
    field?.decode().ok().map(with_unix_line_ends)
}

/// As [`decoded`], into a buffer.
fn decoded_into<'r, 'a: 'r>(field: Option<Text<'a>>, buffer: &'r mut DecodeBuffer) -> Option<Cow<'r, str>> {
    field?.decode_into(buffer).ok().map(|text| with_unix_line_ends(text.into()))
}

/// Write. A `create` has no text before; up to 2.0.45 the log has none for an `update` either.
#[inline(never)]
fn emit_write(
    edit: &EditTarget<'_>,
    result: &Structured<'_>,
    last: &mut LastEdit,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    let Some(after) = decoded(text(result.content())) else { return Ok(false) };
    if raw_str(result.kind()) == "create" {
        let mut event = edit.event(EditOp::Create);
        set_after_side(&mut event, &after);
        last.keep(after.into_owned(), event.file_after_hash);
        out.emit(event, RESULT)?;
        return Ok(true);
    }
    let mut event = edit.event(EditOp::Overwrite);
    match decoded_into(text_before(result), buffer) {
        Some(before) if before == after => return Ok(false),
        None if patches::is_empty(result.structured_patch()) => return Ok(false),
        Some(before) => {
            ChangedSpan::of_files(&before, &after).set_in(&mut event);
            event.file_before_hash = last.hash_of(&before);
            event.file_after_hash = Hash::of_lossless_text(&after);
        }
        None => set_after_side(&mut event, &after),
    }
    last.keep(after.into_owned(), event.file_after_hash);
    out.emit(event, RESULT)?;
    Ok(true)
}

/// Sets the after side of an event that created or replaced a whole file.
pub(super) fn set_after_side(event: &mut CodeEdit<'_>, after: &str) {
    event.after_range = Some(full_range(after));
    (event.after_hash, event.after_anchor_hashes) = hash_and_anchors(after.strip_suffix('\n').unwrap_or(after));
    event.file_after_hash = Hash::of_lossless_text(after);
}

/// Edit and MultiEdit: the replacements are applied to the whole text before.
#[inline(never)]
fn emit_replacements(
    edit: &EditTarget<'_>,
    result: &Structured<'_>,
    last: &mut LastEdit,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    let Some(before) = decoded_into(text_before(result), buffer) else { return patches::emit_ranges(edit, result.structured_patch(), out) };
    let single = Replacement { old: result.old_string(), new: result.new_string(), everywhere: is_true(result.replace_all()) };
    let replacements = Replacement::list_or(result.edits(), single);
    // If a person changed the proposal, no field has the text that was written.
    let rewrite = (!is_true(result.user_modified())).then(|| Rewrite::with_scratch(&before, last.take_scratch()));
    let applied = rewrite.and_then(|rewrite| apply(rewrite, &replacements, result.structured_patch()));
    let Some(rewrite) = applied else {
        let mut event = edit.event(EditOp::Update);
        event.file_before_hash = last.hash_of(&before);
        out.emit(event, RESULT)?;
        return Ok(true);
    };
    if before.is_empty() && replacements.first().is_some_and(|first| raw_str(first.old).is_empty()) {
        let mut event = edit.event(EditOp::Create);
        set_after_side(&mut event, rewrite.after());
        out.emit(event, RESULT)?;
        return Ok(true);
    }
    let (file_before_hash, file_after_hash) = (last.hash_of(&before), Hash::of_lossless_text(rewrite.after()));
    for span in rewrite.spans() {
        let mut event = CodeEdit { file_before_hash, file_after_hash, ..edit.event(EditOp::Update) };
        span.set_in(&mut event);
        out.emit(event, RESULT)?;
    }
    last.keep(rewrite.into_after(), file_after_hash);
    Ok(true)
}

/// The text after all replacements. None if one does not fit, or the number of lines is not that of the patch.
///
/// A deletion also removes the line end after it, unless the old text has it. The patch shows whether it did.
fn apply<'b>(mut rewrite: Rewrite<'b>, replacements: &[Replacement<'_>], patch: Field<'_>) -> Option<Rewrite<'b>> {
    let grown = patches::growth(patch);
    for with_line_ends in [true, false] {
        let fits = replace_all(&mut rewrite, replacements, with_line_ends).is_some();
        if fits && grown.is_none_or(|grown| rewrite.growth() == grown) {
            return Some(rewrite);
        }
        rewrite.restart();
    }
    None
}

/// Applies the replacements. None if one does not fit.
fn replace_all(rewrite: &mut Rewrite<'_>, replacements: &[Replacement<'_>], with_line_ends: bool) -> Option<()> {
    for replacement in replacements {
        let (mut old, new) = (decoded(text(replacement.old))?, decoded(text(replacement.new))?);
        if old.is_empty() {
            rewrite.insert_first(&new);
            continue;
        }
        if with_line_ends && new.is_empty() && !old.ends_with('\n') {
            let with_end = format!("{old}\n");
            if memmem::find(rewrite.after().as_bytes(), with_end.as_bytes()).is_some() {
                old = with_end.into();
            }
        }
        if !rewrite.replace(&old, &new, replacement.everywhere) {
            return None;
        }
    }
    Some(())
}

/// NotebookEdit (2.1.0 and later): the whole file before and after.
#[inline(never)]
pub(super) fn emit_notebook_edit(edit: &EditTarget<'_>, result: &Structured<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let mut event = edit.event(EditOp::Update);
    let (before, after) = (decoded(text(result.notebook_before())), decoded(text(result.notebook_after())));
    if let (Some(before), Some(after)) = (&before, &after) {
        if before == after {
            return Ok(false);
        }
        ChangedSpan::trimmed(1, before, 1, after).set_in(&mut event);
        event.file_before_hash = Hash::of_lossless_text(before);
        event.file_after_hash = Hash::of_lossless_text(after);
    }
    out.emit(event, RESULT)?;
    Ok(true)
}
