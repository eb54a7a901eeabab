//! The events of a tape as values. A field left `None` is left out of the tape.

use crate::hash::Hash;
use crate::text::Text;
use crate::tool_kind::ToolKind;

/// The eight kinds of event (spec section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Session metadata.
    Meta,
    /// Input to the agent.
    MsgIn,
    /// Output of the agent.
    MsgOut,
    /// The agent invokes a tool.
    ToolCall,
    /// A tool returned.
    ToolResult,
    /// The agent read a file.
    CodeRead,
    /// The agent changed a file.
    CodeEdit,
    /// A declared link between two spans.
    SpanLink,
}

impl Kind {
    /// Every kind, in the order of the spec. `kind as usize` is its index here.
    pub const ALL: [Kind; 8] =
        [Kind::Meta, Kind::MsgIn, Kind::MsgOut, Kind::ToolCall, Kind::ToolResult, Kind::CodeRead, Kind::CodeEdit, Kind::SpanLink];

    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Meta => "meta",
            Kind::MsgIn => "msg.in",
            Kind::MsgOut => "msg.out",
            Kind::ToolCall => "tool.call",
            Kind::ToolResult => "tool.result",
            Kind::CodeRead => "code.read",
            Kind::CodeEdit => "code.edit",
            Kind::SpanLink => "span.link",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// One event, without its envelope.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// See [`Meta`].
    Meta(Meta<'a>),
    /// See [`MsgIn`].
    MsgIn(MsgIn<'a>),
    /// See [`MsgOut`].
    MsgOut(MsgOut<'a>),
    /// See [`ToolCall`].
    ToolCall(ToolCall<'a>),
    /// See [`ToolResult`].
    ToolResult(ToolResult<'a>),
    /// See [`CodeRead`].
    CodeRead(CodeRead<'a>),
    /// See [`CodeEdit`].
    CodeEdit(CodeEdit<'a>),
    /// See [`SpanLink`].
    SpanLink(SpanLink<'a>),
}

impl Event<'_> {
    /// The kind of this event.
    pub fn kind(&self) -> Kind {
        match self {
            Event::Meta(_) => Kind::Meta,
            Event::MsgIn(_) => Kind::MsgIn,
            Event::MsgOut(_) => Kind::MsgOut,
            Event::ToolCall(_) => Kind::ToolCall,
            Event::ToolResult(_) => Kind::ToolResult,
            Event::CodeRead(_) => Kind::CodeRead,
            Event::CodeEdit(_) => Kind::CodeEdit,
            Event::SpanLink(_) => Kind::SpanLink,
        }
    }
}

macro_rules! into_event {
    ($($kind:ident),*) => {$(
        impl<'a> From<$kind<'a>> for Event<'a> {
            fn from(value: $kind<'a>) -> Self {
                Event::$kind(value)
            }
        }
    )*};
}
into_event!(Meta, MsgIn, MsgOut, ToolCall, ToolResult, CodeRead, CodeEdit, SpanLink);

/// The labels of `meta` that an adapter writes. `tape.start`, `revision`, `unrecognized` and `tape.stop` are the emitter's own.
#[derive(Debug, Clone)]
pub enum Meta<'a> {
    /// What the source states of the session.
    Session(SessionFacts<'a>),
    /// Tokens and cost.
    Usage(Usage<'a>),
    /// The summary that replaced history.
    Compaction {
        /// The summary.
        text: Option<Text<'a>>,
        /// What started it (`manual`, `auto`, ...).
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
        /// What the source says about it.
        text: Option<Text<'a>>,
    },
    /// A decision about a tool call.
    Permission(Permission<'a>),
    /// What the harness fed the model beside the conversation.
    Context(Context<'a>),
    /// Any other notice.
    System {
        /// The notice's name in the source.
        name: Text<'a>,
        /// Its text.
        text: Option<Text<'a>>,
    },
}

/// Facts about the session, when the source states them.
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

/// A number as the source spells it (`1.0`, `1e3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a>(&'a str);

impl<'a> Number<'a> {
    /// The number of a raw JSON value, if it is one.
    pub fn of(raw: &'a serde_json::value::RawValue) -> Option<Number<'a>> {
        Number::of_str(raw.get())
    }

    /// As [`Number::of`], for a raw slice that a JSON parser has accepted.
    pub fn of_str(text: &'a str) -> Option<Number<'a>> {
        text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(Number(text))
    }

    /// The number as the source spells it.
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
    /// Cost in US dollars, as the source spells it.
    pub cost_usd: Option<Number<'a>>,
}

/// What was decided about a tool call.
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
    /// The name that stands in a tape.
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
    /// What was decided.
    pub decision: Decision,
    /// The harness's name of the tool.
    pub tool: Option<Text<'a>>,
    /// The call that it is about.
    pub call_id: Option<Text<'a>>,
    /// The reason.
    pub text: Option<Text<'a>>,
}

/// Implicit input.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// `system_prompt`, `tools`, `instructions`, `environment`, `hook`, or the harness's own name of it.
    pub name: Text<'a>,
    /// The file it came from.
    pub file: Option<Text<'a>>,
    /// Hash of its content.
    pub hash: Option<Hash>,
    /// Bytes of its content.
    pub bytes: Option<u64>,
    /// Its text, where a person wrote it or it is a short notice.
    pub text: Option<Text<'a>>,
}

/// Who speaks in a `msg.in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user, or what the harness says in the user's place.
    User,
    /// The system.
    System,
    /// The developer role of some model interfaces.
    Developer,
}

impl Role {
    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::System => "system",
            Role::Developer => "developer",
        }
    }
}

/// A file or image beside a message or result: named and hashed, never copied.
#[derive(Debug, Clone)]
pub struct Attachment<'a> {
    /// Media type, where the source states it.
    pub media_type: Option<Text<'a>>,
    /// Hash of the decoded bytes, or of the base64 text where it does not decode.
    pub hash: Option<Hash>,
    /// Number of the bytes hashed.
    pub bytes: Option<u64>,
    /// File name or path, where the source states it.
    pub name: Option<Text<'a>>,
}

/// Input to the agent.
#[derive(Debug, Clone)]
pub struct MsgIn<'a> {
    /// Who speaks.
    pub role: Role,
    /// The full text.
    pub text: Option<Text<'a>>,
    /// True when the harness, not a person, wrote it.
    pub synthetic: bool,
    /// Images and files beside it.
    pub attachments: Vec<Attachment<'a>>,
}

/// Where the agent's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The answer of the turn.
    Final,
    /// Progress notes between tool calls.
    Commentary,
    /// Reasoning.
    Reasoning,
}

impl Channel {
    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Channel::Final => "final",
            Channel::Commentary => "commentary",
            Channel::Reasoning => "reasoning",
        }
    }
}

/// Output of the agent.
#[derive(Debug, Clone, Default)]
pub struct MsgOut<'a> {
    /// The full text; absent when redacted.
    pub text: Option<Text<'a>>,
    /// Absent when the source does not say.
    pub channel: Option<Channel>,
    /// Model identifier.
    pub model: Option<Text<'a>>,
    /// The provider's id of the message.
    pub message_id: Option<Text<'a>>,
    /// True when the source holds only an opaque form.
    pub redacted: bool,
}

