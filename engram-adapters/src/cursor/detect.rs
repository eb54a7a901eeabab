//! Which of Cursor's artifacts the beginning of a file belongs to, by its content alone.

use std::borrow::Cow;

use engram_core::adapter::{Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::store::chat::millis;
use super::{clock, decoded, revisions, word};
use crate::kit::json::{Raw, is_array, is_object, unsigned};
use crate::kit::time;

/// Cursor's kinds of artifact. Each is a schema of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The older transcript: one JSON document.
    TranscriptJson,
    /// The transcript: JSON Lines.
    Transcript,
    /// What the command line prints with `--output-format stream-json`.
    Stream,
    /// Payloads that hooks were given, a line each.
    Hooks,
    /// An opened `store.db`.
    Chat,
    /// An opened conversation of `state.vscdb` whose messages are rows.
    Rows,
    /// An opened conversation of `state.vscdb` whose messages are inline.
    Inline,
}

impl Form {
    /// How an artifact of this form is divided into records.
    pub(super) fn framing(self) -> Framing {
        match self {
            Form::TranscriptJson => Framing::Document,
            Form::Transcript | Form::Stream | Form::Hooks | Form::Chat | Form::Rows | Form::Inline => Framing::Lines,
        }
    }

    /// The schema. Hook payloads record a version, which decides.
    fn schema(self) -> Option<&'static str> {
        Some(match self {
            Form::TranscriptJson => revisions::TRANSCRIPT_JSON,
            Form::Transcript => revisions::TRANSCRIPT,
            Form::Stream => revisions::STREAM,
            Form::Chat => revisions::CHAT,
            Form::Rows => revisions::EDITOR_ROWS,
            Form::Inline => revisions::EDITOR_INLINE,
            Form::Hooks => return None,
        })
    }
}

/// Every mark.
pub(super) const MARKS: &[&str] = &[
    "transcript.json",
    "transcript.message",
    "transcript.turn_ended",
    "stream.tool_call",
    "stream.timestamp_ms",
    "stream.result",
    "hook.payload",
    "store.chat",
    "store.composer_row",
    "store.composer_inline",
];

/// Lines that are looked at. A capture states what it is within its first few.
const LINES: usize = 64;

/// The fields that tell Cursor's line formats from each other and from those of other harnesses.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    subtype: Raw<'a>,
    #[serde(borrow)]
    role: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    timestamp_ms: Raw<'a>,
    #[serde(borrow)]
    call_id: Raw<'a>,
    #[serde(borrow)]
    tool_call: Raw<'a>,
    #[serde(borrow)]
    request_id: Raw<'a>,
    #[serde(borrow)]
    duration_api_ms: Raw<'a>,
    #[serde(borrow)]
    uuid: Raw<'a>,
    #[serde(borrow)]
    hook_event_name: Raw<'a>,
    #[serde(borrow)]
    conversation_id: Raw<'a>,
    #[serde(borrow)]
    generation_id: Raw<'a>,
    #[serde(borrow)]
    cursor_version: Raw<'a>,
    #[serde(borrow)]
    store: Raw<'a>,
    #[serde(borrow)]
    meta: Option<Meta<'a>>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    composer: Option<Composer<'a>>,
    #[serde(borrow, rename = "sessionId")]
    camel_session_id: Raw<'a>,
}

/// A chat's own record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    agent_id: Raw<'a>,
    #[serde(borrow)]
    created_at: Raw<'a>,
}

/// A conversation's own record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Composer<'a> {
    #[serde(borrow, rename = "_v")]
    version: Raw<'a>,
    #[serde(borrow)]
    created_at: Raw<'a>,
    #[serde(borrow)]
    last_send_time: Raw<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
}

