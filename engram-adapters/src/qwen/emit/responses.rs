//! Responses of the model: reasoning, text and calls.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, MsgOut, ToolCall};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::state::State;
use crate::qwen::descriptor::TOOLS;
use crate::qwen::notes::PARTS;
use crate::qwen::readers::{Call, Line, Message, Part, Sent};
use crate::shared::pending_calls::{CallPlace, PendingCalls};
use crate::shared::phase::channel_of;
use crate::shared::tool_table::mcp_server;
use crate::shared::value::{Field, Value, elements, is_true, non_empty_text, raw_str, text};

/// The tool that calls tools which are not in the list of tools, such as those of MCP servers. Its arguments name the other tool.
const BRIDGE: &str = "tool_call";

/// The events of a response, without its tokens.
pub fn response(state: &mut State, record: &Record<'_>, line: &Line<'_>, out: &mut Emitter<'_>) {
    let request = state.requests.get(&record.number);
    let id = request.and_then(|request| request.id.clone());
    let id = id.as_deref().map(Text::Plain);
    let parts = Message::lenient_opt(line.message()).parts();
    for (n, part) in elements(parts).enumerate() {
        let (part, pointer) = (Part::lenient(part), Pointer::Item(PARTS, n));
        if let Some(words) = non_empty_text(part.text()) {
            let said = MsgOut {
                text: Some(words),
                channel: match is_true(part.thought()) {
                    true => Some(Channel::Reasoning),
                    false => channel_of(Sent::lenient_opt(part.sent()).phase()),
                },
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
            let call = Call::lenient(call);
            let asked = (call.id(), call.name(), call.args());
            emit_call(&mut state.calls, asked, id, (place, pointer), out);
        }
    }
}

/// A call: its id, the name of the tool, and its arguments.
pub fn emit_call(
    calls: &mut PendingCalls<CallPlace>,
    (id, name, args): (Field<'_>, Field<'_>, Field<'_>),
    message_id: Option<Text<'_>>,
    (place, pointer): (CallPlace, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    // A tool that is not in the list of tools is called by this one.
    let named = match raw_str(name) {
        BRIDGE => raw_str(args.and_then(|args| args.member("name"))),
        tool => tool,
    };
    let server = mcp_server(named);
    let kind = match server {
        Some(_) => ToolKind::Mcp,
        None => TOOLS.kind(raw_str(name)),
    };
    let event = ToolCall {
        server: server.map(Text::Plain),
        call_id: text(id),
        message_id,
        args: args.map(Value::raw),
        ..ToolCall::new(text(name).unwrap_or_default(), kind)
    };
    out.emit(event, pointer);
    calls.open(raw_str(id), place);
}
