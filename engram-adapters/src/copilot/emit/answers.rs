//! Responses of the model: reasoning, text, and calls. Their tokens follow behind the last part.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, Meta, MsgOut, ToolCall};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::state::{OpenCall, State};
use crate::copilot::descriptor::TOOLS;
use crate::copilot::readers::{Answer, Request, Start};
use crate::shared::phase::channel_of;
use crate::shared::value::{Field, Value, elements, non_empty_text, raw_str, text};

/// The events of a response, or of a part of it.
pub fn answer(data: Value<'_>, out: &mut Emitter<'_>) {
    let answer = Answer::lenient(data);
    reasoning(&answer, out);
    if let Some(words) = non_empty_text(answer.content()) {
        let channel = channel_of(answer.phase());
        out.emit(said(&answer, Some(words), channel), "/data/content");
    }
    for (n, request) in elements(answer.requests()).enumerate() {
        let request = Request::lenient(request);
        let names = (request.id(), request.tool(), request.server());
        let call = call(names, request.args(), response(&answer));
        out.emit(call, Pointer::Item("/data/toolRequests", n));
    }
    if !out.has_events() {
        // A response without a word and without a call.
        out.emit(said(&answer, text(answer.content()), None), "/data/content");
    }
}

/// The id of a response: that of the provider, which all its parts have, else its own. None of a call that the harness made itself: no request was
/// sent, so it belongs to no interaction (1.0.102: recorded).
fn response<'a>(answer: &Answer<'a>) -> Option<Text<'a>> {
    answer.interaction()?;
    non_empty_text(answer.api_call()).or(non_empty_text(answer.id()))
}

fn said<'a>(answer: &Answer<'a>, words: Option<Text<'a>>, channel: Option<Channel>) -> MsgOut<'a> {
    MsgOut {
        text: words,
        channel,
        model: non_empty_text(answer.model()),
        message_id: response(answer),
        redacted: false,
    }
}

fn reasoning(answer: &Answer<'_>, out: &mut Emitter<'_>) {
    let words = non_empty_text(answer.reasoning());
    let is_opaque = [answer.opaque(), answer.encrypted()]
        .iter()
        .any(|field| non_empty_text(*field).is_some());
    if words.is_none() && !is_opaque {
        return;
    }
    let event = MsgOut {
        redacted: words.is_none(),
        ..said(answer, words, Some(Channel::Reasoning))
    };
    out.emit(event, "/data/reasoningText");
}

/// A call, as the response or its beginning has it. `names` are its id, its tool and its server.
fn call<'a>(
    (id, tool, server): (Field<'a>, Field<'a>, Field<'a>),
    args: Field<'a>,
    message_id: Option<Text<'a>>,
) -> ToolCall<'a> {
    let server = non_empty_text(server);
    let kind = match server {
        Some(_) => ToolKind::Mcp,
        None => TOOLS.kind(raw_str(tool)),
    };
    ToolCall {
        server,
        call_id: text(id),
        message_id,
        args: args.map(Value::raw),
        ..ToolCall::new(text(tool).unwrap_or_default(), kind)
    }
}

/// A call begins.
pub fn opens(state: &mut State, record: &Record<'_>, data: Value<'_>) {
    let start = Start::lenient(data);
    let call = OpenCall {
        record: record.number,
        tool: text(start.tool())
            .map(|tool| tool.decode_lossy().into_owned())
            .unwrap_or_default(),
    };
    state.calls.open(raw_str(start.id()), call);
}

/// A call that no response has: a person made it.
pub fn begins(data: Value<'_>, out: &mut Emitter<'_>) {
    let start = Start::lenient(data);
    let names = (start.id(), start.tool(), start.server());
    out.emit(call(names, start.args(), None), "/data");
}

/// The arguments with which a call ran, where they are others than those that the model sent.
pub fn rewritten(data: Value<'_>, out: &mut Emitter<'_>) {
    let start = Start::lenient(data);
    let parent = text(start.id()).and_then(|call| out.seq_of_call(call));
    let args = start.args().map(Value::json);
    let event = Meta::system("arguments", args);
    out.emit_child(parent, event, "/data/arguments");
}