/// The form of the artifact and the marks that prove it.
pub(super) fn form(head: &Head<'_>) -> Option<(Form, Vec<&'static str>)> {
    let text = head.text();
    if is_json_transcript(text) {
        return Some((Form::TranscriptJson, vec!["transcript.json"]));
    }
    let mut found: Vec<(Form, &'static str)> = Vec::new();
    for line in head.lines().take(LINES) {
        if let Some(mark) = serde_json::from_str(line).ok().and_then(|line| line_mark(&line))
            && !found.contains(&mark)
        {
            found.push(mark);
        }
    }
    let form = found.first()?.0;
    found.iter().all(|(other, _)| *other == form).then(|| (form, found.iter().map(|(_, mark)| *mark).collect()))
}

/// The mark that a line shows. A `system/init` line alone shows none: another harness prints the same.
fn line_mark(line: &Line<'_>) -> Option<(Form, &'static str)> {
    if line.uuid.is_some() || line.camel_session_id.is_some() {
        return None;
    }
    if line.hook_event_name.is_some() && line.conversation_id.is_some() && line.generation_id.is_some() {
        return Some((Form::Hooks, "hook.payload"));
    }
    if word(line.store) == "chat" && line.meta.as_ref().is_some_and(|meta| meta.agent_id.is_some()) {
        return Some((Form::Chat, "store.chat"));
    }
    if matches!(word(line.store), "composer" | "tab")
        && let Some(composer) = &line.composer
    {
        let is_row = composer.version.is_some();
        return Some(if is_row { (Form::Rows, "store.composer_row") } else { (Form::Inline, "store.composer_inline") });
    }
    if line.kind.is_none() && line.store.is_none() {
        let content = line.message.and_then(|message| serde_json::from_str::<Message<'_>>(message.get()).ok()?.content);
        let is_message = matches!(word(line.role), "user" | "assistant") && content.is_some_and(is_array);
        return is_message.then_some((Form::Transcript, "transcript.message"));
    }
    if word(line.kind) == "turn_ended" && line.status.is_some() {
        return Some((Form::Transcript, "transcript.turn_ended"));
    }
    line.session_id?;
    match word(line.kind) {
        "tool_call" if line.call_id.is_some() && line.tool_call.is_some_and(is_object) => Some((Form::Stream, "stream.tool_call")),
        "result" if line.request_id.is_some() && line.duration_api_ms.is_some() => Some((Form::Stream, "stream.result")),
        "assistant" if unsigned(line.timestamp_ms).is_some() => Some((Form::Stream, "stream.timestamp_ms")),
        "thinking" | "connection" | "retry" | "interaction_query" if line.subtype.is_some() && unsigned(line.timestamp_ms).is_some() => {
            Some((Form::Stream, "stream.timestamp_ms"))
        }
        _ => None,
    }
}

/// `{"mode": .., "messages": [{"role": ..`: a document may be larger than its head, so only its first bytes are looked at.
fn is_json_transcript(text: &str) -> bool {
    let opening: String = text.chars().take(256).filter(|c| !c.is_ascii_whitespace()).collect();
    let messages = opening.strip_prefix("{\"mode\":\"").and_then(|rest| rest.split_once("\",\"messages\":["));
    messages.is_some_and(|(mode, rest)| !mode.contains('"') && rest.starts_with("{\"role\":\""))
}

/// What the head says of version, schema, session and first time.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let Some((form, _)) = form(head) else { return Identity::default() };
    let mut identity = Identity { schema: form.schema(), ..Identity::default() };
    let lines = || head.lines().take(LINES).filter_map(|line| serde_json::from_str::<Line<'_>>(line).ok());
    match form {
        Form::Transcript => identity.start = head.lines().take(LINES).find_map(transcript_time),
        Form::TranscriptJson => identity.start = json_transcript_time(head.text()),
        Form::Chat => {
            let meta = || lines().find_map(|line| line.meta);
            identity.session_id = meta().and_then(|meta| name(meta.agent_id));
            identity.start = meta().and_then(|meta| millis(meta.created_at));
        }
        Form::Rows | Form::Inline => {
            let composer = || lines().find_map(|line| line.composer);
            identity.session_id = lines().find_map(|line| name(line.id));
            identity.start = composer().and_then(|composer| millis(composer.created_at.or(composer.last_send_time)));
        }
        Form::Hooks => {
            identity.session_id = lines().find_map(|line| name(line.conversation_id));
            identity.version = lines().find_map(|line| name(line.cursor_version));
        }
        Form::Stream => {
            identity.session_id = lines().find_map(|line| name(line.session_id));
            identity.start = lines().find_map(|line| time::from_millis(unsigned(line.timestamp_ms)?.try_into().ok()?));
        }
    }
    identity
}

fn transcript_time(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Prompt<'a> {
        #[serde(borrow)]
        message: Content<'a>,
    }
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: Vec<Part<'a>>,
    }
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow)]
        text: Option<&'a RawValue>,
    }
    let prompt: Prompt<'_> = serde_json::from_str(line).ok()?;
    prompt.message.content.iter().find_map(|part| clock::prompt_time(&Text::of(part.text?)?.decode_lossy()))
}

/// The head may end inside the document, so the first prompt is taken from its text.
fn json_transcript_time(text: &str) -> Option<String> {
    let at = text.find("\"<timestamp>")?;
    clock::prompt_time(text.get(at + 1..)?)
}

/// A name that is not empty.
fn name(raw: Raw<'_>) -> Option<String> {
    decoded(raw).filter(|name| !name.is_empty()).map(Cow::into_owned)
}
