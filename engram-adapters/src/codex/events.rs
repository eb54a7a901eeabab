//! Events: what the harness showed on its screen. Most of it repeats response items; the ends of calls and turns do not.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Channel, Meta, MsgIn, MsgOut, Role, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};

use super::convert::Converter;
use super::ends::{Done, Form};
use super::history::{Fact, Side};
use super::notices::{Assessment, MadeImage, Review, Searched, cited};
use super::rules;
use super::schema::{AgentActivity, ClientCall, ImageView, Notice, Part, Spoken, TokenInfo, TurnEnd, TurnError, elements};
use super::settings;

impl Converter {
    /// Converts one `event_msg`, which happened at `t`.
    pub(super) fn event(
        &mut self,
        kind: &str,
        item: Field<'_>,
        event: Value<'_>,
        t: Option<&str>,
        out: &mut Emitter,
    ) -> Result<Outcome, Fault> {
        match kind {
            "item_completed" => match item {
                Some(item) if item.is_object() => self.completed(item, t, out),
                _ => Err(Fault::malformed("/payload/item", "an item", "nothing")),
            },
            "token_count" => self.token_count(event.first("info"), out),
            "agent_message" => self.said(Fact::Answer, "event_msg/agent_message", &Notice::strict(event, "/payload")?, out),
            "agent_reasoning" => self.said(Fact::Thought, "event_msg/agent_reasoning", &Notice::strict(event, "/payload")?, out),
            "agent_reasoning_raw_content" => {
                self.said(Fact::Thought, "event_msg/agent_reasoning_raw_content", &Notice::strict(event, "/payload")?, out)
            }
            "user_message" => self.user_message(&Notice::strict(event, "/payload")?, out),
            "task_started" => Ok(rules::bookkeeping("event_msg/task_started", rules::TURN_START)),
            "task_complete" => self.turn_end(&TurnEnd::strict(event, "/payload")?, out),
            "turn_aborted" => {
                out.emit(Meta::Interrupt { text: text(Notice::strict(event, "/payload")?.reason()) }, Pointer::At("/payload/reason"))?;
                Ok(Outcome::Mapped)
            }
            "context_compacted" => self.compaction_mark("event_msg/context_compacted", rules::COMPACTED, out),
            "thread_rolled_back" => {
                let turns = Notice::strict(event, "/payload")?.num_turns().map(|turns| Text::Plain(turns.raw()));
                out.emit(Meta::System { name: Text::Plain("thread_rolled_back"), text: turns }, Pointer::Root)?;
                Ok(Outcome::Mapped)
            }
            "thread_name_updated" => self.renamed(&Notice::strict(event, "/payload")?, out),
            "thread_settings_applied" => self.settings_applied(&Notice::strict(event, "/payload")?, out),
            "patch_apply_end" => self.ended(&Done::of_event(event, Form::Patch)?, t, out),
            "exec_command_end" => self.ended(&Done::of_event(event, Form::Command)?, t, out),
            "mcp_tool_call_end" => self.ended(&Done::of_event(event, Form::Mcp)?, t, out),
            "web_search_end" => self.searched(&Searched::strict(event, "/payload")?, "/payload", out),
            "image_generation_end" => self.image_made("event_msg/image_generation_end", &MadeImage::strict(event, "/payload")?, out),
            "guardian_assessment" => self.assessment(&Assessment::strict(event, "/payload")?, out),
            "entered_review_mode" => self.review_entered(&Review::strict(event, "/payload")?, out),
            "exited_review_mode" => {
                out.emit(Meta::System { name: Text::Plain("exited_review_mode"), text: None }, Pointer::At("/payload"))?;
                Ok(Outcome::Mapped)
            }
            "sub_agent_activity"
            | "collab_agent_spawn_end"
            | "collab_agent_interaction_end"
            | "collab_waiting_end"
            | "collab_close_end"
            | "collab_resume_end" => self.agent_event(kind, &AgentActivity::strict(event, "/payload")?, out),
            "dynamic_tool_call_request" => self.client_call(&ClientCall::strict(event, "/payload")?, out),
            "dynamic_tool_call_response" => self.ended(&Done::of_event(event, Form::Dynamic)?, t, out),
            "view_image_tool_call" => self.image_view(&ImageView::strict(event, "/payload")?, "/payload", out),
            "thread_goal_updated" => {
                let goal = event.first("goal");
                let name = format!("thread_goal.{}", raw_str(goal.and_then(|goal| goal.first("status"))));
                let objective = text(goal.and_then(|goal| goal.first("objective")));
                out.emit(Meta::System { name: Text::Plain(&name), text: objective }, Pointer::At("/payload/goal"))?;
                Ok(Outcome::Mapped)
            }
            "undo_completed" => {
                let message = text(Notice::strict(event, "/payload")?.message());
                out.emit(Meta::System { name: Text::Plain(kind), text: message }, Pointer::At("/payload/message"))?;
                Ok(Outcome::Mapped)
            }
            "error" => {
                let message = text(Notice::strict(event, "/payload")?.message());
                let code = event.first("codex_error_info").map(|info| info.text().unwrap_or(Text::Plain(info.raw())));
                out.emit(Meta::Error { code, text: message }, Pointer::At("/payload/message"))?;
                Ok(Outcome::Mapped)
            }
            other => Err(Fault::unrecognized(&format!("event_msg/{other}"))),
        }
    }

