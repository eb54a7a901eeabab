//! Is it ours, and what does its head say? Named marks of content, never a file name.

use std::borrow::Cow;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;
use serde::de::IgnoredAny;

use super::revisions;
use super::schema::{MESSAGES, Record, Turn, Typed};
use crate::shared::document::{required_array, whole_document, without_member};
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, Value, parse, raw_str, text};

/// The first line of a JSON Lines log.
const HEADER: &str = "header.sessionId+startTime+lastUpdated";
/// A whole-file log.
const DOCUMENT: &str = "document.sessionId+startTime+lastUpdated+messages";
/// What was typed at the terminal.
const TYPED_LOG: &str = "list.sessionId+messageId+message";
/// A saved conversation.
const SAVED: &str = "history.role+parts";

/// Every mark.
pub(super) const MARKS: &[&str] = &[HEADER, DOCUMENT, TYPED_LOG, SAVED];

/// The fields that known versions write before the messages.
const HEADER_FIELDS: &[&str] = &["sessionId", "projectHash", "startTime", "lastUpdated", "kind", "directories", "summary", "messages"];
/// The fields that known versions write into a message.
const MESSAGE_FIELDS: &[&str] = &["id", "timestamp", "type", "content", "displayContent", "thoughts", "tokens", "model", "toolCalls"];
/// The types of messages that known versions write.
const MESSAGE_TYPES: &[&str] = &["user", "gemini", "info", "warning", "error"];
/// This many messages are looked at for what no known version writes.
const LOOKED_AT: usize = 8;

/// What a saved conversation begins with.
const HISTORY: &str = "\"history\"";

/// What every header says.
const START_TIME: &[u8] = b"\"startTime\"";

/// A header or a list begins within so many bytes.
const BEGINNING_BYTES: usize = 64 << 10;

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

/// What a head turns out to be.
struct Found<'h> {
    form: Form,
    mark: &'static str,
    /// The header's JSON, completed where it is the beginning of a document.
    header: Option<String>,
    /// The text from the first message on, in documents.
    messages: Cow<'h, str>,
}

fn found(form: Form, mark: &'static str) -> Found<'static> {
    Found { form, mark, header: None, messages: Cow::Borrowed("") }
}

fn find<'h>(head: &Head<'h>) -> Option<Found<'h>> {
    let source = head.text().trim_start();
    if source.starts_with('[') {
        return list_form(source);
    }
    let inside = source.strip_prefix('{')?.trim_start();
    if let Some(behind) = inside.strip_prefix(HISTORY) {
        return list_form(value_behind(behind)?).filter(|found| found.form == Form::Saved);
    }
    // Most heads are of other harnesses: a look for a word spares reading their lines.
    let beginning = &source.as_bytes()[..source.len().min(BEGINNING_BYTES)];
    if memmem::find(beginning, START_TIME).is_none() {
        return whole_document(head).and_then(rearranged);
    }
    let mut index = StructuralIndex::default();
    for line in head.lines() {
        // A document may lie on many lines.
        let Ok(value) = parse(line, &mut index) else { break };
        let record = Record::lenient(value);
        if is_header(&record, value) {
            let lines = Found { header: Some(line.to_owned()), ..found(Form::Lines, HEADER) };
            return if record.messages().is_some() { document_form(source) } else { Some(lines) };
        }
    }
    document_form(source).or_else(|| whole_document(head).and_then(rearranged))
}

/// A document whose messages some other program has put before what stands in front of them.
fn rearranged(document: &str) -> Option<Found<'_>> {
    memmem::find(document.as_bytes(), START_TIME)?;
    let mut index = StructuralIndex::default();
    let value = parse(document, &mut index).ok()?;
    let messages = required_array(value, MESSAGES).ok().filter(|_| is_header(&Record::lenient(value), value))?;
    let messages = Cow::Owned(messages.raw().to_owned());
    Some(Found { form: Form::Document, mark: DOCUMENT, header: Some(without_member(value, MESSAGES)), messages })
}

fn is_header(record: &Record<'_>, value: Value<'_>) -> bool {
    text(record.session_id()).is_some() && text(record.start_time()).is_some() && text(value.member("lastUpdated")).is_some()
}

/// A document is recognised by what stands before its messages, so that it need not be in the head as a whole.
fn document_form(source: &str) -> Option<Found<'_>> {
    let (before, messages) = split_at_key(source, "\"messages\"")?;
    let header = format!("{}}}", before.trim_end().trim_end_matches(','));
    let mut index = StructuralIndex::default();
    let value = parse(&header, &mut index).ok()?;
    let is_document = is_header(&Record::lenient(value), value) && messages.starts_with('[');
    is_document.then(|| Found { form: Form::Document, mark: DOCUMENT, header: Some(header.clone()), messages: Cow::Borrowed(messages) })
}

