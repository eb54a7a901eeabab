//! Edits by `replace` and `write_file`: from the file before and after, if the log has it (0.25.0 and later), else from the
//! arguments of the call.
//!
//! `replace` also finds text that differs from its arguments in white space, and may have a model correct them. So its arguments prove the
//! text of the file only together with the file.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::Text;

use super::call_record::CallRecord;
use crate::gemini::schema::{Call, FileArgs, FileChange};
use crate::gemini::state::tally::RecordTally;
use crate::shared::spans::{ChangedSpan, Rewrite, has_crlf, hash_and_anchors, line_count, with_unix_line_ends};
use crate::shared::value::{Field, is_true, non_empty_text, raw_str, text};

/// Emits what a successful `replace` changed.
pub(super) fn replace(tally: &mut RecordTally, record: &CallRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let args = FileArgs::lenient_opt(record.call.args());
    let request = Request { args, old: args.old_string(), new: args.new_string(), op: EditOp::Update };
    edit(tally, record, &request, out)
}

/// Emits what a successful `write_file` changed.
pub(super) fn write_file(tally: &mut RecordTally, record: &CallRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let args = FileArgs::lenient_opt(record.call.args());
    let request = Request { args, old: None, new: args.content(), op: EditOp::Overwrite };
    edit(tally, record, &request, out)
}

/// What a call requests.
struct Request<'a> {
    args: FileArgs<'a>,
    old: Field<'a>,
    new: Field<'a>,
    /// The operation on a file that exists.
    op: EditOp,
}

impl Request<'_> {
    /// True if arguments and output show that the file did not exist.
    fn creates_file(&self, call: &Call<'_>) -> bool {
        match self.op {
            EditOp::Overwrite => raw_str(call.output()).starts_with("Successfully created"),
            _ => non_empty_text(self.old).is_none(),
        }
    }

    /// True if the arguments turn the file before into the file after.
    fn leads_from(&self, change: &FileChange<'_>) -> bool {
        let decoded = |field| text(field).and_then(|text| text.decode().ok());
        let (Some(before), Some(after)) = (decoded(change.original()), decoded(change.new_content())) else { return false };
        self.op == EditOp::Overwrite || replacement(&before, &after, &self.args).is_some()
    }
}

#[inline(never)]
fn edit(tally: &mut RecordTally, record: &CallRecord<'_>, request: &Request<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    match record.change {
        Some(change) if !change.is_contested => file_versions(tally, record, request, &change.file, out),
        Some(change) => {
            let source = Source { is_unconfirmed: true, is_exact: request.leads_from(&change.file), pointer: record.field("/args") };
            from_arguments(tally, record, request, source, out)
        }
        None => {
            let source = Source { is_unconfirmed: false, is_exact: request.old.is_none(), pointer: record.field("/args") };
            from_arguments(tally, record, request, source, out)
        }
    }
}

/// What the log states about an edit besides the arguments of its call.
struct Source<'s> {
    /// The change may have been lost.
    is_unconfirmed: bool,
    /// The texts in the arguments are those in the file.
    is_exact: bool,
    pointer: Pointer<'s>,
}

/// Emits an edit of which the log has the whole file before and after.
fn file_versions(
    tally: &mut RecordTally,
    record: &CallRecord<'_>,
    request: &Request<'_>,
    change: &FileChange<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let pointer = record.field("/resultDisplay");
    let missing = |field: &str, expected| Fault::malformed(format!("{pointer}{field}"), expected, "none");
    let Some(file) = text(change.file_path()).or_else(|| text(request.args.file_path())) else {
        return Err(missing("/filePath", "a path"));
    };
    let (before, after) = (text(change.original()).unwrap_or(Text::Plain("")), text(change.new_content()));
    let after = after.ok_or_else(|| missing("/newContent", "the text of a file"))?;
    let (Ok(before), Ok(after)) = (before.decode(), after.decode()) else {
        // A file cannot contain half a surrogate pair, so its real content is unknown.
        return from_arguments(tally, record, request, Source { is_unconfirmed: false, is_exact: false, pointer }, out);
    };
    let creates = is_true(change.is_new_file());
    let op = if creates { EditOp::Create } else { request.op };
    if before == after && op != EditOp::Create {
        return Ok(());
    }
    let mut edit = CodeEdit::new(op, file);
    edit.call_id = text(record.call.id());
    // The harness writes `\n` for `\r\n` in the text of a file that it reads, so the file had more than a `\r\n` that is left.
    if has_crlf(&before) || op == EditOp::Update && has_crlf(&after) {
        return tally.emit(edit, pointer, out);
    }
    edit.file_before_hash = if creates { None } else { Hash::of_lossless_text(&before) };
    edit.file_after_hash = Hash::of_lossless_text(&after);
    if op != EditOp::Update {
        ChangedSpan::of_files(&before, &after).set_in(&mut edit);
        return tally.emit(edit, pointer, out);
    }
    let rewrite = replacement(&before, &after, &request.args);
    let spans = rewrite.as_ref().map_or_else(|| vec![covering_span(&before, &after)], Rewrite::spans);
    for span in spans {
        let mut edit = edit.clone();
        span.set_in(&mut edit);
        tally.emit(edit, pointer, out)?;
    }
    Ok(())
}

