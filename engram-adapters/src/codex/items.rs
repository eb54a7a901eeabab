//! Response items: messages, reasoning, calls and outputs, in every container form.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Channel, ImplicitInput, Meta, MsgIn, MsgOut, Role, Status, ToolCall, ToolResult};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, StructuralIndex, Value, parse, raw_str, text};

use super::convert::{Container, Converter};
use super::edits;
use super::history::{Call, Fact, Side};
use super::notices::{MadeImage, Searched};
use super::outputs::unquote;
use super::rules;
use super::schema::{Asked, GhostCommit, Message, Output, Part, Reasoning, elements};
use super::tools;

/// Beginnings of user messages that the harness writes.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<user_action>",
    "<recommended_plugins>",
    "<image>",
    "<image name=",
    "</image>",
    "Warning: apply_patch was requested via ",
];

impl Converter {
    /// Converts one response item.
    pub(super) fn item(&mut self, kind: &str, item: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        match kind {
            "message" => self.message(&Message::strict(item, "/payload")?, out),
            "reasoning" => self.reasoning(&Reasoning::strict(item, "/payload")?, out),
            "function_call" => self.call(&Asked::strict(item, "/payload")?, false, out),
            "custom_tool_call" => self.call(&Asked::strict(item, "/payload")?, true, out),
            "function_call_output" => self.output(&Output::strict(item, "/payload")?, "response_item/function_call_output", out),
            "custom_tool_call_output" => self.output(&Output::strict(item, "/payload")?, "response_item/custom_tool_call_output", out),
            "local_shell_call" => {
                let asked = Asked::strict(item, "/payload")?;
                self.plain_call("local_shell", asked.call_id().or(asked.id()), asked.action(), out)
            }
            "tool_search_call" => {
                let asked = Asked::strict(item, "/payload")?;
                self.plain_call("tool_search", asked.call_id(), asked.arguments(), out)
            }
            "tool_search_output" => self.tools_found(&Output::strict(item, "/payload")?, out),
            "additional_tools" => {
                self.tools_offered(Output::strict(item, "/payload")?.tools(), "/payload/tools", out).map(|()| Outcome::Mapped)
            }
            "web_search_call" => self.search_item(&Searched::strict(item, "/payload")?, out),
            "image_generation_call" => self.image_made("response_item/image_generation_call", &MadeImage::strict(item, "/payload")?, out),
            "agent_message" => self.agent_message(&Message::strict(item, "/payload")?, out),
            "ghost_snapshot" => {
                let id = item.member("ghost_commit").and_then(|commit| text(GhostCommit::lenient(commit).id()));
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

    fn message(&mut self, message: &Message<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let role = match raw_str(message.role()) {
            "assistant" => None,
            "user" => Some(Role::User),
            "system" => Some(Role::System),
            "developer" => Some(Role::Developer),
            other => return Err(Fault::malformed(self.at("/payload/role"), "a role", other)),
        };
        let record = self.ledger_name("response_item/message");
        if elements(message.content()).next().is_none() {
            // It was said all the same, if only that there is nothing to say.
            out.emit(Meta::System { name: Text::Plain("empty_message"), text: text(message.role()) }, self.root().pointer())?;
            return Ok(Outcome::Mapped);
        }
        let mut attachments = self.images(message.content());
        let mut mapped = false;
        let path = self.at("/payload/content");
        for (index, value) in elements(message.content()).enumerate() {
            let part = Part::strict(value, &path)?;
            let pointer = Pointer::Field(&path, index, "/text");
            match (raw_str(part.kind()), part.text(), role) {
                ("input_text" | "output_text" | "text", Some(said), None) => {
                    mapped |= self.answer(Side::Model, said, message.id(), message.phase(), pointer, out)?;
                }
                ("input_text" | "output_text" | "text", Some(said), Some(role)) => {
                    mapped |= self.prompt(Side::Model, role, said, &mut attachments, pointer, out)?;
                }
                ("input_image", _, _) if part.image_url().is_some() => {}
                (kind, _, _) => {
                    out.unrecognized_block(kind, value.raw(), Pointer::Item(&path, index))?;
                    mapped = true;
                }
            }
        }
        if !attachments.is_empty() {
            // Up to 0.98 the harness answers `view_image` with a message in the user's place.
            let synthetic = self.history.shown > 0;
            self.history.shown = self.history.shown.saturating_sub(1);
            let input = MsgIn { role: role.unwrap_or(Role::User), text: None, synthetic, attachments };
            out.emit(input, Pointer::At(&path))?;
            mapped = true;
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(record, rules::MESSAGE_TWIN) })
    }

    /// The images of a message that have not been shown yet.
    fn images<'a>(&mut self, content: Field<'a>) -> Vec<Attachment<'a>> {
        let images = elements(content).filter_map(|part| part.first("image_url")).filter(|url| url.text().is_some());
        images.filter(|image| self.history.twins.is_new(Side::Model, Fact::Image, image.raw())).filter_map(media::data_url).collect()
    }

