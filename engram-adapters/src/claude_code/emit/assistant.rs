//! `assistant` lines: the model's text, reasoning and tool calls, and notices of the harness in the model's place.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, Meta, MsgOut, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::provided::provided_result;
use super::usage::emit_usage;
use crate::claude_code::blocks::{CONTENT, emit_empty_message, is_call, is_provided_result};
use crate::claude_code::emit::state::State;
use crate::claude_code::emit::state::open_calls::Call;
use crate::claude_code::format::{LineKind, rule};
use crate::claude_code::plan::responses::UsageHere;
use crate::claude_code::readers::{Block, Line, Message};
use crate::claude_code::record::{Record, SYNTHETIC_MODEL};
use crate::claude_code::tools::TOOLS;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};
use engram_core::keys::hash64;
use engram_core::tool_kind::ToolKind;

/// `assistant`: one block of a message (from 1.0.10 on), or a whole message (before, and after a failed stream).
#[inline(never)]
pub(super) fn assistant(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let message = &record.message;
    let Some(content) = message.content() else {
        return emit_empty_message("assistant", out);
    };
    if raw_str(message.model()) == SYNTHETIC_MODEL {
        return synthetic_message(&record.line, content, out);
    }
    state.words.follows_command = false;
    let mut emitted = false;
    let mut is_empty = true;
    for (index, value) in content.elements().enumerate() {
        emitted |= output_block(state, record, value, index, out);
        is_empty = false;
    }
    if is_empty {
        content_without_blocks(message, content, out);
    } else if !emitted && state.plan.usage(record.at) == UsageHere::None {
        return Outcome::duplicate(LineKind::Assistant.name(), rule::HISTORY_APPENDED_AGAIN);
    }
    match state.plan.usage(record.at) {
        UsageHere::None => {}
        here => {
            let end = state.plan.notes.end_of(record.message.id());
            let output = emit_usage(record, here, end, state.dialect, out);
            let copies = &state.plan.replay.is_copy;
            if copies.get(record.at) != Some(&true) {
                state.output = state.output.saturating_add(output);
            }
        }
    }
    Outcome::Mapped
}

/// One block of the model's output. Returns false for a block that was emitted before.
#[inline(never)]
fn output_block(
    state: &mut State,
    record: &Record<'_>,
    value: Value<'_>,
    index: usize,
    out: &mut Emitter,
) -> bool {
    let block = Block::lenient(value);
    if state.plan.is_stated(record.at, index) || state.plan.is_repeated(record.at, index) {
        return false;
    }
    let message = &record.message;
    let pointer = Pointer::Item(CONTENT, index);
    let event = match raw_str(block.kind()) {
        kind if is_call(kind) => {
            tool_call(state, record, &block, index, out);
            return true;
        }
        "text" => message_event(message, text(block.text()), None),
        "thinking" => {
            let text = non_empty_text(block.thinking());
            MsgOut {
                redacted: text.is_none(),
                ..message_event(message, text, Some(Channel::Reasoning))
            }
        }
        kind if is_provided_result(kind) => {
            provided_result(state, &block, pointer, out);
            return true;
        }
        "fallback" => {
            out.emit(Meta::system("model_fallback", Some(value.json())), pointer);
            return true;
        }
        "redacted_thinking" => MsgOut {
            redacted: true,
            ..message_event(message, None, Some(Channel::Reasoning))
        },
        other => {
            out.unrecognized_block(other, value.raw(), pointer);
            return true;
        }
    };
    out.emit(event, pointer);
    true
}

/// A tool call.
#[inline(never)]
fn tool_call(
    state: &mut State,
    record: &Record<'_>,
    block: &Block<'_>,
    index: usize,
    out: &mut Emitter<'_>,
) {
    let line = &record.line;
    let Some(tool) = text(block.name()) else {
        return;
    };
    let id = text(block.id());
    let provided_by = text(block.server_name());
    let kind = match id {
        Some(id) => {
            let key = hash64(id.raw());
            let dialect = state.dialect;
            let keep_all = is_true(line.is_sidechain())
                || line.parent_call().is_some()
                || dialect.copies_are_restamped()
                || dialect.results_may_be_bare();
            let call = Call::new(id, &tool.decode_lossy(), block.input(), keep_all);
            let kind = call.kind;
            state.calls.open(key, call);
            kind
        }
        None => TOOLS.kind(&tool.decode_lossy()),
    };
    let kind = if provided_by.is_some() {
        ToolKind::Mcp
    } else {
        kind
    };
    let (server, message_id) = (
        provided_by.or_else(|| mcp_server(line, tool)),
        record.message.id().and_then(Value::text),
    );
    let args = block.input().map(Value::raw);
    out.emit(
        ToolCall {
            server,
            call_id: id,
            message_id,
            args,
            ..ToolCall::new(tool, kind)
        },
        Pointer::Item(CONTENT, index),
    );
}

/// The server of an MCP tool: as the line names it, else as the name of the tool does.
fn mcp_server<'a>(line: &Line<'a>, tool: Text<'a>) -> Option<Text<'a>> {
    const PREFIX: &str = "mcp__";
    if !tool.starts_with(PREFIX) {
        return None;
    }
    let in_name = || {
        let name = tool.raw();
        let (server, _) = name
            .get(usize::from(tool.token().is_some()) + PREFIX.len()..)?
            .split_once("__")?;
        (!server.contains('\\')).then_some(Text::Plain(server))
    };
    text(line.mcp_server()).or_else(in_name)
}

/// Content that is a text, or a list without blocks.
#[cold]
fn content_without_blocks(message: &Message<'_>, content: Value<'_>, out: &mut Emitter) {
    if let Some(text) = content.text() {
        out.emit(message_event(message, Some(text), None), CONTENT);
    } else {
        let _ = emit_empty_message("assistant", out);
    }
}

fn message_event<'a>(
    message: &Message<'a>,
    text: Option<Text<'a>>,
    channel: Option<Channel>,
) -> MsgOut<'a> {
    let (model, message_id) = (
        message.model().and_then(Value::text),
        message.id().and_then(Value::text),
    );
    MsgOut {
        text,
        channel,
        model,
        message_id,
        redacted: false,
    }
}

/// A message of model `<synthetic>`, in which the harness reports an error or a missing answer.
#[inline(never)]
fn synthetic_message(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Outcome {
    let message = content
        .elements()
        .find_map(|block| text(Block::lenient(block).text()))
        .or_else(|| content.text());
    // Copies of history up to 1.0.60 lose the flag.
    let is_error = is_true(line.is_api_error())
        || message.is_some_and(|message| message.starts_with("API Error"));
    let pointer = Pointer::At(CONTENT);
    if is_error {
        let status = line.api_error_status().map(Value::json);
        out.emit(Meta::error(text(line.error()).or(status), message), pointer);
        if let Some(details) = non_empty_text(line.object().member("errorDetails")) {
            out.emit(
                Meta::system("error_details", Some(details)),
                "/errorDetails",
            );
        }
        if let Some(details) = non_empty_text(
            line.stream_cut_error()
                .and_then(|error| error.member("message")),
        ) {
            let name = Text::Plain("error_details");
            out.emit(Meta::system(name, Some(details)), "/streamCutError/message");
        }
    } else {
        out.emit(Meta::system("synthetic_message", message), pointer);
    }
    Outcome::Mapped
}
