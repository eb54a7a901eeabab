//! Which of Cursor's artifacts the beginning of a file belongs to, by its content alone.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Framing, Identity};
use engram_core::head::Head;
use memchr::memmem::Finder;

use super::transcript_json::MESSAGES;
use super::{clock, decoded, millis, revisions};
use crate::shared::document::{required_array, whole_document};
use crate::shared::value::{Field, StructuralIndex, Value, find_line, parse, raw_str};
use crate::shared::view::view;

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

/// As many of them are parsed where none shows a mark: an artifact of Cursor's shows one before.
const SILENT: usize = 16;

/// The longest line that is looked at: none of those that tell the formats apart is nearly as long.
const LINE_BYTES: usize = 1 << 20;

/// `_v` of conversations whose messages are rows (public readers of 2026; a fixture shows 16).
const COMPOSER_SCHEMAS: [u64; 4] = [10, 16, 17, 18];

/// `_v` of their messages.
const BUBBLE_SCHEMA: u64 = 3;

view! {
    /// The fields that tell Cursor's line formats from each other and from those of other harnesses.
    Line {
        kind: "type" Any,
        subtype: "subtype" Any,
        role: "role" Any,
        message: "message" Any,
        status: "status" Any,
        session_id: "session_id" Any,
        timestamp_ms: "timestamp_ms" Number,
        call_id: "call_id" Any,
        tool_call: "tool_call" Object,
        request_id: "request_id" Any,
        duration_api_ms: "duration_api_ms" Any,
        uuid: "uuid" Any,
        hook_event_name: "hook_event_name" Any,
        conversation_id: "conversation_id" Any,
        generation_id: "generation_id" Any,
        cursor_version: "cursor_version" Any,
        store: "store" Any,
        meta: "meta" Object,
        id: "id" Any,
        composer: "composer" Object,
        bubble: "bubble" Object,
        camel_session_id: "sessionId" Any,
    }
}

/// One of these stands at the beginning of every line that shows a mark, but for those of streams.
static LEADING: LazyLock<[Finder<'_>; 4]> =
    LazyLock::new(|| ["\"role\"", "\"turn_ended\"", "\"conversation_id\"", "\"store\""].map(Finder::new));

/// A line of a stream ends with this, or begins with it.
static SESSION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"session_id\""));

/// What Codex's lines hold stands behind this.
static PAYLOAD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\",\"payload\":"));

/// That comes within so many bytes.
const ENVELOPE_BYTES: usize = 100;

/// The leading names stand within so many bytes.
const BEGINNING_BYTES: usize = 1024;

/// The session of a stream stands within so many bytes of a line's end: what is said may be long, and stands before it.
const END_BYTES: usize = 1024;

/// The lines that are looked at.
fn lines<'h>(head: &Head<'h>) -> impl Iterator<Item = &'h str> {
    head.lines().take(LINES).filter(|line| line.len() <= LINE_BYTES && line.starts_with('{'))
}

