//! The older transcript: one JSON document of messages. Reasoning is separate, and results name only their tool.

use engram_core::adapter::{Session, SideInfo};
use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, ToolResult};
use engram_core::ledger::Outcome;

use super::calls::{check_requested_edit, emit_call};
use super::parent_session::ParentSession;
use super::pending_results::PendingResults;
use super::turn_end::turn_ended;
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::required_name;
use crate::cursor::members::{self, form};
use crate::cursor::messages::{emit_answer, emit_prompt, emit_reasoning, message_outcome};
use crate::shared::document::{required_array, without_member};
use crate::shared::route::{Action, Route};
use crate::shared::value::{StructuralIndex, Value, non_empty_text, parse, raw_str, text};
use crate::shared::view::view;

/// The document's list.
pub(in crate::cursor) const MESSAGES: &str = "messages";

/// The pointer of the list.
const LIST: &str = "/messages";

view! {
    /// The members beside the document's list.
    Document {
        turn_ended: "turnEnded" Object,
    }
}

view! {
    /// A message of any role: a prompt, an answer with its calls, or the name of a tool that returned.
    Message {
        role: "role" Any,
        text: "text" Any,
        thinking: "thinking" Any,
        tool_calls: "toolCalls" Array,
        tool_result: "toolResult" Object,
    }
}

view! {
    /// A call. Its arguments are text if the transcript was text.
    Call {
        tool_name: "toolName" Any,
        args: "args" Any,
    }
}

/// Converts the message with this index. Faults point from the message.
type Handler = fn(&mut PendingResults, usize, &Message<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What happens to the messages of each role.
static ROLES: &[Route<Handler>] =
    &[Route::convert("assistant", assistant), Route::convert("tool", tool_result), Route::convert("user", user)];

/// The converter of one document.
pub(in crate::cursor) struct TranscriptDocument {
    parent: ParentSession,
    pending: PendingResults,
}

impl TranscriptDocument {
    /// The converter, with what the files around the transcript show.
    pub(in crate::cursor) fn new(context: &SideInfo) -> Self {
        TranscriptDocument { parent: ParentSession::new(context), pending: PendingResults::default() }
    }
}

impl Session for TranscriptDocument {
    fn record(&mut self, _text: &str, _out: &mut Emitter) -> Result<Outcome, Fault> {
        Err(Fault::malformed("", "a document", "a line"))
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        let mut index = StructuralIndex::default();
        let document = parse(text, &mut index)?;
        let messages = required_array(document, MESSAGES)?;
        out.begin();
        self.parent.emit(out)?;
        self.parent.set_emitted();
        let outer = Document::strict(document, "");
        for (index, message) in messages.elements().enumerate() {
            out.begin();
            // A malformed outer part is reported after the messages, as malformed only.
            if index == 0 && outer.is_ok() {
                out.check_document(document)?;
            }
            let converted = convert(&mut self.pending, index, message, out);
            out.settle_result(converted.map_err(|fault| fault.within(Pointer::Item(LIST, index))), message.raw())?;
        }
        if let Some(ended) = document.member("turnEnded") {
            out.begin();
            match outer.and_then(|_| end_of_turn(ended, out)) {
                Ok(outcome) => out.settle(outcome),
                Err(fault) => out.settle_fault(fault, &without_member(document, MESSAGES))?,
            }
        }
        Ok(())
    }
}

fn convert(pending: &mut PendingResults, index: usize, value: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let message = Message::strict(value, "")?;
    let role = raw_str(message.role());
    let action = Route::find(ROLES, role).ok_or_else(|| Fault::unrecognized(role))?;
    members::check_chosen(role, value, Pointer::Item(LIST, index), form::DOCUMENT, out)?;
    match action {
        Action::Convert(handler) => handler(pending, index, &message, out),
        Action::Omit => omitted(role),
    }
}

/// A prompt.
fn user(_: &mut PendingResults, index: usize, message: &Message<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    message_outcome(emit_prompt(text(message.text()), Author::Person, None, Pointer::Field(LIST, index, "/text"), out)?)
}

/// Reasoning, an answer, and calls.
fn assistant(pending: &mut PendingResults, index: usize, message: &Message<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (mut events, mut calls) = (0, Vec::new());
    if let Some(reasoning) = text(message.thinking()) {
        events += emit_reasoning(reasoning, Pointer::Field(LIST, index, "/thinking"), out)?;
    }
    events += emit_answer(text(message.text()), Pointer::Field(LIST, index, "/text"), out)?;
    for (nth, value) in message.tool_calls().into_iter().flat_map(Value::elements).enumerate() {
        let call = Call::strict(value, "").map_err(|fault| fault.within(Pointer::Item("/toolCalls", nth)))?;
        let tool = required_name(call.tool_name(), Pointer::Field("/toolCalls", nth, "/toolName"))?;
        let of_args = format!("/toolCalls/{nth}/args");
        let of_call = of_args.strip_suffix("/args").unwrap_or(&of_args);
        check_requested_edit(tool, call.args(), Pointer::Field(LIST, index, &of_args), out)?;
        let seq = emit_call(tool, call.args(), Pointer::Field(LIST, index, of_call), out)?;
        calls.push((tool.decode_lossy(), seq));
        events += 1;
    }
    // A malformed message leaves no events, so its calls are added only now.
    calls.iter().for_each(|(tool, seq)| pending.call(tool, *seq));
    message_outcome(events)
}

/// The name of a tool that returned.
fn tool_result(pending: &mut PendingResults, index: usize, message: &Message<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let tool = message.tool_result().and_then(|result| non_empty_text(result.member("toolName")));
    let parent = tool.and_then(|tool| pending.result(&tool.decode_lossy()));
    out.emit_child(parent, ToolResult { tool, ..ToolResult::default() }, Pointer::Field(LIST, index, "/toolResult"))?;
    Ok(Outcome::Mapped)
}

fn end_of_turn(ended: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    turn_ended(raw_str(ended.member("status")), ended.member("error"), Pointer::At("/turnEnded"), out)
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    ROLES.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
