//! Opened chat stores: the messages as the model saw them, each with the steps of the turn graph that say how it went.

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Attachment, Meta, MsgIn, Role, SessionFacts, ToolCall};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::words::{CursorOptions, agent_text, system_prompt, user_text};
use crate::cursor::members::Members;
use crate::cursor::stream_calls::{Called, Calls, ToolCallBody};
use crate::cursor::transcript::{answer, prompt, reasoning, said};
use crate::cursor::{text_or_json, tools, word};
use crate::kit::json::{self, Raw, boolean, filled_text, is_object, text};
use crate::kit::time;

/// One line of the opened text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    store: Raw<'a>,
    #[serde(borrow)]
    blob: Raw<'a>,
    #[serde(borrow)]
    meta: Option<ChatMeta<'a>>,
    #[serde(borrow)]
    root: Option<Root<'a>>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    steps: Raw<'a>,
    #[serde(borrow)]
    step: Raw<'a>,
    #[serde(borrow)]
    archive: Option<Archive<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChatMeta<'a> {
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    created_at: Raw<'a>,
    #[serde(borrow)]
    mode: Raw<'a>,
    #[serde(borrow)]
    last_used_model: Raw<'a>,
    #[serde(borrow)]
    subagent_info: Option<SubagentInfo<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubagentInfo<'a> {
    #[serde(borrow)]
    parent_agent_id: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Raw<'a>,
    #[serde(borrow)]
    type_name: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Root<'a> {
    #[serde(borrow)]
    active_branch_name: Raw<'a>,
    #[serde(borrow)]
    agent_type: Raw<'a>,
    #[serde(borrow)]
    previous_workspace_uris: Raw<'a>,
    #[serde(borrow)]
    conversation_started_timestamp_ms: Raw<'a>,
}

#[derive(Deserialize)]
struct Archive<'a> {
    #[serde(borrow)]
    summary: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Raw<'a>,
    content: &'a RawValue,
    #[serde(borrow)]
    provider_options: Option<ProviderOptions<'a>>,
}

#[derive(Deserialize)]
struct ProviderOptions<'a> {
    #[serde(borrow)]
    cursor: Option<CursorOptions<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Raw<'a>,
    #[serde(borrow)]
    tool_name: Raw<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
    #[serde(borrow)]
    image: Raw<'a>,
    #[serde(borrow)]
    data: Raw<'a>,
    #[serde(borrow)]
    filename: Raw<'a>,
    #[serde(borrow)]
    media_type: Raw<'a>,
}

/// What a step of the turn graph says.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    #[serde(borrow)]
    assistant_message: Option<Said<'a>>,
    #[serde(borrow)]
    thinking_message: Option<Said<'a>>,
    #[serde(borrow)]
    tool_call: Option<ToolCallBody<'a>>,
    /// The rest is a prompt's.
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    started_at_ms: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    started_at_ms: Raw<'a>,
}

/// Where a part of a message stands, and what its message says of it.
struct Place<'a> {
    role: &'a str,
    id: Option<Text<'a>>,
    options: Option<CursorOptions<'a>>,
    pointer: Pointer<'a>,
}

/// Converts one opened chat.
#[derive(Default)]
pub(in crate::cursor) struct Converter {
    calls: Calls,
}

/// The time of a member such as `startedAtMs`, a string of digits or a number.
pub(in crate::cursor) fn millis(raw: Raw<'_>) -> Option<String> {
    time::from_millis(raw?.get().trim_matches('"').parse().ok()?)
}

impl Session for Converter {
    fn record(&mut self, record: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line: Line<'_> = json::parse(record)?;
        out.stamp(Stamp { id: filled_text(line.blob), ..Stamp::default() });
        match word(line.store) {
            "chat" => line.meta.map_or_else(|| Err(Fault::malformed("/meta", "an object", "nothing")), |meta| meta.convert(out)),
            "root" => line.root.map_or_else(|| Err(Fault::malformed("/root", "an object", "nothing")), |root| root.convert(out)),
            "message" => self.message(&line, out),
            "summary" => {
                let text = line.archive.and_then(|archive| filled_text(archive.summary));
                out.emit(Meta::Compaction { text, trigger: None }, Pointer::At("/archive/summary"))?;
                Ok(Outcome::Mapped)
            }
            "user_message" => {
                let step = line.read_step()?;
                self.stamp(&line, step.started_at_ms, out);
                said(prompt(text(step.text), filled_text(line.blob), Pointer::At("/step/text"), out)?)
            }
            "step" => self.step(&line, out),
            name @ ("shell_command" | "shell_output") => {
                out.emit(Meta::System { name: Text::Plain(name), text: text_or_json(line.step) }, Pointer::At("/step"))?;
                Ok(Outcome::Mapped)
            }
            "missing" => Err(Fault::malformed("/blob", "the id of a blob of the store", line.blob.map(RawValue::get).unwrap_or_default())),
            name => Err(Fault::unrecognized(name)),
        }
    }
}

