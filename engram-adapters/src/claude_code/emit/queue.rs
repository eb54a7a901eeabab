//! `queue-operation` lines (2.0.30 and later): a prompt enters the queue or leaves it.

use engram_core::event::Author;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::state::State;
use crate::claude_code::authors;
use crate::claude_code::blocks::{emit_prompt, prompt_texts};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;

/// `queue-operation/enqueue`: most prompts are in the conversation, too. One that is not stands where it was delivered, else here.
pub(super) fn enqueue(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    const RECORD: &str = "queue-operation/enqueue";
    if record.line.content().is_none_or(|prompt| prompt.text().is_some_and(|text| text.is_empty())) {
        return Outcome::Bookkeeping { record: RECORD, rule: rule::QUEUE_STATE };
    }
    if state.plan.prompts.here.contains(&record.at) {
        emit_prompt_of(state, record, out);
        return Outcome::Mapped;
    }
    let is_told = state.plan.prompts.is_told(record.at);
    if is_told { Outcome::Mapped } else { Outcome::Duplicate { record: RECORD, rule: rule::QUEUED } }
}

/// Emits the prompt that entered the queue with this line.
pub(super) fn emit_prompt_of(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) {
    let Some(prompt) = record.line.content() else { return };
    let by = prompt_texts(prompt).next().map_or(Author::Person, authors::of_queued);
    emit_prompt(prompt, |_| by, "/content", out);
}

/// `queue-operation/dequeue`: a prompt is sent.
pub(super) fn dequeue(_: &mut State, _: &Record<'_>, _: &mut Emitter<'_>) -> Outcome {
    Outcome::Bookkeeping { record: "queue-operation/dequeue", rule: rule::QUEUE_STATE }
}

/// `queue-operation/remove`: a prompt leaves the queue, mostly because the agent got it while it worked.
pub(super) fn remove(_: &mut State, _: &Record<'_>, _: &mut Emitter<'_>) -> Outcome {
    Outcome::Duplicate { record: "queue-operation/remove", rule: rule::QUEUED }
}
