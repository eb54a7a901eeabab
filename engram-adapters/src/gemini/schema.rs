//! The shapes of the logs, borrowed from their text. Only what the tape needs is named; the rest is skipped.
//!
//! Strings are kept as raw JSON values, so that text which is already canonical is copied and never decoded.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::kit::json::Raw;

/// One line of a JSON Lines log (0.39.0 and later): a header, a message, a change of the header, or a rewind.
/// Which it is follows from the fields that it has.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "$set", borrow)]
    pub set: Option<Changes<'a>>,
    #[serde(rename = "$rewindTo", borrow)]
    pub rewind_to: Raw<'a>,
    #[serde(rename = "sessionId", borrow)]
    pub session_id: Raw<'a>,
    #[serde(rename = "startTime", borrow)]
    pub start_time: Raw<'a>,
    #[serde(rename = "kind", borrow)]
    pub role: Raw<'a>,
    #[serde(borrow)]
    pub directories: Raw<'a>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub timestamp: Raw<'a>,
    #[serde(rename = "type", borrow)]
    pub kind: Raw<'a>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(rename = "displayContent", borrow)]
    pub display_content: Raw<'a>,
    #[serde(borrow)]
    pub thoughts: Option<Vec<Thought<'a>>>,
    #[serde(borrow)]
    pub tokens: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(rename = "toolCalls", borrow)]
    pub tool_calls: Option<Vec<Call<'a>>>,
}

/// What a `$set` line changes.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    /// The whole history as the harness now holds it. Replaces in the harness; only ever adds here.
    pub messages: Option<Vec<Message<'a>>>,
    pub session_id: Raw<'a>,
    pub summary: Raw<'a>,
    pub directories: Raw<'a>,
    pub last_updated: Raw<'a>,
    /// The first key that no known version writes.
    pub unknown: Option<String>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Changes<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(ChangesVisitor(PhantomData))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ChangesKey {
    Messages,
    SessionId,
    Summary,
    Directories,
    LastUpdated,
    Unknown(String),
}

/// Reads [`Changes`], which a derived reader could not: an unknown key must not pass in silence.
struct ChangesVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ChangesVisitor<'a> {
    type Value = Changes<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of changes")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Changes<'a>, M::Error> {
        let mut changes = Changes::default();
        while let Some(key) = members.next_key()? {
            match key {
                ChangesKey::Messages => changes.messages = members.next_value()?,
                ChangesKey::SessionId => changes.session_id = members.next_value()?,
                ChangesKey::Summary => changes.summary = members.next_value()?,
                ChangesKey::Directories => changes.directories = members.next_value()?,
                ChangesKey::LastUpdated => changes.last_updated = members.next_value()?,
                ChangesKey::Unknown(key) => {
                    members.next_value::<IgnoredAny>()?;
                    changes.unknown.get_or_insert(key);
                }
            }
        }
        Ok(changes)
    }
}

/// What stands before the messages: the first line, or the document without its messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Header<'a> {
    pub session_id: Raw<'a>,
    pub start_time: Raw<'a>,
    pub role: Raw<'a>,
    pub directories: Raw<'a>,
    pub summary: Raw<'a>,
}

/// A whole-file log (0.4.1 to 0.38.2).
#[derive(Debug, Deserialize)]
pub(super) struct Document<'a> {
    #[serde(rename = "sessionId", borrow)]
    pub session_id: Raw<'a>,
    #[serde(rename = "startTime", borrow)]
    pub start_time: Raw<'a>,
    #[serde(rename = "kind", borrow)]
    pub role: Raw<'a>,
    #[serde(borrow)]
    pub directories: Raw<'a>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub messages: Vec<&'a RawValue>,
}

/// A message of the conversation.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub timestamp: Raw<'a>,
    /// `user`, `gemini`, `info`, `warning`, `error`.
    #[serde(rename = "type", borrow)]
    pub kind: Raw<'a>,
    /// A string, or a list of parts.
    #[serde(borrow)]
    pub content: Raw<'a>,
    /// What the user typed, where `content` holds it expanded (0.31.0 and later).
    #[serde(rename = "displayContent", borrow)]
    pub display_content: Raw<'a>,
    #[serde(borrow)]
    pub thoughts: Option<Vec<Thought<'a>>>,
    #[serde(borrow)]
    pub tokens: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(rename = "toolCalls", borrow)]
    pub tool_calls: Option<Vec<Call<'a>>>,
}

impl<'a> Line<'a> {
    /// The line as a header.
    pub fn header(&self) -> Header<'a> {
        let Line { session_id, start_time, role, directories, summary, .. } = *self;
        Header { session_id, start_time, role, directories, summary }
    }

    /// The line as a message.
    pub fn into_message(self) -> Message<'a> {
        let Line { id, timestamp, kind, content, display_content, thoughts, tokens, model, tool_calls, .. } = self;
        Message { id, timestamp, kind, content, display_content, thoughts, tokens, model, tool_calls }
    }
}