/// The form of the artifact and the marks that prove it.
pub(super) fn form(head: &Head<'_>) -> Option<(Form, Vec<&'static str>)> {
    if is_json_transcript(head.text()) || whole_document(head).is_some_and(is_rearranged_transcript) {
        return Some((Form::TranscriptJson, vec!["transcript.json"]));
    }
    let mut found: Vec<(Form, &'static str)> = Vec::new();
    let mut index = StructuralIndex::default();
    for (parsed, line) in lines(head).filter(|line| may_show_a_mark(line.as_bytes())).enumerate() {
        if parsed == SILENT && found.is_empty() {
            return None;
        }
        if let Some(mark) = parse(line, &mut index).ok().and_then(|line| line_mark(&Line::lenient(line)))
            && !found.contains(&mark)
        {
            found.push(mark);
        }
    }
    let form = found.first()?.0;
    found.iter().all(|(other, _)| *other == form).then(|| (form, found.iter().map(|(_, mark)| *mark).collect()))
}

/// False for most lines of other harnesses, which are not parsed.
fn may_show_a_mark(line: &[u8]) -> bool {
    let (beginning, end) = (&line[..line.len().min(BEGINNING_BYTES)], &line[line.len().saturating_sub(END_BYTES)..]);
    if is_of_another(beginning) {
        return false;
    }
    LEADING.iter().any(|name| name.find(beginning).is_some()) || [beginning, end].iter().any(|part| SESSION.find(part).is_some())
}

/// True for a line that begins as those of Claude Code's or Codex's conversations do, which have roles too.
fn is_of_another(beginning: &[u8]) -> bool {
    let behind_time = || beginning.strip_prefix(b"{\"timestamp\":\"").and_then(|time| time.get(..ENVELOPE_BYTES));
    beginning.starts_with(b"{\"parentUuid\":") || behind_time().is_some_and(|envelope| PAYLOAD.find(envelope).is_some())
}

/// The mark that a line shows. A `system/init` line alone shows none: another harness prints the same.
fn line_mark(line: &Line<'_>) -> Option<(Form, &'static str)> {
    if line.uuid().is_some() || line.camel_session_id().is_some() {
        return None;
    }
    if line.hook_event_name().is_some() && line.conversation_id().is_some() && line.generation_id().is_some() {
        return Some((Form::Hooks, "hook.payload"));
    }
    if raw_str(line.store()) == "chat" && line.meta().is_some_and(|meta| meta.member("agentId").is_some()) {
        return Some((Form::Chat, "store.chat"));
    }
    match raw_str(line.store()) {
        "composer" => return Some((Form::Rows, "store.composer_row")),
        "inline_composer" | "tab" => return Some((Form::Inline, "store.composer_inline")),
        _ => {}
    }
    if line.kind().is_none() && line.store().is_none() {
        let content = line.message().and_then(|message| message.member("content"));
        let is_message = matches!(raw_str(line.role()), "user" | "assistant") && content.is_some_and(Value::is_array);
        return is_message.then_some((Form::Transcript, "transcript.message"));
    }
    if raw_str(line.kind()) == "turn_ended" && line.status().is_some() {
        return Some((Form::Transcript, "transcript.turn_ended"));
    }
    line.session_id()?;
    match raw_str(line.kind()) {
        "tool_call" if line.call_id().is_some() && line.tool_call().is_some() => Some((Form::Stream, "stream.tool_call")),
        "result" if line.request_id().is_some() && line.duration_api_ms().is_some() => Some((Form::Stream, "stream.result")),
        "assistant" if line.timestamp_ms().is_some() => Some((Form::Stream, "stream.timestamp_ms")),
        "thinking" | "connection" | "retry" | "interaction_query" if line.subtype().is_some() && line.timestamp_ms().is_some() => {
            Some((Form::Stream, "stream.timestamp_ms"))
        }
        _ => None,
    }
}

/// `{"mode": .., "messages": [{"role": ..`: a document may be larger than its head, so only its first bytes are looked at.
fn is_json_transcript(text: &str) -> bool {
    let init: String = text.chars().take(256).filter(|c| !c.is_ascii_whitespace()).collect();
    let messages = init.strip_prefix("{\"mode\":\"").and_then(|rest| rest.split_once("\",\"messages\":["));
    messages.is_some_and(|(mode, rest)| !mode.contains('"') && rest.starts_with("{\"role\":\""))
}

/// The same document, its members in another order.
fn is_rearranged_transcript(document: &str) -> bool {
    let first = document.trim_start_matches('{').trim_ascii_start();
    if !["\"messages\"", "\"mode\"", "\"turnEnded\""].iter().any(|name| first.starts_with(name)) {
        return false;
    }
    let mut index = StructuralIndex::default();
    let transcript =
        parse(document, &mut index).ok().filter(|transcript| transcript.member("mode").is_some_and(|mode| mode.text().is_some()));
    let messages = transcript.and_then(|transcript| required_array(transcript, MESSAGES).ok());
    messages.and_then(|messages| messages.elements().next()).is_some_and(|first| first.member("role").is_some())
}

/// What the head says of version, schema, session and first time.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let Some((form, _)) = form(head) else { return Identity::default() };
    let mut identity = Identity { schema: form.schema(), ..Identity::default() };
    let find = |fact: fn(&Line<'_>) -> Option<String>| find_line(lines(head), |line| fact(&Line::lenient(line)));
    match form {
        Form::Transcript => identity.start = find_line(lines(head), transcript_time),
        Form::TranscriptJson => identity.start = json_transcript_time(head.text()),
        Form::Chat => {
            identity.session_id = find(|line| name(line.meta()?.member("agentId")));
            identity.start = find(|line| millis(line.meta()?.member("createdAt")));
        }
        Form::Rows | Form::Inline => {
            identity.schema = identity.schema.filter(|_| form == Form::Inline || rows_are_known(head));
            identity.session_id = find(|line| name(line.id()));
            identity.start = find(|line| millis(line.composer()?.member("createdAt").or(line.composer()?.member("lastSendTime"))));
        }
        Form::Hooks => {
            identity.session_id = find(|line| name(line.conversation_id()));
            identity.version = find(|line| name(line.cursor_version()));
        }
        Form::Stream => {
            identity.session_id = find(|line| name(line.session_id()));
            identity.start = find(|line| millis(line.timestamp_ms()));
        }
    }
    identity
}

/// True when the conversation's record is of a schema that is known, or its messages are, where it has no record.
fn rows_are_known(head: &Head<'_>) -> bool {
    let number = |record: Field<'_>| record?.member("_v")?.unsigned();
    let known = find_line(lines(head), |line| {
        let line = Line::lenient(line);
        let of_record = number(line.composer()).map(|version| COMPOSER_SCHEMAS.contains(&version));
        of_record.or_else(|| number(line.bubble()).map(|version| version == BUBBLE_SCHEMA))
    });
    known == Some(true)
}

fn transcript_time(line: Value<'_>) -> Option<String> {
    let mut parts = line.member("message")?.member("content")?.elements();
    parts.find_map(|part| clock::prompt_time(&decoded(part.member("text"))?))
}

/// The head may end inside the document, so the first prompt is taken from its text.
fn json_transcript_time(text: &str) -> Option<String> {
    let at = text.find("\"<timestamp>")?;
    clock::prompt_time(text.get(at + 1..)?)
}

/// A name that is not empty.
fn name(field: Field<'_>) -> Option<String> {
    decoded(field).filter(|name| !name.is_empty()).map(Cow::into_owned)
}
