//! Opened chat stores: the messages as the model saw them, each with the steps of the turn graph that say how it went.

use engram_core::adapter::Session;
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Attachment, Meta, MsgIn, Role, SessionFacts, ToolCall};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::words::{CursorOptions, agent_text, system_prompt, user_text};
use crate::cursor::stream_called::{Called, ToolCallBody};
use crate::cursor::stream_calls::Calls;
use crate::cursor::transcript::{answer, prompt, reasoning, said};
use crate::cursor::{millis, text_or_json, tools};
use crate::shared::value::{Field, StructuralIndex, Value, is_true, non_empty_text, parse, raw_str, text};
use crate::shared::view::view;

view! {
    /// One line of the opened text.
    Line {
        store: "store" Any,
        blob: "blob" Any,
        meta: "meta" Object,
        root: "root" Object,
        message: "message" Object,
        steps: "steps" Object,
        step: "step" Object,
        archive: "archive" Object,
    }
}

view! {
    /// The chat's own record.
    ChatMeta {
        name: "name" Any,
        created_at: "createdAt" Any,
        mode: "mode" Any,
        last_used_model: "lastUsedModel" Any,
        subagent_info: "subagentInfo" Object,
    }
}

view! {
    /// Who started the chat of a sub-agent.
    SubagentInfo {
        parent_agent_id: "parentAgentId" Any,
        tool_call_id: "toolCallId" Any,
        type_name: "typeName" Any,
    }
}

view! {
    /// The root of the conversation.
    Root {
        active_branch_name: "activeBranchName" Any,
        agent_type: "agentType" Any,
        previous_workspace_uris: "previousWorkspaceUris" Any,
        conversation_started_timestamp_ms: "conversationStartedTimestampMs" Any,
    }
}

view! {
    /// A message as the model saw it.
    Message {
        role: "role" Any,
        content: "content" Any,
        provider_options: "providerOptions" Object,
    }
}

view! {
    /// One part of a message.
    Part {
        kind: "type" Any,
        text: "text" Any,
        tool_call_id: "toolCallId" Any,
        tool_name: "toolName" Any,
        args: "args" Any,
        result: "result" Any,
        is_error: "isError" Any,
        image: "image" Any,
        data: "data" Any,
        filename: "filename" Any,
        media_type: "mediaType" Any,
    }
}

view! {
    /// What a step of the turn graph says. A prompt has its text and time beside each other.
    Step {
        assistant_message: "assistantMessage" Object,
        thinking_message: "thinkingMessage" Object,
        tool_call: "toolCall" Object,
        text: "text" Any,
        started_at_ms: "startedAtMs" Any,
    }
}

view! {
    /// What the agent says or thinks in a step.
    Said {
        text: "text" Any,
        started_at_ms: "startedAtMs" Any,
    }
}

/// Where a part of a message stands, and what its message says of it.
struct Place<'a> {
    role: &'a str,
    id: Option<Text<'a>>,
    options: CursorOptions<'a>,
    pointer: Pointer<'a>,
}

/// Converts one opened chat.
#[derive(Default)]
pub(in crate::cursor) struct Converter {
    calls: Calls,
    index: StructuralIndex,
}

impl Session for Converter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut index = std::mem::take(&mut self.index);
        let outcome = parse(source, &mut index).and_then(|line| self.line(&Line::strict(line, "")?, out));
        self.index = index;
        outcome
    }
}

impl Converter {
    fn line(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let nothing = |pointer| Fault::malformed(pointer, "an object", "nothing");
        out.set_header(RecordHeader { id: non_empty_text(line.blob()), ..RecordHeader::default() });
        match raw_str(line.store()) {
            "chat" => ChatMeta::lenient(line.meta().ok_or_else(|| nothing("/meta"))?).convert(out),
            "root" => Root::lenient(line.root().ok_or_else(|| nothing("/root"))?).convert(out),
            "message" => self.message(line, out),
            "summary" => {
                let text = line.archive().and_then(|archive| non_empty_text(archive.member("summary")));
                out.emit(Meta::Compaction { text, trigger: None }, Pointer::At("/archive/summary"))?;
                Ok(Outcome::Mapped)
            }
            "user_message" => {
                let step = line.read_step()?;
                line.set_header(step.started_at_ms(), out);
                said(prompt(text(step.text()), non_empty_text(line.blob()), Pointer::At("/step/text"), out)?)
            }
            "step" => self.step(line, out),
            name @ ("shell_command" | "shell_output") => {
                out.emit(Meta::System { name: Text::Plain(name), text: text_or_json(line.step()) }, Pointer::At("/step"))?;
                Ok(Outcome::Mapped)
            }
            "missing" => Err(Fault::malformed("/blob", "the id of a blob of the store", raw_str(line.blob()))),
            name => Err(Fault::unrecognized(name)),
        }
    }
}

