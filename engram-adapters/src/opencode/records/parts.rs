//! The parts of a message, tool calls excepted: text, reasoning, files, usage, notices.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, Channel, ImplicitInput, Meta, MsgIn, MsgOut, Role, SessionFacts};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::part_record::PartRecord;
use super::system_events::{emit_error, emit_system, notice};
use super::usage::{step_usage, usage};
use crate::opencode::results::attachment::attachment;
use crate::opencode::schema::{Tokens, bool_opt};
use crate::opencode::state::later_calls::Giver;
use crate::opencode::state::message_context::Speaker;
use crate::opencode::state::session_state::SessionState;
use crate::shared::value::{self, Field, Value, is_true, non_empty_text};

/// A prompt, an answer, or the summary of a compaction.
pub(super) fn text(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let text = value::text(record.part.text()).ok_or_else(|| Fault::malformed("/text", "text", "nothing"))?;
    if text.is_empty() {
        return emit_system("empty_text", None, record.pointer, out);
    }
    match record.message.speaker {
        Speaker::User => {
            let by = match author(state, record) {
                Author::Harness => Author::Harness,
                _ => prompt_author(state, record.message.id, text, record.pointer, out)?,
            };
            out.emit(MsgIn { role: Role::User, by, text: Some(text), attachments: Vec::new() }, record.pointer)?;
        }
        Speaker::Assistant if record.message.is_summary => {
            let trigger = state.compaction.end().map(Text::Plain);
            out.emit(Meta::Compaction { text: Some(text), trigger }, record.pointer)?;
        }
        Speaker::Assistant => {
            let message = MsgOut {
                text: Some(text),
                channel: None,
                model: record.message.model,
                message_id: record.message.message_id,
                redacted: false,
            };
            out.emit(message, record.pointer)?;
        }
        Speaker::Unknown => return Err(no_role()),
    }
    Ok(Outcome::Mapped)
}

/// Who wrote a part of a prompt: the harness, or whoever gave the message.
fn author(state: &SessionState, record: &PartRecord<'_>) -> Author {
    match is_true(record.part.synthetic()) {
        true => Author::Harness,
        false if state.later_calls.is_of_person(message_key(record.message.id)) => Author::Person,
        false => state.prompt_author,
    }
}

fn message_key(id: Field<'_>) -> u64 {
    hash64(id.map(Value::raw))
}

/// Who wrote a prompt. In the session of a sub-agent that is the agent whose call has the prompt, which is emitted if it is not the call that
/// started the session; a person may write to such a session, too, and then no call has the words.
pub(super) fn prompt_author(
    state: &mut SessionState,
    message: Field<'_>,
    prompt: Text<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<Author, Fault> {
    if state.prompt_author != Author::Agent {
        return Ok(state.prompt_author);
    }
    match state.later_calls.giver_of(message_key(message), prompt) {
        Giver::Start => Ok(Author::Agent),
        Giver::Call(call) => {
            let facts = SessionFacts { parent_call_id: Some(Text::Plain(&call)), ..SessionFacts::default() };
            out.emit(Meta::Session(facts), pointer)?;
            Ok(Author::Agent)
        }
        Giver::Person => Ok(Author::Person),
    }
}

/// Reasoning. If only the provider can read it, it has no text.
pub(super) fn reasoning(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let text = non_empty_text(record.part.text());
    if text.is_none() && record.part.metadata().is_none() {
        return emit_system("empty_reasoning", None, record.pointer, out);
    }
    let message = MsgOut {
        text,
        channel: Some(Channel::Reasoning),
        model: record.message.model,
        message_id: record.message.message_id,
        redacted: text.is_none(),
    };
    out.emit(message, record.pointer)?;
    Ok(Outcome::Mapped)
}

/// The end of a model request, with its tokens.
pub(super) fn step_finish(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let tokens = record.part.tokens().ok_or_else(|| Fault::malformed("/tokens", "token counts", "nothing"))?;
    let tokens = Tokens::strict(tokens, "/tokens")?;
    let (cost, reason) = (record.part.cost(), record.part.reason());
    let usage = match state.dialect {
        dialect if dialect.is_step => step_usage(&tokens, cost, reason, record.message),
        dialect => usage(&tokens, cost, reason, record.message, dialect),
    };
    out.emit(usage, record.pointer)?;
    Ok(Outcome::Mapped)
}

/// The files that a step changed, by any tool. For a file that a command changed this is the only trace.
pub(super) fn patch(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let files = record.part.files().ok_or_else(|| Fault::malformed("/files", "a list of files", "nothing"))?;
    let files: Vec<_> = files.elements().filter_map(Value::text).map(|file| file.decode_lossy()).collect();
    let list = files.join("\n");
    emit_system("files_changed", (!list.is_empty()).then_some(Text::Plain(&list)), record.pointer, out)
}

/// A snapshot of the working tree.
pub(super) fn snapshot(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    emit_system("snapshot", non_empty_text(record.part.snapshot()), record.pointer, out)
}

/// An attached file.
pub(super) fn file(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let file = attachment(record.part.mime().or(record.part.media_type()), record.part.url(), record.part.filename());
    match record.message.speaker {
        Speaker::User => {
            let by = author(state, record);
            out.emit(MsgIn { role: Role::User, by, text: None, attachments: vec![file] }, record.pointer)?;
        }
        Speaker::Assistant => {
            let input = ImplicitInput { name: Text::Plain("file"), file: file.name, hash: file.hash, bytes: file.bytes, text: None };
            out.emit(Meta::Context(input), record.pointer)?;
        }
        Speaker::Unknown => return Err(no_role()),
    }
    Ok(Outcome::Mapped)
}

/// The beginning of a compaction.
pub(super) fn compaction(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let trigger = state.compaction.begin(bool_opt(record.part.auto()));
    emit_system("compaction", trigger.map(Text::Plain), record.pointer, out)
}

/// An error after which the request was sent again.
pub(super) fn retry(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let error = record.part.error().ok_or_else(|| Fault::malformed("/error", "an error", "nothing"))?;
    emit_error(error, record.pointer, out)?;
    Ok(Outcome::Mapped)
}

/// An agent that the prompt names.
pub(super) fn agent(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    emit_system("agent", non_empty_text(record.part.name()), record.pointer, out)
}

/// A task that the user gives to an agent with a command.
pub(super) fn subtask(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if let Some(prompt) = non_empty_text(record.part.prompt()) {
        // It is the template of the command.
        out.emit(MsgIn { role: Role::User, by: Author::Harness, text: Some(prompt), attachments: Vec::new() }, record.pointer)?;
    }
    if let Some(command) = non_empty_text(record.part.command()) {
        notice("command", Some(command), record.pointer, out)?;
    }
    emit_system("subtask", non_empty_text(record.part.description()), record.pointer, out)
}

/// A web page that the answer cites.
pub(super) fn source_url(_: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    emit_system("source", non_empty_text(record.part.url()), record.pointer, out)
}

/// The message of a part has no role.
#[cold]
fn no_role() -> Fault {
    Fault::malformed("/messageID", "a message with a role", "none")
}
