//! Messages as the model received them, part by part, each with its step of the turn graph.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Attachment, Author, Meta, MsgIn, ToolCall};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::message_text::{emit_agent_text, emit_system_prompt, emit_user_text};
use super::state::ChatState;
use crate::cursor::fields::hex::from_hex;
use crate::cursor::fields::{required, required_name, text_or_json};
use crate::cursor::messages::user_text::UserText;
use crate::cursor::messages::{emit_reasoning, message_outcome};
use crate::cursor::readers::{ChatLine, ChatMessage, ChatPart, ChatStep, CursorOptions};
use crate::cursor::steps::Out;
use crate::cursor::tool_calls::payload::{CallPayload, CallRecord};
use crate::cursor::tool_calls::result::emit_result;
use crate::cursor::tools;
use crate::shared::media::base64_hash;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};

const CONTENT: &str = "/message/content";

/// The place of a part, and the facts of its message.
struct PartContext<'a> {
    role: &'a str,
    id: Option<Text<'a>>,
    /// Who wrote a text with the role of the user.
    by: Author,
    options: CursorOptions<'a>,
    index: usize,
    pointer: Pointer<'a>,
    step: ChatStep<'a>,
}

impl<'a> PartContext<'a> {
    fn user_text(&self, text: Text<'a>) -> UserText<'a> {
        UserText {
            text,
            by: self.by,
            id: self.id,
            pointer: self.pointer,
        }
    }
}

/// A message of any role. Its content is one text or a list of parts.
pub(super) fn message(
    state: &mut ChatState,
    line: &ChatLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let message = ChatMessage::strict(
        required(line.message(), Pointer::At("/message"), "an object")?,
        "/message",
    )?;
    let content = required(
        message.content(),
        Pointer::At(CONTENT),
        "text or a list of parts",
    )?;
    let role = raw_str(message.role());
    if role == "system" {
        return emit_system_prompt(content.raw(), out);
    }
    let (id, options) = (
        non_empty_text(line.blob()),
        message
            .provider_options()
            .and_then(|options| options.member("cursor")),
    );
    let options = CursorOptions::lenient_opt(options);
    let listed = content
        .elements()
        .enumerate()
        .map(|(index, part)| (index, part, Pointer::Item(CONTENT, index)));
    let single = Some((0, content, Pointer::At(CONTENT))).filter(|_| !content.is_array());
    line.check_steps(if content.is_array() {
        content.elements().count()
    } else {
        1
    })?;
    let mut files = if role == "user" {
        attachments(content)?
    } else {
        Vec::new()
    };
    let mut events = 0;
    for (index, part, pointer) in single.into_iter().chain(listed) {
        let step = line.step_of_part(index)?;
        line.set_header(step.time(), out);
        let by = step.prompt_by().unwrap_or(state.prompts_by);
        let context = PartContext {
            role,
            id,
            by,
            options,
            index,
            pointer,
            step,
        };
        events += match part.text() {
            Some(text) if role == "user" => {
                emit_user_text(context.user_text(text), &options, &mut files, out)?
            }
            Some(text) if role == "assistant" => emit_agent_text(text, &options, pointer, out)?,
            _ => emit_part(state, part, &context, &mut files, out)?,
        };
    }
    if !files.is_empty() {
        out.emit(MsgIn::user(state.prompts_by, None).with(files), CONTENT)?;
        events += 1;
    }
    message_outcome(events)
}

/// Emits a part by its type, and returns the number of events.
fn emit_part<'a>(
    state: &mut ChatState,
    value: Value<'a>,
    context: &PartContext<'a>,
    files: &mut Vec<Attachment<'a>>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let PartContext {
        role,
        ref options,
        pointer,
        ..
    } = *context;
    let part = ChatPart::strict(value, "").map_err(|fault| fault.within(pointer))?;
    match (raw_str(part.kind()), role) {
        ("text", "user") => text(part.text()).map_or(Ok(0), |text| {
            emit_user_text(context.user_text(text), options, files, out)
        }),
        ("text", "assistant") => {
            text(part.text()).map_or(Ok(0), |text| emit_agent_text(text, options, pointer, out))
        }
        ("reasoning", "assistant") => {
            text(part.text()).map_or(Ok(0), |text| emit_reasoning(text, pointer, out))
        }
        ("redacted-reasoning", "assistant") => emit_reasoning(Text::Plain(""), pointer, out),
        // They belong to the prompt.
        ("image" | "file", "user") => Ok(0),
        ("image" | "file", _) => emit_returned_file(&part, context, out),
        ("tool-call", "assistant") => emit_tool_call(&part, context, out),
        ("tool-result", "tool") => emit_tool_result(state, &part, context, out),
        (kind, _) => {
            out.unrecognized_block(kind, value.raw(), pointer)?;
            Ok(1)
        }
    }
}

