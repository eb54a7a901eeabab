//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

#![allow(dead_code, reason = "an adapter need not use each name of its format")]

use engram_core::descriptor::OmissionRule;

/// The record types `in change`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Messages, SessionId, Summary, Directories, LastUpdated,
}

impl ChangeKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<ChangeKind> {
        Some(match name {
            "messages" => ChangeKind::Messages,
            "sessionId" => ChangeKind::SessionId,
            "summary" => ChangeKind::Summary,
            "directories" => ChangeKind::Directories,
            "lastUpdated" => ChangeKind::LastUpdated,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ChangeKind::Messages => "messages",
            ChangeKind::SessionId => "sessionId",
            ChangeKind::Summary => "summary",
            ChangeKind::Directories => "directories",
            ChangeKind::LastUpdated => "lastUpdated",
        }
    }
}

/// The record types `in header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderKind {
    Main, Subagent,
}

impl HeaderKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<HeaderKind> {
        Some(match name {
            "main" => HeaderKind::Main,
            "subagent" => HeaderKind::Subagent,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            HeaderKind::Main => "main",
            HeaderKind::Subagent => "subagent",
        }
    }
}

/// The record types `in message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    User, Gemini, Info, Warning, Error,
}

impl MessageKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<MessageKind> {
        Some(match name {
            "user" => MessageKind::User,
            "gemini" => MessageKind::Gemini,
            "info" => MessageKind::Info,
            "warning" => MessageKind::Warning,
            "error" => MessageKind::Error,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            MessageKind::User => "user",
            MessageKind::Gemini => "gemini",
            MessageKind::Info => "info",
            MessageKind::Warning => "warning",
            MessageKind::Error => "error",
        }
    }
}

/// The record types `in prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    User,
}

impl PromptKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<PromptKind> {
        Some(match name {
            "user" => PromptKind::User,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            PromptKind::User => "user",
        }
    }
}

/// The record types `in saved`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SavedKind {
    User, Model,
}

impl SavedKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<SavedKind> {
        Some(match name {
            "user" => SavedKind::User,
            "model" => SavedKind::Model,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            SavedKind::User => "user",
            SavedKind::Model => "model",
        }
    }
}

/// The record types `in stream`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    Error, Init, MessageUser, MessageAssistant, ToolUse, ToolResult, Result,
}

impl StreamKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<StreamKind> {
        Some(match name {
            "error" => StreamKind::Error,
            "init" => StreamKind::Init,
            "message/user" => StreamKind::MessageUser,
            "message/assistant" => StreamKind::MessageAssistant,
            "tool_use" => StreamKind::ToolUse,
            "tool_result" => StreamKind::ToolResult,
            "result" => StreamKind::Result,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            StreamKind::Error => "error",
            StreamKind::Init => "init",
            StreamKind::MessageUser => "message/user",
            StreamKind::MessageAssistant => "message/assistant",
            StreamKind::ToolUse => "tool_use",
            StreamKind::ToolResult => "tool_result",
            StreamKind::Result => "result",
        }
    }
}

/// The marks by which a log is recognised.
pub(super) mod mark {
    /// A log of lines: its header.
    pub(in super::super) const HEADER: &str = "header.sessionId+startTime+lastUpdated";
    /// A log that is one document.
    pub(in super::super) const DOCUMENT: &str = "document.sessionId+startTime+lastUpdated+messages";
    /// `logs.json`.
    pub(in super::super) const TYPED_PROMPTS: &str = "list.sessionId+messageId+message";
    /// A saved conversation.
    pub(in super::super) const SAVED: &str = "history.role+parts";
    /// What a run prints.
    pub(in super::super) const STREAM: &str = "stream.init.session_id+model";

    /// Every mark.
    pub(in super::super) const ALL: &[&str] = &[HEADER, DOCUMENT, TYPED_PROMPTS, SAVED, STREAM];
}

/// The rules that leave out whole records.
pub(super) mod rule {
    pub(in super::super) const MESSAGE_REWRITTEN: &str = "message.rewritten";
    pub(in super::super) const HISTORY_RESTATED: &str = "history.restated";
    pub(in super::super) const HISTORY_RELOGGED: &str = "history.relogged";
    pub(in super::super) const RECORD_REPEATED: &str = "record.repeated";
    pub(in super::super) const ANSWER_PIECE: &str = "answer.piece";
    pub(in super::super) const MESSAGE_EMPTY: &str = "message.empty";
    pub(in super::super) const SESSION_CLOCK: &str = "session.clock";
    pub(in super::super) const SESSION_SAME_ID: &str = "session.same_id";
}

