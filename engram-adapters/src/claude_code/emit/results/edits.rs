//! `code.edit`: which lines of a file a tool changed, from its structured result.
//!
//! Whole texts come from `originalFile` and similar fields. The patch beside them, which is for display, shows whether the text that was
//! asked for is the one that was written (`settle`). If the log leaves out the file, the patch is all there is (`located`).

use std::borrow::Cow;
use std::ops::Range as Bytes;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::{DecodeBuffer, Text};
use memchr::memmem;

use super::patches::{Side, displayed, is_ambiguous, is_displayed_as, patch_lines};
use super::result_context::EditTarget;
use super::{located, patches};
use crate::claude_code::emit::state::last_edit::LastEdit;
use crate::claude_code::readers::Structured;
use crate::claude_code::record::Replacement;
use crate::shared::spans::{ChangedSpan, Rewrite, set_whole_file, with_unix_line_ends};
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
) {
    match (raw_str(result.kind()), result.old_string(), result.edits()) {
        ("create" | "update", _, _) => emit_write(edit, result, last, buffer, out),
        (_, Some(_), _) | (_, _, Some(_)) => emit_replacements(edit, result, last, buffer, out),
        _ => {}
    }
}

/// The whole text of a file, if the log has it exactly, with `\n` as line ends: 0.2.96 logs a file with its `\r\n`, later versions
/// without.
pub(super) fn decoded<'a>(field: Option<Text<'a>>) -> Option<Cow<'a, str>> {
    field?.decode().ok().map(with_unix_line_ends)
}

/// As [`decoded`], into a buffer.
fn decoded_into<'r, 'a: 'r>(
    field: Option<Text<'a>>,
    buffer: &'r mut DecodeBuffer,
) -> Option<Cow<'r, str>> {
    field?
        .decode_into(buffer)
        .ok()
        .map(|text| with_unix_line_ends(text.into()))
}

/// Write. A `create` has no text before; up to 2.0.45 the log has none for an `update` either, and later none of a big file.
#[inline(never)]
fn emit_write(
    edit: &EditTarget<'_>,
    result: &Structured<'_>,
    last: &mut LastEdit,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let is_new = raw_str(result.kind()) == "create" && !edit.is_empty;
    let mut event = edit.event(if is_new {
        EditOp::Create
    } else {
        EditOp::Overwrite
    });
    let Some(content) = text(result.content()) else {
        return;
    };
    let Some(after) = decoded(Some(content)) else {
        // Half a surrogate pair: what the file has in its place is not in the log.
        out.emit(event, RESULT);
        return;
    };
    last.empty.note(edit.file, after.is_empty());
    if edit.is_empty && !after.is_empty() {
        set_filled(&mut event, &after);
        last.keep(after.into_owned(), event.file_after_hash);
        out.emit(event, RESULT);
        return;
    }
    if is_new {
        set_whole_file(&mut event, &after);
        last.keep(after.into_owned(), event.file_after_hash);
        out.emit(event, RESULT);
        return;
    }
    let patch = result.structured_patch();
    let before = decoded_into(text_before(result), buffer);
    if is_unchanged(before.as_deref(), &after, result) {
        return;
    }
    let is_exact = are_line_ends_kept(result) && settle(&mut Rewrite::new(&after), patch);
    event.file_before_hash = before.as_deref().and_then(|before| last.hash_of(before));
    match before {
        _ if !is_exact => {}
        // Only its line ends changed.
        Some(before) if before == after => event.file_after_hash = event.file_before_hash,
        Some(before) => {
            ChangedSpan::of_files(&before, &after).set_in(&mut event);
            event.file_after_hash = Hash::of_lossless_text(&after);
        }
        None => set_whole_file(&mut event, &after),
    }
    if is_exact {
        last.keep(after.into_owned(), event.file_after_hash);
    }
    out.emit(event, RESULT);
}

/// Sets what an edit of an empty file leaves.
fn set_filled(event: &mut CodeEdit<'_>, after: &str) {
    ChangedSpan::of_files("", after).set_in(event);
    event.file_before_hash = Hash::of_lossless_text("");
    event.file_after_hash = Hash::of_lossless_text(after);
}

/// True if the log leaves out the file before, which is big. Then the patch of a Write is empty, too.
fn is_left_out(result: &Structured<'_>) -> bool {
    result
        .object()
        .members()
        .any(|(name, value)| name == "originalFile" && value.is_null())
}

