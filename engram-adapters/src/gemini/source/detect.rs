//! Detection by named marks in the content, never by file name, and the identity that the head says.

use std::borrow::Cow;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use crate::gemini::format::{HeaderKind, mark};
use crate::gemini::readers::{Line, SavedTurn, StreamLine, TypedPrompt};
use crate::gemini::revisions;
use crate::gemini::schema::{Form, MESSAGES};
use crate::shared::document::{listed, whole_document, without_member};
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, Value, has_members, parse, raw_str, text};

/// The first member of a saved conversation, since 0.36.0.
const HISTORY: &str = "\"history\"";

/// A member of every header.
const START_TIME: &[u8] = b"\"startTime\"";

/// A header has its members within this many bytes.
const HEADER_BYTES: usize = 64 << 10;

/// The form of a head, and what it shows.
struct Found<'h> {
    form: Form,
    mark: &'static str,
    /// The header's JSON. That of a document is completed by a brace.
    header: Option<String>,
    /// The text of a document from its list of messages.
    messages: Cow<'h, str>,
}

fn found(form: Form, mark: &'static str) -> Found<'static> {
    Found {
        form,
        mark,
        header: None,
        messages: Cow::Borrowed(""),
    }
}

fn find<'h>(head: &Head<'h>) -> Option<Found<'h>> {
    let source = head.text().trim_start();
    if source.starts_with('[') {
        return list_form(source);
    }
    let inside = source.strip_prefix('{')?.trim_start();
    if let Some(rest) = inside.strip_prefix(HISTORY) {
        return list_form(value_after(rest)?).filter(|found| found.form == Form::Saved);
    }
    if is_stream(head) {
        return Some(found(Form::Stream, mark::STREAM));
    }
    // Most heads are of other harnesses. Searching for one member is faster than parsing their lines.
    let beginning = &source.as_bytes()[..source.len().min(HEADER_BYTES)];
    if memmem::find(beginning, START_TIME).is_none() {
        return whole_document(head).and_then(reordered_document);
    }
    let mut index = StructuralIndex::default();
    for line in head.lines() {
        // A line of an indented document is not a JSON value.
        let Ok(value) = parse(line, &mut index) else {
            break;
        };
        if is_header(value) {
            if has_members(value, &[MESSAGES]) {
                return document_form(source);
            }
            return Some(Found {
                header: Some(line.to_owned()),
                ..found(Form::Lines, mark::HEADER)
            });
        }
    }
    document_form(source).or_else(|| whole_document(head).and_then(reordered_document))
}

/// The type of the first line of what a run prints.
const INIT: &[u8] = b"\"init\"";
/// The bytes of a line that are searched for its first fields.
const FIRST_FIELDS_BYTES: usize = 1024;

/// True for the first line of what a run prints.
fn is_stream(head: &Head<'_>) -> bool {
    let may_be = |line: &&str| {
        memmem::find(&line.as_bytes()[..line.len().min(FIRST_FIELDS_BYTES)], INIT).is_some()
    };
    let Some(first) = head.lines().next().filter(may_be) else {
        return false;
    };
    let mut index = StructuralIndex::default();
    parse(first, &mut index).is_ok_and(|line| {
        raw_str(line.member("type")) == "init"
            && has_members(line, &["session_id", "model", "timestamp"])
    })
}

/// The most bytes of a header; and the beginning of the messages of a rewritten document that is kept to identify it.
const LISTED_BYTES: usize = 1 << 20;

/// A document that another program rewrote, with the messages before the header's members.
fn reordered_document(document: &str) -> Option<Found<'_>> {
    memmem::find(document.as_bytes(), START_TIME)?;
    let mut index = StructuralIndex::default();
    let value = parse(document, &mut index).ok()?;
    let messages = value.member(MESSAGES).filter(|_| is_header(value))?;
    let messages = messages.raw();
    let messages = Cow::Owned(messages[..messages.floor_char_boundary(LISTED_BYTES)].to_owned());
    Some(Found {
        form: Form::Document,
        mark: mark::DOCUMENT,
        header: Some(without_member(value, MESSAGES)),
        messages,
    })
}

fn is_header(value: Value<'_>) -> bool {
    has_members(value, &["sessionId", "startTime", "lastUpdated"])
}

/// A document in the head, which may end in the middle of the messages.
fn document_form(source: &str) -> Option<Found<'_>> {
    let (before, messages) =
        split_at_key(source, "\"messages\"").filter(|(before, _)| before.len() <= LISTED_BYTES)?;
    let header = format!("{}}}", before.trim_end().trim_end_matches(','));
    let mut index = StructuralIndex::default();
    let value = parse(&header, &mut index).ok()?;
    is_header(value).then(|| Found {
        form: Form::Document,
        mark: mark::DOCUMENT,
        header: Some(header.clone()),
        messages: Cow::Borrowed(messages),
    })
}

/// The text before the first such key, and the text from its value.
fn split_at_key<'t>(source: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let at = memmem::find(source.as_bytes(), key.as_bytes())?;
    Some((&source[..at], value_after(&source[at + key.len()..])?))
}

