//! Tool calls and their results.

use engram_adapters::shared::value::{Value, text};
use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Meta, Status, ToolCall, ToolResult};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::messages::required_text;
use crate::schema::{Block, Call, Settled};
use crate::tools::TOOLS;

/// A tool request has a call, or the error of a call that the model spelled wrongly.
pub fn check_request(block: &Block<'_>) -> Result<(), Fault> {
    let request = Settled::lenient_opt(block.call());
    match (request.value(), text(request.error())) {
        (Some(value), _) => {
            let call = Call::strict(value, "/content/toolCall/value")?;
            required_text(call.name(), "/content/toolCall/value/name").map(drop)
        }
        (None, Some(_)) => Ok(()),
        (None, None) => Err(Fault::malformed(
            "/content/toolCall",
            "a call or an error",
            "neither",
        )),
    }
}

/// Emits a tool request.
pub fn emit_request(block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let request = Settled::lenient_opt(block.call());
    let Some(value) = request.value() else {
        out.emit(Meta::error(None, text(request.error())), pointer);
        return;
    };
    let call = Call::lenient(value);
    let tool = text(call.name()).unwrap_or_default();
    let kind = TOOLS.kind(&tool.decode_lossy());
    out.emit(
        ToolCall {
            call_id: text(block.id()),
            args: call.arguments().map(Value::raw),
            ..ToolCall::new(tool, kind)
        },
        pointer,
    );
}

/// A tool response has pieces of text, or an error.
pub fn check_response(block: &Block<'_>) -> Result<(), Fault> {
    let response = Settled::lenient_opt(block.result());
    match (response.value(), text(response.error())) {
        (Some(value), _) => value.elements().try_for_each(|piece| {
            required_text(piece.member("text"), "/content/toolResult/value").map(drop)
        }),
        (None, Some(_)) => Ok(()),
        (None, None) => Err(Fault::malformed(
            "/content/toolResult",
            "a result or an error",
            "neither",
        )),
    }
}

/// Emits a tool response.
pub fn emit_response(block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let response = Settled::lenient_opt(block.result());
    let call_id = text(block.id());
    let Some(value) = response.value() else {
        out.emit(
            ToolResult {
                call_id,
                status: Some(Status::Error),
                stderr: text(response.error()),
                ..ToolResult::default()
            },
            pointer,
        );
        return;
    };
    let pieces = value
        .elements()
        .filter_map(|piece| text(piece.member("text")));
    let shown = pieces
        .map(|piece| piece.decode_lossy().into_owned())
        .collect::<Vec<_>>()
        .join("\n");
    let stdout = Some(Text::Plain(&shown));
    out.emit(
        ToolResult {
            call_id,
            status: Some(Status::Ok),
            stdout,
            ..ToolResult::default()
        },
        pointer,
    );
}
