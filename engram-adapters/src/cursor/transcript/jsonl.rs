//! Transcripts as JSON Lines (`agent-transcripts/**.jsonl`): messages and calls, without ids, results or times of their own.

use engram_core::adapter::SideInfo;
use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, Meta};
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

use super::calls::{check_requested_edit, emit_call};
use super::parent_session::ParentSession;
use super::turn_end;
use crate::cursor::fields::{required, required_name, text_or_json};
use crate::cursor::format::{RoleKind, TranscriptKind};
use crate::cursor::members::{self, form};
use crate::cursor::messages::{emit_answer, emit_prompt, emit_reasoning, message_outcome};
use crate::cursor::readers::{TranscriptLine, TranscriptMessage, TranscriptPart};
use crate::cursor::steps::{Out, Reader};
use crate::shared::value::{raw_str, text};

/// The converter of one transcript.
pub(in crate::cursor) struct Transcript {
    parent: ParentSession,
}

impl Transcript {
    /// The converter, with what the files around the transcript show.
    pub(in crate::cursor) fn new(context: &SideInfo) -> Self {
        Transcript {
            parent: ParentSession::new(context),
        }
    }
}

impl Reader for Transcript {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let line = TranscriptLine::strict(record.value, "")?;
        let (kind, name) = match (raw_str(line.role()), raw_str(line.kind())) {
            (role, "") => (RoleKind::named(role).map(Kind::Role), role),
            ("", kind) => (TranscriptKind::named(kind).map(Kind::Line), kind),
            (_, kind) => (None, kind),
        };
        let Some(kind) = kind else {
            return Err(Fault::unrecognized(name));
        };
        members::check_chosen(name, line.object(), Pointer::Root, form::TRANSCRIPT, out);
        self.parent.emit(out)?;
        match kind {
            Kind::Role(role) => message(role, &line, self.parent.prompts_by(), out),
            Kind::Line(TranscriptKind::TurnEnded) => {
                turn_end::turn_ended(raw_str(line.status()), line.error(), Pointer::Root, out)
            }
            Kind::Line(TranscriptKind::Error) => error(&line, out),
            Kind::Line(TranscriptKind::Metadata) => metadata(&line, out),
        }
    }
}

/// What a line is. Messages have a role, and no type.
enum Kind {
    Role(RoleKind),
    Line(TranscriptKind),
}

/// A prompt, or an answer with its calls.
fn message(
    role: RoleKind,
    line: &TranscriptLine<'_>,
    prompts_by: Author,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    const CONTENT: &str = "/message/content";
    let message = required(line.message(), Pointer::At("/message"), "an object")?;
    let content = required(
        TranscriptMessage::strict(message, "/message")?.content(),
        Pointer::At(CONTENT),
        "a text or a list of parts",
    )?;
    if content.text().is_some() {
        let (text, pointer) = (content.text(), Pointer::At(CONTENT));
        return message_outcome(match role {
            RoleKind::User => emit_prompt(text, prompts_by, None, pointer, out)?,
            RoleKind::Assistant => emit_answer(text, pointer, out)?,
        });
    }
    if !content.is_array() {
        return Err(Fault::malformed(
            CONTENT,
            "a text or a list of parts",
            content.raw(),
        ));
    }
    let mut events = 0;
    for (index, value) in content.elements().enumerate() {
        let pointer = Pointer::Item(CONTENT, index);
        let part = TranscriptPart::strict(value, "").map_err(|fault| fault.within(pointer))?;
        events += match (raw_str(part.kind()), role) {
            ("text", RoleKind::User) => {
                emit_prompt(text(part.text()), prompts_by, None, pointer, out)?
            }
            ("text", RoleKind::Assistant) => emit_answer(text(part.text()), pointer, out)?,
            ("thinking", RoleKind::Assistant) => {
                let reasoning =
                    required_name(part.thinking(), Pointer::Field(CONTENT, index, "/thinking"))?;
                emit_reasoning(reasoning, Pointer::Field(CONTENT, index, "/thinking"), out)?
            }
            ("tool_use", RoleKind::Assistant) => {
                let tool = required_name(part.name(), Pointer::Field(CONTENT, index, "/name"))?;
                check_requested_edit(
                    tool,
                    part.input(),
                    Pointer::Field(CONTENT, index, "/input"),
                    out,
                );
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

/// An error of the harness.
fn error(line: &TranscriptLine<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    out.emit(Meta::error(None, text_or_json(line.error())), "/error")?;
    Ok(Outcome::Mapped)
}

/// An overview of the transcript.
fn metadata(line: &TranscriptLine<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/metadata/overview");
    let overview = line
        .metadata()
        .and_then(|metadata| metadata.member("overview"));
    let text = required_name(overview, pointer)?;
    out.emit(Meta::system("overview", Some(text)), pointer)?;
    Ok(Outcome::Mapped)
}
