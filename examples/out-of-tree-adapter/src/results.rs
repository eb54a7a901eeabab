//! Tool calls and their results.

use engram_adapters::shared::value::{Value, text};
use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, Status, ToolCall, ToolResult};
use engram_core::text::Text;

use crate::messages::required_text;
use crate::schema::{Block, Call, Settled};
use crate::tools::TOOLS;

/// Converts a tool request: a call, or the error of a call that the model spelled wrongly.
pub fn tool_request(_role: &str, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let request = Settled::lenient_opt(block.call());
    match (request.value(), text(request.error())) {
        (Some(value), _) => {
            let call = Call::strict(value, "/content/toolCall/value")?;
            let tool = required_text(call.name(), "/content/toolCall/value/name")?;
            let kind = TOOLS.kind(&tool.decode_lossy());
            out.emit(ToolCall { call_id: text(block.id()), args: call.arguments().map(Value::raw), ..ToolCall::new(tool, kind) }, pointer)?;
        }
        (None, Some(error)) => {
            out.emit(Meta::Error { code: None, text: Some(error) }, pointer)?;
        }
        (None, None) => return Err(Fault::malformed("/content/toolCall", "a call or an error", "neither")),
    }
    Ok(())
}

/// Converts a tool response: pieces of text, or an error.
pub fn tool_response(_role: &str, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let response = Settled::lenient_opt(block.result());
    let call_id = text(block.id());
    match (response.value(), text(response.error())) {
        (Some(value), _) => {
            let pieces = value.elements().map(|piece| required_text(piece.member("text"), "/content/toolResult/value"));
            let pieces = pieces.map(|piece| piece.map(|text| text.decode_lossy().into_owned())).collect::<Result<Vec<_>, _>>()?;
            let shown = pieces.join("\n");
            let stdout = Some(Text::Plain(&shown));
            out.emit(ToolResult { call_id, status: Some(Status::Ok), stdout, ..ToolResult::default() }, pointer)?;
        }
        (None, Some(error)) => {
            out.emit(ToolResult { call_id, status: Some(Status::Error), stderr: Some(error), ..ToolResult::default() }, pointer)?;
        }
        (None, None) => return Err(Fault::malformed("/content/toolResult", "a result or an error", "neither")),
    }
    Ok(())
}
