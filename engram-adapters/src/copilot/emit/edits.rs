//! What calls changed, by the diffs in their results, and what else changed in a turn, by its snapshot.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{CodeEdit, EditOp, SpanLink};
use engram_core::hash::Hash;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::files::{Proven, created};
use super::state::State;
use crate::copilot::diff::{Section, sections};
use crate::copilot::notes::path_key;
use crate::copilot::plan::Turn;
use crate::copilot::readers::{Event, FileArgs, Output, Start};
use crate::copilot::snapshots::{Changed, Image};
use crate::shared::spans::{ChangedSpan, set_run, set_whole_file, with_unix_line_ends};
use crate::shared::time::tape_time;
use crate::shared::value::{non_empty_text, text};

const DETAIL: Pointer<'static> = Pointer::At("/data/result/detailedContent");

/// The edits of a call that succeeded.
pub fn edits(
    state: &mut State,
    args: &FileArgs<'_>,
    call_id: Option<Text<'_>>,
    output: &Output<'_>,
    out: &mut Emitter<'_>,
) {
    let detail = text(output.detail()).map(|detail| detail.decode_lossy());
    let sections = detail.as_deref().and_then(sections).unwrap_or_default();
    let written = text(args.file_text()).map(|text| text.decode_lossy());
    for section in &sections {
        let proven = state.turn.change(section, written.as_deref());
        let edit = Edit {
            call_id,
            section,
            file: format!("/{}", section.before.or(section.after).unwrap_or_default()),
        };
        match proven {
            Some(proven) => edit.proven(&proven, out),
            None => edit.shown(written.as_deref(), out),
        }
        if let (EditOp::Move, Some(to)) = (edit.op(), section.after) {
            out.emit(edit.link(&format!("/{to}")), DETAIL);
        }
    }
}

/// The change of one file by a call.
struct Edit<'e> {
    call_id: Option<Text<'e>>,
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

    fn link<'l>(&'l self, to: &'l str) -> SpanLink<'l> {
        SpanLink {
            call_id: self.call_id,
            from_file: Text::Plain(&self.file),
            from_range: None,
            to_file: Text::Plain(to),
            to_range: None,
            note: Some(Text::Plain("move")),
        }
    }

    /// With the texts of the whole file.
    fn proven(&self, proven: &Proven, out: &mut Emitter<'_>) {
        let runs = self.section.runs().unwrap_or_default();
        let (before, after) = (proven.before.as_deref(), proven.after.as_deref());
        if let (Some(before), Some(after)) = (before, after)
            && runs.len() > 1
            && !self.section.ends_in_doubt()
        {
            for run in &runs {
                let mut event = self.event();
                set_files(&mut event, before, after);
                set_run(&mut event, run);
                out.emit(event, DETAIL);
            }
            return;
        }
        let mut event = self.event();
        set_texts(&mut event, before, after);
        out.emit(event, DETAIL);
    }

    /// With what the diff shows. The last line of a file may be no line, so nothing is said of it.
    fn shown(&self, written: Option<&str>, out: &mut Emitter<'_>) {
        let runs = self.section.runs().unwrap_or_default();
        let mut event = self.event();
        match self.op() {
            EditOp::Create => {
                if let Some(text) = created(self.section, written) {
                    set_whole_file(&mut event, &text);
                }
            }
            EditOp::Delete => {
                if let [only] = &runs[..] {
                    set_whole_file(&mut event, &only.before.join("\n"));
                }
            }
            _ if self.section.ends_in_doubt() => {}
            _ => {
                for run in &runs {
                    let mut event = self.event();
                    set_run(&mut event, run);
                    out.emit(event, DETAIL);
                }
                if !runs.is_empty() {
                    return;
                }
            }
        }
        out.emit(event, DETAIL);
    }
}

fn set_files(event: &mut CodeEdit<'_>, before: &str, after: &str) {
    event.file_before_hash = Hash::of_lossless_text(before);
    event.file_after_hash = Hash::of_lossless_text(after);
}

/// What the texts of a file before and after a change say, as far as they are known.
fn set_texts(event: &mut CodeEdit<'_>, before: Option<&str>, after: Option<&str>) {
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

/// The files of a turn that changed without a change by an edit tool: a command changed them, or somebody else. They stand behind the last
/// record of the turn, and belong to the record of its prompt.
pub fn others(
    state: &State,
    (prompt, turn): (usize, &Turn),
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) {
    let is_by_tool = |file: &Changed| turn.changes.iter().any(|(path, ..)| *path == path_key(&file.path));
    let files = state.snapshots.of(turn.prompt).iter();
    let files: Vec<&Changed> = files.filter(|file| !is_by_tool(file)).collect();
    let Some(mut again) = record.others.get(prompt).filter(|_| !files.is_empty()) else {
        return;
    };
    let Some(value) = again.value() else {
        return;
    };
    let line = Event::lenient(value);
    let time = tape_time(line.timestamp());
    let header = RecordHeader::new(time.as_deref(), text(line.id()));
    out.set_source(state.session.as_deref(), None);
    out.of_record(prompt, header, |out| {
        for file in files {
            let mut start = command(turn, &file.path).and_then(|number| record.others.get(number));
            let call = start.as_mut().and_then(|start| Start::lenient(start.value()?.member("data")?).id());
            other(state, file, non_empty_text(call), out);
        }
    });
}

/// The record of the only command that names a file.
fn command(turn: &Turn, path: &str) -> Option<usize> {
    let mut named = turn.named.iter().filter(|(named, _)| *named == path_key(path));
    let (_, number) = named.next()?;
    named.next().is_none().then_some(*number)
}

fn other(state: &State, file: &Changed, call_id: Option<Text<'_>>, out: &mut Emitter<'_>) {
    let op = match (&file.before, &file.after) {
        (Image::Absent, Image::Absent) => return,
        (Image::Absent, _) => EditOp::Create,
        (_, Image::Absent) => EditOp::Delete,
        _ => EditOp::Update,
    };
    let text = |image| state.snapshots.text(image).map(|text| with_unix_line_ends(text.into()).into_owned());
    let mut event = CodeEdit {
        call_id,
        ..CodeEdit::new(op, Text::Plain(&file.path))
    };
    set_texts(&mut event, text(&file.before).as_deref(), text(&file.after).as_deref());
    out.emit(event, Pointer::Root);
}
