//! The older transcript: one JSON document of messages, with reasoning apart and results that are names only.

use engram_core::adapter::{Session, SideInfo};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Seq, ToolResult};
use engram_core::ledger::Outcome;

use super::transcript::{Parent, answer, call, prompt, reasoning, said, turn_ended};
use crate::shared::document::{required_array, without_member};
use crate::shared::value::{StructuralIndex, Value, non_empty_text, parse, raw_str, text};
use crate::shared::view::view;

/// The document's list.
pub(super) const MESSAGES: &str = "messages";

view! {
    /// What is beside the document's list.
    Document {
        turn_ended: "turnEnded" Object,
    }
}

view! {
    /// A message of any role: a prompt, an answer with its calls, or the name of a tool that returned.
    Message {
        role: "role" Any,
        text: "text" Any,
        thinking: "thinking" Any,
        tool_calls: "toolCalls" Array,
        tool_result: "toolResult" Object,
    }
}

view! {
    /// A call. Its arguments are text in the transcripts that were text.
    Call {
        tool_name: "toolName" Any,
        args: "args" Any,
    }
}

/// Converts one document.
pub(super) struct Converter {
    parent: Parent,
    waiting: Waiting,
}

impl Converter {
    pub(super) fn new(context: &SideInfo) -> Self {
        Converter { parent: Parent::new(context), waiting: Waiting::default() }
    }

    fn message(&mut self, index: usize, value: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let message = Message::strict(value, "/messages")?;
        match raw_str(message.role()) {
            "user" => said(prompt(text(message.text()), None, Pointer::Field("/messages", index, "/text"), out)?),
            "assistant" => self.assistant(index, &message, out),
            "tool" => {
                let tool = message.tool_result().and_then(|result| non_empty_text(result.member("toolName")));
                let result = ToolResult { tool, ..ToolResult::default() };
                out.parent_of_next(tool.and_then(|tool| self.waiting.answer(&tool.decode_lossy())));
                out.emit(result, Pointer::Field("/messages", index, "/toolResult"))?;
                Ok(Outcome::Mapped)
            }
            role => Err(Fault::unrecognized(role)),
        }
    }

    fn assistant(&mut self, index: usize, message: &Message<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let thinking = Pointer::Field("/messages", index, "/thinking");
        let mut events = text(message.thinking()).map_or(Ok(0), |thought| reasoning(thought, thinking, out))?;
        events += answer(text(message.text()), Pointer::Field("/messages", index, "/text"), out)?;
        for (nth, asked) in message.tool_calls().into_iter().flat_map(Value::elements).enumerate() {
            let asked = Call::strict(asked, "/messages")?;
            let rest = format!("/toolCalls/{nth}");
            let seq = call(asked.tool_name(), asked.args(), Pointer::Field("/messages", index, &rest), out)?;
            if let Some(tool) = text(asked.tool_name()) {
                self.waiting.call(&tool.decode_lossy(), seq);
            }
            events += 1;
        }
        said(events)
    }
}

impl Session for Converter {
    fn record(&mut self, _text: &str, _out: &mut Emitter) -> Result<Outcome, Fault> {
        Err(Fault::malformed("", "a document", "a line"))
    }

    fn document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        let mut index = StructuralIndex::default();
        let whole = parse(text, &mut index)?;
        let messages = required_array(whole, MESSAGES)?;
        out.begin();
        self.parent.state(out)?;
        for (index, message) in messages.elements().enumerate() {
            out.begin();
            match self.message(index, message, out) {
                Ok(outcome) => out.settle(outcome),
                Err(fault) => out.settle_fault(fault, message.raw())?,
            }
        }
        if let Some(ended) = whole.member("turnEnded") {
            out.begin();
            match Document::strict(whole, "").and_then(|_| end_of_turn(ended, out)) {
                Ok(outcome) => out.settle(outcome),
                Err(fault) => out.settle_fault(fault, &without_member(whole, MESSAGES))?,
            }
        }
        Ok(())
    }
}

fn end_of_turn(ended: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    turn_ended(raw_str(ended.member("status")), ended.member("error"), Pointer::At("/turnEnded"), out)
}

/// Calls that wait for a result, which names its tool and nothing else.
#[derive(Default)]
pub(super) struct Waiting {
    calls: Vec<(String, Seq)>,
}

/// The most calls that are held.
const MAX_WAITING: usize = 256;

impl Waiting {
    pub(super) fn call(&mut self, tool: &str, seq: Seq) {
        if self.calls.len() < MAX_WAITING {
            self.calls.push((tool.to_owned(), seq));
        }
    }

    /// The one call that a result of this tool can answer, or none when there are several.
    pub(super) fn answer(&mut self, tool: &str) -> Option<Seq> {
        let at = self.calls.iter().position(|(name, _)| name == tool)?;
        let alone = self.calls.iter().filter(|(name, _)| name == tool).count() == 1;
        let (_, seq) = self.calls.remove(at);
        alone.then_some(seq)
    }
}