    /// A message to the agent. What stands in the attachments goes with the first text that a person wrote.
    pub(super) fn prompt(
        &mut self,
        side: Side,
        role: Role,
        said: Value<'_>,
        attachments: &mut Vec<Attachment<'_>>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if said.text().is_none() {
            return Err(Fault::malformed(self.at("/payload"), "text", said.raw()));
        }
        if role == Role::User && !self.history.twins.is_new(side, Fact::Prompt, said.raw()) {
            return Ok(false);
        }
        let synthetic = role != Role::User || self.history.is_spawned || is_injected(said.raw());
        let attachments = if synthetic { Vec::new() } else { std::mem::take(attachments) };
        out.emit(MsgIn { role, text: said.text(), synthetic, attachments }, pointer)?;
        Ok(true)
    }

    /// A message of the agent.
    pub(super) fn answer(
        &mut self,
        side: Side,
        said: Value<'_>,
        id: Field<'_>,
        phase: Field<'_>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if said.text().is_none() {
            return Err(Fault::malformed(self.at("/payload"), "text", said.raw()));
        }
        self.history.said.first((Fact::Answer, said.raw()));
        if !self.history.twins.is_new(side, Fact::Answer, shown(said.raw())) {
            return Ok(false);
        }
        let channel = match raw_str(phase) {
            "commentary" => Some(Channel::Commentary),
            "final_answer" => Some(Channel::Final),
            _ => None,
        };
        out.emit(MsgOut { text: said.text(), channel, message_id: text(id), ..MsgOut::default() }, pointer)?;
        Ok(true)
    }

    fn reasoning(&mut self, item: &Reasoning<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = self.ledger_name("response_item/reasoning");
        let (mut said, mut mapped) = (false, false);
        for (path, parts) in [(self.at("/payload/summary"), item.summary()), (self.at("/payload/content"), item.content())] {
            for (index, value) in elements(parts).enumerate() {
                let part = Part::strict(value, &path)?;
                if let Some(text) = part.text() {
                    said = true;
                    mapped |= self.thought(Side::Model, text, item.id(), Pointer::Field(&path, index, "/text"), out)?;
                } else {
                    out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(&path, index))?;
                    mapped = true;
                }
            }
        }
        if said || mapped {
            return Ok(if mapped { Outcome::Mapped } else { rules::duplicate(record, rules::REASONING_TWIN) });
        }
        // Encrypted, or not even that: the model reasoned, and the text is not in the log.
        let hidden = MsgOut { channel: Some(Channel::Reasoning), message_id: text(item.id()), redacted: true, ..MsgOut::default() };
        out.emit(hidden, Pointer::At(&self.at("/payload/encrypted_content")))?;
        Ok(Outcome::Mapped)
    }

    /// A reasoning, or one part of its summary.
    pub(super) fn thought(
        &mut self,
        side: Side,
        said: Value<'_>,
        id: Field<'_>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        if said.text().is_none() {
            return Err(Fault::malformed(self.at("/payload"), "text", said.raw()));
        }
        if !self.history.twins.is_new(side, Fact::Thought, said.raw()) {
            return Ok(false);
        }
        let thought = MsgOut { text: said.text(), channel: Some(Channel::Reasoning), message_id: text(id), ..MsgOut::default() };
        out.emit(thought, pointer)?;
        Ok(true)
    }

    /// A message between agents (0.169).
    fn agent_message(&mut self, message: &Message<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let own = self.history.agent_path.as_deref().unwrap_or("/root");
        let is_own = text(message.author()).is_some_and(|author| author.eq_str(own));
        let path = self.at("/payload/content");
        let mut mapped = false;
        for (index, value) in elements(message.content()).enumerate() {
            let part = Part::strict(value, &path)?;
            let pointer = Pointer::Field(&path, index, "/text");
            match (raw_str(part.kind()), text(part.text())) {
                ("input_text" | "output_text" | "text", said @ Some(_)) if is_own => {
                    out.emit(MsgOut { text: said, message_id: text(message.id()), ..MsgOut::default() }, pointer)?;
                }
                ("input_text" | "output_text" | "text", said @ Some(_)) => {
                    out.emit(MsgIn { role: Role::User, text: said, synthetic: true, attachments: Vec::new() }, pointer)?;
                }
                ("encrypted_content", _) => continue,
                (kind, _) => out.unrecognized_block(kind, value.raw(), Pointer::Item(&path, index))?,
            }
            mapped = true;
        }
        if !mapped {
            out.emit(Meta::System { name: Text::Plain("agent_message"), text: text(message.author()) }, Pointer::Root)?;
        }
        Ok(Outcome::Mapped)
    }

    /// A function call (its arguments are JSON in a string) or a custom tool call (its input is text).
    fn call(&mut self, asked: &Asked<'_>, is_custom: bool, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(tool) = text(asked.name()) else {
            return Err(Fault::malformed(self.at("/payload/name"), "the name of a tool", "nothing"));
        };
        let name = tool.decode_lossy();
        let namespace = text(asked.namespace()).map(|namespace| namespace.decode_lossy()).unwrap_or_default();
        let args = if is_custom { asked.input() } else { asked.arguments() };
        let (mut room, mut index) = std::mem::take(&mut self.inner);
        let decoded = text(args).filter(|_| !is_custom).and_then(|args| args.decode_into(&mut room).ok()).unwrap_or_default();
        let value = container(decoded, &mut index);
        let token = args.map(Value::raw);
        let kind = tools::kind(&name, &namespace);
        let mut call = ToolCall { tool, kind, call_id: text(asked.call_id()), args: value.map(Value::raw).or(token) };
        let emitted = out.emit(call.clone(), self.root().pointer());
        if let Err(Fault::Limit(_)) = emitted {
            // Nested too deep to be copied as a value; the text that holds it has no depth.
            call.args = token;
            out.emit(call, self.root().pointer())?;
        } else {
            emitted?;
        }
        let patch = if is_custom { edits::patch_of_input(text(args)) } else { value.and_then(edits::patch_of_command) };
        self.inner = (room, index);
        self.remember_call(asked.call_id(), &name, patch, is_custom);
        Ok(Outcome::Mapped)
    }

    fn remember_call(&mut self, call_id: Field<'_>, name: &str, patch: Option<String>, is_custom: bool) {
        let Some(id) = text(call_id).map(|id| id.decode_lossy()) else { return };
        if name == "exec" && is_custom {
            self.history.scripts.push(id.clone().into_owned());
        }
        self.history.calls.open(&id, Call { tool: tools::name(name), patch, ..Call::default() });
    }

    /// A call whose arguments are a JSON value.
    fn plain_call(&mut self, tool: &str, call_id: Field<'_>, args: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let call = ToolCall { tool: Text::Plain(tool), kind: tools::kind(tool, ""), call_id: text(call_id), args: args.map(Value::raw) };
        out.emit(call, self.root().pointer())?;
        self.remember_call(call_id, tool, None, false);
        Ok(Outcome::Mapped)
    }

    fn tools_found(&mut self, item: &Output<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let status = (raw_str(item.status()) == "completed").then_some(Status::Ok);
        let result = ToolResult { tool: Some(Text::Plain("tool_search")), call_id: text(item.call_id()), status, ..ToolResult::default() };
        out.emit(result, self.root().pointer())?;
        self.tools_offered(item.tools().filter(|tools| tools.raw() != "[]"), "/payload/tools", out)?;
        Ok(Outcome::Mapped)
    }

    pub(super) fn tools_offered(&self, tools: Field<'_>, path: &'static str, out: &mut Emitter) -> Result<(), Fault> {
        let Some(tools) = tools else { return Ok(()) };
        let (hash, bytes) = (Some(Hash::of_bytes(tools.raw().as_bytes())), Some(tools.raw().len() as u64));
        let context = ImplicitInput { name: Text::Plain("tools"), file: None, hash, bytes, text: None };
        out.emit(Meta::Context(context), Pointer::At(&self.at(path)))?;
        Ok(())
    }
}

/// The decoded arguments, if they are an object or a list.
fn container<'a>(decoded: &'a str, index: &'a mut StructuralIndex) -> Option<Value<'a>> {
    let decoded = decoded.trim_ascii();
    if decoded.starts_with(['{', '[']) { parse(decoded, index).ok() } else { None }
}

/// What the screen is shown of an answer (a JSON token): all but the end that names the memories it draws on.
fn shown(token: &str) -> &str {
    let said = unquote(token);
    let citation = said.ends_with("</oai-mem-citation>").then(|| said.rfind("<oai-mem-citation>")).flatten();
    citation.map_or(said, |at| &said[..at])
}

/// True for a user message that the harness wrote.
fn is_injected(token: &str) -> bool {
    let said = token.strip_prefix('"').unwrap_or(token);
    INJECTED.iter().any(|beginning| said.starts_with(beginning))
}