impl<'a> Line<'a> {
    fn read_step(&self) -> Result<Step<'a>, Fault> {
        self.step().map_or_else(|| Err(Fault::malformed("/step", "an object", "nothing")), |step| Step::strict(step, "/step"))
    }

    /// States the line's blob, and the time of a step that it says.
    fn set_header(&self, time: Field<'_>, out: &mut Emitter) {
        let time = millis(time);
        out.set_header(RecordHeader { t: time.as_deref(), id: non_empty_text(self.blob()), replay: false });
    }
}

impl ChatMeta<'_> {
    fn convert(&self, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = millis(self.created_at());
        out.set_header(RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
        let parent = self.subagent_info().map(SubagentInfo::lenient);
        let facts = SessionFacts {
            model: non_empty_text(self.last_used_model()),
            title: non_empty_text(self.name()),
            parent_session_id: parent.and_then(|parent| non_empty_text(parent.parent_agent_id())),
            parent_call_id: parent.and_then(|parent| non_empty_text(parent.tool_call_id())),
            agent: parent.and_then(|parent| non_empty_text(parent.type_name())).or(non_empty_text(self.mode())),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), Pointer::At("/meta"))?;
        Ok(Outcome::Mapped)
    }
}

impl Root<'_> {
    fn convert(&self, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = millis(self.conversation_started_timestamp_ms());
        out.set_header(RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
        let (branch, agent) = (non_empty_text(self.active_branch_name()), non_empty_text(self.agent_type()));
        if branch.is_some() || agent.is_some() {
            out.emit(Meta::Session(SessionFacts { repo_branch: branch, agent, ..SessionFacts::default() }), Pointer::At("/root"))?;
        }
        if self.previous_workspace_uris().is_some() {
            let text = text_or_json(self.previous_workspace_uris());
            let pointer = Pointer::At("/root/previousWorkspaceUris");
            out.emit(Meta::System { name: Text::Plain("previousWorkspaceUris"), text }, pointer)?;
        } else if branch.is_none() && agent.is_none() {
            return Ok(Outcome::Bookkeeping { record: "root", rule: "store_root" });
        }
        Ok(Outcome::Mapped)
    }
}

impl Converter {
    fn message(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(message) = line.message() else { return Err(Fault::malformed("/message", "an object", "nothing")) };
        let message = Message::strict(message, "/message")?;
        let Some(content) = message.content() else {
            return Err(Fault::malformed("/message/content", "text or a list of parts", "nothing"));
        };
        let role = raw_str(message.role());
        if role == "system" {
            return system_prompt(content.raw(), out);
        }
        let options =
            message.provider_options().and_then(|options| options.member("cursor")).map(CursorOptions::lenient).unwrap_or_default();
        let listed = content.elements().enumerate().map(|(index, piece)| (index, piece, Pointer::Item("/message/content", index)));
        let alone = Some((0, content, Pointer::At("/message/content"))).filter(|_| !content.is_array());
        let mut events = 0;
        for (index, piece, pointer) in alone.into_iter().chain(listed) {
            let step = line.steps().and_then(|steps| steps.member(&index.to_string()));
            let step = step.map_or(Ok(Step::default()), |step| Step::strict(step, "/steps"))?;
            line.set_header(step.time(), out);
            let place = Place { role, id: non_empty_text(line.blob()), options, pointer };
            events += match (piece.text(), role) {
                (Some(words), "user") => user_text(words, place.id, &options, pointer, out)?,
                (Some(words), "assistant") => agent_text(words, &options, pointer, out)?,
                _ => self.part(piece, &place, &step, out)?,
            };
        }
        said(events)
    }