fn emit_tool_call(
    part: &ChatPart<'_>,
    context: &PartContext<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let tool = required_name(part.tool_name(), Pointer::At("/toolName"))
        .map_err(|fault| fault.within(context.pointer))?;
    let name = tool.decode_lossy();
    let call = ToolCall {
        server: tools::server(&name, part.args()),
        call_id: non_empty_text(part.tool_call_id()),
        args: part.args().map(Value::raw),
        ..ToolCall::new(tool, tools::TOOLS.kind(&name))
    };
    out.emit(call, context.pointer)?;
    Ok(1)
}

/// A result. The turn graph records how the call ended; without it, only what the model received is known.
fn emit_tool_result(
    state: &mut ChatState,
    part: &ChatPart<'_>,
    context: &PartContext<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let call_id = required_name(part.tool_call_id(), Pointer::At("/toolCallId"))
        .map_err(|fault| fault.within(context.pointer))?;
    let in_step = |fault: Fault| fault.within(Pointer::Field("/steps", context.index, "/toolCall"));
    let payload = match context.step.tool_call() {
        Some(call) => CallPayload::read(call).map_err(in_step)?,
        None => CallPayload::default(),
    };
    let result = CallRecord {
        model_tool: non_empty_text(part.tool_name()),
        model_result: text_or_json(part.result()).filter(|text| !text.is_empty()),
        model_error: is_true(part.is_error()),
        ..CallRecord::new(call_id, payload, context.pointer)
    };
    emit_result(&result, false, &mut state.files, out).map_err(in_step)?;
    Ok(1)
}

/// The images and files of a prompt.
fn attachments(content: Value<'_>) -> Result<Vec<Attachment<'_>>, Fault> {
    let parts = content.elements().enumerate().map(|(index, part)| {
        ChatPart::strict(part, "").map_err(|fault| fault.within(Pointer::Item(CONTENT, index)))
    });
    let parts: Vec<ChatPart<'_>> = parts.collect::<Result<_, _>>()?;
    Ok(parts
        .iter()
        .filter(|part| matches!(raw_str(part.kind()), "image" | "file"))
        .map(attachment)
        .collect())
}

/// An image or a file: hash and size of its bytes.
fn attachment<'a>(part: &ChatPart<'a>) -> Attachment<'a> {
    let content = part.image().or(part.data()).and_then(content_hash);
    Attachment {
        media_type: non_empty_text(part.media_type()),
        hash: content.map(|(hash, _)| hash),
        bytes: content.map(|(_, bytes)| bytes),
        name: non_empty_text(part.filename()),
    }
}

/// Hash and size of content that the store has as `{"__type":"Uint8Array","hex":".."}`, or as base64 with or without `data:`.
fn content_hash(content: Value<'_>) -> Option<(Hash, u64)> {
    let hex = content
        .member("hex")
        .and_then(Value::text)
        .and_then(|hex| from_hex(hex.decode_lossy().as_bytes()));
    let of_bytes = hex.map(|bytes| (Hash::of_bytes(&bytes), bytes.len() as u64));
    of_bytes.or_else(|| {
        let text = content.text()?.decode_lossy().into_owned();
        let data = text
            .strip_prefix("data:")
            .and_then(|url| url.split_once(";base64,"))
            .map_or(text.as_str(), |(_, data)| data);
        base64_hash(Text::Plain(data))
    })
}

/// An image or a file in a message that is not a prompt.
fn emit_returned_file(
    part: &ChatPart<'_>,
    context: &PartContext<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    out.emit(
        Meta::system(raw_str(part.kind()), non_empty_text(part.filename())),
        context.pointer,
    )?;
    Ok(1)
}