/// True if a Write left the file as it was.
fn is_unchanged(before: Option<&str>, after: &str, result: &Structured<'_>) -> bool {
    let patch = result.structured_patch();
    match before {
        Some(before) => before == after && patch.is_none_or(|patch| patches::is_empty(Some(patch))),
        // An empty patch does not show what became of line ends.
        None => {
            patches::is_empty(patch)
                && !is_left_out(result)
                && !has_carriage_return(result.content())
        }
    }
}

/// False if the text has `\r\n` and its patch does not: those versions write the line ends of the file, and double a `\r`.
fn are_line_ends_kept(result: &Structured<'_>) -> bool {
    !has_carriage_return(result.content())
        || has_carriage_return(result.structured_patch())
        || is_left_out(result)
}

fn has_carriage_return(field: Field<'_>) -> bool {
    field.is_some_and(|value| value.raw().contains("\\r"))
}

/// Edit and MultiEdit: the replacements are applied to the whole text before.
#[inline(never)]
fn emit_replacements(
    edit: &EditTarget<'_>,
    result: &Structured<'_>,
    last: &mut LastEdit,
    buffer: &mut DecodeBuffer,
    out: &mut Emitter,
) {
    let patch = result.structured_patch();
    // Lines that were appended again have an empty text before.
    let before =
        decoded_into(text_before(result), buffer).filter(|before| fits_before(before, patch));
    let Some(before) = before else {
        return emit_without_file(edit, result, out);
    };
    let single = Replacement {
        old: result.old_string(),
        new: result.new_string(),
        everywhere: is_true(result.replace_all()),
    };
    let replacements = Replacement::list_or(result.edits(), single);
    // If a person or a hook changed the proposal, the result has the text that they put in its place.
    let rewrite = Rewrite::with_scratch(&before, last.take_scratch());
    let applied = apply(rewrite, &replacements, patch);
    let Some(rewrite) =
        applied.and_then(|mut rewrite| settle(&mut rewrite, patch).then_some(rewrite))
    else {
        return patches::emit_ranges(edit, last.hash_of(&before), patch, out);
    };
    if before.is_empty()
        && replacements
            .first()
            .is_some_and(|first| raw_str(first.old).is_empty())
    {
        let mut event = edit.event(EditOp::Create);
        match edit.is_empty {
            true => set_filled(&mut event, rewrite.after()),
            false => set_whole_file(&mut event, rewrite.after()),
        }
        out.emit(event, RESULT);
        return;
    }
    last.empty.note(edit.file, rewrite.after().is_empty());
    let (file_before_hash, file_after_hash) = (
        last.hash_of(&before),
        Hash::of_lossless_text(rewrite.after()),
    );
    for span in rewrite.spans() {
        let mut event = CodeEdit {
            file_before_hash,
            file_after_hash,
            ..edit.event(EditOp::Update)
        };
        span.set_in(&mut event);
        out.emit(event, RESULT);
    }
    last.keep(rewrite.into_after(), file_after_hash);
}

/// An Edit of a file that is not in the log, and a MultiEdit of one.
#[cold]
fn emit_without_file(edit: &EditTarget<'_>, result: &Structured<'_>, out: &mut Emitter) {
    let patch = result.structured_patch();
    let texts = (
        decoded(text(result.old_string())),
        decoded(text(result.new_string())),
    );
    match texts {
        (Some(old), Some(new)) => located::emit(
            edit,
            (&old, &new),
            is_true(result.replace_all()),
            patch,
            out,
        ),
        _ => patches::emit_ranges(edit, None, patch, out),
    }
}