/// The agent invokes a tool.
#[derive(Debug, Clone)]
pub struct ToolCall<'a> {
    /// The harness's own name of the tool.
    pub tool: Text<'a>,
    /// What the tool does.
    pub kind: ToolKind,
    /// The call's id.
    pub call_id: Option<Text<'a>>,
    /// The arguments: the source's own JSON value.
    pub args: Option<&'a str>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It did what it was asked.
    Ok,
    /// It failed.
    Error,
    /// It was not allowed to run.
    Denied,
    /// It was stopped.
    Cancelled,
}

impl Status {
    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Denied => "denied",
            Status::Cancelled => "cancelled",
        }
    }
}

/// Output that the harness kept in a side file.
#[derive(Debug, Clone)]
pub struct Artifact<'a> {
    /// Path as the source spells it.
    pub path: Text<'a>,
    /// Hash of the file, where it could be read.
    pub hash: Option<Hash>,
    /// Size of the file, where known.
    pub bytes: Option<u64>,
}

/// A tool returned.
#[derive(Debug, Clone, Default)]
pub struct ToolResult<'a> {
    /// The harness's own name of the tool.
    pub tool: Option<Text<'a>>,
    /// The call that it answers.
    pub call_id: Option<Text<'a>>,
    /// How the call ended, where the source says so.
    pub status: Option<Status>,
    /// Exit code, only where stated.
    pub exit: Option<i64>,
    /// Output.
    pub stdout: Option<Text<'a>>,
    /// Error output, or the error text of a tool that has one output.
    pub stderr: Option<Text<'a>>,
    /// True when the harness says that it cut the output.
    pub truncated: bool,
    /// Output kept in a side file.
    pub artifact: Option<Artifact<'a>>,
    /// Images and files that were returned.
    pub attachments: Vec<Attachment<'a>>,
    /// How long the call took, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// Lines `first..=last`, 1-based. `[n, n-1]` is the empty span between lines n-1 and n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First line.
    pub first: u64,
    /// Last line.
    pub last: u64,
}

