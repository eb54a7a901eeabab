//! Responses of the model: reasoning, text, calls, tokens, and how they ended.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, Meta, MsgOut, ToolCall};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::State;
use super::usage::{is_nothing, usage};
use crate::pi::descriptor::TOOLS;
use crate::pi::notes::CONTENT;
use crate::pi::readers::{Block, Message};
use crate::shared::pending_calls::CallPlace;
use crate::shared::stated::emit_facts;
use crate::shared::tool_table::mcp_server;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};

/// What a response ended with before it was complete.
const ABORTED: &str = "aborted";
const ERROR: &str = "error";

/// The events of a response. Its usage is directly behind its last event.
pub fn assistant(
    state: &mut State,
    record: &Record<'_>,
    message: &Message<'_>,
    out: &mut Emitter<'_>,
) {
    let stated = state.model(message.model(), message.provider(), message.level());
    emit_facts(stated, Pointer::Root, out);
    let blocks = message.content().into_iter().flat_map(Value::elements);
    for (n, value) in blocks.enumerate() {
        let (block, pointer) = (Block::lenient(value), Pointer::Item(CONTENT, n));
        match raw_str(block.kind()) {
            "thinking" => thinking(message, &block, pointer, out),
            "text" => {
                if let Some(words) = non_empty_text(block.text()) {
                    out.emit(said(message, words, None), pointer);
                }
            }
            "toolCall" => {
                let place = CallPlace {
                    record: record.number,
                    part: n,
                };
                call(state, message, &block, (place, pointer), out);
            }
            other => out.unrecognized_block(other, value.raw(), pointer),
        }
    }
    tokens(message, out);
    end(message, out);
}

fn said<'a>(message: &Message<'a>, words: Text<'a>, channel: Option<Channel>) -> MsgOut<'a> {
    MsgOut {
        text: Some(words),
        channel,
        model: non_empty_text(message.model()),
        message_id: non_empty_text(message.response()),
        redacted: false,
    }
}

/// Reasoning. What a provider withholds has a text of the harness, or none.
fn thinking(message: &Message<'_>, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let words = non_empty_text(block.thinking());
    match words.filter(|_| !is_true(block.redacted())) {
        Some(words) => {
            out.emit(said(message, words, Some(Channel::Reasoning)), pointer);
        }
        None => {
            let redacted = MsgOut {
                text: None,
                redacted: true,
                ..said(message, Text::Plain(""), Some(Channel::Reasoning))
            };
            out.emit(redacted, pointer);
            if words.is_some() {
                out.emit(Meta::system("redacted_thinking", words), pointer);
            }
        }
    }
}

/// The tool that runs a script, which may call others.
const SCRIPT: &str = "codemode";

fn call(
    state: &mut State,
    message: &Message<'_>,
    block: &Block<'_>,
    (place, pointer): (CallPlace, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let tool = text(block.name()).unwrap_or_default();
    let call = ToolCall {
        server: mcp_server(raw_str(block.name())).map(Text::Plain),
        call_id: text(block.id()),
        message_id: non_empty_text(message.response()),
        args: block.args().map(Value::raw),
        ..ToolCall::new(tool, TOOLS.kind(raw_str(block.name())))
    };
    let seq = out.emit(call, pointer);
    if raw_str(block.name()) == SCRIPT {
        state.scripts.open(raw_str(block.id()), seq);
    }
    state.calls.open(raw_str(block.id()), place);
}

/// The usage of a response. One that was stopped before the provider counted anything has none; of one that was stopped later the log has the
/// counts so far.
fn tokens(message: &Message<'_>, out: &mut Emitter<'_>) {
    let Some(counts) = message.usage() else {
        return;
    };
    let is_cut = matches!(raw_str(message.stop_reason()), ABORTED | ERROR);
    let mut usage = usage(counts);
    if is_cut && is_nothing(&usage) {
        return;
    }
    usage.message_id = non_empty_text(message.response());
    usage.model = non_empty_text(message.model());
    usage.stop_reason = non_empty_text(message.stop_reason());
    usage.provisional = is_cut;
    out.emit(Meta::Usage(usage), Pointer::At("/message/usage"));
}

/// How a response was stopped.
fn end(message: &Message<'_>, out: &mut Emitter<'_>) {
    let words = non_empty_text(message.error());
    let pointer = Pointer::At("/message/errorMessage");
    match raw_str(message.stop_reason()) {
        ABORTED => {
            out.emit(Meta::Interrupt { text: words }, pointer);
        }
        ERROR => {
            let code = non_empty_text(message.error_code());
            let code = code.or_else(|| non_empty_text(message.stop_reason()));
            out.emit(Meta::error(code, words), pointer);
        }
        _ => {
            if words.is_some() {
                out.emit(Meta::error(None, words), pointer);
            }
        }
    }
}