/// Every rule, with its reason.
pub(super) const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate("message.rewritten", "gemini", "a turn that is written again under the same id, without new facts"),
    OmissionRule::duplicate("message.rewritten", "user", "a result as the model gets it, which the call already has (0.44.0 and later)"),
    OmissionRule::duplicate("history.restated", "*", "the whole history again, without new messages (0.44.0 and later)"),
    OmissionRule::duplicate("history.relogged", "gemini", "a turn of the history again, with a new id (0.61.0, when the user cancels)"),
    OmissionRule::duplicate("history.relogged", "user", "a prompt or result of the history again, with a new id"),
    OmissionRule::duplicate("record.repeated", "*", "a record that the log has twice: all its bytes, its id or its time among them, were read before"),
    OmissionRule::piece("answer.piece", "message/assistant", "a piece of an answer; all pieces are joined at the first one"),
    OmissionRule::bookkeeping("message.empty", "*", "a message without text, thought, call, result or token count, or a change that says nothing new"),
    OmissionRule::bookkeeping("session.clock", "lastUpdated", "when the file was last changed"),
    OmissionRule::bookkeeping("session.same_id", "sessionId", "the session's own id, repeated when the session is resumed"),
    OmissionRule::field("call.name", "gemini", "/toolCalls/*/displayName", "the tool's name as the terminal shows it"),
    OmissionRule::field("call.description", "gemini", "/toolCalls/*/description", "the tool's own description, or the arguments as the terminal shows them"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay", "the result as the terminal shows it; the result itself is in `tool.result`"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/*/*/text", "a command's output as lines of terminal cells (0.38.2 to 0.43.0)"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/summary", "the number of matches or files, as the terminal shows it"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/matches/*/*", "the matches, which the result lists too"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/files/*", "the files, which the result lists too"),
    OmissionRule::field("result.shown", "gemini", "/toolCalls/*/resultDisplay/todos/*/description", "the plan, which is in the arguments"),
    OmissionRule::field("agent.progress", "gemini", "/toolCalls/*/resultDisplay/recentActivity/*/*", "the last activities of the sub-agent; its own log has all of them"),
    OmissionRule::field("agent.answer", "gemini", "/toolCalls/*/resultDisplay/result", "the sub-agent's answer, which is in the result"),
    OmissionRule::field("edit.file", "gemini", "/toolCalls/*/resultDisplay/originalContent", "the file before the edit; the tape has its hash, `file_before_hash`"),
    OmissionRule::field("edit.file", "gemini", "/toolCalls/*/resultDisplay/newContent", "the file after the edit; the tape has its hash, `file_after_hash`"),
    OmissionRule::field("edit.diff", "gemini", "/toolCalls/*/resultDisplay/fileDiff", "a diff for display; its spans are `code.edit`"),
    OmissionRule::field("thought.half", "gemini", "/thoughts/*/subject", "the tape has it joined with its description, from the first record of the turn"),
    OmissionRule::field("thought.half", "gemini", "/thoughts/*/description", "the tape has it joined with its subject, from the first record of the turn"),
    OmissionRule::opaque("signature", "gemini", "/content/*/thoughtSignature", "a signature of the model's provider"),
    OmissionRule::opaque("signature", "messages", "/$set/messages/*/content/*/thoughtSignature", "a signature of the model's provider"),
    OmissionRule::opaque("signature", "model", "/parts/*/thoughtSignature", "a signature of the model's provider"),
    OmissionRule::opaque("file", "user", "/content/*/inlineData/data", "a file as base64; the tape has its hash"),
    OmissionRule::opaque("file", "user", "/parts/*/inlineData/data", "a file as base64; the tape has its hash"),
    OmissionRule::opaque("file", "messages", "/$set/messages/*/content/*/inlineData/data", "a file as base64; the tape has its hash"),
    OmissionRule::opaque("file", "gemini", "/toolCalls/*/result/*/inlineData/data", "a file as base64; the tape has its hash"),
];
