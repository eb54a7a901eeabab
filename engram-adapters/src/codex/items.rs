//! Response items: messages, reasoning, calls and outputs, in every container form.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Channel, Context, Meta, MsgIn, MsgOut, Role, Status, ToolCall, ToolResult};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::kit::json::{self, Raw, text};
use crate::kit::media;

use super::convert::{Container, Converter};
use super::history::{Fact, Side};
use super::rules;
use super::schema::{Part, Payload};
use super::tools;

/// The types of response items.
pub(super) const TYPES: [&str; 12] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "tool_search_call",
    "tool_search_output",
    "additional_tools",
    "agent_message",
    "ghost_snapshot",
];

/// Beginnings of user messages that the harness writes.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<image name=",
    "</image>",
    "Warning: apply_patch was requested via ",
];

impl Converter {
    /// Converts one response item. `line` is the whole record.
    pub(super) fn item(&mut self, item: &Payload<'_>, line: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        match item.kind.as_ref() {
            "message" => self.message(item, line, out),
            "reasoning" => self.reasoning(item, line, out),
            "function_call" => self.call(item, item.arguments, out),
            "custom_tool_call" => self.call(item, item.input, out),
            "function_call_output" => self.output(item, "response_item/function_call_output", out),
            "custom_tool_call_output" => self.output(item, "response_item/custom_tool_call_output", out),
            "local_shell_call" => self.plain_call(Text::Plain("local_shell"), item.call_id.or(item.id), item.action, out),
            "tool_search_call" => self.plain_call(Text::Plain("tool_search"), item.call_id, item.arguments, out),
            "tool_search_output" => self.tools_found(item, out),
            "additional_tools" => self.tools_offered(item.tools, out).map(|()| Outcome::Mapped),
            "agent_message" => self.agent_message(item, line, out),
            "ghost_snapshot" => {
                let id = item.ghost_commit.as_ref().and_then(|commit| text(commit.id));
                out.emit(Meta::System { name: Text::Plain("ghost_snapshot"), text: id }, Pointer::Root)?;
                Ok(Outcome::Mapped)
            }
            other => Err(Fault::unrecognized(&self.record_name(other))),
        }
    }

    /// The name that records of an item type have in this container.
    fn record_name(&self, kind: &str) -> String {
        if self.container == Container::Envelope { format!("response_item/{kind}") } else { kind.to_owned() }
    }

    /// As [`Converter::record_name`], for the ledger.
    fn ledger_name(&self, envelope: &'static str) -> &'static str {
        if self.container == Container::Envelope { envelope } else { envelope.strip_prefix("response_item/").unwrap_or(envelope) }
    }

    fn message(&mut self, item: &Payload<'_>, line: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let role = match text(item.role) {
            Some(role) if role.is("assistant") => None,
            Some(role) if role.is("user") => Some(Role::User),
            Some(role) if role.is("system") => Some(Role::System),
            Some(role) if role.is("developer") => Some(Role::Developer),
            _ => return Err(Fault::malformed(self.at("/payload/role"), "a role", item.role.map_or("", RawValue::get))),
        };
        let parts = item.content.as_deref().unwrap_or_default();
        let record = self.ledger_name("response_item/message");
        if parts.is_empty() {
            return self.silent_message(role, item.id, out);
        }
        let mut attachments = self.images(parts);
        let mut mapped = false;
        for (index, part) in parts.iter().enumerate() {
            let path = self.at("/payload/content");
            let pointer = Pointer::Field(&path, index, "/text");
            match (part.kind.as_ref(), part.text, role) {
                ("input_text" | "output_text" | "text", Some(said), None) => {
                    mapped |= self.answer(Side::Model, said, item.id, item.phase, pointer, out)?
                }
                ("input_text" | "output_text" | "text", Some(said), Some(role)) => {
                    mapped |= self.prompt(Side::Model, role, said, &mut attachments, pointer, out)?;
                }
                ("input_image", _, _) if part.image_url.is_some() => {}
                _ => {
                    self.unknown_part(line, index, &part.kind, out)?;
                    mapped = true;
                }
            }
        }
        if !attachments.is_empty() {
            // Up to 0.98 the harness answers `view_image` with a message in the user's place.
            let synthetic = self.history.shown > 0;
            self.history.shown = self.history.shown.saturating_sub(1);
            let input = MsgIn { role: role.unwrap_or(Role::User), text: None, synthetic, attachments };
            out.emit(input, Pointer::At(&self.at("/payload/content")))?;
            mapped = true;
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(record, rules::MESSAGE_TWIN) })
    }

    /// A message without parts was said all the same.
    fn silent_message(&self, role: Option<Role>, id: Raw<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let root = self.root();
        match role {
            None => out.emit(MsgOut { message_id: text(id), ..MsgOut::default() }, root.pointer())?,
            Some(role) => out.emit(MsgIn { role, text: None, synthetic: role != Role::User, attachments: Vec::new() }, root.pointer())?,
        };
        Ok(Outcome::Mapped)
    }

    /// The images of a message that have not been shown yet.
    fn images<'a>(&mut self, parts: &[Part<'a>]) -> Vec<Attachment<'a>> {
        let images = parts.iter().filter_map(|part| part.image_url);
        images.filter(|image| self.history.twins.is_new(Side::Model, Fact::Image, image.get())).filter_map(media::data_url).collect()
    }

    /// A message to the agent. What stands in the attachments goes with the first text that a person wrote.
    pub(super) fn prompt(
        &mut self,
        side: Side,
        role: Role,
        said: &RawValue,
        attachments: &mut Vec<Attachment<'_>>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        let Some(text) = Text::of(said) else {
            return Err(Fault::malformed("/payload", "text", said.get()));
        };
        if role == Role::User && !self.history.twins.is_new(side, Fact::Prompt, said.get()) {
            return Ok(false);
        }
        let synthetic = role != Role::User || self.history.is_spawned || is_injected(said.get());
        let attachments = if synthetic { Vec::new() } else { std::mem::take(attachments) };
        out.emit(MsgIn { role, text: Some(text), synthetic, attachments }, pointer)?;
        Ok(true)
    }

    /// A message of the agent.
    pub(super) fn answer(
        &mut self,
        side: Side,
        said: &RawValue,
        id: Raw<'_>,
        phase: Raw<'_>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        let Some(spoken) = Text::of(said) else {
            return Err(Fault::malformed("/payload", "text", said.get()));
        };
        self.history.said.first((Fact::Answer, said.get()));
        if !self.history.twins.is_new(side, Fact::Answer, said.get()) {
            return Ok(false);
        }
        let channel = match text(phase) {
            Some(phase) if phase.is("commentary") => Some(Channel::Commentary),
            Some(phase) if phase.is("final_answer") => Some(Channel::Final),
            _ => None,
        };
        out.emit(MsgOut { text: Some(spoken), channel, message_id: text(id), ..MsgOut::default() }, pointer)?;
        Ok(true)
    }

    fn reasoning(&mut self, item: &Payload<'_>, line: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = self.ledger_name("response_item/reasoning");
        let summary: Vec<Part<'_>> = match item.summary {
            Some(raw) => json::read(raw, &self.at("/payload/summary"), "parts of a summary")?,
            None => Vec::new(),
        };
        let content = item.content.as_deref().unwrap_or_default();
        let (summary_path, content_path) = (self.at("/payload/summary"), self.at("/payload/content"));
        let (mut said, mut mapped) = (false, false);
        for (path, parts) in [(&summary_path, summary.as_slice()), (&content_path, content)] {
            for (index, part) in parts.iter().enumerate() {
                let Some(text) = part.text else {
                    self.unknown_part(line, index, &part.kind, out)?;
                    mapped = true;
                    continue;
                };
                said = true;
                mapped |= self.thought(Side::Model, text, item.id, Pointer::Field(path, index, "/text"), out)?;
            }
        }
        if said || mapped {
            return Ok(if mapped { Outcome::Mapped } else { rules::duplicate(record, rules::REASONING_TWIN) });
        }
        let redacted = item.encrypted_content.is_some();
        let hidden = MsgOut { channel: Some(Channel::Reasoning), message_id: text(item.id), redacted, ..MsgOut::default() };
        out.emit(hidden, Pointer::At(&self.at("/payload/encrypted_content")))?;
        Ok(Outcome::Mapped)
    }

    /// A reasoning, or one part of its summary.
    pub(super) fn thought(
        &mut self,
        side: Side,
        said: &RawValue,
        id: Raw<'_>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if !self.history.twins.is_new(side, Fact::Thought, said.get()) {
            return Ok(false);
        }
        let thought = MsgOut { text: Text::of(said), channel: Some(Channel::Reasoning), message_id: text(id), ..MsgOut::default() };
        out.emit(thought, pointer)?;
        Ok(true)
    }

    /// A part of a type that is not known. Its text is looked up in the record: the parts that are known are not held.
    pub(super) fn unknown_part(&self, line: &str, index: usize, kind: &str, out: &mut Emitter) -> Result<(), Fault> {
        #[derive(Deserialize)]
        struct Whole<'a> {
            #[serde(borrow)]
            payload: Option<Box<Whole<'a>>>,
            #[serde(borrow)]
            item: Option<Box<Whole<'a>>>,
            #[serde(borrow)]
            content: Option<Vec<&'a RawValue>>,
        }
        let mut whole: Whole<'_> = serde_json::from_str(line)?;
        while let Some(inner) = whole.payload.take().or_else(|| whole.item.take()) {
            whole = *inner;
        }
        let raw = whole.content.as_ref().and_then(|parts| parts.get(index)).map_or("null", |raw| raw.get());
        out.unrecognized_block(kind, raw, Pointer::Item(&self.at("/payload/content"), index))
    }

    /// A message between agents (0.169).
    fn agent_message(&mut self, item: &Payload<'_>, line: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let own = self.history.agent_path.as_deref().unwrap_or("/root");
        let is_own = text(item.author).is_some_and(|author| author.is(own));
        let parts = item.content.as_deref().unwrap_or_default();
        let mut mapped = false;
        for (index, part) in parts.iter().enumerate() {
            let path = self.at("/payload/content");
            let pointer = Pointer::Field(&path, index, "/text");
            match (part.kind.as_ref(), part.text) {
                ("input_text" | "output_text" | "text", Some(said)) if is_own => {
                    out.emit(MsgOut { text: Text::of(said), message_id: text(item.id), ..MsgOut::default() }, pointer)?;
                }
                ("input_text" | "output_text" | "text", Some(said)) => {
                    out.emit(MsgIn { role: Role::User, text: Text::of(said), synthetic: true, attachments: Vec::new() }, pointer)?;
                }
                ("encrypted_content", _) => continue,
                _ => self.unknown_part(line, index, &part.kind, out)?,
            }
            mapped = true;
        }
        if !mapped {
            out.emit(Meta::System { name: Text::Plain("agent_message"), text: text(item.author) }, Pointer::Root)?;
        }
        Ok(Outcome::Mapped)
    }

    /// A function call (its arguments are JSON in a string) or a custom tool call (its input is text).
    fn call(&mut self, item: &Payload<'_>, args: Raw<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(tool) = text(item.name) else {
            return Err(Fault::malformed(self.at("/payload/name"), "the name of a tool", item.name.map_or("", RawValue::get)));
        };
        let name = tool.decode_lossy();
        let namespace = text(item.namespace).map(|namespace| namespace.decode_lossy()).unwrap_or_default();
        let call_id = text(item.call_id);
        let is_custom = item.kind == "custom_tool_call";
        let decoded = args.filter(|_| !is_custom).and_then(Text::of).map(|args| args.decode().unwrap_or_default()).unwrap_or_default();
        let value = parsed(&decoded);
        let token = args.map(RawValue::get);
        let mut call = ToolCall { tool, kind: tools::kind(&name, &namespace), call_id, args: value.or(token) };
        let emitted = out.emit(call.clone(), self.root().pointer());
        if let Err(Fault::Limit(_)) = emitted {
            // Nested too deep to be copied as a value; the text that holds it has no depth.
            call.args = token;
            out.emit(call, self.root().pointer())?;
        } else {
            emitted?;
        }
        let asked =
            if is_custom { args.and_then(Text::of).map(|input| input.decode().unwrap_or_default()).unwrap_or_default() } else { decoded };
        self.remember_call(item, &name, &asked, is_custom);
        Ok(Outcome::Mapped)
    }

    fn remember_call(&mut self, item: &Payload<'_>, name: &str, asked: &str, is_custom: bool) {
        let Some(id) = text(item.call_id).map(|id| id.decode_lossy().into_owned()) else { return };
        if name == "exec" && is_custom {
            self.history.scripts.push(id.clone());
        }
        let patch = super::edits::asked_patch(asked, is_custom);
        self.history.calls.open(&id, super::history::Call { tool: name.to_owned(), patch, ..Default::default() });
    }

    /// A call whose arguments are a JSON value.
    pub(super) fn plain_call(&mut self, tool: Text<'_>, call_id: Raw<'_>, args: Raw<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let name = tool.decode_lossy();
        let call = ToolCall { tool, kind: tools::kind(&name, ""), call_id: text(call_id), args: args.map(RawValue::get) };
        out.emit(call, self.root().pointer())?;
        if let Some(id) = text(call_id) {
            let call = super::history::Call { tool: name.into_owned(), ..Default::default() };
            self.history.calls.open(&id.decode_lossy(), call);
        }
        Ok(Outcome::Mapped)
    }

    fn tools_found(&mut self, item: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let status = text(item.status).filter(|status| status.is("completed")).map(|_| Status::Ok);
        let result = ToolResult { tool: Some(Text::Plain("tool_search")), call_id: text(item.call_id), status, ..ToolResult::default() };
        out.emit(result, self.root().pointer())?;
        self.tools_offered(item.tools.filter(|tools| tools.get() != "[]"), out)?;
        Ok(Outcome::Mapped)
    }

    fn tools_offered(&self, tools: Raw<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(tools) = tools else { return Ok(()) };
        let (hash, bytes) = (Some(Hash::of_bytes(tools.get().as_bytes())), Some(tools.get().len() as u64));
        let context = Context { name: Text::Plain("tools"), file: None, hash, bytes, text: None };
        out.emit(Meta::Context(context), Pointer::At(&self.at("/payload/tools")))?;
        Ok(())
    }
}

/// The decoded arguments as a JSON value, if they are an object or a list.
fn parsed(decoded: &str) -> Option<&str> {
    let value = decoded.trim_ascii();
    let is_container = value.starts_with('{') || value.starts_with('[');
    (is_container && serde_json::from_str::<&RawValue>(value).is_ok()).then_some(value)
}

/// True for a user message that the harness wrote.
fn is_injected(token: &str) -> bool {
    let said = token.strip_prefix('"').unwrap_or(token);
    INJECTED.iter().any(|beginning| said.starts_with(beginning))
}
