//! `queue-operation` lines (2.0.30 and later): a prompt enters the queue or leaves it.

use engram_core::event::Author;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;

use super::state::State;
use crate::claude_code::authors;
use crate::claude_code::blocks::{emit_prompt, prompt_texts};
use crate::claude_code::format::{QueueKind, rule};
use crate::claude_code::record::Record;

/// `queue-operation/enqueue`: most prompts are in the conversation, too. One that is not stands where it was delivered, else here.
pub(super) fn enqueue(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    const RECORD: &str = QueueKind::Enqueue.name();
    if record
        .line
        .content()
        .is_none_or(|prompt| prompt.text().is_some_and(|text| text.is_empty()))
    {
        return Outcome::Bookkeeping {
            record: RECORD,
            rule: rule::QUEUE_STATE,
        };
    }
    if state.plan.prompts.here.contains(&record.at) {
        emit_prompt_of(state, record, out);
        return Outcome::Mapped;
    }
    let is_told = state.plan.prompts.is_told(record.at);
    if is_told {
        Outcome::Mapped
    } else {
        Outcome::Duplicate {
            record: RECORD,
            rule: rule::QUEUE_SAID_IN_CONVERSATION,
        }
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
