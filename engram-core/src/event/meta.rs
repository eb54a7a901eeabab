//! `meta` events: facts about the session, tokens and cost, decisions, implicit input.

use super::lifecycle::{RevisionChange, TapeStart, TapeStop, Unrecognized};
use super::seq::Seq;
use crate::hash::Hash;
use crate::text::Text;
use crate::words::words;

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
    /// Facts about an episode.
    Episode(EpisodeFacts<'a>),
    /// Tokens and cost.
    Usage(Usage<'a>),
    /// The person went back to an earlier point. The events between stay in the tape.
    Rewind {
        /// The last event that was not undone.
        to: Seq,
        /// True if files were restored too.
        files: bool,
    },
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

impl<'a> Meta<'a> {
    /// A notice with this name in the source, and its text.
    pub fn system(name: impl Into<Text<'a>>, text: Option<Text<'a>>) -> Self {
        let name = name.into();
        Meta::System { name, text }
    }

    /// Facts about the session that `fill` sets; all others are not said.
    pub fn session(fill: impl FnOnce(&mut SessionFacts<'a>)) -> Self {
        let mut facts = SessionFacts::default();
        fill(&mut facts);
        Meta::Session(facts)
    }

    /// An error with the harness's own code, and its message.
    pub const fn error(code: Option<Text<'a>>, text: Option<Text<'a>>) -> Self {
        Meta::Error { code, text }
    }
}

/// Facts about the session that the source says at this point.
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
    /// The harness's own word for what may run without a question (`plan`, `acceptEdits`, `never`, ...).
    pub permission_mode: Option<Text<'a>>,
    /// How much the model is to think, in the source's own word.
    pub effort: Option<Text<'a>>,
    /// Cost of the session so far in US dollars, as written in the source. A running total: do not add it up.
    pub cost_total_usd: Option<Number<'a>>,
    /// Estimated size of the context in tokens. Not a spend: do not add it up.
    pub context_tokens: Option<u64>,
}

impl SessionFacts<'_> {
    /// True if there is no fact. Such an event says nothing, so it is not emitted.
    pub fn is_empty(&self) -> bool {
        let SessionFacts {
            model,
            provider,
            repo_head,
            repo_branch,
            repo_url,
            cwd,
            title,
            parent_session_id,
            parent_call_id,
            fork_of,
            agent,
            permission_mode,
            effort,
            cost_total_usd,
            context_tokens,
        } = self;
        let texts = [
            model,
            provider,
            repo_head,
            repo_branch,
            repo_url,
            cwd,
            title,
            parent_session_id,
            parent_call_id,
            fork_of,
            agent,
            permission_mode,
            effort,
        ];
        texts.iter().all(|text| text.is_none())
            && cost_total_usd.is_none()
            && context_tokens.is_none()
    }
}

/// Facts about an episode: one run of an agent under a profile, which a driver led.
#[derive(Debug, Clone, Default)]
pub struct EpisodeFacts<'a> {
    /// The work that the episode is part of.
    pub work_id: Option<Text<'a>>,
    /// The episode.
    pub episode_id: Option<Text<'a>>,
    /// The session.
    pub session_id: Option<Text<'a>>,
    /// The hash of the profile.
    pub adapter_profile_hash: Option<Text<'a>>,
    /// The agent, by the name that the profile has.
    pub agent: Option<Text<'a>>,
    /// The agent's version.
    pub agent_version: Option<Text<'a>>,
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

/// Tokens of one response. Each has one meaning for all harnesses, so that the sum over a tape is the total of its session. An adapter
/// subtracts where the log counts in another way, and leaves out what the log does not determine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tokens {
    /// Input tokens that neither came from a cache nor went to one.
    pub input: Option<u64>,
    /// Input tokens that came from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens that went to a cache.
    pub cache_write: Option<u64>,
    /// The part of `cache_write` with the longer life of one hour.
    pub cache_write_1h: Option<u64>,
    /// Output tokens, with those of reasoning.
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
}

/// The cost of one response, once per response.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage<'a> {
    /// The provider's id of the message. The `msg.out` and `tool.call` events of the response have the same.
    pub message_id: Option<Text<'a>>,
    /// The provider's id of the request.
    pub request_id: Option<Text<'a>>,
    /// Model identifier.
    pub model: Option<Text<'a>>,
    /// Tokens.
    pub tokens: Tokens,
    /// Cost of this response in US dollars, as written in the source.
    pub cost_usd: Option<Number<'a>>,
    /// Why the response ended, in the source's own word.
    pub stop_reason: Option<Text<'a>>,
    /// The service level, in the source's own word.
    pub service_tier: Option<Text<'a>>,
    /// True if the log has only a count from before the end of the response.
    pub provisional: bool,
    /// Which part of the response it is, if a second model took part in it: `advisor`. Such a part has a usage of its own with the same
    /// `message_id`, and the usage of the response does not include it.
    pub part: Option<Text<'a>>,
}

words! {
    /// The decision about a tool call.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Decision {
        /// It may run.
        Allow = "allow",
        /// It may not run.
        Deny = "deny",
        /// The user is asked.
        Ask = "ask",
    }
}

impl Decision {
    /// The event of this decision about a call: the name of its tool, its id, and the reason. It comes before the result of the call. For the
    /// result of a denied call without one, the emitter adds it.
    pub const fn of_call<'a>(
        self,
        tool: Option<Text<'a>>,
        call_id: Option<Text<'a>>,
        reason: Option<Text<'a>>,
    ) -> Meta<'a> {
        Meta::Permission(Permission {
            decision: self,
            tool,
            call_id,
            text: reason,
        })
    }
}

/// A decision about a tool call. Only [`Decision::of_call`] makes one.
#[derive(Debug, Clone)]
#[non_exhaustive]
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

impl<'a> ImplicitInput<'a> {
    /// An input that is on the tape as a text.
    pub fn of_text(name: impl Into<Text<'a>>, text: Option<Text<'a>>) -> Self {
        ImplicitInput {
            name: name.into(),
            file: None,
            hash: None,
            bytes: None,
            text,
        }
    }

    /// An input of which the tape has hash and size.
    pub fn of_hash(name: impl Into<Text<'a>>, hash: Option<Hash>, bytes: Option<u64>) -> Self {
        ImplicitInput {
            hash,
            bytes,
            ..ImplicitInput::of_text(name, None)
        }
    }
}
