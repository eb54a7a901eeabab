//! Is it ours, and what does its head say? Named marks of content, never a file name.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::convert::tape_time;
use super::revisions;
use super::schema::{Turn, Typed};
use crate::kit::json::{Raw, is_array, parse, text};

/// The first line of a JSON Lines log.
const HEADER: &str = "header.sessionId+startTime+lastUpdated";
/// A message line whose header is not in sight.
const MESSAGE: &str = "line.type=gemini+thoughts+tokens";
/// A whole-file log.
const DOCUMENT: &str = "document.sessionId+startTime+messages";
/// What was typed at the terminal.
const TYPED_LOG: &str = "list.sessionId+messageId+message";
/// A saved conversation.
const SAVED: &str = "history.role+parts";

/// This many messages are looked at for fields that no known version writes.
const LOOKED_AT: usize = 8;

/// How an artifact is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A record a line (0.39.0 and later).
    Lines,
    /// One object with all messages (0.4.1 to 0.38.2).
    Document,
    /// `logs.json`.
    TypedLog,
    /// `checkpoint-<tag>.json`.
    Saved,
}

/// What a log says before its messages. No known version writes other fields there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KnownHeader<'a> {
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    project_hash: Raw<'a>,
    #[serde(borrow)]
    start_time: Raw<'a>,
    #[serde(borrow)]
    last_updated: Raw<'a>,
    #[serde(borrow)]
    kind: Raw<'a>,
    #[serde(rename = "directories")]
    _directories: Option<IgnoredAny>,
    #[serde(rename = "summary")]
    _summary: Option<IgnoredAny>,
    #[serde(rename = "messages")]
    _messages: Option<IgnoredAny>,
}

impl KnownHeader<'_> {
    fn is_proven(&self) -> bool {
        let is_hash = text(self.project_hash).is_some_and(|hash| {
            let hash = hash.decode_lossy();
            hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        let is_role = text(self.kind).is_none_or(|kind| kind.is("main") || kind.is("subagent"));
        is_hash && is_role && text(self.session_id).is_some() && tape_time(self.start_time).is_some() && text(self.last_updated).is_some()
    }
}

/// A message. No known version writes other fields into one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KnownMessage<'a> {
    #[serde(rename = "type", borrow)]
    kind: Raw<'a>,
    #[serde(rename = "id")]
    _id: IgnoredAny,
    #[serde(rename = "timestamp")]
    _timestamp: IgnoredAny,
    #[serde(rename = "content")]
    _content: IgnoredAny,
    #[serde(rename = "displayContent")]
    _display_content: Option<IgnoredAny>,
    #[serde(rename = "thoughts")]
    _thoughts: Option<IgnoredAny>,
    #[serde(rename = "tokens")]
    _tokens: Option<IgnoredAny>,
    #[serde(rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(rename = "toolCalls")]
    _tool_calls: Option<IgnoredAny>,
}

/// True for a message of the known types without unknown fields.
fn is_known_message(message: &str) -> bool {
    let kinds = ["user", "gemini", "info", "warning", "error"];
    parse::<KnownMessage<'_>>(message).is_ok_and(|message| text(message.kind).is_some_and(|kind| kinds.iter().any(|known| kind.is(known))))
}

/// What detection looks at in a header or a message line.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe<'a> {
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    start_time: Raw<'a>,
    #[serde(borrow)]
    last_updated: Raw<'a>,
    #[serde(borrow)]
    kind: Raw<'a>,
    messages: Option<IgnoredAny>,
    #[serde(rename = "type", borrow)]
    message_type: Raw<'a>,
    thoughts: Option<IgnoredAny>,
    tokens: Option<IgnoredAny>,
}

impl Probe<'_> {
    fn is_header(&self) -> bool {
        text(self.session_id).is_some() && text(self.start_time).is_some() && text(self.last_updated).is_some()
    }

    fn is_message(&self) -> bool {
        text(self.message_type).is_some_and(|kind| kind.is("gemini")) && self.thoughts.is_some() && self.tokens.is_some()
    }
}

/// What a head turns out to be.
struct Found<'h> {
    form: Form,
    mark: &'static str,
    /// The header's JSON, completed where the head ends inside the document.
    header: Option<String>,
    /// The text from the first message on, for documents.
    messages: &'h str,
}

fn find<'h>(head: &Head<'h>) -> Option<Found<'h>> {
    let source = head.text().trim_start();
    if source.starts_with('[') {
        let form = list_form(source)?;
        let mark = if form == Form::Saved { SAVED } else { TYPED_LOG };
        return Some(Found { form, mark, header: None, messages: "" });
    }
    if !source.starts_with('{') {
        return None;
    }
    for line in head.lines() {
        match parse::<Probe<'_>>(line) {
            Ok(probe) if probe.is_header() && probe.messages.is_none() => {
                return Some(Found { form: Form::Lines, mark: HEADER, header: Some(line.to_owned()), messages: "" });
            }
            Ok(probe) if probe.is_message() => {
                return Some(Found { form: Form::Lines, mark: MESSAGE, header: None, messages: "" });
            }
            Ok(probe) if !probe.is_header() => {}
            _ => break,
        }
    }
    document_form(source)
}