    fn part(&mut self, piece: Value<'_>, place: &Place<'_>, step: &Step<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let part = Part::strict(piece, "/message/content")?;
        let Place { role, id, ref options, pointer } = *place;
        match (raw_str(part.kind()), role) {
            ("text", "user") => text(part.text()).map_or(Ok(0), |text| user_text(text, id, options, pointer, out)),
            ("text", "assistant") => text(part.text()).map_or(Ok(0), |text| agent_text(text, options, pointer, out)),
            ("reasoning", "assistant") => text(part.text()).map_or(Ok(0), |thought| reasoning(thought, pointer, out)),
            ("redacted-reasoning", "assistant") => reasoning(Text::Plain(""), pointer, out),
            ("image" | "file", _) => part.attachment(role, pointer, out),
            ("tool-call", "assistant") => {
                let tool =
                    non_empty_text(part.tool_name()).ok_or_else(|| Fault::malformed("/message/content", "the name of a tool", "none"))?;
                let kind = tools::TOOLS.kind(&tool.decode_lossy());
                let call = ToolCall { tool, kind, call_id: non_empty_text(part.tool_call_id()), args: part.args().map(Value::raw) };
                out.emit(call, pointer)?;
                Ok(1)
            }
            ("tool-result", "tool") => self.result(&part, step, pointer, out),
            (kind, _) => {
                out.unrecognized_block(kind, piece.raw(), pointer)?;
                Ok(1)
            }
        }
    }

    /// A result: how the call ended is the turn graph's to say; without it, only what the model was told is known.
    fn result(&mut self, part: &Part<'_>, step: &Step<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let call_id =
            non_empty_text(part.tool_call_id()).ok_or_else(|| Fault::malformed("/message/content", "the id of a call", "none"))?;
        let body = step.tool_call().map_or(Ok(ToolCallBody::default()), |call| ToolCallBody::read(call, "/steps"))?;
        let told = text_or_json(part.result()).filter(|text| !text.is_empty());
        let failed = is_true(part.is_error());
        self.calls.result(&Called { call_id, body, name: non_empty_text(part.tool_name()), told, failed, pointer }, out)?;
        Ok(1)
    }

    /// A step of the turn graph that no message says.
    fn step(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let step = line.read_step()?;
        line.set_header(step.time(), out);
        if let Some(message) = step.assistant_message() {
            return said(answer(text(Said::lenient(message).text()), Pointer::At("/step/assistantMessage/text"), out)?);
        }
        if let Some(thought) = step.thinking_message() {
            let thought = text(Said::lenient(thought).text()).unwrap_or(Text::Plain(""));
            return said(reasoning(thought, Pointer::At("/step/thinkingMessage/text"), out)?);
        }
        let Some(call) = step.tool_call() else { return Err(Fault::malformed("/step", "a message, a thought or a call", "none of them")) };
        let body = ToolCallBody::read(call, "/step/toolCall")?;
        line.set_header(body.started_at, out);
        let call_id = body.call_id.ok_or_else(|| Fault::malformed("/step/toolCall/toolCallId", "a string", "none"))?;
        let pointer = Pointer::At("/step/toolCall");
        if body.tool.is_empty() {
            // A tool whose layout is not read: that it was called is all that is known.
            out.emit(Meta::System { name: Text::Plain("toolCall"), text: Some(call_id) }, pointer)?;
            return Ok(Outcome::Mapped);
        }
        self.calls.call_and_result(&Called { call_id, body, name: None, told: None, failed: false, pointer }, out)?;
        Ok(Outcome::Mapped)
    }
}

impl<'a> Step<'a> {
    /// When it was said, thought, or done.
    fn time(&self) -> Field<'a> {
        let said = |step: Field<'a>| Said::lenient(step?).started_at_ms();
        let done = || self.tool_call().and_then(|call| call.member("completedAtMs"));
        self.started_at_ms().or_else(|| said(self.assistant_message())).or_else(done).or_else(|| said(self.thinking_message()))
    }
}

impl Part<'_> {
    /// An image or a file beside a message: hashed by what the store holds of it.
    fn attachment(&self, role: &str, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let held = self.image().or(self.data());
        let attachment = Attachment {
            media_type: non_empty_text(self.media_type()),
            hash: held.map(|held| Hash::of_bytes(held.raw().as_bytes())),
            bytes: held.map(|held| held.raw().len() as u64),
            name: non_empty_text(self.filename()),
        };
        if role == "user" {
            out.emit(MsgIn { role: Role::User, text: None, synthetic: false, attachments: vec![attachment] }, pointer)?;
        } else {
            out.emit(Meta::System { name: Text::Plain(raw_str(self.kind())), text: attachment.name }, pointer)?;
        }
        Ok(1)
    }
}
