//! Events: what the harness showed on its screen. Most of it repeats response items; the ends of calls and turns do not.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Channel, Meta, MsgOut, Role, Usage};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde_json::value::RawValue;

use crate::kit::json::{filled_text, text};
use crate::kit::media;

use super::convert::Converter;
use super::ends::{Done, Form};
use super::history::{Fact, Side};
use super::rules;
use super::schema::{Item, Payload};
use super::settings;

/// The types of events.
pub(super) const TYPES: [&str; 17] = [
    "user_message",
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "token_count",
    "task_started",
    "task_complete",
    "turn_aborted",
    "context_compacted",
    "thread_rolled_back",
    "thread_name_updated",
    "thread_settings_applied",
    "patch_apply_end",
    "exec_command_end",
    "mcp_tool_call_end",
    "item_completed",
    "error",
];

/// The types of items.
pub(super) const ITEM_TYPES: [&str; 10] = [
    "UserMessage",
    "AgentMessage",
    "Reasoning",
    "CommandExecution",
    "FileChange",
    "McpToolCall",
    "ImageView",
    "CollabAgentToolCall",
    "SubAgentActivity",
    "ContextCompaction",
];

impl Converter {
    /// Converts one `event_msg`. `line` is the whole record.
    pub(super) fn event(&mut self, event: &Payload<'_>, line: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        match event.kind.as_ref() {
            "item_completed" => match &event.item {
                Some(item) => self.completed(item, line, out),
                None => Err(Fault::malformed("/payload/item", "an item", "nothing")),
            },
            "token_count" => self.token_count(event, out),
            "agent_message" => self.said(event.message, Fact::Answer, event, out),
            "agent_reasoning" | "agent_reasoning_raw_content" => self.said(event.text, Fact::Thought, event, out),
            "user_message" => self.user_message(event, out),
            "task_started" => Ok(rules::bookkeeping("event_msg/task_started", rules::TURN_START)),
            "task_complete" => self.turn_end(event, out),
            "turn_aborted" => {
                out.emit(Meta::Interrupt { text: text(event.reason) }, Pointer::At("/payload/reason"))?;
                Ok(Outcome::Mapped)
            }
            "context_compacted" => self.compaction_mark("event_msg/context_compacted", rules::COMPACTED, out),
            "thread_rolled_back" => self.notice("thread_rolled_back", event.num_turns.map(|n| Text::Plain(n.get())), out),
            "thread_name_updated" => self.renamed(event, out),
            "thread_settings_applied" => self.settings_applied(event, out),
            "patch_apply_end" => self.ended(&Done::of_event(event, Form::Patch), out),
            "exec_command_end" => self.ended(&Done::of_event(event, Form::Command), out),
            "mcp_tool_call_end" => self.ended(&Done::of_event(event, Form::Mcp), out),
            "error" => {
                out.emit(Meta::Error { code: None, text: text(event.message) }, Pointer::At("/payload/message"))?;
                Ok(Outcome::Mapped)
            }
            other => Err(Fault::unrecognized(&format!("event_msg/{other}"))),
        }
    }

    /// Converts one `item_completed` (0.150 and later).
    fn completed(&mut self, item: &Item<'_>, line: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        match item.kind.as_ref() {
            "CommandExecution" => self.ended(&Done::of_item(item, Form::Command), out),
            "FileChange" => self.ended(&Done::of_item(item, Form::Patch), out),
            "McpToolCall" => self.ended(&Done::of_item(item, Form::Mcp), out),
            "ImageView" => self.image_view(item, out),
            "AgentMessage" => self.item_message(item, line, "event_msg/item_completed/AgentMessage", out),
            "UserMessage" => self.item_message(item, line, "event_msg/item_completed/UserMessage", out),
            "Reasoning" => self.item_reasoning(item, out),
            "ContextCompaction" => self.compaction_mark("event_msg/item_completed/ContextCompaction", rules::ITEM_COMPACTED, out),
            "SubAgentActivity" => {
                let name = format!("SubAgentActivity.{}", text(item.activity).map(|kind| kind.decode_lossy()).unwrap_or_default());
                self.agent_notice(item, &name, text(item.agent_thread_id), out)
            }
            "CollabAgentToolCall" => {
                let name = format!("CollabAgentToolCall.{}", text(item.tool).map(|tool| tool.decode_lossy()).unwrap_or_default());
                let receiver = item.receiver_thread_ids.as_deref().unwrap_or_default().first().copied();
                self.agent_notice(item, &name, text(receiver), out)
            }
            other => Err(Fault::unrecognized(&format!("event_msg/item_completed/{other}"))),
        }
    }

    /// What happened to another agent, under the call that caused it.
    fn agent_notice(&mut self, item: &Item<'_>, name: &str, thread: Option<Text<'_>>, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.parent_of_next(text(item.id).and_then(|id| out.call(id)));
        out.emit(Meta::System { name: Text::Plain(name), text: thread }, Pointer::At("/payload/item"))?;
        Ok(Outcome::Mapped)
    }

    fn notice(&mut self, name: &str, said: Option<Text<'_>>, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.emit(Meta::System { name: Text::Plain(name), text: said }, Pointer::Root)?;
        Ok(Outcome::Mapped)
    }

    /// A message or reasoning of the agent, up to 0.142.
    fn said(&mut self, said: Option<&RawValue>, fact: Fact, event: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let (record, rule) = match (fact, event.kind.as_ref()) {
            (Fact::Answer, _) => ("event_msg/agent_message", rules::MESSAGE_TWIN),
            (_, "agent_reasoning") => ("event_msg/agent_reasoning", rules::REASONING_TWIN),
            _ => ("event_msg/agent_reasoning_raw_content", rules::REASONING_TWIN),
        };
        let Some(said) = said else {
            return Err(Fault::malformed("/payload", "a text", "nothing"));
        };
        let is_new = if fact == Fact::Answer {
            self.answer(Side::Screen, said, None, event.phase, Pointer::At("/payload/message"), out)?
        } else {
            self.thought(Side::Screen, said, None, Pointer::At("/payload/text"), out)?
        };
        Ok(if is_new { Outcome::Mapped } else { rules::duplicate(record, rule) })
    }

    /// A prompt, up to 0.142. Its text is empty when it is an image alone.
    fn user_message(&mut self, event: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let images = event.images.as_deref().unwrap_or_default();
        let new = images.iter().filter(|image| self.history.twins.is_new(Side::Screen, Fact::Image, image.get()));
        let mut attachments: Vec<Attachment<'_>> = new.filter_map(|image| media::data_url(image)).collect();
        let mut mapped = false;
        if let Some(said) = event.message.filter(|said| said.get() != "\"\"") {
            mapped = self.prompt(Side::Screen, Role::User, said, &mut attachments, Pointer::At("/payload/message"), out)?;
        }
        if !attachments.is_empty() {
            let input = engram_core::event::MsgIn { role: Role::User, text: None, synthetic: false, attachments };
            out.emit(input, Pointer::At("/payload/images"))?;
            mapped = true;
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("event_msg/user_message", rules::MESSAGE_TWIN) })
    }

    /// A message as an item. `local_image` parts name files that the response item holds.
    fn item_message(&mut self, item: &Item<'_>, line: &str, record: &'static str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut mapped = false;
        for (index, part) in item.content.as_deref().unwrap_or_default().iter().enumerate() {
            let pointer = Pointer::Field("/payload/item/content", index, "/text");
            match (part.kind.as_ref(), part.text, item.kind.as_ref()) {
                ("text" | "Text", Some(said), "AgentMessage") => {
                    mapped |= self.answer(Side::Screen, said, item.id, item.phase, pointer, out)?
                }
                ("text" | "Text", Some(said), _) => {
                    mapped |= self.prompt(Side::Screen, Role::User, said, &mut Vec::new(), pointer, out)?;
                }
                ("local_image" | "image", None, _) => {}
                _ => {
                    self.unknown_part(line, index, &part.kind, out)?;
                    mapped = true;
                }
            }
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(record, rules::MESSAGE_TWIN) })
    }

    fn item_reasoning(&mut self, item: &Item<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut mapped = false;
        for (path, parts) in [("/payload/item/summary_text", &item.summary_text), ("/payload/item/raw_content", &item.raw_content)] {
            for (index, part) in parts.as_deref().unwrap_or_default().iter().enumerate() {
                mapped |= self.thought(Side::Screen, part, item.id, Pointer::Item(path, index), out)?;
            }
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("event_msg/item_completed/Reasoning", rules::REASONING_TWIN) })
    }

    fn turn_end(&mut self, event: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = "event_msg/task_complete";
        let unsaid = event.last_agent_message.filter(|last| self.history.said.first((Fact::Answer, last.get())));
        if let Some(last) = unsaid {
            let answer = MsgOut { text: Text::of(last), channel: Some(Channel::Final), ..MsgOut::default() };
            out.emit(answer, Pointer::At("/payload/last_agent_message"))?;
        }
        if let Some(error) = &event.error {
            let code = error.codex_error_info.map(|info| Text::of(info).unwrap_or(Text::Plain(info.get())));
            out.emit(Meta::Error { code, text: text(error.message) }, Pointer::At("/payload/error"))?;
        }
        Ok(if unsaid.is_some() || event.error.is_some() {
            Outcome::Mapped
        } else if filled_text(event.last_agent_message).is_some() {
            rules::duplicate(record, rules::LAST_MESSAGE)
        } else {
            rules::bookkeeping(record, rules::TURN_END)
        })
    }

    fn compaction_mark(&mut self, record: &'static str, rule: &'static str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if self.history.unmarked_compactions > 0 {
            self.history.unmarked_compactions -= 1;
            return Ok(rules::duplicate(record, rule));
        }
        out.emit(Meta::Compaction { text: None, trigger: None }, Pointer::Root)?;
        Ok(Outcome::Mapped)
    }

    fn token_count(&mut self, event: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = "event_msg/token_count";
        let Some(last) = event.info.as_ref().and_then(|info| info.last_token_usage) else {
            return Ok(rules::bookkeeping(record, rules::NO_COUNTS));
        };
        let total = event.info.as_ref().and_then(|info| info.total_token_usage);
        if !self.counts_are_new(last, total) {
            return Ok(rules::duplicate(record, rules::SAME_COUNTS));
        }
        let usage = Usage { tokens: settings::tokens(last), ..Usage::default() };
        out.emit(Meta::Usage(usage), Pointer::At("/payload/info/last_token_usage"))?;
        Ok(Outcome::Mapped)
    }
}
