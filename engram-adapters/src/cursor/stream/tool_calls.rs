//! `tool_call` lines of a capture. The call is emitted from the first line that has it, the result from the line that completes it.

use engram_core::emit::Fault;
use engram_core::event::{ImplicitInput, Meta, Seq};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::Record;
use super::state::{Shared, StreamState};
use crate::cursor::steps::Out;
use crate::cursor::tool_calls::call::emit_call;
use crate::cursor::tool_calls::payload::CallRecord;
use crate::cursor::tool_calls::result::emit_result;

/// The call.
pub(super) fn started(
    state: &mut StreamState,
    shared: &mut Shared,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let call = record.call()?;
    start(state, shared, &call, out)?;
    Ok(Outcome::Mapped)
}

/// The result, and the call itself if no line has started it.
pub(super) fn completed(
    state: &mut StreamState,
    shared: &mut Shared,
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let call = record.call()?;
    match out.seq_of_open_call(call.call_id) {
        None => start(state, shared, &call, out)?,
        Some(seq) => emit_changed_args(state, &call, seq, out)?,
    }
    if let Some(contexts) = call
        .payload
        .hook_contexts
        .filter(|contexts| contexts.elements().next().is_some())
    {
        let (name, text) = (Text::Plain("hook"), Some(contexts.json()));
        let context = ImplicitInput::of_text(name, text);
        out.emit(Meta::Context(context), "/tool_call/hookAdditionalContexts")?;
    }
    emit_result(
        &call,
        state.calls.requests_line_numbers(&call),
        &mut state.files,
        out,
    )
    .map_err(|fault| fault.within(call.pointer))?;
    state.calls.complete(&call);
    Ok(Outcome::Mapped)
}

fn start(
    state: &mut StreamState,
    shared: &mut Shared,
    call: &CallRecord<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    if out.is_check() {
        shared.questions.call(shared.session, call.call_id);
    }
    emit_call(call, out).map_err(|fault| fault.within(call.pointer))?;
    state.calls.start(call);
    Ok(())
}

/// Arguments that differ from those with which the call was started.
fn emit_changed_args(
    state: &StreamState,
    call: &CallRecord<'_>,
    seq: Seq,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    if let Some(args) = state.calls.changed_args(call) {
        out.emit_child(
            Some(seq),
            Meta::system("args", Some(Text::Json(args))),
            call.pointer,
        )?;
    }
    Ok(())
}
