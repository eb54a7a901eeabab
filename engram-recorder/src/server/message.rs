//! A request and an answer as all four APIs have them in common.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tools::{Call, Form, Offered};

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Anthropic's messages.
    AnthropicMessages,
    /// OpenAI's responses.
    OpenaiResponses,
    /// OpenAI's chat completions.
    OpenaiChat,
    /// Gemini's generateContent.
    GeminiGenerate,
}

/// A request of the harness.
#[derive(Debug, Clone)]
pub struct Request {
    /// The API.
    pub dialect: Dialect,
    /// The model that is asked for.
    pub model: String,
    /// True if the answer is to be streamed.
    pub stream: bool,
    /// How many messages the history has.
    pub messages: usize,
    /// The tools that the model may call.
    pub tools: Vec<Offered>,
    /// The system prompt.
    pub system: String,
    /// The texts of a user, in order.
    pub users: Vec<String>,
    /// The text of the last message of a user.
    pub last: String,
    /// The results of calls that came with the last messages.
    pub results: Vec<ToolResult>,
    /// The schema that the answer must have, if it must have one.
    pub schema: Option<Value>,
    /// True if the API itself says that this request compacts the history.
    pub compacts: bool,
}

/// A result of a call, as the harness returned it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call's id.
    pub id: Option<String>,
    /// The tool, if the API repeats it.
    pub tool: Option<String>,
    /// The text that the model sees.
    pub text: String,
    /// The error flag, if the harness set one.
    pub is_error: Option<bool>,
}

/// One part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text, and its phase if the API has one.
    Say(String, Option<String>),
    /// Reasoning.
    Think(String),
    /// Reasoning that only the provider can read.
    Redacted(String),
    /// A call and its id.
    Call(String, Call),
    /// An item in the spelling of the API.
    Item(Value),
}

/// What the answer cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens without those of the cache.
    pub input: u64,
    /// Input tokens from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens, with those of reasoning.
    pub output: u64,
    /// The output tokens of reasoning.
    pub reasoning: u64,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Its id.
    pub id: String,
    /// The model that it names.
    pub model: String,
    /// Its parts.
    pub blocks: Vec<Block>,
    /// What it cost.
    pub usage: Usage,
    /// Why it stopped, if the scenario says so.
    pub stop: Option<String>,
    /// How it ends.
    pub ending: Ending,
    /// How long the server waits before it answers.
    pub delay: Duration,
    /// How long it waits before each piece of text.
    pub pace: Duration,
    /// After which part it stalls, and for how long.
    pub stall: Option<(usize, Duration)>,
}

/// How an answer ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// As it should.
    Whole,
    /// The connection is cut after the last part.
    Cut,
    /// The stream ends with an error.
    Fails(String),
    /// There is no answer, but an error of the API.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The type of the error.
        kind: String,
        /// The message.
        message: String,
        /// Headers.
        headers: Vec<(String, String)>,
    },
}

impl Reply {
    /// True if it has a call.
    pub fn calls(&self) -> bool {
        self.blocks
            .iter()
            .any(|block| matches!(block, Block::Call(..)))
    }

    /// Its texts, together.
    pub fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| {
                if let Block::Say(text, _) = block {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect()
    }
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// How long the server waits before it.
    pub wait: Duration,
    /// Its text.
    pub text: String,
}

/// Builds a stream of events.
#[derive(Debug, Default)]
pub struct Pieces {
    /// The pieces so far.
    pub list: Vec<Piece>,
    wait: Duration,
}

impl Pieces {
    /// Adds an event with a name.
    pub fn event(&mut self, name: &str, data: &Value) {
        self.push(format!("event: {name}\ndata: {data}\n\n"));
    }

    /// Adds an event without a name.
    pub fn data(&mut self, data: &Value) {
        self.push(format!("data: {data}\n\n"));
    }

    /// Adds text.
    pub fn push(&mut self, text: String) {
        self.list.push(Piece {
            wait: std::mem::take(&mut self.wait),
            text,
        });
    }

    /// Waits before the next piece.
    pub fn wait(&mut self, wait: Duration) {
        self.wait += wait;
    }

    /// Waits if the answer stalls after this part.
    pub fn after(&mut self, reply: &Reply, at: usize) {
        if let Some((_, wait)) = reply.stall.filter(|(stalled, _)| *stalled == at) {
            self.wait(wait);
        }
    }
}

/// Cuts a text into at most three parts of nearly the same length.
pub fn thirds(text: &str) -> Vec<&str> {
    let size = text.chars().count() / 3 + 1;
    let mut cuts: Vec<usize> = text
        .char_indices()
        .step_by(size)
        .map(|(at, _)| at)
        .collect();
    cuts.push(text.len());
    cuts.windows(2)
        .map(|pair| &text[pair[0]..pair[1]])
        .collect()
}

/// A member that is text; empty if there is none.
pub fn text_at<'v>(value: &'v Value, member: &str) -> &'v str {
    value
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The items of a member; empty if it is no list.
pub fn list_at<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value
        .get(member)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The texts of a message: its `content` or `parts` is a text or a list of parts with `text`.
pub fn texts(message: &Value) -> Vec<String> {
    let content = message
        .get("content")
        .or_else(|| message.get("parts"))
        .unwrap_or(&Value::Null);
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| Some(part.get("text")?.as_str()?.to_owned()))
            .collect(),
        _ => Vec::new(),
    }
}

/// A tool with the properties of its schema.
pub fn function(name: &str, schema: &Value) -> Offered {
    let properties: Map<String, Value> = schema
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    Offered {
        name: name.to_owned(),
        namespace: None,
        form: Form::Function,
        properties,
        required: list_at(schema, "required")
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_are_the_whole_text() {
        for text in ["", "a", "abc", "héllo wörld 😀", "0123456789"] {
            let parts = thirds(text);
            assert_eq!(parts.concat(), text);
            assert!(parts.len() <= 3, "{parts:?}");
        }
    }
}
