//! What calls changed, by the diffs in their results, and what else changed in a turn, by its snapshot.

use engram_core::emit::Pointer;
use engram_core::event::{Author, CodeEdit, EditOp, MsgIn};
use engram_core::keys::{KeyMap, KeySet};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::State;
use crate::copilot::notes::{agent_of, path_key};
use crate::copilot::plan::Turn;
use crate::copilot::readers::{FileArgs, Output, Start};
use crate::copilot::snapshots::{Changed, Image};
use crate::shared::shown::{Section, emit_edits, set_texts};
use crate::shared::spans::with_unix_line_ends;
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
    let written = text(args.file_text()).map(|text| text.decode_lossy());
    let (detail, written) = (detail.unwrap_or_default(), written.as_deref());
    let proven = |section: &Section<'_>| state.turn.change(section, written);
    emit_edits((&detail, written), (call_id, DETAIL, true), proven, out);
}

/// The files of a turn that changed without a change by an edit tool: a command changed them, or somebody else. They stand behind the last
/// record of the turn.
pub fn others(state: &State, turn: &Turn, record: &Record<'_>, out: &mut Emitter<'_>) {
    let changed = turn.changes.iter().map(|(path, ..)| *path);
    let changed: KeySet = changed.chain(turn.beside.iter().copied()).collect();
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
