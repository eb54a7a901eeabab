//! What people, the harness and the model say: `user` and `assistant` lines.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Channel, Meta, MsgIn, MsgOut, Role, Seq, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::blocks::{images, is_harness_text};
use super::calls::{Call, Started};
use super::converter::Converter;
use super::descriptor::{Omitted, rule};
use super::record::{Record, SYNTHETIC};
use super::schema::{Block, Line, Message};
use super::tools::TOOLS;
use crate::shared::value::{Value, is_true, non_empty_text, raw_str, text};
use engram_core::keys::hash64;

/// Where the blocks of a message lie.
const CONTENT: &str = "/message/content";
/// One of them, in errors.
const BLOCK: &str = "/message/content/*";

/// How the summary begins that stands in place of history. Up to 1.0.60 nothing else marks it.
const COMPACTED: &str = "This session is being continued from a previous conversation that ran out of context.";

/// The slash command that a wrapped command stands for, as it was typed: `/name args`.
fn typed_command(said: &str) -> Option<String> {
    let inner = |open: &str, close: &str| said.split_once(open)?.1.split_once(close).map(|(inner, _)| inner);
    let name = inner("<command-name>", "</command-name>")?;
    let slash = if name.starts_with('/') { "" } else { "/" };
    let args = inner("<command-args>", "</command-args>").unwrap_or_default();
    let gap = if args.is_empty() { "" } else { " " };
    Some(format!("{slash}{name}{gap}{args}"))
}

/// What the blocks of a `user` line have come to.
#[derive(Default)]
struct Said {
    /// Something was emitted.
    news: bool,
    /// A block repeated what was said before.
    repeated: bool,
    /// There was a text.
    text: bool,
    /// There was an image or document.
    images: bool,
}

impl Converter {
    /// `user`: prompts, tool results, and what the harness says in the user's place.
    #[inline(never)]
    pub fn user(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = &record.line;
        let content = record.message.content().ok_or_else(|| no_content("nothing"))?;
        if let Some(said) = content.text() {
            self.input(line, said, Vec::new(), Pointer::At(CONTENT), out)?;
            return Ok(Outcome::Mapped);
        }
        if !content.is_array() {
            return Err(no_content(content.raw()));
        }
        let mut said = Said::default();
        for (index, value) in content.elements().enumerate() {
            let block = Block::strict(value, BLOCK)?;
            said.images |= block.source().is_some();
            match raw_str(block.kind()) {
                "tool_result" => {
                    let new = self.result(line, &block, index, out)?;
                    said.news |= new;
                    said.repeated |= !new;
                }
                _ => self.user_block(record, &block, (index, value), &mut said, out)?,
            }
        }
        let lone_images = said.images && !said.text && images_alone(line, content, out)?;
        match said {
            _ if lone_images => Ok(Outcome::Mapped),
            Said { news: true, .. } => Ok(Outcome::Mapped),
            Said { repeated: true, .. } => Ok(Omitted { record: "user", rule: rule::APPENDED_AGAIN }.duplicate()),
            _ => empty_message("user", out),
        }
    }

