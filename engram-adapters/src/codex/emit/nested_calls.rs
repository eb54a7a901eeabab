//! Calls that only the record of their end or request says: scripts of code mode (0.169) and clients make them.

use std::borrow::Cow;

use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::value::{Field, Value, raw_str, text};

use super::State;
use crate::codex::format::rule;
use crate::codex::plan::calls::Is;
use crate::codex::readers::{ClientCall, ImageView, Sleep};
use crate::codex::record::Record;
use crate::codex::tools;

/// The tool of a call, and its MCP server.
pub struct NestedTool<'a> {
    pub tool: Cow<'a, str>,
    pub server: Option<Text<'a>>,
}

impl<'a> NestedTool<'a> {
    /// A tool of no server.
    pub fn plain(tool: &'a str) -> Self {
        NestedTool {
            tool: Cow::Borrowed(tool),
            server: None,
        }
    }
}

/// Emits a call that no response item says.
pub fn emit_nested_call(
    state: &State,
    NestedTool { tool, server }: &NestedTool<'_>,
    call_id: Text<'_>,
    args: Field<'_>,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) {
    let call = ToolCall {
        call_id: Some(call_id),
        server: *server,
        args: args.map(Value::raw),
        ..ToolCall::new(Text::Plain(tool), tools::kind_on(*server, tool))
    };
    let maker = state.scripts.maker(Some(call_id), record);
    out.emit_child(maker, call, record.at);
}

/// The request for a call of a tool that the client offers. A response item nearly always says the same call.
pub fn client_call(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.call().1.is == Is::Told {
        return record.duplicate(rule::CLIENT_CALL);
    }
    let call = ClientCall::lenient(record.value);
    let id = text(call.call_id()).unwrap_or_default();
    emit_nested_call(
        state,
        &NestedTool::plain(raw_str(call.tool())),
        id,
        call.arguments(),
        record,
        out,
    );
    Outcome::Mapped
}

/// A viewed image. The `view_image` call has the same path, unless a script made the call.
pub fn image_view(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let view = ImageView::lenient(record.value);
    if state.call().1.is == Is::Told {
        return record.duplicate(if view.call_id().is_some() {
            rule::IMAGE_VIEW_EVENT
        } else {
            rule::IMAGE_VIEW
        });
    }
    let id = text(view.call_id().or(view.id())).unwrap_or_default();
    emit_nested_call(
        state,
        &NestedTool::plain("view_image"),
        id,
        view.path(),
        record,
        out,
    );
    let result = ToolResult {
        tool: Some(Text::Plain("view_image")),
        call_id: Some(id),
        status: Some(Status::Ok),
        ..ToolResult::default()
    };
    out.emit(result, record.at);
    Outcome::Mapped
}

/// A sleep of the agent. Its call has the same length, unless a script made the call.
pub fn sleep(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if state.call().1.is == Is::Told {
        return record.duplicate(rule::SLEEP_ITEM);
    }
    let sleep = Sleep::lenient(record.value);
    let id = text(sleep.id()).unwrap_or_default();
    emit_nested_call(
        state,
        &NestedTool::plain("sleep"),
        id,
        sleep.duration_ms().or(sleep.extension_ms()),
        record,
        out,
    );
    Outcome::Mapped
}
