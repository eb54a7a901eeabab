//! The protobuf messages of a chat store that are read, and their JSON, in the form of `stream-json`.
//!
//! Field numbers are those of the descriptors in the SDK 1.0.32.

use std::fmt::Write as _;

use engram_core::text::{Text, push_text};

use super::protobuf::{Fields, Value, WireError};

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// UTF-8.
    Text,
    /// The id of a blob, or other bytes: lower-case hex.
    Bytes,
    /// A number of 32 bits.
    Int,
    /// A number of 64 bits: a string, as in protobuf's JSON.
    Long,
    /// A Boolean.
    Bool,
    /// A message.
    Message(&'static Layout),
    /// A message with an unknown layout: its size in bytes.
    Opaque,
}

/// A field of a message.
#[derive(Clone, Copy)]
pub(super) struct Field {
    number: u32,
    name: &'static str,
    kind: Kind,
    repeated: bool,
    /// The JSON of an absent field, for fields whose zero is a fact: proto3 does not write zeros and empty texts.
    default: Option<&'static str>,
}

/// A message: its fields by number.
pub(super) struct Layout(&'static [Field]);

const fn one(number: u32, name: &'static str, kind: Kind) -> Field {
    Field {
        number,
        name,
        kind,
        repeated: false,
        default: None,
    }
}

const fn with_default(number: u32, name: &'static str, kind: Kind, default: &'static str) -> Field {
    Field {
        number,
        name,
        kind,
        repeated: false,
        default: Some(default),
    }
}

const fn repeated(number: u32, name: &'static str, kind: Kind) -> Field {
    Field {
        number,
        name,
        kind,
        repeated: true,
        default: None,
    }
}

/// `ConversationStateStructure`: the root of a conversation.
pub(super) static ROOT: Layout = Layout(&[
    repeated(1, "rootPromptMessagesJson", Kind::Bytes),
    one(5, "tokenDetails", Kind::Message(&TOKEN_DETAILS)),
    repeated(8, "turns", Kind::Bytes),
    repeated(9, "previousWorkspaceUris", Kind::Text),
    one(10, "mode", Kind::Int),
    repeated(13, "summaryArchives", Kind::Bytes),
    one(19, "activeBranchName", Kind::Text),
    one(22, "agentType", Kind::Text),
    one(26, "conversationStartedTimestampMs", Kind::Long),
    one(37, "messageCountAtLastCompaction", Kind::Int),
]);

static TOKEN_DETAILS: Layout = Layout(&[
    one(1, "usedTokens", Kind::Int),
    one(2, "maxTokens", Kind::Int),
]);

/// `ConversationSummaryArchive`: what a compaction replaced.
pub(super) static SUMMARY_ARCHIVE: Layout = Layout(&[
    repeated(1, "summarizedMessages", Kind::Bytes),
    one(2, "summary", Kind::Text),
    one(4, "summaryMessage", Kind::Bytes),
]);

/// `ConversationTurnStructure`.
pub(super) static TURN: Layout = Layout(&[
    one(1, "agentConversationTurn", Kind::Message(&AGENT_TURN)),
    one(2, "shellConversationTurn", Kind::Message(&SHELL_TURN)),
]);

static AGENT_TURN: Layout = Layout(&[
    one(1, "userMessage", Kind::Bytes),
    repeated(2, "steps", Kind::Bytes),
    one(3, "requestId", Kind::Text),
    one(7, "routedModelDisplayName", Kind::Text),
]);

static SHELL_TURN: Layout = Layout(&[
    one(1, "shellCommand", Kind::Bytes),
    one(2, "shellOutput", Kind::Bytes),
]);

/// `ShellCommand`: a command that the user ran.
pub(super) static SHELL_COMMAND: Layout = Layout(&[one(1, "command", Kind::Text)]);

/// `ShellOutput`.
pub(super) static SHELL_OUTPUT: Layout = Layout(&[
    one(1, "stdout", Kind::Text),
    one(2, "stderr", Kind::Text),
    one(3, "exitCode", Kind::Int),
]);

/// `UserMessage`.
pub(super) static USER_MESSAGE: Layout = Layout(&[
    one(1, "text", Kind::Text),
    one(2, "messageId", Kind::Text),
    one(4, "mode", Kind::Int),
    one(5, "isSimulatedMsg", Kind::Bool),
    one(25, "startedAtMs", Kind::Long),
    one(26, "completedAtMs", Kind::Long),
    one(27, "sentByAgentId", Kind::Text),
]);

/// `ConversationStep`.
pub(super) static STEP: Layout = Layout(&[
    one(1, "assistantMessage", Kind::Message(&ASSISTANT_MESSAGE)),
    one(2, "toolCall", Kind::Message(&TOOL_CALL)),
    one(3, "thinkingMessage", Kind::Message(&THINKING_MESSAGE)),
]);

static ASSISTANT_MESSAGE: Layout = Layout(&[
    one(1, "text", Kind::Text),
    one(2, "startedAtMs", Kind::Long),
    one(3, "completedAtMs", Kind::Long),
]);

static THINKING_MESSAGE: Layout = Layout(&[
    one(1, "text", Kind::Text),
    one(2, "durationMs", Kind::Int),
    one(3, "startedAtMs", Kind::Long),
    one(4, "completedAtMs", Kind::Long),
]);

/// Commands, edits and deletions whole. Of the other tools the messages have arguments and result, and only how the call ended is read.
static TOOL_CALL: Layout = Layout(&[
    one(1, "shellToolCall", Kind::Message(&SHELL_TOOL_CALL)),
    one(3, "deleteToolCall", Kind::Message(&DELETE_TOOL_CALL)),
    one(5, "grepToolCall", Kind::Message(&ENDED_CALL)),
    one(8, "readToolCall", Kind::Message(&ENDED_READ)),
    one(9, "updateTodosToolCall", Kind::Message(&ENDED_CALL)),
    one(12, "editToolCall", Kind::Message(&EDIT_TOOL_CALL)),
    one(13, "lsToolCall", Kind::Message(&ENDED_CALL)),
    one(15, "mcpToolCall", Kind::Message(&ENDED_MCP)),
    one(17, "createPlanToolCall", Kind::Message(&ENDED_CALL)),
    one(18, "webSearchToolCall", Kind::Message(&ENDED_CALL)),
    one(19, "taskToolCall", Kind::Message(&ENDED_CALL)),
    one(23, "askQuestionToolCall", Kind::Message(&ENDED_CALL)),
    one(37, "webFetchToolCall", Kind::Message(&ENDED_CALL)),
    one(57, "toolCallId", Kind::Text),
    one(59, "startedAtMs", Kind::Long),
    one(60, "completedAtMs", Kind::Long),
]);

static ENDED_CALL: Layout = Layout(&[one(2, "result", Kind::Message(&END))]);
static ENDED_READ: Layout = Layout(&[one(2, "result", Kind::Message(&END_OF_READ))]);
static ENDED_MCP: Layout = Layout(&[one(2, "result", Kind::Message(&END_OF_MCP))]);

/// A message of which it counts that it is there.
static ANY: Layout = Layout(&[]);

/// How calls of most tools end.
static END: Layout = Layout(&[
    one(1, "success", Kind::Message(&ANY)),
    one(2, "error", Kind::Message(&ANY)),
    one(3, "rejected", Kind::Message(&ANY)),
]);

/// `ReadResult`.
static END_OF_READ: Layout = Layout(&[
    one(1, "success", Kind::Message(&ANY)),
    one(2, "error", Kind::Message(&ANY)),
    one(3, "rejected", Kind::Message(&ANY)),
    one(4, "fileNotFound", Kind::Message(&ANY)),
    one(5, "permissionDenied", Kind::Message(&ANY)),
    one(6, "invalidFile", Kind::Message(&ANY)),
]);

/// `McpResult`.
static END_OF_MCP: Layout = Layout(&[
    one(1, "success", Kind::Message(&MCP_SUCCESS)),
    one(2, "error", Kind::Message(&ANY)),
    one(3, "rejected", Kind::Message(&ANY)),
    one(4, "permissionDenied", Kind::Message(&ANY)),
    one(5, "toolNotFound", Kind::Message(&ANY)),
    one(6, "serverNotFound", Kind::Message(&ANY)),
]);

static MCP_SUCCESS: Layout = Layout(&[one(2, "isError", Kind::Bool)]);

static SHELL_TOOL_CALL: Layout = Layout(&[
    one(1, "args", Kind::Message(&SHELL_ARGS)),
    one(2, "result", Kind::Message(&SHELL_RESULT)),
    one(3, "description", Kind::Text),
]);

static SHELL_ARGS: Layout = Layout(&[
    one(1, "command", Kind::Text),
    one(2, "workingDirectory", Kind::Text),
    one(3, "timeout", Kind::Int),
    one(4, "toolCallId", Kind::Text),
    repeated(5, "simpleCommands", Kind::Text),
    one(8, "parsingResult", Kind::Opaque),
    one(15, "description", Kind::Text),
]);

static SHELL_RESULT: Layout = Layout(&[
    one(1, "success", Kind::Message(&SHELL_SUCCESS)),
    one(2, "failure", Kind::Message(&SHELL_FAILURE)),
    one(3, "timeout", Kind::Message(&SHELL_TIMEOUT)),
    one(4, "rejected", Kind::Message(&SHELL_REJECTED)),
    one(5, "spawnError", Kind::Message(&SHELL_ERROR)),
    one(7, "permissionDenied", Kind::Message(&SHELL_ERROR)),
]);

/// `ShellSuccess`.
static SHELL_SUCCESS: Layout = Layout(&ended_command::<9>(&[one(
    14,
    "backgroundReason",
    Kind::Int,
)]));

/// `ShellFailure`.
static SHELL_FAILURE: Layout = Layout(&ended_command::<10>(&[
    one(10, "abortReason", Kind::Int),
    one(11, "aborted", Kind::Bool),
]));

/// The fields that `ShellSuccess` and `ShellFailure` share, and those that only one of them has: from number 9 on they differ.
const fn ended_command<const N: usize>(own: &[Field]) -> [Field; N] {
    const SHARED: [Field; 8] = [
        one(1, "command", Kind::Text),
        one(2, "workingDirectory", Kind::Text),
        with_default(3, "exitCode", Kind::Int, "0"),
        one(4, "signal", Kind::Text),
        one(5, "stdout", Kind::Text),
        one(6, "stderr", Kind::Text),
        one(7, "executionTime", Kind::Int),
        one(8, "outputLocation", Kind::Message(&OUTPUT_LOCATION)),
    ];
    let mut fields = [SHARED[0]; N];
    let mut at = 0;
    while at < N {
        fields[at] = if at < SHARED.len() {
            SHARED[at]
        } else {
            own[at - SHARED.len()]
        };
        at += 1;
    }
    fields
}

static OUTPUT_LOCATION: Layout = Layout(&[
    one(1, "filePath", Kind::Text),
    one(2, "sizeBytes", Kind::Long),
    one(3, "lineCount", Kind::Long),
]);

static SHELL_TIMEOUT: Layout = Layout(&[
    one(1, "command", Kind::Text),
    one(2, "workingDirectory", Kind::Text),
    one(3, "timeoutMs", Kind::Int),
]);

static SHELL_REJECTED: Layout = Layout(&[
    one(1, "command", Kind::Text),
    one(2, "workingDirectory", Kind::Text),
    one(3, "reason", Kind::Text),
]);

static SHELL_ERROR: Layout = Layout(&[
    one(1, "command", Kind::Text),
    one(2, "workingDirectory", Kind::Text),
    one(3, "error", Kind::Text),
]);

static EDIT_TOOL_CALL: Layout = Layout(&[
    one(1, "args", Kind::Message(&EDIT_ARGS)),
    one(2, "result", Kind::Message(&EDIT_RESULT)),
]);

static EDIT_ARGS: Layout = Layout(&[
    one(1, "path", Kind::Text),
    one(6, "streamContent", Kind::Text),
]);

static EDIT_RESULT: Layout = Layout(&[
    one(1, "success", Kind::Message(&EDIT_SUCCESS)),
    one(2, "fileNotFound", Kind::Message(&EDIT_ERROR)),
    one(3, "readPermissionDenied", Kind::Message(&EDIT_ERROR)),
    one(4, "writePermissionDenied", Kind::Message(&EDIT_ERROR)),
    one(6, "rejected", Kind::Message(&REJECTED)),
    one(7, "error", Kind::Message(&EDIT_ERROR)),
]);

static EDIT_SUCCESS: Layout = Layout(&[
    one(1, "path", Kind::Text),
    one(3, "linesAdded", Kind::Int),
    one(4, "linesRemoved", Kind::Int),
    one(5, "diffString", Kind::Text),
    one(6, "beforeFullFileContent", Kind::Text),
    with_default(7, "afterFullFileContent", Kind::Text, "\"\""),
    one(8, "message", Kind::Text),
]);

static EDIT_ERROR: Layout = Layout(&[
    one(1, "path", Kind::Text),
    one(2, "error", Kind::Text),
    one(5, "modelVisibleError", Kind::Text),
]);

static REJECTED: Layout = Layout(&[one(1, "path", Kind::Text), one(2, "reason", Kind::Text)]);

static DELETE_TOOL_CALL: Layout = Layout(&[
    one(1, "args", Kind::Message(&DELETE_ARGS)),
    one(2, "result", Kind::Message(&DELETE_RESULT)),
]);

static DELETE_ARGS: Layout =
    Layout(&[one(1, "path", Kind::Text), one(2, "toolCallId", Kind::Text)]);

static DELETE_RESULT: Layout = Layout(&[
    one(1, "success", Kind::Message(&DELETE_SUCCESS)),
    one(2, "fileNotFound", Kind::Message(&EDIT_ERROR)),
    one(3, "notFile", Kind::Message(&EDIT_ERROR)),
    one(4, "permissionDenied", Kind::Message(&EDIT_ERROR)),
    one(5, "fileBusy", Kind::Message(&EDIT_ERROR)),
    one(6, "rejected", Kind::Message(&REJECTED)),
    one(7, "error", Kind::Message(&EDIT_ERROR)),
]);

static DELETE_SUCCESS: Layout = Layout(&[
    one(1, "path", Kind::Text),
    one(2, "deletedFile", Kind::Text),
    one(3, "fileSize", Kind::Long),
    with_default(4, "prevContent", Kind::Text, "\"\""),
]);

/// Appends a message as a JSON object. The last value of a field counts, as in protobuf; unknown fields are omitted.
///
/// The layouts are not recursive, so the depth is bounded.
pub(super) fn push_message(
    out: &mut String,
    message: &[u8],
    layout: &Layout,
) -> Result<(), WireError> {
    let mut found: Vec<Vec<Value<'_>>> = layout.0.iter().map(|_| Vec::new()).collect();
    for field in Fields::new(message) {
        let (number, value) = field?;
        if let Some((known, values)) = layout
            .0
            .iter()
            .zip(&mut found)
            .find(|(known, _)| known.number == number)
        {
            if !known.repeated {
                values.clear();
            }
            values.push(value);
        }
    }
    out.push('{');
    let mut separator = "";
    for (field, values) in layout
        .0
        .iter()
        .zip(&found)
        .filter(|(field, values)| !values.is_empty() || field.default.is_some())
    {
        let _ = write!(out, "{separator}\"{}\":", field.name);
        separator = ",";
        if field.repeated {
            out.push('[');
        }
        if let (true, Some(default)) = (values.is_empty(), field.default) {
            out.push_str(default);
        }
        for (n, value) in values.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            push_value(out, *value, field.kind)?;
        }
        if field.repeated {
            out.push(']');
        }
    }
    out.push('}');
    Ok(())
}

