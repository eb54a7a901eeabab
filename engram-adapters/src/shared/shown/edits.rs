//! The edits that a diff shows.

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp, SpanLink};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::diff::{Section, sections};
use crate::shared::spans::{ChangedSpan, set_run, set_whole_file, with_unix_line_ends};

/// The text of a file before a change and after it.
pub type Texts = (Option<String>, Option<String>);

/// Emits the edits of a call that succeeded. `written` is the text that the call gives for a whole file; `proven` gives the texts of a file, if
/// more is known of them than the diff shows. `links`: the form of the log claims links, so a move has one.
pub fn emit_edits(
    (detail, written): (&str, Option<&str>),
    (call_id, at, links): (Option<Text<'_>>, Pointer<'_>, bool),
    mut proven: impl FnMut(&Section<'_>) -> Option<Texts>,
    out: &mut Emitter<'_>,
) {
    let sections = sections(detail).unwrap_or_default();
    for section in sections.iter().filter(|section| !section.changes_nothing()) {
        let edit = Edit {
            call_id,
            at,
            section,
            file: format!("/{}", section.before.or(section.after).unwrap_or_default()),
        };
        edit.emit(proven(section).unwrap_or_else(|| edit.shown(written)), out);
        if let (EditOp::Move, Some(to), true) = (edit.op(), section.after, links) {
            let to = format!("/{to}");
            let link = SpanLink::of_move(call_id, Text::Plain(&edit.file), Text::Plain(&to));
            out.emit(link, at);
        }
    }
}

/// The change of one file by a call.
struct Edit<'e> {
    call_id: Option<Text<'e>>,
    at: Pointer<'e>,
    section: &'e Section<'e>,
    file: String,
}

impl Edit<'_> {
    fn op(&self) -> EditOp {
        match (self.section.before, self.section.after) {
            (None, _) => EditOp::Create,
            (_, None) => EditOp::Delete,
            (before, after) if before != after => EditOp::Move,
            _ => EditOp::Update,
        }
    }

    fn event(&self) -> CodeEdit<'_> {
        CodeEdit {
            call_id: self.call_id,
            ..CodeEdit::new(self.op(), Text::Plain(&self.file))
        }
    }

    /// The texts of a whole file that the diff shows: of one that was created or deleted.
    fn shown(&self, written: Option<&str>) -> Texts {
        let removed = || Some(self.section.runs()?.first()?.before.join("\n"));
        match self.op() {
            EditOp::Create => (None, created(self.section, written)),
            EditOp::Delete => (removed(), None),
            _ => (None, None),
        }
    }

    /// One event for each changed run of lines. A diff shows an empty line after the final line end, so an edit of the last line needs the texts.
    fn emit(&self, (before, after): Texts, out: &mut Emitter<'_>) {
        let files = before.as_deref().zip(after.as_deref());
        let runs = self.section.runs().unwrap_or_default();
        let is_update = matches!(self.op(), EditOp::Update | EditOp::Move);
        if is_update && !self.section.ends_in_doubt() && !(files.is_some() && runs.len() == 1) {
            for run in &runs {
                let mut event = self.event();
                if let Some((before, after)) = files {
                    set_files(&mut event, before, after);
                }
                set_run(&mut event, run);
                out.emit(event, self.at);
            }
            if !runs.is_empty() {
                return;
            }
        }
        let mut event = self.event();
        set_texts(&mut event, before.as_deref(), after.as_deref());
        out.emit(event, self.at);
    }
}

/// The text of a file that was created.
pub fn created(section: &Section<'_>, written: Option<&str>) -> Option<String> {
    if let Some(written) = written {
        return Some(with_unix_line_ends(written.into()).into_owned());
    }
    let runs = section.runs().unwrap_or_default();
    runs.first().map(|run| run.after.join("\n"))
}

fn set_files(event: &mut CodeEdit<'_>, before: &str, after: &str) {
    event.file_before_hash = Hash::of_lossless_text(before);
    event.file_after_hash = Hash::of_lossless_text(after);
}

/// What the texts of a file before and after a change say, as far as they are known.
pub fn set_texts(event: &mut CodeEdit<'_>, before: Option<&str>, after: Option<&str>) {
    match (event.op, before, after) {
        (EditOp::Create, _, Some(text)) | (EditOp::Delete, Some(text), _) => {
            set_whole_file(event, text);
        }
        (EditOp::Create | EditOp::Delete, ..) => {}
        (_, Some(before), Some(after)) => {
            set_files(event, before, after);
            ChangedSpan::trimmed(1, before, 1, after).set_in(event);
        }
        (_, before, after) => {
            event.file_before_hash = before.and_then(Hash::of_lossless_text);
            event.file_after_hash = after.and_then(Hash::of_lossless_text);
        }
    }
}