impl<'a> Line<'a> {
    fn read_step(&self) -> Result<Step<'a>, Fault> {
        self.step.map_or_else(|| Err(Fault::malformed("/step", "an object", "nothing")), |step| json::read(step, "/step", "a step"))
    }
}

impl ChatMeta<'_> {
    fn convert(&self, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = millis(self.created_at);
        out.stamp(Stamp { t: time.as_deref(), ..Stamp::default() });
        let parent = self.subagent_info.as_ref();
        let facts = SessionFacts {
            model: filled_text(self.last_used_model),
            title: filled_text(self.name),
            parent_session_id: parent.and_then(|parent| filled_text(parent.parent_agent_id)),
            parent_call_id: parent.and_then(|parent| filled_text(parent.tool_call_id)),
            agent: parent.and_then(|parent| filled_text(parent.type_name)).or(filled_text(self.mode)),
            ..SessionFacts::default()
        };
        out.emit(Meta::Session(facts), Pointer::At("/meta"))?;
        Ok(Outcome::Mapped)
    }
}

impl Root<'_> {
    fn convert(&self, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = millis(self.conversation_started_timestamp_ms);
        out.stamp(Stamp { t: time.as_deref(), ..Stamp::default() });
        let (branch, agent) = (filled_text(self.active_branch_name), filled_text(self.agent_type));
        if branch.is_some() || agent.is_some() {
            out.emit(Meta::Session(SessionFacts { repo_branch: branch, agent, ..SessionFacts::default() }), Pointer::At("/root"))?;
        }
        if self.previous_workspace_uris.is_some() {
            let text = text_or_json(self.previous_workspace_uris);
            let pointer = Pointer::At("/root/previousWorkspaceUris");
            out.emit(Meta::System { name: Text::Plain("previousWorkspaceUris"), text }, pointer)?;
        } else if branch.is_none() && agent.is_none() {
            return Ok(Outcome::Bookkeeping { record: "root", rule: "store_root" });
        }
        Ok(Outcome::Mapped)
    }
}

impl Converter {
    fn stamp(&self, line: &Line<'_>, at: Raw<'_>, out: &mut Emitter) {
        let time = millis(at);
        out.stamp(Stamp { t: time.as_deref(), id: filled_text(line.blob), replay: false });
    }

    fn message(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(raw) = line.message.filter(|message| is_object(message)) else {
            return Err(Fault::malformed("/message", "an object", line.message.map(RawValue::get).unwrap_or_default()));
        };
        let message: Message<'_> = json::read(raw, "/message", "a message with its content")?;
        let options = message.provider_options.as_ref().and_then(|options| options.cursor);
        let role = word(message.role);
        if role == "system" {
            return system_prompt(message.content.get(), out);
        }
        let steps: Option<Members<'_>> = line.steps.and_then(|steps| serde_json::from_str(steps.get()).ok());
        let mut events = 0;
        let pieces: Vec<&RawValue> = if message.content.get().starts_with('[') {
            json::read(message.content, "/message/content", "a list of parts")?
        } else {
            vec![message.content]
        };
        for (index, piece) in pieces.iter().enumerate() {
            let step = steps.as_ref().and_then(|steps| steps.get(&index.to_string()));
            let step: Step<'_> = step.map_or(Ok(Step::default()), |step| json::read(step, "/steps", "a step"))?;
            let pointer =
                if Text::of(piece).is_some() { Pointer::At("/message/content") } else { Pointer::Item("/message/content", index) };
            let at = step.started_at_ms.or(step.assistant_message.as_ref().and_then(|said| said.started_at_ms));
            let at = at.or(step.tool_call.as_ref().and_then(|call| call.completed_at));
            let at = at.or(step.thinking_message.as_ref().and_then(|said| said.started_at_ms));
            self.stamp(line, at, out);
            let place = Place { role, id: filled_text(line.blob), options, pointer };
            events += match (Text::of(piece), role) {
                (Some(words), "user") => user_text(words, place.id, options, pointer, out)?,
                (Some(words), "assistant") => agent_text(words, options, pointer, out)?,
                _ => self.part(piece, &place, &step, out)?,
            };
        }
        said(events)
    }