fn push_value(out: &mut String, value: Value<'_>, kind: Kind) -> Result<(), WireError> {
    let _ = match (kind, value) {
        (Kind::Text, Value::Bytes(bytes)) => {
            push_text(out, Text::Plain(&String::from_utf8_lossy(bytes)));
            Ok(())
        }
        (Kind::Bytes, Value::Bytes(bytes)) => {
            out.push('"');
            push_hex(out, bytes);
            out.push('"');
            Ok(())
        }
        (Kind::Message(layout), Value::Bytes(bytes)) => return push_message(out, bytes, layout),
        (Kind::Opaque, Value::Bytes(bytes)) => write!(out, "{}", bytes.len()),
        // 32-bit numbers are signed, and negative ones take all 64 bits on the wire.
        (Kind::Int, Value::Varint(number)) => write!(out, "{}", number as i64),
        (Kind::Long, Value::Varint(number)) => write!(out, "\"{number}\""),
        (Kind::Bool, Value::Varint(number)) => write!(out, "{}", number != 0),
        _ => return Err(WireError::Type),
    };
    Ok(())
}

/// Appends bytes as lower-case hex.
pub(super) fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_step_has_the_form_of_a_capture() {
        let mut out = String::new();
        push_message(
            &mut out,
            b"\x12\x15b\x0d\x0a\x0b\x0a\x04/a.b2\x03hi\x0a\xca\x03\x03c\x0a1",
            &STEP,
        )
        .unwrap();
        assert_eq!(
            out,
            r#"{"toolCall":{"editToolCall":{"args":{"path":"/a.b","streamContent":"hi\n"}},"toolCallId":"c\n1"}}"#
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_json_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for layout in [&ROOT, &STEP, &TURN, &USER_MESSAGE, &SUMMARY_ARCHIVE] {
                let mut out = String::new();
                if push_message(&mut out, &bytes, layout).is_ok() {
                    prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&out).is_ok(), "{out}");
                }
            }
        }
    }
}