/// The text after all replacements. None if one does not fit, or the number of lines is not that of the patch.
///
/// A deletion also removes the line end after it, unless the old text has it. The patch shows whether it did.
fn apply<'b>(
    mut rewrite: Rewrite<'b>,
    replacements: &[Replacement<'_>],
    patch: Field<'_>,
) -> Option<Rewrite<'b>> {
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
fn replace_all(
    rewrite: &mut Rewrite<'_>,
    replacements: &[Replacement<'_>],
    with_line_ends: bool,
) -> Option<()> {
    for replacement in replacements {
        let (mut old, new) = (
            decoded(text(replacement.old))?,
            decoded(text(replacement.new))?,
        );
        if old.is_empty() {
            rewrite.insert_first(&new).then_some(())?;
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
pub(super) fn emit_notebook_edit(
    edit: &EditTarget<'_>,
    result: &Structured<'_>,
    out: &mut Emitter,
) {
    let mut event = edit.event(EditOp::Update);
    let (before, after) = (
        decoded(text(result.notebook_before())),
        decoded(text(result.notebook_after())),
    );
    if let (Some(before), Some(after)) = (&before, &after) {
        if before == after {
            return;
        }
        ChangedSpan::trimmed(1, before, 1, after).set_in(&mut event);
        event.file_before_hash = Hash::of_lossless_text(before);
        event.file_after_hash = Hash::of_lossless_text(after);
    }
    out.emit(event, RESULT);
}

/// True if the patch has no line of the file before the edit that is another one in this text.
pub(super) fn fits_before(before: &str, patch: Field<'_>) -> bool {
    let mut lines = LineCursor::new(before);
    patch_lines(patch)
        .filter(|line| line.is_before())
        .all(|line| {
            let number = line.before;
            line.text().is_some_and(|shown| {
                lines
                    .find(number)
                    .is_some_and(|at| is_displayed_as(&before[at], &shown))
            })
        })
}

/// Sets the lines that the patch shows to be written otherwise. False if what was written is not known exactly.
#[inline(never)]
pub(super) fn settle(rewrite: &mut Rewrite<'_>, patch: Field<'_>) -> bool {
    let mut written: Vec<(Bytes<usize>, String)> = Vec::new();
    let after = rewrite.after();
    let mut lines = LineCursor::new(after);
    for line in patch_lines(patch).filter(|line| line.is_after()) {
        let (Some(shown), Some(at)) = (line.text(), lines.find(line.after)) else {
            return false;
        };
        if is_displayed_as(&after[at.clone()], &shown) {
            continue;
        }
        match as_written(&after[at.clone()], &shown).filter(|_| line.side == Side::Added) {
            Some(text) => written.push((at, text)),
            None => return false,
        }
    }
    written.is_empty()
        || rewrite.replace_each(written.iter().map(|(at, text)| (at.clone(), text.as_str())))
}

/// The line of the file that is displayed so, if it begins with the same white space as the expected one, or has none there.
fn as_written(expected: &str, shown: &str) -> Option<String> {
    let indent = &expected[..expected.len() - expected.trim_start_matches(['\t', ' ']).len()];
    match shown.strip_prefix(&*displayed(indent)) {
        Some(rest) if !is_ambiguous(rest) => Some(format!("{indent}{rest}")),
        _ => (!is_ambiguous(shown)).then(|| shown.to_owned()),
    }
}

/// Finds lines of a text by ascending numbers.
struct LineCursor<'t> {
    text: &'t str,
    /// The number of the line at `start`.
    number: u64,
    start: usize,
}

impl<'t> LineCursor<'t> {
    fn new(text: &'t str) -> Self {
        LineCursor {
            text,
            number: 1,
            start: 0,
        }
    }

    /// The bytes of a line, without its line end. After a final line end there is one more, empty line.
    fn find(&mut self, number: u64) -> Option<Bytes<usize>> {
        let skipped = number.checked_sub(self.number)?;
        if let Some(last) = skipped.checked_sub(1) {
            let rest = &self.text.as_bytes()[self.start..];
            self.start += memchr::memchr_iter(b'\n', rest).nth(usize::try_from(last).ok()?)? + 1;
            self.number = number;
        }
        let rest = &self.text.as_bytes()[self.start..];
        Some(self.start..self.start + memchr::memchr(b'\n', rest).unwrap_or(rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_number() {
        let mut lines = LineCursor::new("a\nbc\n\nd\n");
        let found = [1, 2, 2, 4, 5, 6, 1].map(|number| lines.find(number));
        assert_eq!(
            found,
            [
                Some(0..1),
                Some(2..4),
                Some(2..4),
                Some(6..7),
                Some(8..8),
                None,
                None
            ]
        );
    }

    #[test]
    fn a_line_is_known_if_its_indentation_is() {
        assert_eq!(
            as_written("\tsay \"x\"", "  say “x”").as_deref(),
            Some("\tsay “x”")
        );
        assert_eq!(
            as_written("say \"x\"", "say “x”").as_deref(),
            Some("say “x”")
        );
        assert_eq!(as_written("x", "  “x”"), None);
    }
}
