//! One session: its header, then messages.

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Channel, Meta, MsgIn, MsgOut, Number, Role, SessionFacts, Status, Tokens, ToolCall, ToolResult, Usage};
use engram_core::ledger::Outcome;
use engram_core::emit::Pointer;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use serde_json::value::RawValue;

use crate::schema::{Block, Call, Header, Message, Settled, time};
use crate::tools::kind;

/// The converter.
#[derive(Default)]
pub struct Converter {
    is_past_header: bool,
}

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if !self.is_past_header && text.contains("\"working_dir\"") {
            self.is_past_header = true;
            return header(serde_json::from_str(text)?, out);
        }
        let value: &RawValue = serde_json::from_str(text)?;
        let message: Message<'_> = serde_json::from_str(value.get()).map_err(|_| Fault::malformed("", "a message", value.get()))?;
        let t = time(message.created);
        out.set_header(RecordHeader { t: t.as_deref(), id: message.id.and_then(Text::of), replay: false });
        for (n, raw) in message.content.iter().enumerate() {
            let pointer = Pointer::Item("/content", n);
            let block: Block<'_> = serde_json::from_str(raw.get()).map_err(|_| Fault::malformed("/content", "a block", raw.get()))?;
            match block.r#type {
                "text" => said(message.role, string(block.text)?, pointer, out)?,
                "thinking" => {
                    let thought = MsgOut { text: Some(string(block.thinking)?), channel: Some(Channel::Reasoning), ..MsgOut::default() };
                    out.emit(thought, pointer)?;
                }
                "toolRequest" => requested(&block, pointer, out)?,
                "toolResponse" => responded(&block, pointer, out)?,
                other => out.unrecognized_block(other, raw.get(), pointer)?,
            }
        }
        if message.content.is_empty() { Err(Fault::malformed("/content", "content", "[]")) } else { Ok(Outcome::Mapped) }
    }
}

fn header(header: Header<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let facts = SessionFacts { cwd: stated(Some(header.working_dir)), title: stated(header.description), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::Root)?;
    let tokens = Tokens {
        total: header.total_tokens.and_then(Number::of),
        input: header.input_tokens.and_then(Number::of),
        output: header.output_tokens.and_then(Number::of),
        ..Tokens::default()
    };
    if tokens.total.is_some() {
        out.emit(Meta::Usage(Usage { model: None, tokens, cost_usd: None }), Pointer::Root)?;
    }
    Ok(Outcome::Mapped)
}

/// A text that is there and not empty.
fn stated(raw: Option<&RawValue>) -> Option<Text<'_>> {
    raw.and_then(Text::of).filter(|text| !text.is_empty())
}

fn string<'a>(raw: Option<&'a RawValue>) -> Result<Text<'a>, Fault> {
    let found = raw.map_or("nothing", RawValue::get);
    raw.and_then(Text::of).ok_or_else(|| Fault::malformed("/content", "text", found))
}

fn said(role: &str, text: Text<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    match role {
        "user" => out.emit(MsgIn { role: Role::User, text: Some(text), synthetic: false, attachments: Vec::new() }, pointer)?,
        "assistant" => out.emit(MsgOut { text: Some(text), ..MsgOut::default() }, pointer)?,
        other => return Err(Fault::unrecognized(other)),
    };
    Ok(())
}

fn requested(block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let call_id = block.id.and_then(Text::of);
    match block.tool_call.as_ref() {
        Some(Settled { value: Some(value), .. }) => {
            let call: Call<'_> = serde_json::from_str(value.get()).map_err(|_| Fault::malformed("/content", "a call", value.get()))?;
            let tool = string(Some(call.name))?;
            let kind = kind(&tool.decode_lossy()).unwrap_or(ToolKind::Other);
            out.emit(ToolCall { tool, kind, call_id, args: call.arguments.map(RawValue::get) }, pointer)?;
        }
        Some(Settled { error: Some(error), .. }) => {
            out.emit(Meta::Error { code: None, text: Text::of(error) }, pointer)?;
        }
        _ => return Err(Fault::malformed("/content", "a call or an error", "neither")),
    }
    Ok(())
}

fn responded(block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let call_id = block.id.and_then(Text::of);
    let result = match block.tool_result.as_ref() {
        Some(Settled { value: Some(value), .. }) => {
            let pieces: Vec<Block<'_>> =
                serde_json::from_str(value.get()).map_err(|_| Fault::malformed("/content", "pieces of a result", value.get()))?;
            let texts = pieces.iter().map(|piece| string(piece.text).map(|text| text.decode_lossy().into_owned()));
            let shown = texts.collect::<Result<Vec<_>, _>>()?.join("\n");
            let result = ToolResult { call_id, status: Some(Status::Ok), stdout: Some(Text::Plain(&shown)), ..ToolResult::default() };
            out.emit(result, pointer)?;
            return Ok(());
        }
        Some(Settled { error: Some(error), .. }) => {
            ToolResult { call_id, status: Some(Status::Error), stderr: Text::of(error), ..ToolResult::default() }
        }
        _ => return Err(Fault::malformed("/content", "a result or an error", "neither")),
    };
    out.emit(result, pointer)?;
    Ok(())
}
