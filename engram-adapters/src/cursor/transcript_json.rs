//! The older transcript: one JSON document of messages, with reasoning apart and results that are names only.

use engram_core::adapter::{Context, Session};
use engram_core::emit::{Emitter, Fault};
use engram_core::event::ToolResult;
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::transcript::{Parent, answer, call, prompt, reasoning, said, turn_ended};
use super::word;
use crate::kit::json::{self, Raw, filled_text, text};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow, rename = "turnEnded")]
    turn_ended: Raw<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow, default, rename = "toolCalls")]
    tool_calls: Vec<Call<'a>>,
    #[serde(borrow, rename = "toolResult")]
    tool_result: Option<Returned<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, rename = "toolName")]
    tool_name: Raw<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
}

#[derive(Deserialize)]
struct Returned<'a> {
    #[serde(borrow, rename = "toolName")]
    tool_name: Raw<'a>,
}

#[derive(Deserialize)]
struct TurnEnded<'a> {
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// Converts one document.
pub(super) struct Converter {
    parent: Parent,
    waiting: Waiting,
}

impl Converter {
    pub(super) fn new(context: &Context) -> Self {
        Converter { parent: Parent::new(context), waiting: Waiting::default() }
    }

    fn message(&mut self, index: usize, raw: &RawValue, out: &mut Emitter) -> Result<Outcome, Fault> {
        let message: Message<'_> = json::read(raw, "/messages", "a message")?;
        match word(message.role) {
            "user" => said(prompt(text(message.text), None, Pointer::Field("/messages", index, "/text"), out)?),
            "assistant" => self.assistant(index, &message, out),
            "tool" => {
                let tool = message.tool_result.as_ref().and_then(|result| filled_text(result.tool_name));
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
        let mut events = text(message.thinking).map_or(Ok(0), |thought| reasoning(thought, thinking, out))?;
        events += answer(text(message.text), Pointer::Field("/messages", index, "/text"), out)?;
        for (nth, asked) in message.tool_calls.iter().enumerate() {
            let rest = format!("/toolCalls/{nth}");
            let seq = call(asked.tool_name, asked.args, Pointer::Field("/messages", index, &rest), out)?;
            if let Some(tool) = text(asked.tool_name) {
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
        let document: Document<'_> = serde_json::from_str(text)?;
        out.begin();
        self.parent.state(out)?;
        for (index, raw) in document.messages.iter().enumerate() {
            out.begin();
            match self.message(index, raw, out) {
                Ok(outcome) => out.settle(outcome),
                Err(fault) => out.settle_fault(fault, raw.get())?,
            }
        }
        if let Some(raw) = document.turn_ended {
            out.begin();
            let ended: TurnEnded<'_> = json::read(raw, "/turnEnded", "the end of a turn")?;
            let outcome = turn_ended(word(ended.status), ended.error, Pointer::At("/turnEnded"), out)?;
            out.settle(outcome);
        }
        Ok(())
    }
}

/// Calls that wait for a result, which names its tool and nothing else.
#[derive(Default)]
pub(super) struct Waiting {
    calls: Vec<(String, u64)>,
}

/// The most calls that are held.
const MAX_WAITING: usize = 256;

impl Waiting {
    pub(super) fn call(&mut self, tool: &str, seq: u64) {
        if self.calls.len() < MAX_WAITING {
            self.calls.push((tool.to_owned(), seq));
        }
    }

    /// The one call that a result of this tool can answer, or none when there are several.
    pub(super) fn answer(&mut self, tool: &str) -> Option<u64> {
        let at = self.calls.iter().position(|(name, _)| name == tool)?;
        let alone = self.calls.iter().filter(|(name, _)| name == tool).count() == 1;
        let (_, seq) = self.calls.remove(at);
        alone.then_some(seq)
    }
}
