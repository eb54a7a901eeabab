//! The events of a tape as values. A field left `None` is left out of the tape.

mod code;
mod lifecycle;
mod meta;
mod origin;
mod record;

pub use code::{CodeEdit, CodeRead, EditOp, Range, SpanLink};
pub use lifecycle::{ClaimGrade, Claims, Harness, InputDigest, RevisionChange, TapeStart, TapeStop, Unrecognized};
pub use meta::{Decision, ImplicitInput, Meta, Number, Permission, SessionFacts, Tokens, Usage};
pub use origin::{Pointer, RecordLocation};
pub use record::{EventRecord, EventSource, Origin, Seq, TimeBasis};

use std::ops::AddAssign;

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

/// Numbers of events per kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindCounts([u64; Kind::ALL.len()]);

impl KindCounts {
    /// The number of events of one kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// Sets the number of events of one kind.
    pub fn set(&mut self, kind: Kind, count: u64) {
        self.0[kind as usize] = count;
    }

    /// Counts one more event of a kind.
    pub fn add(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }

    /// Every kind with its number, in the order of [`Kind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.0)
    }

    /// The number of all events.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl AddAssign for KindCounts {
    fn add_assign(&mut self, more: KindCounts) {
        for (count, more) in self.0.iter_mut().zip(more.0) {
            *count += more;
        }
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

    /// The id of the call that this event comes from, if it names one.
    pub(crate) fn caused_by(&self) -> Option<Text<'_>> {
        match self {
            Event::ToolResult(result) => result.call_id,
            Event::CodeRead(read) => read.call_id,
            Event::CodeEdit(edit) => edit.call_id,
            Event::SpanLink(link) => link.call_id,
            _ => None,
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
    /// Every role. `role as usize` is its index here.
    pub const ALL: [Role; 3] = [Role::User, Role::System, Role::Developer];

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
    /// Every channel. `channel as usize` is its index here.
    pub const ALL: [Channel; 3] = [Channel::Final, Channel::Commentary, Channel::Reasoning];

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
    /// Every status. `status as usize` is its index here.
    pub const ALL: [Status; 4] = [Status::Ok, Status::Error, Status::Denied, Status::Cancelled];

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
pub struct SideFile<'a> {
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
    pub artifact: Option<SideFile<'a>>,
    /// Images and files that were returned.
    pub attachments: Vec<Attachment<'a>>,
    /// How long the call took, in milliseconds.
    pub duration_ms: Option<u64>,
}