/// The text before the first such key, and its value's text.
fn split_at_key<'t>(source: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let at = memmem::find(source.as_bytes(), key.as_bytes())?;
    Some((&source[..at], value_behind(&source[at + key.len()..])?))
}

/// The text of the value whose key stands before `behind`.
fn value_behind(behind: &str) -> Option<&str> {
    behind.trim_start().strip_prefix(':').map(str::trim_start)
}

/// What a list is, by its first element.
fn list_form(list: &str) -> Option<Found<'static>> {
    let mut index = StructuralIndex::default();
    let first = parse(elements(list).next()?, &mut index).ok()?;
    let typed = Typed::lenient(first);
    if text(typed.session_id()).is_some() && text(typed.message()).is_some() && typed.message_id().is_some() {
        return Some(found(Form::TypedLog, TYPED_LOG));
    }
    let turn = Turn::lenient(first);
    let is_turn = matches!(raw_str(turn.role()), "user" | "model") && turn.parts().is_some_and(Value::is_array);
    is_turn.then(|| found(Form::Saved, SAVED))
}

/// The texts of a list's elements, as far as the list goes.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list.strip_prefix('[').unwrap_or_default();
    std::iter::from_fn(move || {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (element, after) = rest.split_at_checked(values.byte_offset())?;
        rest = after.trim_start().trim_start_matches(',');
        Some(element)
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
    identity.schema = match found.form {
        Form::TypedLog => Some(revisions::TYPED_LOG),
        Form::Saved => Some(revisions::SAVED_CONVERSATION),
        Form::Lines | Form::Document => None,
    };
    let mut index = StructuralIndex::default();
    let Some(Ok(header)) = found.header.as_deref().map(|header| parse(header, &mut index)) else { return identity };
    let record = Record::lenient(header);
    identity.session_id = text(record.session_id()).map(|id| id.decode_lossy().into_owned());
    identity.agent_id = identity.session_id.clone().filter(|_| raw_str(record.role()) == "subagent");
    identity.start = tape_time(record.start_time()).map(|time| time.into_owned());
    identity.schema = if is_known_header(header) { schema(head, &found, &record) } else { None };
    identity
}

/// The schema that the structure proves, where no message in sight has what no known version writes.
fn schema(head: &Head<'_>, found: &Found<'_>, header: &Record<'_>) -> Option<&'static str> {
    if found.form == Form::Lines {
        return (header.role().is_some() && knows_the_messages(head)).then_some(revisions::LINES);
    }
    let mut index = StructuralIndex::default();
    if !elements(&found.messages).take(LOOKED_AT).all(|message| parse(message, &mut index).is_ok_and(is_known_message)) {
        return None;
    }
    // A message may tell the model of a result where no turn has kept the call (2026).
    let has_calls = ["\"toolCalls\"", "\"functionResponse\""].iter().any(|key| has_key(&found.messages, key));
    Some(match (has_calls, has_key(&found.messages, "\"originalContent\"")) {
        (false, _) => revisions::DOCUMENT,
        (true, false) => revisions::DOCUMENT_CALLS,
        (true, true) => revisions::DOCUMENT_EDITS,
    })
}

/// An unescaped quote ends a string, so a name between quotes before a colon is a key.
fn has_key(text: &str, key: &str) -> bool {
    memmem::find_iter(text.as_bytes(), key).any(|at| value_behind(&text[at + key.len()..]).is_some())
}

/// True when no message among the first lines has what no known version writes.
fn knows_the_messages(head: &Head<'_>) -> bool {
    let mut index = StructuralIndex::default();
    let is_known = |line| parse(line, &mut index).ok().filter(|record| record.member("id").is_some()).map(is_known_message);
    head.lines().filter_map(is_known).take(LOOKED_AT).all(|is_known| is_known)
}

fn is_known_header(header: Value<'_>) -> bool {
    let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    header.members().all(|(name, _)| HEADER_FIELDS.contains(&name))
        && is_hash(raw_str(header.member("projectHash")))
        && matches!(raw_str(header.member("kind")), "" | "main" | "subagent")
        && tape_time(header.member("startTime")).is_some()
}

fn is_known_message(message: Value<'_>) -> bool {
    message.members().all(|(name, _)| MESSAGE_FIELDS.contains(&name)) && MESSAGE_TYPES.contains(&raw_str(message.member("type")))
}
