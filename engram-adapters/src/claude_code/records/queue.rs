//! `queue-operation` lines (2.0.30 and later): a prompt enters the queue or leaves it.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::Author;
use engram_core::ledger::Outcome;

use crate::claude_code::blocks::{images, prompt_texts};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::records::authors;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::value::raw_str;

/// `queue-operation/enqueue`: the prompt waits until the conversation has it.
pub(super) fn enqueue(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    const RECORD: &str = "queue-operation/enqueue";
    let line = &record.line;
    state.replay.set_queued_at(record.time.as_deref(), record.session_id().as_deref());
    let Some(prompt) = line.content().filter(|prompt| !prompt.text().is_some_and(|text| text.is_empty())) else {
        return Ok(Outcome::Bookkeeping { record: RECORD, rule: rule::QUEUE_STATE });
    };
    let first = prompt_texts(prompt).next();
    if first.is_none() && images(Some(prompt)).is_empty() {
        return Err(Fault::malformed("/content", "text, or a list of texts and images", prompt.raw()));
    }
    let by = first.map_or(Author::Person, authors::of_queued);
    let deferred = state.prompts.defer(prompt, by, line, out)?;
    Ok(if deferred { Outcome::Duplicate { record: RECORD, rule: rule::QUEUED } } else { Outcome::Mapped })
}

/// `queue-operation/dequeue`: a prompt is sent. Its time separates copied records from new ones.
pub(super) fn dequeue(state: &mut SessionState, record: &Record<'_>, _: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    state.prompts.send(record.time.as_deref());
    state.replay.set_queued_at(record.time.as_deref(), record.session_id().as_deref());
    Ok(Outcome::Bookkeeping { record: "queue-operation/dequeue", rule: rule::QUEUE_STATE })
}

/// `queue-operation/remove`: a prompt leaves the queue, mostly because the agent got it while it worked.
pub(super) fn remove(state: &mut SessionState, record: &Record<'_>, _: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if matches!(raw_str(record.line.object().member("reason")), "" | "absorbed_mid_turn") {
        state.prompts.deliver(record.line.content());
    }
    Ok(Outcome::Duplicate { record: "queue-operation/remove", rule: rule::QUEUED })
}