/// A read that succeeded.
#[derive(Debug, Clone)]
pub struct CodeRead<'a> {
    /// The call that read.
    pub call_id: Option<Text<'a>>,
    /// The file, as the source spells it.
    pub file: Text<'a>,
    /// The lines that were read.
    pub range: Option<Range>,
    /// Lines in the whole file.
    pub total_lines: Option<u64>,
    /// Hash of the span.
    pub hash: Option<Hash>,
    /// Fingerprints of the span.
    pub anchor_hashes: Vec<u64>,
}

/// What an edit did to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOp {
    /// The file is new.
    Create,
    /// Part of the file changed.
    Update,
    /// The whole file was replaced.
    Overwrite,
    /// The file is gone.
    Delete,
    /// The file has another name.
    Move,
}

impl EditOp {
    /// The name that stands in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            EditOp::Create => "create",
            EditOp::Update => "update",
            EditOp::Overwrite => "overwrite",
            EditOp::Delete => "delete",
            EditOp::Move => "move",
        }
    }
}

/// A change to one contiguous span of one file that the source shows to have been applied.
#[derive(Debug, Clone)]
pub struct CodeEdit<'a> {
    /// The call that edited.
    pub call_id: Option<Text<'a>>,
    /// What the edit did.
    pub op: EditOp,
    /// The file, as the source spells it.
    pub file: Text<'a>,
    /// The lines before.
    pub before_range: Option<Range>,
    /// The lines after.
    pub after_range: Option<Range>,
    /// Hash of the span (or snippet) before.
    pub before_hash: Option<Hash>,
    /// Hash of the span (or snippet) after.
    pub after_hash: Option<Hash>,
    /// Hash of the whole file before.
    pub file_before_hash: Option<Hash>,
    /// Hash of the whole file after.
    pub file_after_hash: Option<Hash>,
    /// Fingerprints of the text before.
    pub before_anchor_hashes: Vec<u64>,
    /// Fingerprints of the text after.
    pub after_anchor_hashes: Vec<u64>,
    /// True when the hashes are of the call's own old and new text, whose lines are not known (`basis: "snippet"`).
    pub snippet: bool,
    /// True when the source shows the request but not the outcome (`confirmed: false`).
    pub unconfirmed: bool,
}

impl<'a> CodeEdit<'a> {
    /// An edit of which only the file and the operation are known.
    pub fn new(op: EditOp, file: Text<'a>) -> Self {
        CodeEdit {
            call_id: None,
            op,
            file,
            before_range: None,
            after_range: None,
            before_hash: None,
            after_hash: None,
            file_before_hash: None,
            file_after_hash: None,
            before_anchor_hashes: Vec::new(),
            after_anchor_hashes: Vec::new(),
            snippet: false,
            unconfirmed: false,
        }
    }
}

/// A link between two spans that the agent or harness itself declares.
#[derive(Debug, Clone)]
pub struct SpanLink<'a> {
    /// The call that declared it. Gives `parent`; no field of its own in the tape.
    pub call_id: Option<Text<'a>>,
    /// The file it leads from.
    pub from_file: Text<'a>,
    /// The lines there.
    pub from_range: Option<Range>,
    /// The file it leads to.
    pub to_file: Text<'a>,
    /// The lines there.
    pub to_range: Option<Range>,
    /// What kind of link it is.
    pub note: Option<Text<'a>>,
}
