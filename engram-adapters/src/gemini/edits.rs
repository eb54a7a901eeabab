//! Edits: what `replace` and `write_file` changed, from the file's text before and after where the log holds it (0.25.0 and
//! later), else from the call's own texts.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::Text;

use super::converter::Converter;
use super::parts::spelling;
use super::schema::{Call, FileArgs, FileChange};
use crate::shared::spans::{ChangedSpan, Rewrite, hash_and_anchors};
use crate::shared::value::{Field, is_true, non_empty_text, raw_str, text};

/// A file before and after a call.
pub(super) struct Change<'a> {
    file: FileChange<'a>,
    /// Another call of the turn changed the same text of the same file, so one of the two changes was lost.
    ///
    /// From 0.35.3 to 0.47.0 the calls of a turn ran side by side, and both report success.
    contested: bool,
}

/// True for the tools that edit files.
fn is_edit(call: &Call<'_>) -> bool {
    matches!(raw_str(call.name()), "replace" | "write_file")
}

/// The changes that a turn's calls report, each at its call's place. Only calls that did what they were asked count: a cancelled
/// one reports what it would have done.
pub(super) fn changes<'a>(calls: &[Call<'a>], is_open: impl Fn(&Call<'_>) -> bool) -> Vec<Option<Change<'a>>> {
    let mut changes: Vec<Option<Change<'a>>> = Vec::new();
    for (n, call) in calls.iter().enumerate() {
        let Some(display) = call.display().filter(|display| display.is_object() && is_edit(call) && call.succeeded() && is_open(call))
        else {
            continue;
        };
        let file = FileChange::lenient(display);
        let before = changes.iter_mut().flatten().rfind(|before| spelling(before.file.file_path()) == spelling(file.file_path()));
        let contested = before.is_some_and(|before| {
            let same = spelling(before.file.original()) == spelling(file.original());
            before.contested |= same;
            same
        });
        changes.resize_with(n, || None);
        changes.push(Some(Change { file, contested }));
    }
    changes
}

impl Converter {
    /// Converts what a call that succeeded did to a file.
    #[inline(never)]
    pub fn edit(
        &mut self,
        call: &Call<'_>,
        tool: Text<'_>,
        change: Option<&Change<'_>>,
        path: &str,
        n: usize,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        if !is_edit(call) || !call.succeeded() {
            return Ok(());
        }
        let args = FileArgs::lenient_opt(call.args());
        match change {
            Some(change) if !change.contested => {
                self.whole_file(call, tool, &args, &change.file, Pointer::Field(path, n, "/resultDisplay"), out)
            }
            change => self.snippet(call, tool, &args, change.is_some(), Pointer::Field(path, n, "/args"), out),
        }
    }

    /// An edit of which the log holds the whole file before and after.
    #[inline(never)]
    fn whole_file(
        &mut self,
        call: &Call<'_>,
        tool: Text<'_>,
        args: &FileArgs<'_>,
        change: &FileChange<'_>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let Some(file) = text(change.file_path()).or_else(|| text(args.file_path())) else {
            return Err(Fault::malformed("/resultDisplay/filePath", "a path", "none"));
        };
        let creates = is_true(change.is_new_file());
        let (Some(before), Some(after)) = (text(change.original()).or(Some(Text::Plain(""))), text(change.new_content())) else {
            return Err(Fault::malformed("/resultDisplay/newContent", "the text of a file", "none"));
        };
        let (Ok(before), Ok(after)) = (before.decode(), after.decode()) else {
            // Half a surrogate pair cannot stand in a file: what is on disk is not known.
            return self.snippet(call, tool, args, false, pointer, out);
        };
        let op = match creates {
            true => EditOp::Create,
            false if tool.eq_str("write_file") => EditOp::Overwrite,
            false => EditOp::Update,
        };
        if before == after && op != EditOp::Create {
            return Ok(());
        }
        let mut edit = CodeEdit::new(op, file);
        edit.call_id = text(call.id());
        edit.file_before_hash = if creates { None } else { Hash::of_pinned_text(&before) };
        edit.file_after_hash = Hash::of_pinned_text(&after);
        match op {
            EditOp::Update => {
                let rewrite = rewritten(&before, &after, args);
                let spans = rewrite.as_ref().map_or_else(|| vec![covering(&before, &after)], Rewrite::spans);
                for span in spans {
                    let mut edit = edit.clone();
                    span.describe(&mut edit);
                    self.emit(edit, pointer, out)?;
                }
            }
            _ => {
                ChangedSpan::whole(&before, &after).describe(&mut edit);
                self.emit(edit, pointer, out)?;
            }
        }
        Ok(())
    }

    /// An edit of which the log holds only the call's own texts.
    #[inline(never)]
    fn snippet(
        &mut self,
        call: &Call<'_>,
        tool: Text<'_>,
        args: &FileArgs<'_>,
        unconfirmed: bool,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let Some(file) = text(args.file_path()) else { return Ok(()) };
        let writes = tool.eq_str("write_file");
        let Some(Ok(new)) = text(if writes { args.content() } else { args.new_string() }).map(|text| text.decode()) else { return Ok(()) };
        let creates = if writes { says_created(call) } else { non_empty_text(args.old_string()).is_none() };
        let op = match (writes, creates) {
            (_, true) => EditOp::Create,
            (true, false) => EditOp::Overwrite,
            (false, false) => EditOp::Update,
        };
        let mut edit = CodeEdit::new(op, file);
        edit.call_id = text(call.id());
        edit.unconfirmed = unconfirmed;
        if !writes && creates {
            // `replace` without an old text makes a file of exactly the new text, and says so.
            edit.file_after_hash = Hash::of_pinned_text(&new);
            ChangedSpan::whole("", &new).describe(&mut edit);
            return self.emit(edit, pointer, out);
        }
        (edit.after_hash, edit.after_anchor_hashes) = hash_and_anchors(&new);
        edit.snippet = true;
        if !writes && let Some(Ok(old)) = text(args.old_string()).map(|text| text.decode()) {
            (edit.before_hash, edit.before_anchor_hashes) = hash_and_anchors(&old);
        }
        self.emit(edit, pointer, out)
    }
}

/// True when the result of a `write_file` says that the file is new.
fn says_created(call: &Call<'_>) -> bool {
    raw_str(call.output()).starts_with("Successfully created")
}

/// The call's own replacement, where it leads to the text after.
fn rewritten<'t>(before: &'t str, after: &str, args: &FileArgs<'_>) -> Option<Rewrite<'t>> {
    let (old, new) = (with_plain_ends(args.old_string())?, with_plain_ends(args.new_string())?);
    let mut rewrite = Rewrite::new(before);
    rewrite.replace(&old, &new, true);
    (rewrite.after() == after).then_some(rewrite)
}

/// A text with `\n` for its line ends, as the tool looks for it.
fn with_plain_ends(field: Field<'_>) -> Option<Cow<'_, str>> {
    let text = text(field)?.decode().ok()?;
    Some(if memchr::memchr(b'\r', text.as_bytes()).is_some() { text.replace("\r\n", "\n").into() } else { text })
}

/// The one span of whole lines in which two texts differ.
fn covering<'t>(before: &'t str, after: &'t str) -> ChangedSpan<'t> {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let lead = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let lead = memchr::memrchr(b'\n', &old[..lead]).map_or(0, |at| at + 1);
    let rest = old.len().min(new.len()) - lead;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    // The common end must begin at the start of a line on both sides: after a line end that both have.
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
        fn the_covering_span_carries_the_whole_change(before in "[ab\n]{0,30}", after in "[ab\n]{0,30}") {
            let span = covering(&before, &after);
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
