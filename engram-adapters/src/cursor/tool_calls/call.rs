//! The event of a call.

use engram_core::emit::Fault;
use engram_core::event::{Meta, ToolCall};
use engram_core::text::Text;

use super::payload::CallRecord;
use crate::cursor::steps::Out;
use crate::cursor::tools;
use crate::shared::value::Value;

/// Emits a call and its label. Faults point from the call's payload.
pub(in crate::cursor) fn emit_call(
    call: &CallRecord<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let tool = call.payload.tool;
    if tool.is_empty() {
        return Err(Fault::malformed("", "a tool's name", "nothing"));
    }
    let event = ToolCall {
        call_id: Some(call.call_id),
        args: call.payload.args().map(Value::raw),
        ..ToolCall::new(Text::Plain(tool), tools::TOOLS.kind(tool))
    };
    let seq = out.emit(event, call.pointer)?;
    if let Some(label) = call.payload.label() {
        out.emit_child(
            Some(seq),
            Meta::system("description", Some(label)),
            call.pointer,
        )?;
    }
    Ok(())
}