/// Emits an edit of which only the arguments are known.
fn from_arguments(
    tally: &mut RecordTally,
    record: &CallRecord<'_>,
    request: &Request<'_>,
    source: Source<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let Source { is_unconfirmed, is_exact, pointer } = source;
    let Some(file) = text(request.args.file_path()) else { return Ok(()) };
    let Some(new) = text(request.new) else { return Ok(()) };
    let creates = request.creates_file(record.call);
    let mut edit = CodeEdit::new(if creates { EditOp::Create } else { request.op }, file);
    edit.call_id = text(record.call.id());
    edit.unconfirmed = is_unconfirmed;
    let Ok(new) = new.decode() else { return tally.emit(edit, pointer, out) };
    if creates && request.op == EditOp::Update {
        // The file that `replace` creates is exactly the new text.
        edit.file_after_hash = Hash::of_lossless_text(&new);
        ChangedSpan::of_files("", &new).set_in(&mut edit);
        return tally.emit(edit, pointer, out);
    }
    if !is_exact {
        return tally.emit(edit, pointer, out);
    }
    (edit.after_hash, edit.after_anchor_hashes) = hash_and_anchors(&new);
    edit.after_lines = edit.after_hash.is_some().then(|| line_count(&new));
    edit.snippet = true;
    if let Some(Ok(old)) = text(request.old).map(|text| text.decode()) {
        (edit.before_hash, edit.before_anchor_hashes) = hash_and_anchors(&old);
        edit.before_lines = edit.before_hash.is_some().then(|| line_count(&old));
    }
    tally.emit(edit, pointer, out)
}

/// The call's own replacement, if it leads to the text after.
fn replacement<'t>(before: &'t str, after: &str, args: &FileArgs<'_>) -> Option<Rewrite<'t>> {
    let (old, new) = (with_plain_ends(args.old_string())?, with_plain_ends(args.new_string())?);
    let mut rewrite = Rewrite::new(before);
    rewrite.replace(&old, &new, true);
    (rewrite.after() == after).then_some(rewrite)
}

/// A text with `\n` for its line ends, as the tool searches for it.
fn with_plain_ends(field: Field<'_>) -> Option<Cow<'_, str>> {
    text(field)?.decode().ok().map(with_unix_line_ends)
}

/// The one span of whole lines in which two texts differ.
fn covering_span<'t>(before: &'t str, after: &'t str) -> ChangedSpan<'t> {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let lead = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let lead = memchr::memrchr(b'\n', &old[..lead]).map_or(0, |at| at + 1);
    let rest = old.len().min(new.len()) - lead;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    // The common end must begin at the start of a line on both sides.
    let tail = memchr::memchr(b'\n', &old[old.len() - tail..]).map_or(0, |at| tail - at - 1);
    let first = memchr::memchr_iter(b'\n', &old[..lead]).count() as u64 + 1;
    ChangedSpan::trimmed(first, &before[lead..before.len() - tail], first, &after[lead..after.len() - tail])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_covering_span_contains_the_whole_change(before in "[ab\n]{0,30}", after in "[ab\n]{0,30}") {
            let span = covering_span(&before, &after);
            let lines: Vec<&str> = before.lines().collect();
            let mut rebuilt = lines[..span.before.first as usize - 1].to_vec();
            prop_assert_eq!(span.before_text, lines[span.before.first as usize - 1..span.before.last as usize].join("\n"));
            let count = (span.after.last + 1 - span.after.first) as usize;
            rebuilt.extend(span.after_text.split('\n').take(count));
            rebuilt.extend_from_slice(&lines[span.before.last as usize..]);
            prop_assert_eq!(rebuilt, after.lines().collect::<Vec<_>>());
        }
    }
}
