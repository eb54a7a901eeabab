//! The shapes of an export and of a stream, borrowed from the text. Only what the tape needs is named; the rest is skipped.
//!
//! Strings are kept as raw JSON values, so that text which is already canonical is copied and never decoded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::kit::json::Raw;

/// `opencode export`: a session with its messages and their parts.
#[derive(Debug, Deserialize)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub info: Info<'a>,
    #[serde(borrow)]
    pub messages: Vec<Message<'a>>,
}

/// As [`Document`], unread: for documents in which something has another shape.
#[derive(Debug, Deserialize)]
pub(super) struct RawDocument<'a> {
    #[serde(borrow)]
    pub info: &'a RawValue,
    #[serde(borrow)]
    pub messages: Vec<&'a RawValue>,
}

/// One message.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub info: Envelope<'a>,
    #[serde(borrow)]
    pub parts: Vec<Part<'a>>,
}

/// As [`Message`], unread.
#[derive(Debug, Deserialize)]
pub(super) struct RawMessage<'a> {
    #[serde(borrow)]
    pub info: &'a RawValue,
    #[serde(borrow)]
    pub parts: Vec<&'a RawValue>,
}

/// What a session says of itself.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Info<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub directory: Raw<'a>,
    #[serde(borrow)]
    pub title: Raw<'a>,
    #[serde(rename = "parentID", borrow)]
    pub parent_id: Raw<'a>,
    /// 1.14.34 and later.
    #[serde(borrow)]
    pub agent: Raw<'a>,
    /// 1.14.34 and later.
    #[serde(borrow)]
    pub model: Option<Model<'a>>,
    #[serde(default)]
    pub time: Time,
    #[serde(borrow)]
    pub revert: Option<Revert<'a>>,
    #[serde(borrow)]
    pub share: Option<Share<'a>>,
    #[serde(default, borrow)]
    pub permission: Vec<Rule<'a>>,
}

/// A model: `id` on sessions, `modelID` on messages.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Model<'a> {
    #[serde(alias = "id", rename = "modelID", borrow)]
    pub model_id: Raw<'a>,
    #[serde(rename = "providerID", borrow)]
    pub provider_id: Raw<'a>,
}

/// Messages that the user took back. They stay until the next prompt.
#[derive(Debug, Deserialize)]
pub(super) struct Revert<'a> {
    #[serde(borrow)]
    pub diff: Raw<'a>,
}

/// Where a session is published.
#[derive(Debug, Deserialize)]
pub(super) struct Share<'a> {
    #[serde(borrow)]
    pub url: Raw<'a>,
}

/// A permission that the session was started with.
#[derive(Debug, Deserialize)]
pub(super) struct Rule<'a> {
    #[serde(borrow)]
    pub permission: Raw<'a>,
    #[serde(borrow)]
    pub pattern: Raw<'a>,
    #[serde(borrow)]
    pub action: Raw<'a>,
}

/// Times in milliseconds since the epoch.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct Time {
    pub created: Option<i64>,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub archived: Option<i64>,
}

/// What a message says of itself.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub id: Raw<'a>,
    /// `user` or `assistant`.
    #[serde(borrow)]
    pub role: Cow<'a, str>,
    #[serde(default)]
    pub time: Time,
    #[serde(borrow)]
    pub agent: Raw<'a>,
    #[serde(borrow)]
    pub mode: Raw<'a>,
    /// User messages, 1.0.98 and later.
    #[serde(borrow)]
    pub model: Option<Model<'a>>,
    #[serde(rename = "modelID", borrow)]
    pub model_id: Raw<'a>,
    #[serde(rename = "providerID", borrow)]
    pub provider_id: Raw<'a>,
    #[serde(borrow)]
    pub path: Option<Path<'a>>,
    /// System prompts: a list on assistant messages up to 0.5.29, a string on user messages.
    #[serde(borrow)]
    pub system: Raw<'a>,
    /// `true` on the assistant message that holds a compaction's summary; an object on user messages.
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub error: Option<Error<'a>>,
    #[serde(borrow)]
    pub cost: Raw<'a>,
    #[serde(borrow)]
    pub tokens: Option<Tokens<'a>>,
    /// 0.1.174: everything above but `id` and `role` stands in here.
    #[serde(borrow)]
    pub metadata: Option<FirstMetadata<'a>>,
}

