//! Turns and the thread: how turns end, compactions, snapshots, and what is undone.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, Meta, MsgOut, Seq};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::value::{Field, Value, count, non_empty_text, raw_str, text};

use super::State;
use crate::codex::format::rule;
use crate::codex::readers::{GhostCommit, Notice, TurnEnd, TurnError};
use crate::codex::record::Record;

/// The end of a turn, with its last answer or its error.
pub fn task_complete(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let end = TurnEnd::lenient(record.value);
    let new_answer = end.last_agent_message().filter(|_| !state.is_told());
    if let Some(answer) = new_answer {
        let answer = MsgOut {
            text: answer.text(),
            channel: Some(Channel::Final),
            ..MsgOut::default()
        };
        out.emit(answer, "/payload/last_agent_message");
    }
    if let Some(error) = end.error() {
        let error = TurnError::lenient(error);
        let code = error.info().map(Value::text_or_json);
        out.emit(Meta::error(code, text(error.message())), "/payload/error");
    }
    let is_mapped = new_answer.is_some() || end.error().is_some();
    let has_answer = non_empty_text(end.last_agent_message()).is_some();
    match is_mapped || has_answer {
        true => record.mapped_or(is_mapped, rule::TURN_LAST_MESSAGE),
        false => record.bookkeeping(rule::TURN_END),
    }
}

/// The user interrupted the turn, or it was replaced. The end of a turn that was copied is no interrupt: it goes on in its own thread.
pub fn turn_aborted(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let reason = text(Notice::lenient(record.value).reason());
    let at = Pointer::At("/payload/reason");
    if closes_copied_turn(record) {
        return emit_system_event(record.short_name(), reason, at, out);
    }
    out.emit(Meta::Interrupt { text: reason }, at);
    Outcome::Mapped
}

/// True for an abort that states when its turn began, and not when it ended (0.149 to 0.171: recorded). With it the harness ends a turn that
/// a new thread has copied while it goes on in the other thread.
pub fn closes_copied_turn(record: &Record<'_>) -> bool {
    let time = |name: &str| count(record.value.first_member(name));
    time("started_at").is_some() && time("completed_at").is_none()
}

/// An error of the harness or the provider.
pub fn error(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = text(Notice::lenient(record.value).message());
    let code = record
        .value
        .first_member("codex_error_info")
        .map(Value::text_or_json);
    out.emit(Meta::error(code, message), "/payload/message");
    Outcome::Mapped
}

/// A compaction, with the summary that replaces the history.
pub fn compacted(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let summary = non_empty_text(record.value.member("message"));
    out.emit(
        Meta::Compaction {
            text: summary,
            trigger: None,
        },
        "/payload/message",
    );
    Outcome::Mapped
}

/// The mark of a compaction as an event.
pub fn context_compacted(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.is_told() {
        return record.duplicate(rule::COMPACTION_MARK);
    }
    emit_compaction_mark(out)
}

/// The mark of a compaction as an item.
pub fn compaction_item(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.is_told() {
        return record.duplicate(rule::COMPACTION_ITEM);
    }
    emit_compaction_mark(out)
}

fn emit_compaction_mark(out: &mut Emitter<'_>) -> Outcome {
    out.emit(
        Meta::Compaction {
            text: None,
            trigger: None,
        },
        Pointer::Root,
    );
    Outcome::Mapped
}

/// The user went back by a number of turns. The files stay as they are.
pub fn thread_rolled_back(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let turns = Notice::lenient(record.value).num_turns();
    if let Some(to) = count(turns).and_then(|turns| remove_turns(&mut state.turns, turns)) {
        out.emit(Meta::Rewind { to, files: false }, "/payload/num_turns");
        return Outcome::Mapped;
    }
    emit_system_event(
        "thread_rolled_back",
        turns.map(Value::json),
        Pointer::Root,
        out,
    )
}

/// Removes the last turns. Returns the last event before them. `None` if there are not so many.
fn remove_turns(before: &mut Vec<Option<Seq>>, turns: u64) -> Option<Seq> {
    let first = before.len().checked_sub(usize::try_from(turns).ok()?)?;
    let last = before.get(first).copied().flatten();
    before.truncate(first);
    last
}

/// The changes of a turn were undone.
pub fn undo_completed(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = text(Notice::lenient(record.value).message());
    emit_system_event(
        "undo_completed",
        message,
        Pointer::At("/payload/message"),
        out,
    )
}

/// A goal of the thread, or its new status.
pub fn thread_goal_updated(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let of_goal =
        |name: &str| -> Field<'_> { record.value.first_member("goal")?.first_member(name) };
    let name = format!("thread_goal.{}", raw_str(of_goal("status")));
    emit_system_event(
        &name,
        text(of_goal("objective")),
        Pointer::At("/payload/goal"),
        out,
    )
}

/// A snapshot commit of the working tree.
pub fn ghost_snapshot(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let id = record
        .value
        .member("ghost_commit")
        .and_then(|commit| text(GhostCommit::lenient(commit).id()));
    emit_system_event("ghost_snapshot", id, Pointer::Root, out)
}

fn emit_system_event(
    name: &str,
    text: Option<Text<'_>>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    out.emit(Meta::system(name, text), at);
    Outcome::Mapped
}
