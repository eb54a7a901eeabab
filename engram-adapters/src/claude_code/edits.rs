//! `code.edit`: which lines of which file a tool changed, as its result shows it.
//!
//! Whole texts come from `originalFile` and its like. The diffs in `structuredPatch` are for display (tabs become spaces):
//! they give line numbers, never text.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::{DecodeBuffer, Text};
use memchr::{memchr, memmem};

use super::edited::{Edit, LastEdited};
use super::patches;
use super::schema::{Replacement, Structured};
use crate::shared::spans::{ChangedSpan, Rewrite, hash_and_anchors, whole_range};
use crate::shared::value::{Field, is_true, raw_str, text};

/// Where the events of an edit point to.
const RESULT: Pointer<'static> = Pointer::At("/toolUseResult");

impl<'a> Structured<'a> {
    /// The text of the edited file before the edit.
    fn before(&self) -> Option<Text<'a>> {
        text(self.original_file().or(self.original_file_contents()))
    }

    /// Up to 2.0.69 the result of a notebook edit does not name the file.
    pub fn is_notebook_edit(&self) -> bool {
        self.edit_mode().is_some() && self.new_source().is_some() && raw_str(self.error()).is_empty()
    }
}

/// Edit, MultiEdit and Write.
pub(super) fn file_edit(
    edit: &Edit<'_>,
    result: &Structured<'_>,
    last: &mut LastEdited,
    room: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    match (raw_str(result.kind()), result.old_string(), result.edits()) {
        ("create" | "update", _, _) => written(edit, result, last, room, out),
        (_, Some(_), _) | (_, _, Some(_)) => replaced(edit, result, last, room, out),
        _ => Ok(false),
    }
}

/// The whole text of a file, if the source holds it exactly. Line ends are those that lines are counted and hashed by: 0.2.96 logs
/// a file with its `\r\n`, later versions without.
fn decoded<'a>(field: Option<Text<'a>>) -> Option<Cow<'a, str>> {
    field?.decode().ok().map(with_counted_ends)
}

/// As [`decoded`], in a room that is there already.
fn decoded_in<'r, 'a: 'r>(field: Option<Text<'a>>, room: &'r mut DecodeBuffer) -> Option<Cow<'r, str>> {
    field?.decode_into(room).ok().map(|text| with_counted_ends(text.into()))
}

fn with_counted_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_some() { text.replace("\r\n", "\n").into() } else { text }
}

/// Write: `create` has no text before; up to 2.0.45 an `update` has none in the log.
#[inline(never)]
fn written(
    edit: &Edit<'_>,
    result: &Structured<'_>,
    last: &mut LastEdited,
    room: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    let Some(after) = decoded(text(result.content())) else { return Ok(false) };
    if raw_str(result.kind()) == "create" {
        let mut event = edit.event(EditOp::Create);
        after_side(&mut event, &after);
        last.keep(after.into_owned(), event.file_after_hash);
        out.emit(event, RESULT)?;
        return Ok(true);
    }
    let mut event = edit.event(EditOp::Overwrite);
    match decoded_in(result.before(), room) {
        Some(before) if before == after => return Ok(false),
        None if patches::is_empty(result.structured_patch()) => return Ok(false),
        Some(before) => {
            ChangedSpan::whole(&before, &after).describe(&mut event);
            event.file_before_hash = last.hash_of(&before);
            event.file_after_hash = Hash::of_lossless_text(&after);
        }
        None => after_side(&mut event, &after),
    }
    last.keep(after.into_owned(), event.file_after_hash);
    out.emit(event, RESULT)?;
    Ok(true)
}

/// The after side of an event that replaced or made a whole file.
pub(super) fn after_side(event: &mut CodeEdit<'_>, after: &str) {
    event.after_range = Some(whole_range(after));
    (event.after_hash, event.after_anchor_hashes) = hash_and_anchors(after.strip_suffix('\n').unwrap_or(after));
    event.file_after_hash = Hash::of_lossless_text(after);
}

/// Edit and MultiEdit: the replacements are applied to the whole text before.
#[inline(never)]
fn replaced(
    edit: &Edit<'_>,
    result: &Structured<'_>,
    last: &mut LastEdited,
    room: &mut DecodeBuffer,
    out: &mut Emitter,
) -> Result<bool, Fault> {
    let Some(before) = decoded_in(result.before(), room) else { return patches::ranges(edit, result.structured_patch(), out) };
    let alone = Replacement { old: result.old_string(), new: result.new_string(), everywhere: is_true(result.replace_all()) };
    let replacements = Replacement::all(result.edits(), alone);
    // A person who changed the proposal wrote what no field says.
    let rewrite = (!is_true(result.user_modified())).then(|| Rewrite::in_room(&before, last.room()));
    let applied = rewrite.and_then(|rewrite| apply(rewrite, &replacements, result.structured_patch()));
    let Some(rewrite) = applied else {
        let mut event = edit.event(EditOp::Update);
        event.file_before_hash = last.hash_of(&before);
        out.emit(event, RESULT)?;
        return Ok(true);
    };
    if before.is_empty() && replacements.first().is_some_and(|first| raw_str(first.old).is_empty()) {
        let mut event = edit.event(EditOp::Create);
        after_side(&mut event, rewrite.after());
        out.emit(event, RESULT)?;
        return Ok(true);
    }
    let (file_before_hash, file_after_hash) = (last.hash_of(&before), Hash::of_lossless_text(rewrite.after()));
    for span in rewrite.spans() {
        let mut event = CodeEdit { file_before_hash, file_after_hash, ..edit.event(EditOp::Update) };
        span.describe(&mut event);
        out.emit(event, RESULT)?;
    }
    last.keep(rewrite.into_after(), file_after_hash);
    Ok(true)
}

/// The text after all replacements. None where one does not fit, or where the lines do not come to what the patch counts.
///
/// A deletion takes the line end after it along, unless the old text has it: the patch tells whether it did.
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

/// Nothing where a replacement does not fit.
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
pub(super) fn notebook(edit: &Edit<'_>, result: &Structured<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let mut event = edit.event(EditOp::Update);
    let (before, after) = (decoded(text(result.notebook_before())), decoded(text(result.notebook_after())));
    if let (Some(before), Some(after)) = (&before, &after) {
        if before == after {
            return Ok(false);
        }
        ChangedSpan::trimmed(1, before, 1, after).describe(&mut event);
        event.file_before_hash = Hash::of_lossless_text(before);
        event.file_after_hash = Hash::of_lossless_text(after);
    }
    out.emit(event, RESULT)?;
    Ok(true)
}
