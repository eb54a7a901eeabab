//! Responses of the model: reasoning, text and calls.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, MsgOut, ToolCall};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::{CallPlace, State};
use crate::qwen::descriptor::TOOLS;
use crate::qwen::notes::PARTS;
use crate::qwen::readers::{Call, Line, Message, Part};
use crate::shared::value::{Value, elements, is_true, non_empty_text, raw_str, text};

/// The events of a response, without its tokens.
pub fn response(state: &mut State, record: &Record<'_>, line: &Line<'_>, out: &mut Emitter<'_>) {
    let id = state.response_ids.get(&record.number).cloned();
    let id = id.as_deref().map(Text::Plain);
    let parts = Message::lenient_opt(line.message()).parts();
    for (n, part) in elements(parts).enumerate() {
        let (part, pointer) = (Part::lenient(part), Pointer::Item(PARTS, n));
        if let Some(words) = non_empty_text(part.text()) {
            let said = MsgOut {
                text: Some(words),
                channel: is_true(part.thought()).then_some(Channel::Reasoning),
                model: non_empty_text(line.model()),
                message_id: id,
                redacted: false,
            };
            out.emit(said, pointer);
        }
        if let Some(call) = part.call() {
            let place = CallPlace {
                record: record.number,
                part: n,
            };
            emit_call(state, &Call::lenient(call), id, (place, pointer), out);
        }
    }
}

fn emit_call(
    state: &mut State,
    call: &Call<'_>,
    message_id: Option<Text<'_>>,
    (place, pointer): (CallPlace, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let tool = raw_str(call.name());
    let event = ToolCall {
        server: mcp_server(tool).map(Text::Plain),
        call_id: text(call.id()),
        message_id,
        args: call.args().map(Value::raw),
        ..ToolCall::new(text(call.name()).unwrap_or_default(), TOOLS.kind(tool))
    };
    out.emit(event, pointer);
    state.calls.open(raw_str(call.id()), place);
}

/// The server of a tool with the name `mcp__<server>__<tool>`.
fn mcp_server(tool: &str) -> Option<&str> {
    Some(tool.strip_prefix("mcp__")?.split_once("__")?.0)
}
