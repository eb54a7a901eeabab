//! The fields of an opened chat's lines.

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::Author;

use crate::cursor::fields::{required, time_of_millis};
use crate::cursor::readers::{ChatLine, ChatMeta, ChatRoot, ChatStep, StepText};
use crate::cursor::steps::Out;
use crate::shared::value::{Field, Value, is_true, non_empty_text};

impl<'a> ChatLine<'a> {
    /// The time of the chat, of the root, or of a step. A message has those of its parts.
    pub(super) fn time(&self) -> Field<'a> {
        let chat = || ChatMeta::lenient(self.meta()?).created_at();
        let root = || ChatRoot::lenient(self.root()?).conversation_started_timestamp_ms();
        self.step()
            .and_then(|step| ChatStep::lenient(step).time())
            .or_else(chat)
            .or_else(root)
    }

    /// True for the record of a sub-agent's chat: its prompts are the agent's that started it.
    pub(super) fn is_of_subagent(&self) -> bool {
        self.meta()
            .is_some_and(|meta| ChatMeta::lenient(meta).subagent_info().is_some())
    }

    /// The step of a line that is one.
    pub(super) fn read_step(&self) -> Result<ChatStep<'a>, Fault> {
        ChatStep::strict(
            required(self.step(), Pointer::At("/step"), "an object")?,
            "/step",
        )
    }

    /// The step of the turn graph that part `index` of a message is joined with. Empty if there is none.
    pub(super) fn step_of_part(&self, index: usize) -> Result<ChatStep<'a>, Fault> {
        match self
            .steps()
            .and_then(|steps| steps.member(&index.to_string()))
        {
            Some(step) => ChatStep::strict(step, "")
                .map_err(|fault| fault.within(Pointer::Item("/steps", index))),
            None => Ok(ChatStep::default()),
        }
    }

    /// Checks that each step belongs to a part of a message that has this many.
    pub(super) fn check_steps(&self, parts: usize) -> Result<(), Fault> {
        let is_of_part = |name: &str| name.parse::<usize>().is_ok_and(|index| index < parts);
        let mut names = self
            .steps()
            .into_iter()
            .flat_map(Value::members)
            .map(|(name, _)| name);
        match names.find(|name| !is_of_part(name)) {
            Some(name) => Err(Fault::malformed("/steps", "the numbers of parts", name)),
            None => Ok(()),
        }
    }

    /// Sets the header of the events that follow: the line's blob, and this time.
    pub(super) fn set_header(&self, time: Field<'_>, out: &mut Out<'_, '_>) {
        let time = time_of_millis(time);
        out.set_header(RecordHeader::new(
            time.as_deref(),
            non_empty_text(self.blob()),
        ));
    }
}

impl<'a> ChatStep<'a> {
    /// Who wrote a prompt, if the step says it.
    pub(super) fn prompt_by(&self) -> Option<Author> {
        let by_agent = || non_empty_text(self.sent_by_agent_id()).map(|_| Author::Agent);
        is_true(self.is_simulated_msg())
            .then_some(Author::Harness)
            .or_else(by_agent)
    }

    /// When the step was written or, for a call, completed.
    pub(super) fn time(&self) -> Field<'a> {
        let started = |text: Field<'a>| StepText::lenient(text?).started_at_ms();
        let completed = || {
            self.tool_call()
                .and_then(|call| call.member("completedAtMs"))
        };
        self.started_at_ms()
            .or_else(|| started(self.assistant_message()))
            .or_else(completed)
            .or_else(|| started(self.thinking_message()))
    }
}
