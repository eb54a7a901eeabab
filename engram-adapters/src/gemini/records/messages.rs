//! One message, alone or as part of a history that the harness writes again as lines.

use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::dispatch;
use super::message_record::MessageRecord;
use crate::gemini::descriptor::rule;
use crate::gemini::schema::{Form, Part, Record, SESSION_CONTEXT};
use crate::gemini::state::session_state::SessionState;
use crate::shared::value::raw_str;

/// Converts a message of a log. `base` is its place.
#[inline(never)]
pub(super) fn message(state: &mut SessionState, message: &Record<'_>, base: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let record = MessageRecord::new(message, base);
    record.begin(out)?;
    if state.rewrites.is_open() || (state.form == Form::Lines && begins_history(message)) {
        return message_of_history(state, &record, out);
    }
    // What is new in a turn that is written again is found part by part.
    if state.form == Form::Lines && raw_str(message.kind()) != "gemini" && state.dedup.is_repeated_message(message) {
        return Ok(Outcome::Duplicate { record: dispatch::message_type(raw_str(message.kind())), rule: rule::REPEATED });
    }
    let kind = dispatch::message(state, &record, None, out)?;
    Ok(state.outcome(kind, rule::REWRITTEN))
}

/// Converts a message that may belong to a history which is being written again.
#[inline(never)]
fn message_of_history(state: &mut SessionState, record: &MessageRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let is_lines = state.form == Form::Lines;
    let mut rewrite = state.rewrites.take(record.message.timestamp(), || is_lines && begins_history(record.message));
    let pass = rewrite.as_mut().map(|rewrite| &mut rewrite.pass);
    let duplicate_rule = if pass.is_some() { rule::RELOGGED } else { rule::REWRITTEN };
    let kind = dispatch::message(state, record, pass, out);
    state.rewrites.put_back(rewrite);
    let kind = kind?;
    Ok(state.outcome(kind, duplicate_rule))
}

/// True for the first message line of a history that is written again. It has the context that the harness puts before the first
/// prompt, or the model's parts as they were sent.
fn begins_history(message: &Record<'_>) -> bool {
    let Some(content) = message.content().filter(|content| content.is_array()) else { return false };
    match raw_str(message.kind()) {
        "gemini" => true,
        "user" => content.elements().next().is_some_and(|part| raw_str(Part::lenient(part).plain_text()).starts_with(SESSION_CONTEXT)),
        _ => false,
    }
}
