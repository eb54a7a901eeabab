//! `meta` events: facts about the session, tokens and cost, decisions, implicit input.

use super::lifecycle::{RevisionChange, TapeStart, TapeStop, Unrecognized};
use crate::hash::Hash;
use crate::text::Text;

/// The labels of `meta`. [`Emitter`](crate::emit::Emitter) itself emits `tape.start`, `revision`, `unrecognized` and `tape.stop`; an
/// adapter emits the others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Meta<'a> {
    /// The first event.
    TapeStart(Box<TapeStart<'a>>),
    /// The version changes inside the artifact.
    Revision(Box<RevisionChange<'a>>),
    /// A record or block that the adapter does not know or cannot read.
    Unrecognized(Unrecognized<'a>),
    /// The last event.
    TapeStop(Box<TapeStop>),
    /// A label that this version does not know. Only a reader gives it, without its members.
    Other(&'a str),
    /// Facts about the session.
    Session(SessionFacts<'a>),
    /// Tokens and cost.
    Usage(Usage<'a>),
    /// The summary that replaced earlier messages.
    Compaction {
        /// The summary.
        text: Option<Text<'a>>,
        /// The cause (`manual`, `auto`, ...).
        trigger: Option<Text<'a>>,
    },
    /// An error that the harness recorded.
    Error {
        /// The harness's own code.
        code: Option<Text<'a>>,
        /// The message.
        text: Option<Text<'a>>,
    },
    /// The user or the harness stopped the turn.
    Interrupt {
        /// The text of the source about it.
        text: Option<Text<'a>>,
    },
    /// A decision about a tool call.
    Permission(Permission<'a>),
    /// Input of the model that is not part of the conversation.
    Context(ImplicitInput<'a>),
    /// Any other notice.
    System {
        /// The notice's name in the source.
        name: Text<'a>,
        /// Its text.
        text: Option<Text<'a>>,
    },
}

/// Facts about the session that the source states at this point.
#[derive(Debug, Clone, Default)]
pub struct SessionFacts<'a> {
    /// Model identifier.
    pub model: Option<Text<'a>>,
    /// Model provider.
    pub provider: Option<Text<'a>>,
    /// Commit of the repository.
    pub repo_head: Option<Text<'a>>,
    /// Branch of the repository.
    pub repo_branch: Option<Text<'a>>,
    /// Remote of the repository.
    pub repo_url: Option<Text<'a>>,
    /// Working directory.
    pub cwd: Option<Text<'a>>,
    /// Title of the session.
    pub title: Option<Text<'a>>,
    /// The session that started this one.
    pub parent_session_id: Option<Text<'a>>,
    /// The call that started this one.
    pub parent_call_id: Option<Text<'a>>,
    /// The session that this one is a fork of.
    pub fork_of: Option<Text<'a>>,
    /// Name of the agent or mode.
    pub agent: Option<Text<'a>>,
}

/// A number as written in the source (`1.0`, `1e3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a>(&'a str);

impl<'a> Number<'a> {
    /// The number in a raw JSON value, if it is a number.
    pub fn of(raw: &'a serde_json::value::RawValue) -> Option<Number<'a>> {
        Number::of_str(raw.get())
    }

    /// As [`Number::of`], for a raw slice that a JSON parser has accepted.
    pub fn of_str(text: &'a str) -> Option<Number<'a>> {
        matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9')).then_some(Number(text))
    }

    /// The number as written in the source.
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

/// Tokens of one request, as the source counts them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokens<'a> {
    /// Input tokens.
    pub input: Option<Number<'a>>,
    /// Output tokens.
    pub output: Option<Number<'a>>,
    /// Input tokens read from a cache.
    pub cache_read: Option<Number<'a>>,
    /// Input tokens written to a cache.
    pub cache_write: Option<Number<'a>>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<Number<'a>>,
    /// The source's own total.
    pub total: Option<Number<'a>>,
}

/// Tokens and cost of one request or session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage<'a> {
    /// Model identifier.
    pub model: Option<Text<'a>>,
    /// Tokens.
    pub tokens: Tokens<'a>,
    /// Cost in US dollars, as written in the source.
    pub cost_usd: Option<Number<'a>>,
}

/// The decision about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow,
    /// It may not run.
    Deny,
    /// The user is asked.
    Ask,
}

impl Decision {
    /// Every decision. `decision as usize` is its index here.
    pub const ALL: [Decision; 3] = [Decision::Allow, Decision::Deny, Decision::Ask];

    /// The name in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Deny => "deny",
            Decision::Ask => "ask",
        }
    }
}

/// A decision about a tool call.
#[derive(Debug, Clone)]
pub struct Permission<'a> {
    /// The decision.
    pub decision: Decision,
    /// The name of the tool in the source.
    pub tool: Option<Text<'a>>,
    /// The call that was decided about.
    pub call_id: Option<Text<'a>>,
    /// The reason.
    pub text: Option<Text<'a>>,
}

/// Input of the model that is not part of the conversation.
#[derive(Debug, Clone)]
pub struct ImplicitInput<'a> {
    /// `system_prompt`, `tools`, `instructions`, `environment`, `hook`, or the name in the source.
    pub name: Text<'a>,
    /// The file it came from.
    pub file: Option<Text<'a>>,
    /// Hash of its content.
    pub hash: Option<Hash>,
    /// Bytes of its content.
    pub bytes: Option<u64>,
    /// Its text, if a person wrote it or it is short.
    pub text: Option<Text<'a>>,
}