    /// A block that is no tool result.
    #[inline(never)]
    fn user_block(
        &mut self,
        record: &Record<'_>,
        block: &Block<'_>,
        (index, value): (usize, Value<'_>),
        said: &mut Said,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let pointer = Pointer::Item(CONTENT, index);
        match raw_str(block.kind()) {
            "text" => {
                let text = text(block.text()).ok_or_else(|| no_text(value))?;
                // The first text has the images of the whole message.
                let beside = if std::mem::replace(&mut said.text, true) { Vec::new() } else { images(record.message.content()) };
                self.input(&record.line, text, beside, pointer, out)?;
                said.news = true;
            }
            "image" | "document" if block.source().is_some() => {}
            "image" | "document" => return Err(Fault::malformed(format!("{BLOCK}/source"), "an object", value.raw())),
            other => {
                out.unrecognized_block(other, value.raw(), pointer)?;
                said.news = true;
            }
        }
        Ok(())
    }

    /// One text in the user's place.
    #[inline(never)]
    fn input<'a>(
        &mut self,
        line: &Line<'a>,
        said: Text<'a>,
        attachments: Vec<Attachment<'a>>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        self.queue.arrived(said);
        if is_true(line.is_compact_summary()) || said.starts_with(COMPACTED) {
            let trigger = self.compaction_trigger.take();
            let trigger = trigger.as_deref().map(Text::Token);
            out.emit(Meta::Compaction { text: Some(said), trigger }, pointer)?;
            return Ok(());
        }
        if said.starts_with("[Request interrupted by user") {
            out.emit(Meta::Interrupt { text: Some(said) }, pointer)?;
            return Ok(());
        }
        if said.starts_with("<command-")
            && let Some(typed) = typed_command(&said.decode_lossy())
        {
            self.queue.arrived(Text::Plain(&typed));
        }
        if is_true(line.is_sidechain()) && line.parent_uuid().is_none() {
            out.parent_of_next(self.starting_call(said, out));
        } else if let Some(call) = text(line.parent_call()) {
            out.parent_of_next(out.seq_of_call(call));
        }
        let synthetic = is_true(line.is_meta()) || is_harness_text(said);
        out.emit(MsgIn { role: Role::User, text: Some(said), synthetic, attachments }, pointer)?;
        Ok(())
    }

    /// The one open call that started a sub-agent with this prompt.
    fn starting_call(&self, prompt: Text<'_>, out: &Emitter) -> Option<Seq> {
        let prompt = hash64(prompt.decode_lossy());
        let mut started = self.calls.iter().filter_map(|call| call.started.as_deref()).filter(|started| started.prompt == prompt);
        let Started { call_id, .. } = started.next()?;
        started.next().is_none().then(|| out.seq_of_call(Text::Plain(call_id)))?
    }

    /// `assistant`: one block of a message (from 1.0.10), or a whole message (before, and after a failed stream).
    #[inline(never)]
    pub fn assistant(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let message = &record.message;
        let content = message.content().ok_or_else(|| no_content("nothing"))?;
        if raw_str(message.model()) == SYNTHETIC {
            return notice(&record.line, content, out);
        }
        self.history.message(record.message_key);
        let mut news = false;
        let mut is_empty = true;
        for (index, value) in content.elements().enumerate() {
            news |= self.output(record, value, Pointer::Item(CONTENT, index), out)?;
            is_empty = false;
        }
        if is_empty {
            whole_answer(message, content, out)?;
        } else if !news {
            return Ok(Omitted { record: "assistant", rule: rule::APPENDED_AGAIN }.duplicate());
        }
        self.usages.state(record, out)?;
        Ok(Outcome::Mapped)
    }

    /// One block of the model's output. False when it was said before.
    #[inline(never)]
    fn output(&mut self, record: &Record<'_>, value: Value<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let block = Block::strict(value, BLOCK)?;
        let message = &record.message;
        let event = match raw_str(block.kind()) {
            "tool_use" | "server_tool_use" => return self.call(&record.line, &block, pointer, out),
            "text" => answer(message, Some(text(block.text()).ok_or_else(|| no_text(value))?), None),
            "thinking" => {
                let said = non_empty_text(block.thinking());
                MsgOut { redacted: said.is_none(), ..answer(message, said, Some(Channel::Reasoning)) }
            }
            "redacted_thinking" => MsgOut { redacted: true, ..answer(message, None, Some(Channel::Reasoning)) },
            other => {
                out.unrecognized_block(other, value.raw(), pointer)?;
                return Ok(true);
            }
        };
        let new = self.history.is_new_block(value);
        if new {
            out.emit(event, pointer)?;
        }
        Ok(new)
    }

