//! Facts of other lines that stand before or after a line: queued prompts that were delivered here, rewinds, and results that the log has
//! before their calls. `queue-operation` lines (2.0.30 and later), with which a prompt enters the queue or leaves it.

use std::borrow::Cow;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Author, Meta, Seq};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record as Source};

use super::session_meta::{fill_in, set_source};
use super::state::State;
use super::user;
use crate::claude_code::authors;
use crate::claude_code::blocks::{emit_prompt, prompt_texts};
use crate::claude_code::format::{QueueKind, rule};
use crate::claude_code::notes::Kind;
use crate::claude_code::plan::rewinds::Target;
use crate::claude_code::readers::Line;
use crate::claude_code::record::{Record, line_time};
use crate::shared::value::text;

/// Emits what stands before a line.
pub(super) fn before(state: &mut State, source: &Source<'_>, at: usize, out: &mut Emitter<'_>) {
    let plan = std::rc::Rc::clone(&state.plan);
    if let Some(rewind) = plan
        .rewinds
        .get(&at)
        .filter(|_| plan.notes.all[at].kind != Kind::LastPrompt)
        && let Some(to) = end_of(state, rewind.to)
    {
        let files = rewind.files;
        let stated_by = plan.notes.all[rewind.stated_by].record as usize;
        let line = Line::lenient(source.value);
        let time = line_time(&line).filter(|_| rewind.stated_by == at);
        let (header, pointer) = match time.as_deref() {
            Some(t) => {
                let id = text(line.uuid());
                let header = RecordHeader::new(Some(t), id);
                (header, Pointer::At("/parentUuid"))
            }
            None => (RecordHeader::default(), Pointer::Root),
        };
        out.of_record(stated_by, header, |out| {
            out.emit(Meta::Rewind { to, files }, pointer)
        });
    }
    for queued in plan.prompts.before.get(&at).into_iter().flatten() {
        of_other(source, state, *queued, out, emit_prompt_of);
    }
}

/// Emits what stands after a line, and remembers its last event if a person goes back to it.
pub(super) fn after(state: &mut State, source: &Source<'_>, at: usize, out: &mut Emitter<'_>) {
    let plan = std::rc::Rc::clone(&state.plan);
    for result in plan.early.get(&at).into_iter().flatten() {
        of_other(source, state, *result, out, |state, record, out| {
            let _ = user::user(state, record, out);
        });
    }
    if plan.targets.contains(&at)
        && let Some(last) = out.last_seq()
    {
        state.ends.entry(at).or_insert(last);
    }
}

/// The last event up to the end of a line, or before the first prompt.
pub(super) fn end_of(state: &State, target: Target) -> Option<Seq> {
    match target {
        Target::Line(at) => state.ends.get(&at).copied(),
        Target::Before(at) => state.befores.get(&at).copied(),
    }
}

/// Emits events of another line here.
fn of_other(
    source: &Source<'_>,
    state: &mut State,
    at: usize,
    out: &mut Emitter<'_>,
    emit: impl FnOnce(&mut State, &Record<'_>, &mut Emitter<'_>),
) {
    let number = state.plan.notes.all[at].record as usize;
    let Some(mut again) = source.others.get(number) else {
        return;
    };
    let Some(value) = again.value() else { return };
    let mut record = Record {
        at,
        line: Line::lenient(value),
        ..Record::default()
    };
    fill_in(state, &mut record);
    let time = line_time(&record.line).map(Cow::into_owned);
    let header = RecordHeader {
        t: time.as_deref(),
        id: text(record.line.uuid()),
        replay: record.replay,
    };
    out.of_record(number, header, |out| {
        set_source(state, &record, out);
        emit(state, &record, out);
    });
    // The next line may be another session's, or another agent's.
    state.last_stated.forget_session();
}

/// `queue-operation/enqueue`: most prompts are in the conversation, too. One that is not stands where it was delivered, else here.
pub(super) fn enqueue(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    const RECORD: &str = QueueKind::Enqueue.name();
    if record
        .line
        .content()
        .is_none_or(|prompt| prompt.text().is_some_and(|text| text.is_empty()))
    {
        return Outcome::bookkeeping(RECORD, rule::QUEUE_STATE);
    }
    if state.plan.prompts.here.contains(&record.at) {
        emit_prompt_of(state, record, out);
        return Outcome::Mapped;
    }
    let is_told = state.plan.prompts.is_told(record.at);
    if is_told {
        Outcome::Mapped
    } else {
        Outcome::duplicate(RECORD, rule::QUEUE_SAID_IN_CONVERSATION)
    }
}

/// Emits the prompt that entered the queue with this line.
pub(super) fn emit_prompt_of(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) {
    let Some(prompt) = record.line.content() else {
        return;
    };
    let by = prompt_texts(prompt)
        .next()
        .map_or(Author::Person, authors::of_queued);
    emit_prompt(prompt, |_| by, "/content", out);
}