    /// Converts one `item_completed` (0.150 and later).
    fn completed(&mut self, item: Value<'_>, t: Option<&str>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let at = "/payload/item";
        match raw_str(item.first("type")) {
            "CommandExecution" => self.ended(&Done::of_item(item, Form::Command)?, t, out),
            "FileChange" => self.ended(&Done::of_item(item, Form::Patch)?, t, out),
            "McpToolCall" => self.ended(&Done::of_item(item, Form::Mcp)?, t, out),
            "ImageView" => self.image_view(&ImageView::strict(item, at)?, at, out),
            "AgentMessage" => self.item_message(true, &Spoken::strict(item, at)?, out),
            "UserMessage" => self.item_message(false, &Spoken::strict(item, at)?, out),
            "Reasoning" => self.item_reasoning(&Spoken::strict(item, at)?, out),
            "ContextCompaction" => self.compaction_mark("event_msg/item_completed/ContextCompaction", rules::ITEM_COMPACTED, out),
            "SubAgentActivity" => {
                let activity = AgentActivity::strict(item, at)?;
                let name = format!("SubAgentActivity.{}", raw_str(activity.kind()));
                self.agent_notice(activity.id(), &name, text(activity.agent_thread_id()), at, out)
            }
            "CollabAgentToolCall" => {
                let activity = AgentActivity::strict(item, at)?;
                let name = format!("CollabAgentToolCall.{}", raw_str(activity.tool()));
                self.agent_notice(activity.id(), &name, text(elements(activity.receiver_thread_ids()).next()), at, out)
            }
            "Plan" => Ok(rules::duplicate("event_msg/item_completed/Plan", rules::PLAN)),
            other => Err(Fault::unrecognized(&format!("event_msg/item_completed/{other}"))),
        }
    }

    /// What happened to another agent, under the call that caused it.
    pub(super) fn agent_notice(
        &mut self,
        call_id: Field<'_>,
        name: &str,
        thread: Option<Text<'_>>,
        at: &str,
        out: &mut Emitter,
    ) -> Result<Outcome, Fault> {
        out.parent_of_next(text(call_id).and_then(|id| out.seq_of_call(id)));
        out.emit(Meta::System { name: Text::Plain(name), text: thread }, Pointer::At(at))?;
        Ok(Outcome::Mapped)
    }