/// The text from the value, given the text after its key.
fn value_after(key_end: &str) -> Option<&str> {
    key_end.trim_start().strip_prefix(':').map(str::trim_start)
}

/// The form of a list, by its first element.
fn list_form(list: &str) -> Option<Found<'static>> {
    let mut index = StructuralIndex::default();
    let first = parse(listed(list).next()?, &mut index).ok()?;
    let typed = TypedPrompt::lenient(first);
    if text(typed.session_id()).is_some()
        && text(typed.message()).is_some()
        && typed.message_id().is_some()
    {
        return Some(found(Form::TypedPrompts, mark::TYPED_PROMPTS));
    }
    let turn = SavedTurn::lenient(first);
    let is_turn = matches!(raw_str(turn.role()), "user" | "model")
        && turn.parts().is_some_and(Value::is_array);
    is_turn.then(|| found(Form::Saved, mark::SAVED))
}

/// Evidence if the head begins like one of the forms.
pub fn probe(head: &Head<'_>) -> Option<Evidence> {
    let found = find(head)?;
    let framing = if matches!(found.form, Form::Lines | Form::Stream) {
        Framing::Lines
    } else {
        Framing::Document
    };
    Some(Evidence {
        marks: vec![found.mark],
        framing,
    })
}

/// The form of an artifact that [`probe`] recognized.
pub fn form(head: &Head<'_>) -> Form {
    find(head).map_or(Form::Lines, |found| found.form)
}

/// Session id, start, and the schema if the structure proves it.
pub fn identify(head: &Head<'_>) -> Identity {
    let mut identity = Identity::default();
    let Some(found) = find(head) else {
        return identity;
    };
    identity.schema = match found.form {
        Form::TypedPrompts => Some(revisions::TYPED_LOG),
        Form::Saved => Some(revisions::SAVED_CONVERSATION),
        Form::Stream => Some(revisions::STREAM),
        Form::Lines | Form::Document => None,
    };
    let mut index = StructuralIndex::default();
    if found.form == Form::TypedPrompts {
        // The prompts of a project: the first one's session, as the events say when another one comes.
        let first = listed(head.text().trim_start())
            .next()
            .and_then(|prompt| parse(prompt, &mut index).ok())
            .map(TypedPrompt::lenient)
            .unwrap_or_default();
        identity.session_id = text(first.session_id()).map(|id| id.decode_lossy().into_owned());
        return identity;
    }
    if found.form == Form::Stream {
        let first = head
            .lines()
            .next()
            .and_then(|line| parse(line, &mut index).ok())
            .map(StreamLine::lenient)
            .unwrap_or_default();
        identity.session_id = text(first.session_id()).map(|id| id.decode_lossy().into_owned());
        identity.start = tape_time(first.timestamp()).map(|time| time.into_owned());
        return identity;
    }
    let Some(Ok(header)) = found
        .header
        .as_deref()
        .map(|header| parse(header, &mut index))
    else {
        return identity;
    };
    let record = Line::lenient(header);
    identity.session_id = text(record.session_id()).map(|id| id.decode_lossy().into_owned());
    let is_agent = HeaderKind::named(raw_str(record.role())) == Some(HeaderKind::Subagent)
        || (found.form == Form::Document && is_agents_document(head));
    identity.agent_id = identity.session_id.clone().filter(|_| is_agent);
    identity.start = tape_time(record.start_time()).map(|time| time.into_owned());
    identity.schema = schema(&found, header);
    identity
}

/// The kind of a sub-agent's log.
const SUBAGENT: &str = "subagent";

/// True for a document that says behind its messages that it is a sub-agent's. One that does not fit into the head is not read for it.
fn is_agents_document(head: &Head<'_>) -> bool {
    let mut index = StructuralIndex::default();
    let document = whole_document(head)
        .filter(|document| memmem::find(document.as_bytes(), b"\"subagent\"").is_some());
    document
        .and_then(|document| parse(document, &mut index).ok())
        .is_some_and(|document| raw_str(document.member("kind")) == SUBAGENT)
}

/// The schema that the structure proves. Members and types that it does not have are faults of their records, not another schema.
fn schema(found: &Found<'_>, header: Value<'_>) -> Option<&'static str> {
    if found.form == Form::Lines {
        return header.member("kind").map(|_| revisions::LINES);
    }
    // A user message may have a result whose call is in no turn (2026).
    let has_calls = ["\"toolCalls\"", "\"functionResponse\""]
        .iter()
        .any(|key| has_key(&found.messages, key));
    Some(
        match (has_calls, has_key(&found.messages, "\"originalContent\"")) {
            (false, _) => revisions::DOCUMENT,
            (true, false) => revisions::DOCUMENT_CALLS,
            (true, true) => revisions::DOCUMENT_EDITS,
        },
    )
}

/// True if the text has this key. A quoted name before a colon is a key: inside a string its quotes would be escaped.
fn has_key(text: &str, key: &str) -> bool {
    memmem::find_iter(text.as_bytes(), key).any(|at| value_after(&text[at + key.len()..]).is_some())
}
