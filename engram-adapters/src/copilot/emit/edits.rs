//! What calls changed, by the diffs in their results, and what else changed in a turn, by its snapshot.

use engram_core::emit::Pointer;
use engram_core::event::{Author, CodeEdit, EditOp, MsgIn, SpanLink};
use engram_core::hash::Hash;
use engram_core::keys::{KeyMap, KeySet};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::files::{Texts, created};
use super::state::State;
use crate::copilot::diff::{Section, sections};
use crate::copilot::notes::{agent_of, path_key};
use crate::copilot::plan::Turn;
use crate::copilot::readers::{FileArgs, Output, Start};
use crate::copilot::snapshots::{Changed, Image};
use crate::shared::spans::{ChangedSpan, set_run, set_whole_file, with_unix_line_ends};
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
    for section in sections.iter().filter(|section| !section.changes_nothing()) {
        let edit = Edit {
            call_id,
            section,
            file: format!("/{}", section.before.or(section.after).unwrap_or_default()),
        };
        let proven = state.turn.change(section, written.as_deref());
        edit.emit(
            proven.unwrap_or_else(|| edit.shown(written.as_deref())),
            out,
        );
        if let (EditOp::Move, Some(to)) = (edit.op(), section.after) {
            let to = format!("/{to}");
            let link = SpanLink::of_move(call_id, Text::Plain(&edit.file), Text::Plain(&to));
            out.emit(link, DETAIL);
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
                out.emit(event, DETAIL);
            }
            if !runs.is_empty() {
                return;
            }
        }
        let mut event = self.event();
        set_texts(&mut event, before.as_deref(), after.as_deref());
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
/// record of the turn.
pub fn others(state: &State, turn: &Turn, record: &Record<'_>, out: &mut Emitter<'_>) {
    let changed: KeySet = turn.changes.iter().map(|(path, ..)| *path).collect();
    // The only command that names a file.
    let mut commands: KeyMap<Option<usize>> = KeyMap::default();
    for (path, number) in &turn.named {
        let is_new = !commands.contains_key(path);
        commands.insert(*path, is_new.then_some(*number));
    }
    for file in state.snapshots.files(turn.snapshot) {
        let path = path_key(&file.path);
        if !changed.contains(&path) {
            let command = commands.get(&path).copied().flatten();
            let mut start = command.and_then(|number| record.others.get(number));
            let start = start.as_mut().and_then(|start| start.value());
            let agent = start.and_then(agent_of).map(|agent| agent.decode_lossy());
            out.set_source(state.session.as_deref(), agent.as_deref());
            let call = start.and_then(|start| Start::lenient(start.member("data")?).id());
            other(state, file, non_empty_text(call), out);
        }
    }
}

/// What is left of a turn that a rewind took out of the log: the prompt, and the files that changed and were not restored.
pub fn cut(state: &State, snapshot: usize, out: &mut Emitter<'_>) {
    let snapshot = state.snapshots.get(snapshot);
    if let Some(words) = snapshot.and_then(|snapshot| snapshot.words.as_deref()) {
        let words = Some(Text::Plain(words));
        out.emit(MsgIn::user(Author::Person, words), Pointer::Root);
    }
    for file in snapshot.into_iter().flat_map(|snapshot| &snapshot.files) {
        other(state, file, None, out);
    }
}

fn other(state: &State, file: &Changed, call_id: Option<Text<'_>>, out: &mut Emitter<'_>) {
    let op = match (&file.before, &file.after) {
        (Image::Absent, Image::Absent) => return,
        (Image::Absent, _) => EditOp::Create,
        (_, Image::Absent) => EditOp::Delete,
        _ => EditOp::Update,
    };
    let text = |image| {
        state
            .snapshots
            .text(image)
            .map(|text| with_unix_line_ends(text.into()).into_owned())
    };
    let mut event = CodeEdit {
        call_id,
        ..CodeEdit::new(op, Text::Plain(&file.path))
    };
    set_texts(
        &mut event,
        text(&file.before).as_deref(),
        text(&file.after).as_deref(),
    );
    out.emit(event, Pointer::Root);
}
