//! `assistant` lines: the model's text, reasoning and tool calls, and notices of the harness in the model's place.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Channel, Meta, MsgOut, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::claude_code::blocks::{CONTENT, emit_empty_message, malformed_content, message_block, missing_in_block};
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::{Record, SYNTHETIC_MODEL};
use crate::claude_code::schema::{Block, Line, Message};
use crate::claude_code::state::open_calls::Call;
use crate::claude_code::state::session_state::SessionState;
use crate::claude_code::tools::TOOLS;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};
use engram_core::keys::hash64;

/// `assistant`: one block of a message (from 1.0.10 on), or a whole message (before, and after a failed stream).
#[inline(never)]
pub(super) fn assistant(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let message = &record.message;
    let content = message.content().ok_or_else(|| malformed_content("nothing"))?;
    if raw_str(message.model()) == SYNTHETIC_MODEL {
        return synthetic_message(&record.line, content, out);
    }
    if *state.follows_command {
        state.follows_command.set(false);
    }
    state.dedup.begin_message(record.message_key, *state.dialect);
    let mut emitted = false;
    let mut is_empty = true;
    for (index, value) in content.elements().enumerate() {
        emitted |= output_block(state, record, value, index, out)?;
        is_empty = false;
    }
    if is_empty {
        content_without_blocks(message, content, out)?;
    } else if !emitted {
        return Ok(Outcome::Duplicate { record: "assistant", rule: rule::APPENDED_AGAIN });
    }
    state.usage.update(record, *state.dialect, out)?;
    Ok(Outcome::Mapped)
}

/// One block of the model's output. Returns false for a block that was emitted before.
#[inline(never)]
fn output_block(state: &mut SessionState, record: &Record<'_>, value: Value<'_>, index: usize, out: &mut Emitter) -> Result<bool, Fault> {
    let block = message_block(value, index)?;
    if state.lines.is_stated(index) {
        return Ok(false);
    }
    let message = &record.message;
    let pointer = Pointer::Item(CONTENT, index);
    let event = match raw_str(block.kind()) {
        "tool_use" | "server_tool_use" => return tool_call(state, record, &block, index, out),
        "text" => {
            let text = text(block.text()).ok_or_else(|| missing_in_block(index, "text", "text", value.raw()))?;
            message_event(message, Some(text), None)
        }
        "thinking" => {
            let text = non_empty_text(block.thinking());
            MsgOut { redacted: text.is_none(), ..message_event(message, text, Some(Channel::Reasoning)) }
        }
        "redacted_thinking" => MsgOut { redacted: true, ..message_event(message, None, Some(Channel::Reasoning)) },
        other => {
            out.unrecognized_block(other, value.raw(), pointer)?;
            return Ok(true);
        }
    };
    let is_new = state.dedup.insert_block(value);
    if is_new {
        out.emit(event, pointer)?;
    }
    Ok(is_new)
}

/// A tool call. Returns false for a call that was emitted before.
#[inline(never)]
fn tool_call(state: &mut SessionState, record: &Record<'_>, block: &Block<'_>, index: usize, out: &mut Emitter) -> Result<bool, Fault> {
    let line = &record.line;
    let tool = text(block.name()).ok_or_else(|| missing_in_block(index, "name", "the name of a tool", "nothing"))?;
    let id = text(block.id());
    let kind = match id {
        Some(id) => {
            let key = hash64(id.raw());
            if !state.dedup.insert_call(key, record.message_key, block.object()) {
                return Ok(false);
            }
            let dialect = &*state.dialect;
            let keep_all =
                is_true(line.is_sidechain()) || line.parent_call().is_some() || dialect.copies_are_restamped || dialect.results_may_be_bare;
            let call = Call::new(id, &tool.decode_lossy(), block.input(), keep_all, out);
            let kind = call.kind;
            state.calls.open(key, call);
            kind
        }
        None => TOOLS.kind(&tool.decode_lossy()),
    };
    let (server, message_id) = (mcp_server(line, tool), record.message.id().and_then(Value::text));
    let args = block.input().map(Value::raw);
    out.emit(ToolCall { server, call_id: id, message_id, args, ..ToolCall::new(tool, kind) }, Pointer::Item(CONTENT, index))?;
    Ok(true)
}

/// The server of an MCP tool: as the line names it, else as the name of the tool does.
fn mcp_server<'a>(line: &Line<'a>, tool: Text<'a>) -> Option<Text<'a>> {
    const PREFIX: &str = "mcp__";
    if !tool.starts_with(PREFIX) {
        return None;
    }
    let in_name = || {
        let name = tool.raw();
        let (server, _) = name.get(usize::from(tool.token().is_some()) + PREFIX.len()..)?.split_once("__")?;
        (!server.contains('\\')).then_some(Text::Plain(server))
    };
    text(line.mcp_server()).or_else(in_name)
}

/// Content that is a text, or a list without blocks.
#[cold]
fn content_without_blocks(message: &Message<'_>, content: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(text) = content.text() {
        out.emit(message_event(message, Some(text), None), Pointer::At(CONTENT))?;
    } else if let Some(character) = message.object().member("0") {
        // 2.1.81 logged the raw text of a failed stream as a message with one member for each character.
        return Err(Fault::malformed("/message", "a message", character.raw()));
    } else if content.is_array() {
        let _ = emit_empty_message("assistant", out)?;
    } else {
        return Err(malformed_content(content.raw()));
    }
    Ok(())
}

fn message_event<'a>(message: &Message<'a>, text: Option<Text<'a>>, channel: Option<Channel>) -> MsgOut<'a> {
    let (model, message_id) = (message.model().and_then(Value::text), message.id().and_then(Value::text));
    MsgOut { text, channel, model, message_id, redacted: false }
}

/// A message of model `<synthetic>`, in which the harness reports an error or a missing answer.
#[inline(never)]
fn synthetic_message(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let message = content.elements().find_map(|block| text(Block::lenient(block).text())).or_else(|| content.text());
    // Copies of history up to 1.0.60 lose the flag.
    let is_error = is_true(line.is_api_error()) || message.is_some_and(|message| message.starts_with("API Error"));
    let pointer = Pointer::At(CONTENT);
    if is_error {
        let status = line.api_error_status().map(Value::json);
        out.emit(Meta::Error { code: text(line.error()).or(status), text: message }, pointer)?;
        if let Some(details) = non_empty_text(line.object().member("errorDetails")) {
            out.emit(Meta::System { name: Text::Plain("error_details"), text: Some(details) }, Pointer::At("/errorDetails"))?;
        }
        if let Some(details) = non_empty_text(line.stream_cut_error().and_then(|error| error.member("message"))) {
            let name = Text::Plain("error_details");
            out.emit(Meta::System { name, text: Some(details) }, Pointer::At("/streamCutError/message"))?;
        }
    } else {
        out.emit(Meta::System { name: Text::Plain("synthetic_message"), text: message }, pointer)?;
    }
    Ok(Outcome::Mapped)
}