    fn part(&mut self, piece: &RawValue, place: &Place<'_>, step: &Step<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let part: Part<'_> = json::read(piece, "/message/content", "a part of a message")?;
        let Place { role, id, options, pointer } = *place;
        match (word(part.kind), role) {
            ("text", "user") => text(part.text).map_or(Ok(0), |text| user_text(text, id, options, pointer, out)),
            ("text", "assistant") => text(part.text).map_or(Ok(0), |text| agent_text(text, options, pointer, out)),
            ("reasoning", "assistant") => text(part.text).map_or(Ok(0), |thought| reasoning(thought, pointer, out)),
            ("redacted-reasoning", "assistant") => reasoning(Text::Plain(""), pointer, out),
            ("image" | "file", _) => part.attachment(role, pointer, out),
            ("tool-call", "assistant") => {
                let tool = filled_text(part.tool_name).ok_or_else(|| Fault::malformed("/message/content", "the name of a tool", "none"))?;
                let kind = tools::TOOLS.kind(&tool.decode_lossy());
                let call = ToolCall { tool, kind, call_id: filled_text(part.tool_call_id), args: part.args.map(RawValue::get) };
                out.emit(call, pointer)?;
                Ok(1)
            }
            ("tool-result", "tool") => self.result(&part, step, pointer, out),
            (kind, _) => {
                out.unrecognized_block(kind, piece.get(), pointer)?;
                Ok(1)
            }
        }
    }

    /// A result: how the call ended is the turn graph's to say; without it, only what the model was told is known.
    fn result(&mut self, part: &Part<'_>, step: &Step<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let call_id = filled_text(part.tool_call_id).ok_or_else(|| Fault::malformed("/message/content", "the id of a call", "none"))?;
        let nothing = ToolCallBody::default();
        let body = step.tool_call.as_ref().unwrap_or(&nothing);
        let told = text_or_json(part.result).filter(|text| !text.is_empty());
        let failed = boolean(part.is_error) == Some(true);
        self.calls.result(&Called { call_id, body, name: filled_text(part.tool_name), told, failed, pointer }, out)?;
        Ok(1)
    }

    /// A step of the turn graph that no message says.
    fn step(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let step = line.read_step()?;
        if let Some(message) = &step.assistant_message {
            self.stamp(line, message.started_at_ms, out);
            return said(answer(text(message.text), Pointer::At("/step/assistantMessage/text"), out)?);
        }
        if let Some(thought) = &step.thinking_message {
            self.stamp(line, thought.started_at_ms, out);
            let thought = text(thought.text).unwrap_or(Text::Plain(""));
            return said(reasoning(thought, Pointer::At("/step/thinkingMessage/text"), out)?);
        }
        let Some(body) = &step.tool_call else { return Err(Fault::malformed("/step", "a message, a thought or a call", "none of them")) };
        self.stamp(line, body.started_at, out);
        let call_id = body.call_id.ok_or_else(|| Fault::malformed("/step/toolCall/toolCallId", "a string", "none"))?;
        let pointer = Pointer::At("/step/toolCall");
        if body.tool.is_none() {
            // A tool whose layout is not read: that it was called is all that is known.
            out.emit(Meta::System { name: Text::Plain("toolCall"), text: Some(call_id) }, pointer)?;
            return Ok(Outcome::Mapped);
        }
        self.calls.call_and_result(&Called { call_id, body, name: None, told: None, failed: false, pointer }, out)?;
        Ok(Outcome::Mapped)
    }
}

impl Part<'_> {
    /// An image or a file beside a message: hashed by what the store holds of it.
    fn attachment(&self, role: &str, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
        let held = self.image.or(self.data);
        let attachment = Attachment {
            media_type: filled_text(self.media_type),
            hash: held.map(|held| Hash::of_bytes(held.get().as_bytes())),
            bytes: held.map(|held| held.get().len() as u64),
            name: filled_text(self.filename),
        };
        if role == "user" {
            out.emit(MsgIn { role: Role::User, text: None, synthetic: false, attachments: vec![attachment] }, pointer)?;
        } else {
            out.emit(Meta::System { name: Text::Plain(word(self.kind)), text: attachment.name }, pointer)?;
        }
        Ok(1)
    }
}