impl<'a> Document<'a> {
    /// The document's header.
    pub fn header(&self) -> Header<'a> {
        let Document { session_id, start_time, role, directories, summary, .. } = *self;
        Header { session_id, start_time, role, directories, summary }
    }
}

/// A summary of a thought: the harness takes `**subject** description` apart.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Thought<'a> {
    #[serde(borrow)]
    pub subject: Raw<'a>,
    #[serde(borrow)]
    pub description: Raw<'a>,
}

/// Tokens of one model turn.
#[derive(Debug, Deserialize)]
pub(super) struct Tokens<'a> {
    #[serde(borrow)]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub cached: Raw<'a>,
    #[serde(borrow)]
    pub thoughts: Raw<'a>,
    #[serde(borrow)]
    pub total: Raw<'a>,
}

/// A tool call with its result (0.10.0 and later).
#[derive(Debug, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub args: Raw<'a>,
    #[serde(borrow)]
    pub result: Option<Vec<Part<'a>>>,
    /// `success`, `error`, `cancelled`.
    #[serde(borrow)]
    pub status: Raw<'a>,
    #[serde(borrow)]
    pub timestamp: Raw<'a>,
    /// What the terminal shows: text, or an object such as [`FileChange`].
    #[serde(rename = "resultDisplay", borrow)]
    pub display: Raw<'a>,
}

/// The `resultDisplay` of an edit (0.25.0 and later).
#[derive(Debug, Deserialize)]
pub(super) struct FileChange<'a> {
    #[serde(rename = "filePath", borrow)]
    pub file_path: Raw<'a>,
    #[serde(rename = "originalContent", borrow)]
    pub original: Raw<'a>,
    #[serde(rename = "newContent", borrow)]
    pub new: Raw<'a>,
    #[serde(rename = "isNewFile", borrow)]
    pub is_new_file: Raw<'a>,
}

/// Arguments that say which file and which text a call is about.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FileArgs<'a> {
    #[serde(alias = "absolute_path", borrow)]
    pub file_path: Raw<'a>,
    #[serde(borrow)]
    pub old_string: Raw<'a>,
    #[serde(borrow)]
    pub new_string: Raw<'a>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    /// 0-based first line of a read (up to 0.30.1).
    #[serde(borrow)]
    pub offset: Raw<'a>,
    /// 1-based first line of a read (0.31.0 and later).
    #[serde(borrow)]
    pub start_line: Raw<'a>,
}

/// One part of what a person, the model or a tool says, in the form of the model's interface.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub text: Raw<'a>,
    /// True when `text` is a thought.
    #[serde(borrow)]
    pub thought: Raw<'a>,
    #[serde(rename = "functionCall", borrow)]
    pub call: Option<FunctionCall<'a>>,
    #[serde(rename = "functionResponse", borrow)]
    pub response: Option<FunctionResponse<'a>>,
    #[serde(rename = "inlineData", borrow)]
    pub inline_data: Option<Blob<'a>>,
    #[serde(rename = "fileData", borrow)]
    pub file_data: Option<Blob<'a>>,
}

/// A call as the model made it.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub args: Raw<'a>,
}

/// A result as the model gets it.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub response: Option<Response<'a>>,
    #[serde(borrow)]
    pub parts: Option<Vec<Part<'a>>>,
}

/// What a tool answered: `output` where it did what it was asked, `error` where not.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
}

/// A file beside the text: in base64, or by address.
#[derive(Debug, Deserialize)]
pub(super) struct Blob<'a> {
    #[serde(rename = "mimeType", borrow)]
    pub media_type: Raw<'a>,
    #[serde(borrow)]
    pub data: Raw<'a>,
    #[serde(rename = "fileUri", borrow)]
    pub uri: Raw<'a>,
    #[serde(rename = "displayName", borrow)]
    pub name: Raw<'a>,
}

/// One entry of `logs.json`: what was typed at the terminal.
#[derive(Debug, Deserialize)]
pub(super) struct Typed<'a> {
    #[serde(rename = "sessionId", borrow)]
    pub session_id: Raw<'a>,
    #[serde(rename = "type", borrow)]
    pub kind: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub timestamp: Raw<'a>,
}

/// A saved conversation (`/chat save`).
#[derive(Debug, Deserialize)]
pub(super) struct Saved<'a> {
    #[serde(borrow)]
    pub history: Vec<&'a RawValue>,
}

/// One message of a saved conversation.
#[derive(Debug, Deserialize)]
pub(super) struct Turn<'a> {
    /// `user` or `model`.
    #[serde(borrow)]
    pub role: Raw<'a>,
    #[serde(borrow)]
    pub parts: Raw<'a>,
}
