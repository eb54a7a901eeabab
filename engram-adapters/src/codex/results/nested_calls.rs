//! Calls that only the record of their end or request states: scripts of code mode (0.169) and clients make them.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use crate::shared::value::{Field, Value, raw_str, text};

use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{ClientCall, ImageView, Sleep};
use crate::codex::state::open_calls::{NewCall, OpenCalls};
use crate::codex::state::session_state::SessionState;
use crate::codex::tools;

/// The tool of a call, and its MCP server.
pub struct NestedTool<'a> {
    pub tool: Cow<'a, str>,
    pub server: Option<Text<'a>>,
}

impl<'a> NestedTool<'a> {
    /// A tool of no server.
    pub fn plain(tool: &'a str) -> Self {
        NestedTool { tool: Cow::Borrowed(tool), server: None }
    }
}

/// True if another record has stated the call that this record is about. An id may be used again: only the first record of its type is
/// about a call.
pub fn is_stated(calls: &mut OpenCalls, call_id: Text<'_>, record: &Record<'_>, out: &Emitter<'_>) -> bool {
    let key = call_id.decode_lossy();
    calls.choose_open(&key);
    out.seq_of_call(call_id).is_some() && calls.may_be_stated_by(&key, record.name)
}

/// Emits and opens a call that no response item states. The script that runs is its parent.
pub fn emit_nested_call(
    calls: &mut OpenCalls,
    NestedTool { tool, server }: &NestedTool<'_>,
    call_id: Text<'_>,
    args: Field<'_>,
    (record, at): (&'static str, &str),
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let parent = calls.only_script().and_then(|script| out.seq_of_call(Text::Plain(script)));
    let kind = if server.is_some() { ToolKind::Mcp } else { tools::kind(tool, "") };
    let call = ToolCall { call_id: Some(call_id), server: *server, args: args.map(Value::raw), ..ToolCall::new(Text::Plain(tool), kind) };
    out.emit_child(parent, call, Pointer::At(at))?;
    let key = call_id.decode_lossy();
    calls.open(&key, NewCall { tool: tools::name(tool), ..NewCall::default() });
    calls.set_stated_by(&key, record);
    Ok(())
}

/// The request for a call of a tool that the client offers. A response item nearly always states the same call.
pub fn client_call(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let call = ClientCall::strict(record.value, record.at)?;
    let Some(id) = text(call.call_id()) else {
        return Err(Fault::malformed("/payload/callId", "the id of a call", "nothing"));
    };
    if is_stated(&mut state.calls, id, record, out) {
        state.calls.set_stated_by(&id.decode_lossy(), record.name);
        return Ok(record.omitted_by(&omissions::CLIENT_CALL));
    }
    emit_nested_call(&mut state.calls, &NestedTool::plain(raw_str(call.tool())), id, call.arguments(), (record.name, record.at), out)?;
    Ok(Outcome::Mapped)
}

/// A viewed image. The `view_image` call has the same path, unless a script made the call.
pub fn image_view(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let view = ImageView::strict(record.value, record.at)?;
    let Some(id) = text(view.call_id().or(view.id())) else {
        return Err(Fault::malformed(record.at, "the id of a call", "nothing"));
    };
    if is_stated(&mut state.calls, id, record, out) {
        state.calls.set_stated_by(&id.decode_lossy(), record.name);
        let rule = if view.call_id().is_some() { omissions::IMAGE_VIEW_EVENT } else { omissions::IMAGE_VIEW };
        return Ok(record.omitted_by(&rule));
    }
    emit_nested_call(&mut state.calls, &NestedTool::plain("view_image"), id, view.path(), (record.name, record.at), out)?;
    let result = ToolResult { tool: Some(Text::Plain("view_image")), call_id: Some(id), status: Some(Status::Ok), ..ToolResult::default() };
    out.emit(result, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// A sleep of the agent. Its call has the same length, unless a script made the call.
pub fn sleep(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let sleep = Sleep::strict(record.value, record.at)?;
    let Some(id) = text(sleep.id()) else {
        return Err(Fault::malformed(record.at, "the id of a call", "nothing"));
    };
    if is_stated(&mut state.calls, id, record, out) {
        state.calls.set_stated_by(&id.decode_lossy(), record.name);
        return Ok(record.omitted_by(&omissions::SLEEP));
    }
    emit_nested_call(&mut state.calls, &NestedTool::plain("sleep"), id, sleep.duration_ms(), (record.name, record.at), out)?;
    Ok(Outcome::Mapped)
}