    /// A message or reasoning of the agent, up to 0.142.
    fn said(&mut self, fact: Fact, record: &'static str, event: &Notice<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(said) = event.message().or(event.text()) else {
            return Err(Fault::malformed("/payload", "a text", "nothing"));
        };
        let (is_new, rule) = match fact {
            Fact::Answer => {
                let is_new = self.answer(Side::Screen, said, None, event.phase(), Pointer::At("/payload/message"), out)?;
                if let Some(citation) = event.memory_citation().filter(|_| is_new) {
                    cited(citation, out)?;
                }
                (is_new, rules::MESSAGE_TWIN)
            }
            _ => (self.thought(Side::Screen, said, None, Pointer::At("/payload/text"), out)?, rules::REASONING_TWIN),
        };
        Ok(if is_new { Outcome::Mapped } else { rules::duplicate(record, rule) })
    }

    /// A prompt, up to 0.142. Its text is empty when it is an image alone.
    fn user_message(&mut self, event: &Notice<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let new = elements(event.images()).filter(|image| self.history.twins.is_new(Side::Screen, Fact::Image, image.raw()));
        let mut attachments: Vec<Attachment<'_>> = new.filter_map(media::data_url).collect();
        let mut mapped = false;
        if let Some(said) = event.message().filter(|said| said.raw().len() > 2) {
            mapped = self.prompt(Side::Screen, Role::User, said, &mut attachments, Pointer::At("/payload/message"), out)?;
        }
        if !attachments.is_empty() {
            out.emit(MsgIn { role: Role::User, text: None, synthetic: false, attachments }, Pointer::At("/payload/images"))?;
            mapped = true;
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("event_msg/user_message", rules::MESSAGE_TWIN) })
    }

    /// A message as an item. `local_image` parts name files that the response item holds.
    fn item_message(&mut self, is_answer: bool, item: &Spoken<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let path = "/payload/item/content";
        let mut mapped = false;
        for (index, value) in elements(item.content()).enumerate() {
            let part = Part::strict(value, path)?;
            let pointer = Pointer::Field(path, index, "/text");
            match (raw_str(part.kind()), part.text()) {
                ("text" | "Text", Some(said)) if is_answer => {
                    mapped |= self.answer(Side::Screen, said, item.id(), item.phase(), pointer, out)?;
                }
                ("text" | "Text", Some(said)) => {
                    mapped |= self.prompt(Side::Screen, Role::User, said, &mut Vec::new(), pointer, out)?;
                }
                ("local_image" | "image", None) => {}
                (kind, _) => {
                    out.unrecognized_block(kind, value.raw(), Pointer::Item(path, index))?;
                    mapped = true;
                }
            }
        }
        let record = if is_answer { "event_msg/item_completed/AgentMessage" } else { "event_msg/item_completed/UserMessage" };
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(record, rules::MESSAGE_TWIN) })
    }

    fn item_reasoning(&mut self, item: &Spoken<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut mapped = false;
        for (path, parts) in [("/payload/item/summary_text", item.summary_text()), ("/payload/item/raw_content", item.raw_content())] {
            for (index, part) in elements(parts).enumerate() {
                mapped |= self.thought(Side::Screen, part, item.id(), Pointer::Item(path, index), out)?;
            }
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate("event_msg/item_completed/Reasoning", rules::REASONING_TWIN) })
    }

    fn turn_end(&mut self, end: &TurnEnd<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = "event_msg/task_complete";
        let unsaid = end.last_agent_message().filter(|last| self.history.said.first((Fact::Answer, last.raw())));
        if let Some(last) = unsaid {
            let answer = MsgOut { text: last.text(), channel: Some(Channel::Final), ..MsgOut::default() };
            out.emit(answer, Pointer::At("/payload/last_agent_message"))?;
        }
        if let Some(error) = end.error() {
            let error = TurnError::strict(error, "/payload/error")?;
            let code = error.info().map(|info| info.text().unwrap_or(Text::Plain(info.raw())));
            out.emit(Meta::Error { code, text: text(error.message()) }, Pointer::At("/payload/error"))?;
        }
        Ok(if unsaid.is_some() || end.error().is_some() {
            Outcome::Mapped
        } else if non_empty_text(end.last_agent_message()).is_some() {
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

    fn token_count(&mut self, info: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = "event_msg/token_count";
        let Some(info) = info.map(|info| TokenInfo::strict(info, "/payload/info")).transpose()? else {
            return Ok(rules::bookkeeping(record, rules::NO_COUNTS));
        };
        let Some(last) = info.last() else {
            return Ok(rules::bookkeeping(record, rules::NO_COUNTS));
        };
        if !self.counts_are_new(last, info.total()) {
            return Ok(rules::duplicate(record, rules::SAME_COUNTS));
        }
        let usage = Usage { tokens: settings::tokens(last, "/payload/info/last_token_usage")?, ..Usage::default() };
        out.emit(Meta::Usage(usage), Pointer::At("/payload/info/last_token_usage"))?;
        Ok(Outcome::Mapped)
    }
}
