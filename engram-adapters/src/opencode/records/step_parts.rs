//! The parts of an answer of OpenCode 2: text, reasoning, calls with their results.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Channel, MsgOut, Seq, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::system_events::emit_system;
use crate::opencode::results::call::{Call, CallEnd};
use crate::opencode::results::step_call::StepOutput;
use crate::opencode::results::tool_result::emit_result;
use crate::opencode::state::message_context::MessageContext;
use crate::opencode::state::session_state::SessionState;
use crate::opencode::step_schema::{InnerCall, StepDetails, StepPart, StepTime};
use crate::opencode::tools::TOOLS;
use crate::shared::value::{Value, integer, non_empty_text, raw_str};

/// A part of an answer as the handlers get it.
#[derive(Clone, Copy)]
pub(super) struct StepPartRecord<'r> {
    pub part: &'r StepPart<'r>,
    pub message: &'r MessageContext<'r>,
    pub pointer: Pointer<'r>,
}

impl StepPartRecord<'_> {
    /// Sets the header of the part's events. Parts have no ids, and texts no time.
    pub(super) fn set_header(&self, state: &mut SessionState, out: &mut Emitter<'_>) {
        let created = integer(StepTime::lenient_opt(self.part.time()).created());
        self.message.set_header(created, None, &mut state.clock, out);
    }

    fn msg_out(&self, text: Option<Text<'_>>, channel: Option<Channel>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
        let MessageContext { model, message_id, .. } = *self.message;
        out.emit(MsgOut { text, channel, model, message_id, redacted: text.is_none() }, self.pointer)?;
        Ok(Outcome::Mapped)
    }
}

/// Text of an answer. It may be empty between calls.
pub(super) fn text(_: &mut SessionState, record: &StepPartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    match non_empty_text(record.part.text()) {
        Some(text) => record.msg_out(Some(text), None, out),
        None => emit_system("empty_text", None, record.pointer, out),
    }
}

/// Reasoning. If only the provider can read it, it has no text.
pub(super) fn reasoning(_: &mut SessionState, record: &StepPartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    match non_empty_text(record.part.text()) {
        None if record.part.state().is_none() => emit_system("empty_reasoning", None, record.pointer, out),
        text => record.msg_out(text, Some(Channel::Reasoning), out),
    }
}

/// A call, with its result if it has ended.
pub(super) fn tool(state: &mut SessionState, record: &StepPartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (part, pointer) = (record.part, record.pointer);
    let output = StepOutput::of(part);
    let mut call = Call::of_step(part, &output)?;
    call.directory = state.last_stated.cwd();
    let event = ToolCall {
        call_id: call.id,
        message_id: record.message.message_id,
        args: call.input.map(Value::raw),
        ..ToolCall::new(call.name, TOOLS.kind(&call.tool))
    };
    let seq = out.emit(event, pointer)?;
    inner_calls(&call, seq, pointer, out)?;
    if matches!(call.end, CallEnd::Open) {
        return match call.partial_output {
            Some(text) => emit_system("tool.output_so_far", Some(text), pointer, out),
            None => Ok(Outcome::Mapped),
        };
    }
    record.message.set_header(call.ended.or(call.started), None, &mut state.clock, out);
    emit_result(&call, state.dialect, pointer, out)?;
    Ok(Outcome::Mapped)
}

/// The calls that the program of an `execute` call made, such as those of MCP servers. They have no ids and no outputs of their own.
pub(super) fn inner_calls(call: &Call<'_>, parent: Seq, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    if call.tool != "execute" {
        return Ok(());
    }
    let details = StepDetails::lenient_opt(call.metadata_value);
    for inner in details.tool_calls().into_iter().flat_map(Value::elements).map(InnerCall::lenient) {
        let Some(tool) = non_empty_text(inner.tool()) else { continue };
        let event = ToolCall { args: inner.input().map(Value::raw), ..ToolCall::new(tool, TOOLS.kind(&tool.decode_lossy())) };
        let seq = out.emit_child(Some(parent), event, pointer)?;
        let status = match raw_str(inner.status()) {
            "completed" => Status::Ok,
            "error" => Status::Error,
            _ => continue,
        };
        let result = ToolResult { tool: Some(tool), status: Some(status), ..ToolResult::default() };
        out.emit_child(Some(seq), result, pointer)?;
    }
    Ok(())
}