    /// A tool call. False when it was said before.
    #[inline(never)]
    fn call(&mut self, line: &Line<'_>, block: &Block<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let tool = text(block.name()).ok_or_else(no_tool)?;
        let id = text(block.id());
        let kind = match id {
            Some(id) => {
                let call = hash64(id.raw());
                if !self.history.is_new_call(call) {
                    return Ok(false);
                }
                let keep_arguments = is_true(line.is_sidechain()) || line.parent_call().is_some() || self.dialect.copies_are_restamped;
                let facts = Call::of(id, &tool.decode_lossy(), block.input(), keep_arguments);
                let kind = facts.kind;
                self.calls.open(call, facts);
                kind
            }
            None => TOOLS.kind(&tool.decode_lossy()),
        };
        out.emit(ToolCall { tool, kind, call_id: id, args: block.input().map(Value::raw) }, pointer)?;
        Ok(true)
    }
}

/// An answer that is not a list of blocks, or a list without any.
#[cold]
fn whole_answer(message: &Message<'_>, content: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(said) = content.text() {
        out.emit(answer(message, Some(said), None), Pointer::At(CONTENT))?;
    } else if let Some(spread) = message.object().member("0") {
        // 2.1.81: the text of a whole stream, taken for a message and spread over its characters.
        return Err(Fault::malformed("/message", "a message", spread.raw()));
    } else if content.is_array() {
        let _ = empty_message("assistant", out)?;
    } else {
        return Err(no_content(content.raw()));
    }
    Ok(())
}

fn answer<'a>(message: &Message<'a>, said: Option<Text<'a>>, channel: Option<Channel>) -> MsgOut<'a> {
    MsgOut { text: said, channel, model: text(message.model()), message_id: text(message.id()), redacted: false }
}

#[cold]
fn no_content(found: &str) -> Fault {
    Fault::malformed(CONTENT, "text or a list of blocks", found)
}

#[cold]
fn no_text(block: Value<'_>) -> Fault {
    Fault::malformed(format!("{BLOCK}/text"), "text", block.raw())
}

#[cold]
fn no_tool() -> Fault {
    Fault::malformed(format!("{BLOCK}/name"), "the name of a tool", "nothing")
}

/// Images without a text. False where there are none after all.
#[cold]
fn images_alone(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let attachments = images(Some(content));
    let any = !attachments.is_empty();
    if any {
        out.emit(MsgIn { role: Role::User, text: None, synthetic: is_true(line.is_meta()), attachments }, Pointer::At(CONTENT))?;
    }
    Ok(any)
}

/// A message without content was written all the same.
#[cold]
fn empty_message(role: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    out.emit(Meta::System { name: Text::Plain("empty_message"), text: Some(Text::Plain(role)) }, Pointer::At(CONTENT))?;
    Ok(Outcome::Mapped)
}

/// A message of model `<synthetic>`: the harness speaks in the model's place, about an error or the lack of an answer.
#[inline(never)]
fn notice(line: &Line<'_>, content: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let said = content.elements().find_map(|block| text(Block::lenient(block).text())).or_else(|| content.text());
    // Copies of history up to 1.0.60 lose the flag.
    let is_error = is_true(line.is_api_error()) || said.is_some_and(|said| said.starts_with("API Error"));
    let pointer = Pointer::At(CONTENT);
    if is_error {
        let status = line.api_error_status().map(|status| Text::Plain(status.raw()));
        out.emit(Meta::Error { code: text(line.error()).or(status), text: said }, pointer)?;
        if let Some(details) = non_empty_text(line.object().member("errorDetails")) {
            out.emit(Meta::System { name: Text::Plain("error_details"), text: Some(details) }, Pointer::At("/errorDetails"))?;
        }
    } else {
        out.emit(Meta::System { name: Text::Plain("synthetic_message"), text: said }, pointer)?;
    }
    Ok(Outcome::Mapped)
}
