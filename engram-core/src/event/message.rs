//! Messages to and from the agent.

use crate::hash::Hash;
use crate::text::Text;
use crate::words::words;

words! {
    /// The role of a `msg.in` in the conversation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Role {
        /// The user, or the harness in the name of the user.
        User = "user",
        /// The system.
        System = "system",
        /// The developer role of some model interfaces.
        Developer = "developer",
    }
}

words! {
    /// Who wrote the text of a `msg.in`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Author {
        /// Whoever drives the session typed, pasted or sent it.
        Person = "person",
        /// A model wrote it, for a sub-agent or as a command.
        Agent = "agent",
        /// The harness wrote it: hook texts, reminders, notifications, expanded templates, summaries.
        Harness = "harness",
    }
}

/// A file or image of a message or result. The tape has its name and hash, never its content.
#[derive(Debug, Clone)]
pub struct Attachment<'a> {
    /// Media type, where the source says it.
    pub media_type: Option<Text<'a>>,
    /// Hash of the decoded bytes, or of the base64 text if it cannot be decoded.
    pub hash: Option<Hash>,
    /// Number of hashed bytes.
    pub bytes: Option<u64>,
    /// File name or path, where the source says it.
    pub name: Option<Text<'a>>,
}

/// Input to the agent.
#[derive(Debug, Clone)]
pub struct MsgIn<'a> {
    /// The role.
    pub role: Role,
    /// Who wrote it.
    pub by: Author,
    /// The full text.
    pub text: Option<Text<'a>>,
    /// Images and files that belong to it.
    pub attachments: Vec<Attachment<'a>>,
}

impl<'a> MsgIn<'a> {
    /// A text in the user's place, without attachments.
    pub const fn user(by: Author, text: Option<Text<'a>>) -> Self {
        MsgIn {
            role: Role::User,
            by,
            text,
            attachments: Vec::new(),
        }
    }

    /// The same message with these attachments.
    pub fn with(self, attachments: Vec<Attachment<'a>>) -> Self {
        MsgIn {
            attachments,
            ..self
        }
    }
}

words! {
    /// The purpose of output of the agent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Channel {
        /// The answer of the turn.
        Final = "final",
        /// Progress notes between tool calls.
        Commentary = "commentary",
        /// Reasoning.
        Reasoning = "reasoning",
    }
}

/// Output of the agent.
#[derive(Debug, Clone, Default)]
pub struct MsgOut<'a> {
    /// The full text; absent if redacted.
    pub text: Option<Text<'a>>,
    /// Absent if the source does not state it.
    pub channel: Option<Channel>,
    /// Model identifier.
    pub model: Option<Text<'a>>,
    /// The provider's id of the message.
    pub message_id: Option<Text<'a>>,
    /// True if the source contains only an opaque form.
    pub redacted: bool,
}