/// Where the agent works.
#[derive(Debug, Deserialize)]
pub(super) struct Path<'a> {
    #[serde(borrow)]
    pub cwd: Raw<'a>,
}

/// `metadata` of a message of 0.1.174.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FirstMetadata<'a> {
    #[serde(default)]
    pub time: Time,
    #[serde(borrow)]
    pub error: Option<Error<'a>>,
    #[serde(borrow)]
    pub assistant: Option<FirstAssistant<'a>>,
    /// What a tool adds to its result, by call id.
    #[serde(default, borrow)]
    pub tool: BTreeMap<Cow<'a, str>, Metadata<'a>>,
}

/// `metadata.assistant` of a message of 0.1.174.
#[derive(Debug, Deserialize)]
pub(super) struct FirstAssistant<'a> {
    #[serde(borrow)]
    pub system: Raw<'a>,
    #[serde(borrow)]
    pub path: Option<Path<'a>>,
    #[serde(rename = "modelID", borrow)]
    pub model_id: Raw<'a>,
    #[serde(rename = "providerID", borrow)]
    pub provider_id: Raw<'a>,
    #[serde(borrow)]
    pub cost: Raw<'a>,
    #[serde(borrow)]
    pub tokens: Option<Tokens<'a>>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
}

/// The summary of a user message's turn.
#[derive(Debug, Deserialize)]
pub(super) struct Summary<'a> {
    #[serde(borrow)]
    pub title: Raw<'a>,
    #[serde(borrow)]
    pub body: Raw<'a>,
}

/// An error that the harness recorded.
#[derive(Debug, Deserialize)]
pub(super) struct Error<'a> {
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub data: Option<ErrorData<'a>>,
}

/// Details of an [`Error`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorData<'a> {
    #[serde(borrow)]
    pub message: Raw<'a>,
    /// What the provider answered.
    #[serde(borrow)]
    pub response_body: Raw<'a>,
}

/// Tokens of one request.
#[derive(Debug, Deserialize)]
pub(super) struct Tokens<'a> {
    #[serde(borrow)]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub reasoning: Raw<'a>,
    /// 1.1.65 and later.
    #[serde(borrow)]
    pub total: Raw<'a>,
    #[serde(borrow)]
    pub cache: Option<Cache<'a>>,
}

/// Cached tokens of one request.
#[derive(Debug, Deserialize)]
pub(super) struct Cache<'a> {
    #[serde(borrow)]
    pub read: Raw<'a>,
    #[serde(borrow)]
    pub write: Raw<'a>,
}

/// One part of a message. Which fields it has follows from its `type`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(rename = "messageID", borrow)]
    pub message_id: Raw<'a>,
    #[serde(default, deserialize_with = "or_default")]
    pub time: Time,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub synthetic: Raw<'a>,
    /// What a provider added, reasoning that only it can read among it.
    #[serde(borrow)]
    pub metadata: Raw<'a>,
    #[serde(borrow)]
    pub tool: Raw<'a>,
    #[serde(rename = "callID", borrow)]
    pub call_id: Raw<'a>,
    #[serde(borrow)]
    pub state: Option<State<'a>>,
    #[serde(borrow)]
    pub tool_invocation: Option<Invocation<'a>>,
    #[serde(borrow)]
    pub cost: Raw<'a>,
    #[serde(borrow)]
    pub tokens: Option<Tokens<'a>>,
    #[serde(borrow)]
    pub snapshot: Raw<'a>,
    #[serde(borrow)]
    pub files: Raw<'a>,
    #[serde(borrow)]
    pub mime: Raw<'a>,
    #[serde(alias = "mediaType", borrow)]
    pub media_type: Raw<'a>,
    #[serde(borrow)]
    pub url: Raw<'a>,
    #[serde(borrow)]
    pub filename: Raw<'a>,
    #[serde(borrow)]
    pub auto: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub prompt: Raw<'a>,
    #[serde(borrow)]
    pub description: Raw<'a>,
    #[serde(borrow)]
    pub error: Option<Error<'a>>,
}

