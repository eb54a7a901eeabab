//! Transcripts as JSON Lines (`agent-transcripts/**.jsonl`): messages and calls, without ids, results or times of their own.

use engram_core::adapter::SideInfo;
use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, Meta};
use engram_core::ledger::Outcome;
use engram_core::steps::Record;
use engram_core::text::Text;

use super::calls::{check_requested_edit, emit_call};
use super::parent_session::ParentSession;
use super::turn_end;
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::{required, required_name, text_or_json};
use crate::cursor::members::{self, form};
use crate::cursor::messages::{emit_answer, emit_prompt, emit_reasoning, message_outcome};
use crate::cursor::readers::{TranscriptLine, TranscriptMessage, TranscriptPart};
use crate::cursor::steps::{Out, Reader};
use crate::shared::route::{Action, Route};
use crate::shared::value::{raw_str, text};

/// Converts a record of one role or type. The author is that of prompts.
type Handler = fn(&TranscriptLine<'_>, Author, &mut Out<'_, '_>) -> Result<Outcome, Fault>;

/// What happens to the messages of each role. They have no type.
static ROLES: &[Route<Handler>] = &[Route::convert("assistant", message), Route::convert("user", message)];

/// What happens to each type of record without a role.
static RECORDS: &[Route<Handler>] =
    &[Route::convert("turn_ended", turn_ended), Route::convert("error", error), Route::convert("metadata", metadata)];

/// The converter of one transcript.
pub(in crate::cursor) struct Transcript {
    parent: ParentSession,
}

impl Transcript {
    /// The converter, with what the files around the transcript show.
    pub(in crate::cursor) fn new(context: &SideInfo) -> Self {
        Transcript { parent: ParentSession::new(context) }
    }
}

impl Reader for Transcript {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let line = TranscriptLine::strict(record.value, "")?;
        let (action, name) = match (raw_str(line.role()), raw_str(line.kind())) {
            (role, "") => (Route::find(ROLES, role), role),
            ("", kind) => (Route::find(RECORDS, kind), kind),
            (_, kind) => (None, kind),
        };
        let Some(action) = action else { return Err(Fault::unrecognized(name)) };
        members::check_chosen(name, line.object(), Pointer::Root, form::TRANSCRIPT, out);
        self.parent.emit(out)?;
        match action {
            Action::Convert(handler) => handler(&line, self.parent.prompts_by(), out),
            Action::Omit => omitted(name),
        }
    }
}

/// A prompt, or an answer with its calls.
fn message(line: &TranscriptLine<'_>, prompts_by: Author, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    const CONTENT: &str = "/message/content";
    let role = raw_str(line.role());
    let message = required(line.message(), Pointer::At("/message"), "an object")?;
    let content = required(TranscriptMessage::strict(message, "/message")?.content(), Pointer::At(CONTENT), "a text or a list of parts")?;
    if content.text().is_some() {
        let (text, pointer) = (content.text(), Pointer::At(CONTENT));
        let is_prompt = role == "user";
        return message_outcome(if is_prompt {
            emit_prompt(text, prompts_by, None, pointer, out)?
        } else {
            emit_answer(text, pointer, out)?
        });
    }
    if !content.is_array() {
        return Err(Fault::malformed(CONTENT, "a text or a list of parts", content.raw()));
    }
    let mut events = 0;
    for (index, value) in content.elements().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        let part = TranscriptPart::strict(value, "").map_err(|fault| fault.within(pointer))?;
        events += match (raw_str(part.kind()), role) {
            ("text", "user") => emit_prompt(text(part.text()), prompts_by, None, pointer, out)?,
            ("text", _) => emit_answer(text(part.text()), pointer, out)?,
            ("thinking", "assistant") => {
                let reasoning = required_name(part.thinking(), Pointer::Field(CONTENT, index, "/thinking"))?;
                emit_reasoning(reasoning, Pointer::Field(CONTENT, index, "/thinking"), out)?
            }
            ("tool_use", "assistant") => {
                let tool = required_name(part.name(), Pointer::Field(CONTENT, index, "/name"))?;
                check_requested_edit(tool, part.input(), Pointer::Field(CONTENT, index, "/input"), out);
                emit_call(tool, part.input(), pointer, out)?;
                1
            }
            (kind, _) => {
                out.unrecognized_block(kind, value.raw(), pointer)?;
                1
            }
        };
    }
    message_outcome(events)
}

/// The end of a turn.
fn turn_ended(line: &TranscriptLine<'_>, _: Author, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    turn_end::turn_ended(raw_str(line.status()), line.error(), Pointer::Root, out)
}

/// An error of the harness.
fn error(line: &TranscriptLine<'_>, _: Author, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    out.emit(Meta::Error { code: None, text: text_or_json(line.error()) }, Pointer::At("/error"))?;
    Ok(Outcome::Mapped)
}

/// An overview of the transcript.
fn metadata(line: &TranscriptLine<'_>, _: Author, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/metadata/overview");
    let overview = line.metadata().and_then(|metadata| metadata.member("overview"));
    let text = required_name(overview, pointer)?;
    out.emit(Meta::System { name: Text::Plain("overview"), text: Some(text) }, pointer)?;
    Ok(Outcome::Mapped)
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    ROLES.iter().chain(RECORDS).map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
