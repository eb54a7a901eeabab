//! Messages to and from the agent.

use crate::hash::Hash;
use crate::text::Text;

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