/// What a tool part says about its call.
#[derive(Debug, Deserialize)]
pub(super) struct State<'a> {
    /// `pending`, `running`, `completed` or `error`.
    #[serde(borrow)]
    pub status: Cow<'a, str>,
    #[serde(borrow)]
    pub input: Raw<'a>,
    /// The arguments of a pending call as far as they have come.
    #[serde(borrow)]
    pub raw: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(default, borrow, deserialize_with = "or_default")]
    pub metadata: Metadata<'a>,
    #[serde(default, deserialize_with = "or_default")]
    pub time: Time,
    #[serde(default, borrow, deserialize_with = "or_default")]
    pub attachments: Vec<File<'a>>,
}

/// A call of 0.1.174 with its result.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation<'a> {
    /// `partial-call`, `call` or `result`.
    #[serde(borrow)]
    pub state: Cow<'a, str>,
    #[serde(borrow)]
    pub tool_call_id: Raw<'a>,
    #[serde(borrow)]
    pub tool_name: Raw<'a>,
    #[serde(borrow)]
    pub args: Raw<'a>,
    #[serde(borrow)]
    pub result: Raw<'a>,
}

/// What a tool adds to its result. Each tool has its own fields.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    /// `bash`: `null` when the command was stopped, so presence must be told from absence.
    #[serde(borrow, default, deserialize_with = "present")]
    pub exit: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub truncated: Raw<'a>,
    #[serde(borrow)]
    pub output_path: Raw<'a>,
    #[serde(borrow)]
    pub exists: Raw<'a>,
    #[serde(borrow)]
    pub diff: Raw<'a>,
    #[serde(borrow)]
    pub filediff: Raw<'a>,
    #[serde(borrow)]
    pub files: Raw<'a>,
    /// 0.1.174: the call failed.
    #[serde(borrow)]
    pub error: Raw<'a>,
    /// 0.1.174: when the call ran.
    #[serde(borrow)]
    pub time: Raw<'a>,
}

/// `metadata.filediff` of `edit`.
#[derive(Debug, Deserialize)]
pub(super) struct FileDiff<'a> {
    /// The whole file before, 1.0.0 to 1.3.2.
    #[serde(borrow)]
    pub before: Raw<'a>,
    /// The whole file after, 1.0.0 to 1.3.2.
    #[serde(borrow)]
    pub after: Raw<'a>,
    /// A unified diff, 1.14.34 and later.
    #[serde(borrow)]
    pub patch: Raw<'a>,
}

/// A file that is attached to a message or a result.
#[derive(Debug, Deserialize)]
pub(super) struct File<'a> {
    #[serde(borrow)]
    pub mime: Raw<'a>,
    #[serde(borrow)]
    pub url: Raw<'a>,
    #[serde(borrow)]
    pub filename: Raw<'a>,
}

/// One line of `run --format json`.
#[derive(Debug, Deserialize)]
pub(super) struct StreamLine<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    pub timestamp: Option<i64>,
    #[serde(rename = "sessionID", borrow)]
    pub session_id: Raw<'a>,
    #[serde(borrow)]
    pub part: Option<Part<'a>>,
    #[serde(borrow)]
    pub error: Option<Error<'a>>,
}

/// Keeps `null`, which an `Option` takes for absence.
fn present<'de, D: Deserializer<'de>>(input: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(input).map(Some)
}

/// Takes `null` for absence.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<T, D::Error> {
    Option::deserialize(input).map(Option::unwrap_or_default)
}
