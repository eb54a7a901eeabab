//! Steps of the turn graph that no message repeats.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::state::ChatState;
use crate::cursor::fields::faults::absent;
use crate::cursor::fields::text_or_json;
use crate::cursor::messages::{emit_answer, emit_prompt, emit_reasoning, message_outcome};
use crate::cursor::readers::{ChatLine, StepText};
use crate::cursor::steps::Out;
use crate::cursor::tool_calls::call::emit_call;
use crate::cursor::tool_calls::payload::{CallPayload, CallRecord};
use crate::cursor::tool_calls::result::emit_result;
use crate::shared::value::{Value, non_empty_text, raw_str, text};

/// A prompt.
pub(super) fn user_message(
    state: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let step = line.read_step()?;
    let by = step.prompt_by().unwrap_or(state.prompts_by);
    message_outcome(emit_prompt(
        text(step.text()),
        by,
        non_empty_text(line.blob()),
        Pointer::At("/step/text"),
        out,
    )?)
}

/// A shell command that the user ran, or its output.
pub(super) fn user_shell(
    _: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let name = Text::Plain(raw_str(line.store()));
    out.emit(Meta::system(name, text_or_json(line.step())), "/step")?;
    Ok(Outcome::Mapped)
}

/// A message of the agent, reasoning, or a call.
pub(super) fn step(
    state: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let step = line.read_step()?;
    if let Some(message) = step.assistant_message() {
        return message_outcome(emit_answer(
            text(StepText::lenient(message).text()),
            Pointer::At("/step/assistantMessage/text"),
            out,
        )?);
    }
    if let Some(reasoning) = step.thinking_message() {
        let reasoning = text(StepText::lenient(reasoning).text()).unwrap_or(Text::Plain(""));
        return message_outcome(emit_reasoning(
            reasoning,
            Pointer::At("/step/thinkingMessage/text"),
            out,
        )?);
    }
    match step.tool_call() {
        Some(call) => call_and_result(state, line, call, out),
        None => Err(Fault::malformed(
            "/step",
            "a message, reasoning or a call",
            "none of them",
        )),
    }
}

fn call_and_result(
    state: &mut ChatState,
    line: &ChatLine<'_>,
    value: Value<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let pointer = Pointer::At("/step/toolCall");
    let payload = CallPayload::read(value).map_err(|fault| fault.within(pointer))?;
    line.set_header(payload.started_at, out);
    let call_id = payload
        .call_id
        .ok_or_else(|| absent(Pointer::At("/step/toolCall/toolCallId"), "a string", None))?;
    if payload.tool.is_empty() || payload.args().is_none() {
        // What the call asked for is in no message and no known layout: only its id is known.
        out.emit(Meta::system("toolCall", Some(call_id)), pointer)?;
        return Ok(Outcome::Mapped);
    }
    let call = CallRecord::new(call_id, payload, pointer);
    if out.seq_of_open_call(call_id).is_none() {
        emit_call(&call, out).map_err(|fault| fault.within(pointer))?;
    }
    emit_result(&call, false, &mut state.files, out).map_err(|fault| fault.within(pointer))?;
    Ok(Outcome::Mapped)
}
