//! Tool calls and their results.

use super::message::Attachment;
use crate::hash::Hash;
use crate::text::Text;
use crate::tool_kind::ToolKind;
use crate::words::words;

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct ToolCall<'a> {
    /// The harness's own name of the tool.
    pub tool: Text<'a>,
    /// The MCP server that has the tool.
    pub server: Option<Text<'a>>,
    /// What the tool does.
    pub kind: ToolKind,
    /// The call's id.
    pub call_id: Option<Text<'a>>,
    /// The provider's id of the response that asked for the call.
    pub message_id: Option<Text<'a>>,
    /// The arguments: the JSON value of the source.
    pub args: Option<&'a str>,
}

words! {
    /// How a call ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Status {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// It was not allowed to run.
        Denied = "denied",
        /// It was stopped.
        Cancelled = "cancelled",
    }
}

impl<'a> ToolCall<'a> {
    /// A call with name and kind, and nothing else.
    pub fn new(tool: Text<'a>, kind: ToolKind) -> Self {
        ToolCall {
            tool,
            server: None,
            kind,
            call_id: None,
            message_id: None,
            args: None,
        }
    }
}

/// Output that the harness wrote to a side file.
#[derive(Debug, Clone)]
pub struct SideFile<'a> {
    /// Path as written in the source.
    pub path: Text<'a>,
    /// Hash of the file, if it could be read.
    pub hash: Option<Hash>,
    /// Size of the file in bytes, if known.
    pub bytes: Option<u64>,
}

/// The result of a call.
#[derive(Debug, Clone, Default)]
pub struct ToolResult<'a> {
    /// The harness's own name of the tool.
    pub tool: Option<Text<'a>>,
    /// The call that returned.
    pub call_id: Option<Text<'a>>,
    /// How the call ended, if the source says it.
    pub status: Option<Status>,
    /// Exit code, if the source says it.
    pub exit: Option<i64>,
    /// Output.
    pub stdout: Option<Text<'a>>,
    /// Error output, or the error text of a tool that has one output.
    pub stderr: Option<Text<'a>>,
    /// True if the source says that the output was shortened.
    pub truncated: bool,
    /// Output that is in a side file.
    pub artifact: Option<SideFile<'a>>,
    /// Images and files that were returned.
    pub attachments: Vec<Attachment<'a>>,
    /// How long the call took, in milliseconds.
    pub duration_ms: Option<u64>,
}
