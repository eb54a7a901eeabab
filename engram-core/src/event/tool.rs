//! Tool calls and their results.

use super::message::Attachment;
use crate::hash::Hash;
use crate::text::Text;
use crate::tool_kind::ToolKind;

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
