//! Artifacts that are one JSON document: whole-file logs, `logs.json`, saved conversations.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::event::{Author, MsgIn, Role};
use engram_core::ledger::Outcome;

use super::dispatch;
use super::header::header;
use super::lines::type_of;
use super::message_record::{MessageRecord, set_header};
use super::messages::message;
use crate::gemini::descriptor::rule;
use crate::gemini::members;
use crate::gemini::schema::{MESSAGES, Record, SavedTurn, TypedPrompt, parts};
use crate::gemini::state::session_state::SessionState;
use crate::shared::document::{required_array, without_member};
use crate::shared::time::tape_time;
use crate::shared::value::{Value, raw_str, text};

/// Converts a whole-file log: its header, then one record for each message.
pub(super) fn log(state: &mut SessionState, document: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let messages = required_array(document, MESSAGES)?;
    out.begin();
    let converted = log_header(state, document, out);
    state.end_record(converted.is_ok());
    match converted {
        Ok(()) => out.settle(Outcome::Mapped),
        Err(fault) => out.settle_fault(fault, &without_member(document, MESSAGES))?,
    }
    for (n, element) in messages.elements().enumerate() {
        let base = format!("/messages/{n}");
        convert_record(state, element, out, |state, out| logged_message(state, &Record::strict(element, &base)?, &base, out))?;
    }
    Ok(())
}

/// Converts a message of a whole-file log, unless messages with its id have stated the same before.
fn logged_message(state: &mut SessionState, record: &Record<'_>, base: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if state.dedup.is_repeated_message(record) {
        members::check(raw_str(record.kind()), record.object(), Pointer::At(base), out)?;
        return Ok(Outcome::Duplicate { record: type_of(record), rule: rule::REPEATED });
    }
    message(state, record, base, out)
}

fn log_header(state: &mut SessionState, document: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let view = Record::strict(document, "")?;
    set_header(view.start_time(), None, out);
    out.check_document(document)?;
    header(state, &view, out)
}

/// Converts `logs.json`: what was typed at the terminal, its commands included.
pub(super) fn typed_prompts(state: &mut SessionState, entries: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    for (n, entry) in entries.elements().enumerate() {
        let base = format!("/{n}");
        convert_record(state, entry, out, |state, out| typed_prompt(state, &TypedPrompt::strict(entry, &base)?, &base, out))?;
    }
    Ok(())
}

/// Converts one entry of `logs.json`. Its only known type is `user`.
fn typed_prompt(state: &mut SessionState, prompt: &TypedPrompt<'_>, base: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if raw_str(prompt.kind()) != "user" {
        return Err(Fault::unrecognized(raw_str(prompt.kind())));
    }
    if prompt.timestamp().is_some() && !state.dedup.is_new_record(prompt.object().raw()) {
        members::check("user", prompt.object(), Pointer::At(base), out)?;
        return Ok(Outcome::Duplicate { record: "user", rule: rule::REPEATED });
    }
    let pointer = format!("{base}/message");
    let Some(message) = text(prompt.message()) else { return Err(Fault::malformed(pointer, "text", "none")) };
    let session = text(prompt.session_id()).map(|id| id.decode_lossy());
    out.set_source(session.as_deref(), None);
    let time = tape_time(prompt.timestamp());
    let replay = state.is_logged_prompt(session.as_deref(), message);
    out.set_header(RecordHeader { t: time.as_deref(), id: None, replay });
    members::check("user", prompt.object(), Pointer::At(base), out)?;
    let message = MsgIn { role: Role::User, by: Author::Person, text: Some(message), attachments: Vec::new() };
    state.tally.emit(message, Pointer::At(&pointer), out)?;
    Ok(Outcome::Mapped)
}

/// Converts a saved conversation: a list of turns, since 0.36.0 inside an object.
pub(super) fn saved_conversation(state: &mut SessionState, document: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let (turns, path) = match document.member("history") {
        Some(history) => (history, "/history"),
        None => (document, ""),
    };
    for (n, turn) in turns.elements().enumerate() {
        let base = format!("{path}/{n}");
        convert_record(state, turn, out, |state, out| {
            if n == 0 {
                out.check_document(document)?;
            }
            saved_turn(state, &SavedTurn::strict(turn, &base)?, &base, out)
        })?;
    }
    Ok(())
}

/// Converts a turn of a saved conversation as the message that it would be in a log.
fn saved_turn(state: &mut SessionState, turn: &SavedTurn<'_>, base: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let texts = || parts(turn.parts()).filter_map(|part| part.text().or(part.call()?.member("id"))).filter_map(Value::text);
    if let Some(text) = texts().next() {
        state.is_saved_copy = state.is_in_log(None, text);
    }
    out.set_header(RecordHeader { replay: state.is_saved_copy, ..RecordHeader::default() });
    members::check(raw_str(turn.role()), turn.object(), Pointer::At(base), out)?;
    let mut message = Record::empty_of(turn.object());
    message.set(const { Record::number("content") }, turn.parts());
    let record = MessageRecord { message: &message, base, content: "/parts" };
    let role = dispatch::saved_turn(state, raw_str(turn.role()), &record, out)?;
    let empty = Outcome::Bookkeeping { record: role, rule: rule::EMPTY };
    Ok(if state.tally.has_events() { Outcome::Mapped } else { empty })
}

/// Converts one record of a document, and applies the policy to a fault.
fn convert_record(
    state: &mut SessionState,
    record: Value<'_>,
    out: &mut Emitter<'_>,
    convert: impl FnOnce(&mut SessionState, &mut Emitter<'_>) -> Result<Outcome, Fault>,
) -> Result<(), Fault> {
    out.begin();
    state.begin_record();
    let outcome = convert(state, out);
    state.end_record(outcome.is_ok());
    out.settle_result(outcome, record.raw())
}
