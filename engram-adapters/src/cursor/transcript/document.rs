//! The older transcript: one JSON document of messages. Reasoning is separate, and results name only their tool.

use engram_core::adapter::SideInfo;
use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

use super::calls::{check_requested_edit, emit_call};
use super::parent_session::ParentSession;
use super::pending_results::PendingResults;
use super::turn_end;
use crate::cursor::fields::required_name;
use crate::cursor::format::DocumentKind;
use crate::cursor::members::{self, form};
use crate::cursor::messages::{emit_answer, emit_prompt, emit_reasoning, message_outcome};
use crate::cursor::readers::{DocumentCall, DocumentHead, DocumentMessage};
use crate::cursor::steps::{Out, Reader};
use crate::shared::value::{Value, elements, non_empty_text, raw_str, text};

/// The document's list.
pub(in crate::cursor) const MESSAGES: &str = "messages";

/// The pointer of the list.
const LIST: &str = "/messages";

/// The converter of one document.
pub(in crate::cursor) struct TranscriptDocument {
    parent: ParentSession,
    pending: PendingResults,
}

impl TranscriptDocument {
    /// The converter, with what the files around the transcript show.
    pub(in crate::cursor) fn new(context: &SideInfo) -> Self {
        TranscriptDocument {
            parent: ParentSession::new(context),
            pending: PendingResults::default(),
        }
    }
}

impl Reader for TranscriptDocument {
    fn list(&self) -> Option<(&'static str, &'static str, &'static str)> {
        Some((MESSAGES, LIST, "turnEnded"))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        if record.base.is_root() {
            return end_of_turn(record.value, out);
        }
        let message = DocumentMessage::strict(record.value, "")?;
        let role = raw_str(message.role());
        let kind = DocumentKind::named(role).ok_or_else(|| Fault::unrecognized(role))?;
        members::check_chosen(role, record.value, Pointer::Root, form::DOCUMENT, out);
        self.parent.emit(out)?;
        match kind {
            DocumentKind::User => user(&message, out),
            DocumentKind::Assistant => assistant(&mut self.pending, &message, out),
            DocumentKind::Tool => tool_result(&mut self.pending, &message, out),
        }
    }

    fn decide(&mut self) {
        self.pending = PendingResults::default();
    }
}

/// A prompt.
fn user(message: &DocumentMessage<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    message_outcome(emit_prompt(
        text(message.text()),
        Author::Person,
        None,
        Pointer::At("/text"),
        out,
    )?)
}

/// Reasoning, an answer, and calls.
fn assistant(
    pending: &mut PendingResults,
    message: &DocumentMessage<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let (mut events, mut calls) = (0, Vec::new());
    if let Some(reasoning) = text(message.thinking()) {
        events += emit_reasoning(reasoning, Pointer::At("/thinking"), out)?;
    }
    events += emit_answer(text(message.text()), Pointer::At("/text"), out)?;
    for (nth, value) in elements(message.tool_calls()).enumerate() {
        let call = DocumentCall::strict(value, "")
            .map_err(|fault| fault.within(Pointer::Item("/toolCalls", nth)))?;
        let tool = required_name(
            call.tool_name(),
            Pointer::Field("/toolCalls", nth, "/toolName"),
        )?;
        check_requested_edit(
            tool,
            call.args(),
            Pointer::Field("/toolCalls", nth, "/args"),
            out,
        );
        let seq = emit_call(tool, call.args(), Pointer::Item("/toolCalls", nth), out)?;
        calls.push((tool.decode_lossy(), seq));
        events += 1;
    }
    calls
        .iter()
        .for_each(|(tool, seq)| pending.call(tool, *seq));
    message_outcome(events)
}

/// The name of a tool that returned.
fn tool_result(
    pending: &mut PendingResults,
    message: &DocumentMessage<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let tool = message
        .tool_result()
        .and_then(|result| non_empty_text(result.member("toolName")));
    let parent = tool.and_then(|tool| pending.result(&tool.decode_lossy()));
    out.emit_child(
        parent,
        ToolResult {
            tool,
            ..ToolResult::default()
        },
        "/toolResult",
    )?;
    Ok(Outcome::Mapped)
}

/// The members beside the list: how the last turn ended.
fn end_of_turn(document: Value<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let Some(ended) = DocumentHead::strict(document, "")?.turn_ended() else {
        return Ok(turn_end::SUCCEEDED);
    };
    turn_end::turn_ended(
        raw_str(ended.member("status")),
        ended.member("error"),
        Pointer::At("/turnEnded"),
        out,
    )
}
