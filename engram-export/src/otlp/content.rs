//! Texts of messages, arguments and results, cut at the limit of an attribute.

use engram_core::event::*;
use engram_core::text::{Text, canonical_json, replace_lone_surrogates};
use serde_json::{Value, json};

use super::options::{Content, Options};
use super::rules::CUT;
use crate::losses::{Losses, Rule};
use crate::text::owned;

/// Cuts texts, and remembers whether one was cut.
pub(super) struct Cutter<'l> {
    options: Options,
    losses: &'l mut Losses,
    was_cut: bool,
}

impl<'l> Cutter<'l> {
    pub(super) fn new(options: Options, losses: &'l mut Losses) -> Self {
        Cutter {
            options,
            losses,
            was_cut: false,
        }
    }

    /// True if a text was cut since the last call.
    pub(super) fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.was_cut)
    }

    /// Counts a rule that applied so often.
    pub(super) fn count(&mut self, rule: &Rule, count: u64) {
        self.losses.count_many(rule, count);
    }

    /// A part of a message of the model.
    pub(super) fn said(&mut self, message: &MsgOut<'_>) -> Option<Value> {
        let kind = if message.channel == Some(Channel::Reasoning) {
            "reasoning"
        } else {
            "text"
        };
        Some(json!({ "type": kind, "content": self.message(message.text)? }))
    }

    /// A message to the model.
    pub(super) fn heard(&mut self, message: &MsgIn<'_>) -> Option<Value> {
        let role = if message.role == Role::User {
            "user"
        } else {
            "system"
        };
        let text = self.message(message.text)?;
        Some(json!({ "role": role, "parts": [{ "type": "text", "content": text }] }))
    }

    /// A call, as a part of a message of the model.
    pub(super) fn call(&mut self, call: &ToolCall<'_>) -> Option<Value> {
        let arguments = self.arguments(call)?;
        let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
        let id = call.call_id.map(owned);
        Some(
            json!({ "type": "tool_call", "id": id, "name": owned(call.tool), "arguments": arguments }),
        )
    }

    /// A result, as a message to the model.
    pub(super) fn result_message(&mut self, result: &ToolResult<'_>) -> Option<Value> {
        let response = self.result(result)?;
        let id = result.call_id.map(owned);
        Some(
            json!({ "role": "tool", "parts": [{ "type": "tool_call_response", "id": id, "response": response }] }),
        )
    }

    /// The arguments of a call.
    pub(super) fn arguments(&mut self, call: &ToolCall<'_>) -> Option<String> {
        let args = call.args?;
        (self.options.content == Content::All)
            .then(|| self.cut(replace_lone_surrogates(&canonical_json(args)).into_owned()))
    }

    /// The outputs of a call.
    pub(super) fn result(&mut self, result: &ToolResult<'_>) -> Option<String> {
        let outputs: Vec<String> = [result.stdout, result.stderr]
            .into_iter()
            .flatten()
            .map(owned)
            .collect();
        (self.options.content == Content::All && !outputs.is_empty())
            .then(|| self.cut(outputs.join("\n")))
    }

    fn message(&mut self, text: Option<Text<'_>>) -> Option<String> {
        let text = text?;
        (self.options.content != Content::None).then(|| self.cut(owned(text)))
    }

    fn cut(&mut self, mut text: String) -> String {
        if text.len() > self.options.max_attribute_bytes {
            text.truncate(text.floor_char_boundary(self.options.max_attribute_bytes));
            self.losses.count(&CUT);
            self.was_cut = true;
        }
        text
    }
}

impl Content {
    /// True for an event whose text is left out.
    pub(super) fn leaves_out(self, event: &Event<'_>) -> bool {
        match event {
            Event::MsgIn(message) => self == Content::None && message.text.is_some(),
            Event::MsgOut(message) => self == Content::None && message.text.is_some(),
            Event::ToolCall(call) => self != Content::All && call.args.is_some(),
            Event::ToolResult(result) => {
                self != Content::All && (result.stdout.is_some() || result.stderr.is_some())
            }
            _ => false,
        }
    }
}
