//! What really happened, known from outside the log, and how tapes are held against it.

pub mod chain;
pub mod edits;
pub mod facts;
pub mod reads;
mod records;
mod spans;
mod unnamed;

use serde::Deserialize;
use serde_json::Value;

pub use records::one_a_line;
pub use unnamed::named;

/// What really happened in one recording.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Truth {
    /// The prompts that were given.
    pub prompts: Vec<String>,
    /// The calls that the model made.
    pub calls: Vec<Call>,
    /// What the harness returned for them.
    pub results: Vec<Returned>,
    /// The files that changed.
    pub edits: Vec<RealEdit>,
}

/// A tool call as the model server sent it.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
    /// Whose call it was, where there are sub-agents.
    #[serde(default)]
    pub thread: Option<String>,
}

impl Call {
    /// True where the log gives the call an id. Truth has an empty one where it does not.
    pub fn has_id(&self) -> bool {
        !self.id.is_empty()
    }

    /// True for a call of the main session, as opposed to a sub-agent's.
    pub fn is_main(&self) -> bool {
        self.thread.as_deref().is_none_or(|thread| thread == "main")
    }
}

/// A tool result as the harness returned it to the model server.
#[derive(Debug, Clone, Deserialize)]
pub struct Returned {
    /// The call's id.
    pub id: String,
    /// What the model saw.
    pub text: String,
    /// What the harness said of it.
    pub is_error: Option<bool>,
}

impl RealEdit {
    /// True for a change that no call made: the user took back what calls had done.
    pub fn is_reverted(&self) -> bool {
        self.call_ids.is_empty() && self.tools.is_empty()
    }
}

/// A file before and after the calls of one model turn.
#[derive(Debug, Clone, Deserialize)]
pub struct RealEdit {
    /// The calls of the turn.
    pub call_ids: Vec<String>,
    /// The tools that they called.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The file, from the project's root.
    pub file: String,
    /// Its text before; none when there was no file or it was no UTF-8.
    pub before: Option<String>,
    /// Its text after.
    pub after: Option<String>,
    /// Tells a file that was no UTF-8 from none.
    pub before_sha256: Option<String>,
    /// As before.
    pub after_sha256: Option<String>,
}
