//! One message of an export of OpenCode 2: its own record, one record for each part of an answer, then what only its end decides.

use std::fmt::Write as _;

use engram_core::emit::{Emitter, Fault, Pointer};

use super::dispatch;
use super::settle::{convert_record, late_events};
use super::step_messages::{StepRecord, answer_end};
use super::step_parts::StepPartRecord;
use crate::opencode::state::message_context::MessageContext;
use crate::opencode::state::record_facts::{ERROR, RecordId, TOKENS};
use crate::opencode::state::session_state::SessionState;
use crate::opencode::step_schema::{StepMessage, StepPart, StepTime};
use crate::shared::value::{Value, integer, raw_str};

/// Converts message `n`. `path` is scratch for the pointer of its parts.
pub(super) fn message(n: usize, value: Value<'_>, path: &mut String, state: &mut SessionState, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let pointer = Pointer::Item("/messages", n);
    let (mut message, mut context, mut is_converted) = (StepMessage::default(), MessageContext::default(), false);
    convert_record(pointer, value, state, out, |state, out| {
        let mut view = StepMessage::default();
        view.strict_into(value, "")?;
        context = MessageContext::of_step(&view, &state.replay);
        context.is_repeat = state.is_repeat(RecordId::Message(view.id()), value);
        (context.is_usage_stated, context.is_error_stated) = (state.read.is_stated(TOKENS), state.read.is_stated(ERROR));
        if !context.is_repeat {
            context.set_header(integer(StepTime::lenient_opt(view.time()).created()), view.id(), &mut state.clock, out);
        }
        let outcome = dispatch::step(state, value, &StepRecord { message: &view, context: &context, pointer }, out)?;
        (message, is_converted) = (view, true);
        Ok(outcome)
    })?;
    if !is_converted || raw_str(message.kind()) != "assistant" {
        return Ok(());
    }
    path.clear();
    let _ = write!(path, "/messages/{n}/content");
    for (n, part) in message.content().into_iter().flat_map(Value::elements).enumerate() {
        let pointer = Pointer::Item(path, n);
        convert_record(pointer, part, state, out, |state, out| {
            let mut view = StepPart::default();
            view.strict_into(part, "")?;
            dispatch::step_part(state, part, &StepPartRecord { part: &view, message: &context, pointer, place: n }, out)
        })?;
    }
    if context.is_repeat {
        return Ok(());
    }
    late_events(state, out, |state, out| {
        let completed = integer(StepTime::lenient_opt(message.time()).completed());
        context.set_header(completed, message.id(), &mut state.clock, out);
        answer_end(&StepRecord { message: &message, context: &context, pointer }, out)
    })
}
