//! What really happened, known from outside of the log: the content of `truth.json`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::server::message::Reply;

/// The content of `truth.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Truth {
    /// What the person said, in order.
    pub prompts: Vec<String>,
    /// The calls that the model made.
    pub calls: Vec<MadeCall>,
    /// The results that the harness returned.
    pub results: Vec<Returned>,
    /// The files that changed.
    pub edits: Vec<Edit>,
    /// What the model server counted.
    pub usage: Vec<Counted>,
    /// The texts of the model.
    pub answers: Vec<Answer>,
    /// Ops whose tools were not offered.
    pub skipped_steps: Vec<String>,
    /// The tools that were offered in any request.
    pub tools_offered: BTreeSet<String>,
    /// Requests that were no turns.
    pub other_requests: BTreeSet<String>,
}

impl Truth {
    /// Keeps the names of offered tools.
    pub fn offered<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            if !self.tools_offered.contains(name) {
                self.tools_offered.insert(name.to_owned());
            }
        }
    }
}

/// A call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MadeCall {
    /// Its id; `None` where the API has none.
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
    /// `main`, or the conversation of a sub-agent.
    pub thread: String,
}

/// A result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Returned {
    /// The call's id.
    pub id: Option<String>,
    /// The tool, if the API repeats it.
    pub tool: Option<String>,
    /// The text, or its first 2,000 characters.
    pub text: String,
    /// The error flag.
    pub is_error: Option<bool>,
}

/// A file before and after calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Edit {
    /// The calls that were running.
    pub call_ids: Vec<Option<String>>,
    /// Where they are in [`Truth::calls`]: some have no id.
    #[serde(default)]
    pub calls: Vec<usize>,
    /// Their tools.
    pub tools: Vec<String>,
    /// The file, below the project.
    pub file: String,
    /// Its text before.
    pub before: Option<String>,
    /// Its text after.
    pub after: Option<String>,
    /// The hash of its bytes before.
    pub before_sha256: Option<String>,
    /// The hash of its bytes after.
    pub after_sha256: Option<String>,
}

/// What one answer cost.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Counted {
    /// The answer.
    pub message_id: String,
    /// The model that it named.
    pub model: String,
    /// `main`, `sub:<conversation>`, `compact` or `aux`.
    pub kind: String,
    /// True if it never ended.
    pub cut_off: bool,
    /// Input tokens without those of the cache.
    pub input: u64,
    /// Input tokens from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens, with those of reasoning.
    pub output: u64,
    /// The output tokens of reasoning, where the API says them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Counted {
    /// The counts of an answer that is not sent yet.
    pub fn new(reply: &Reply, kind: String) -> Counted {
        let usage = reply.usage;
        Counted {
            message_id: reply.id.clone(),
            model: reply.model.clone(),
            kind,
            cut_off: true,
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: (usage.reasoning > 0).then_some(usage.reasoning),
        }
    }
}

/// A text of the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// The answer that it is in.
    pub message_id: String,
    /// As in [`Counted::kind`].
    pub kind: String,
    /// `text` or `reasoning`.
    pub channel: String,
    /// The text.
    pub text: String,
}