/// A document is recognised by what stands before its messages, so that it need not be in the head as a whole.
fn document_form(source: &str) -> Option<Found<'_>> {
    if let Some((before, list)) = split_at_key(source, "\"history\"")
        && before.trim_end() == "{"
    {
        return (list_form(list)? == Form::Saved).then_some(Found { form: Form::Saved, mark: SAVED, header: None, messages: "" });
    }
    let (before, messages) = split_at_key(source, "\"messages\"")?;
    let header = format!("{}}}", before.trim_end().trim_end_matches(','));
    let is_header = parse::<Probe<'_>>(&header).ok()?.is_header() && messages.starts_with('[');
    is_header.then_some(Found { form: Form::Document, mark: DOCUMENT, header: Some(header), messages })
}

/// The text before the first such key, and its value's text.
fn split_at_key<'t>(source: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let at = memmem::find(source.as_bytes(), key.as_bytes())?;
    let value = source[at + key.len()..].trim_start().strip_prefix(':')?;
    Some((&source[..at], value.trim_start()))
}

/// What a list is, by its first element.
fn list_form(list: &str) -> Option<Form> {
    let first = elements(list).next()?;
    if let Ok(typed) = parse::<Typed<'_>>(first)
        && text(typed.session_id).is_some()
        && text(typed.message).is_some()
        && memmem::find(first.as_bytes(), b"\"messageId\"").is_some()
    {
        return Some(Form::TypedLog);
    }
    let turn = parse::<Turn<'_>>(first).ok()?;
    let role = text(turn.role)?;
    ((role.is("user") || role.is("model")) && turn.parts.is_some_and(is_array)).then_some(Form::Saved)
}

/// The elements of a list, as far as the text goes.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list.strip_prefix('[').unwrap_or_default();
    std::iter::from_fn(move || {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let value = values.next()?.ok()?;
        rest = rest[values.byte_offset()..].trim_start().trim_start_matches(',');
        Some(value.get())
    })
}

/// Yes when the head begins as one of the forms does.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    let found = find(head)?;
    let framing = if found.form == Form::Lines { Framing::Lines } else { Framing::Document };
    Some(Evidence { marks: vec![found.mark], framing })
}

/// The form of an artifact that [`probe`] has recognised.
pub(super) fn form(head: &Head<'_>) -> Form {
    find(head).map_or(Form::Lines, |found| found.form)
}

/// Session, start, and the schema where the structure proves it.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let mut identity = Identity::default();
    let Some(found) = find(head) else { return identity };
    let probe: Probe<'_> = found.header.as_deref().and_then(|header| parse(header).ok()).unwrap_or_default();
    identity.session_id = text(probe.session_id).map(|id| id.decode_lossy().into_owned());
    identity.start = tape_time(probe.start_time).map(|time| time.into_owned());
    if text(probe.kind).is_some_and(|kind| kind.is("subagent")) {
        identity.agent_id = identity.session_id.clone();
    }
    identity.schema = schema(head, &found);
    identity
}

/// The schema that the structure proves: the form, and no field in sight that no known version writes.
fn schema(head: &Head<'_>, found: &Found<'_>) -> Option<&'static str> {
    match found.form {
        Form::TypedLog => return Some(revisions::TYPED_LOG),
        Form::Saved => return Some(revisions::SAVED_CONVERSATION),
        Form::Lines | Form::Document => {}
    }
    let header = found.header.as_deref().and_then(|header| parse::<KnownHeader<'_>>(header).ok())?;
    if !header.is_proven() {
        return None;
    }
    if found.form == Form::Lines {
        let mut messages = head.lines().filter(|line| line.starts_with("{\"id\"")).take(LOOKED_AT);
        return (header.kind.is_some() && messages.all(is_known_message)).then_some(revisions::LINES);
    }
    if !elements(found.messages).take(LOOKED_AT).all(is_known_message) {
        return None;
    }
    // An unescaped quote ends a string, so a name between quotes and a colon is a key.
    let holds = |key: &str| memmem::find(found.messages.as_bytes(), key.as_bytes()).is_some();
    Some(match (holds("\"toolCalls\":"), holds("\"originalContent\":")) {
        (false, _) => revisions::DOCUMENT,
        (true, false) => revisions::DOCUMENT_CALLS,
        (true, true) => revisions::DOCUMENT_EDITS,
    })
}
