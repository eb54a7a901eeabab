//! Which form an artifact has, and its version, schema, session and start, by the head of its content alone.

use std::borrow::Cow;

use engram_core::adapter::Identity;
use engram_core::head::Head;

use super::form::Form;
use super::marks::{
    is_reordered_transcript_document, is_transcript_document, line_mark, may_have_mark,
};
use crate::cursor::fields::{decoded, decoded_non_empty, time_of_millis};
use crate::cursor::format::mark;
use crate::cursor::messages::prompt_timestamp::prompt_time;
use crate::cursor::readers::MarkLine;
use crate::shared::document::whole_document;
use crate::shared::time::tape_time;
use crate::shared::value::{Field, StructuralIndex, Value, find_line, parse};

/// The number of lines that are looked at. A mark is within the first few of them.
const LINES: usize = 64;

/// The number of lines that are parsed while none of them has a mark. Cursor's artifacts have one earlier.
const LINES_WITHOUT_MARK: usize = 16;

/// The longest line that is looked at. Lines that distinguish the formats are much shorter.
const LINE_BYTES: usize = 1 << 20;

/// `_v` of conversations whose messages are rows (public readers of 2026; a fixture shows 16).
const COMPOSER_SCHEMAS: [u64; 4] = [10, 16, 17, 18];

/// `_v` of their messages.
const BUBBLE_SCHEMA: u64 = 3;

/// The lines that are looked at.
fn lines<'h>(head: &Head<'h>) -> impl Iterator<Item = &'h str> {
    head.lines()
        .take(LINES)
        .map(str::trim_ascii_start)
        .filter(|line| line.len() <= LINE_BYTES && line.starts_with('{'))
}

/// The form of the artifact and the marks that prove it.
pub(in crate::cursor) fn form(head: &Head<'_>) -> Option<(Form, Vec<&'static str>)> {
    if is_transcript_document(head.text())
        || whole_document(head).is_some_and(is_reordered_transcript_document)
    {
        return Some((Form::TranscriptDocument, vec![mark::TRANSCRIPT_DOCUMENT]));
    }
    let mut found: Vec<(Form, &'static str)> = Vec::new();
    let mut index = StructuralIndex::default();
    for (parsed, line) in lines(head)
        .filter(|line| may_have_mark(line.as_bytes()))
        .enumerate()
    {
        if parsed == LINES_WITHOUT_MARK && found.is_empty() {
            return None;
        }
        if let Some(mark) = parse(line, &mut index)
            .ok()
            .and_then(|line| line_mark(&MarkLine::lenient(line)))
            && !found.contains(&mark)
        {
            found.push(mark);
        }
    }
    let form = found.first()?.0;
    found
        .iter()
        .all(|(other, _)| *other == form)
        .then(|| (form, found.iter().map(|(_, mark)| *mark).collect()))
}

/// The version, schema, session and start that the head records.
pub(in crate::cursor) fn identify(head: &Head<'_>) -> Identity {
    let Some((form, _)) = form(head) else {
        return Identity::default();
    };
    let mut identity = Identity {
        schema: form.schema(),
        ..Identity::default()
    };
    let find = |fact: fn(&MarkLine<'_>) -> Option<String>| {
        find_line(lines(head), |line| fact(&MarkLine::lenient(line)))
    };
    match form {
        Form::Transcript => identity.start = find_line(lines(head), transcript_time),
        Form::TranscriptDocument => identity.start = transcript_document_time(head.text()),
        Form::ChatStore => {
            identity.session_id = find(|line| name(line.meta()?.member("agentId")));
            identity.agent_id = find(|line| {
                name(
                    line.meta()?
                        .member("agentId")
                        .filter(|_| is_of_agent(line.meta())),
                )
            });
            identity.start = find(|line| time_of_millis(line.meta()?.member("createdAt")));
        }
        Form::RunStore => {
            identity.session_id = find(|line| name(line.agent()?.member("agentId")));
            identity.start = find(|line| created(line.agent()?.member("createdAt")));
        }
        Form::MessageStream => identity.session_id = find(|line| name(line.agent_id())),
        Form::EditorRows | Form::EditorInline => {
            identity.schema = identity
                .schema
                .filter(|_| form == Form::EditorInline || is_known_row_schema(head));
            identity.session_id = find(|line| name(line.id()));
            identity.agent_id =
                find(|line| name(line.id().filter(|_| is_started_by_agent(line.composer()))));
            identity.start = find(|line| {
                time_of_millis(
                    line.composer()?
                        .member("createdAt")
                        .or(line.composer()?.member("lastSendTime")),
                )
            });
        }
        Form::HookLog => {
            identity.session_id = find(|line| name(line.conversation_id()));
            identity.version = find(|line| name(line.cursor_version()));
        }
        Form::Stream => {
            identity.session_id = find(|line| name(line.session_id()));
            identity.start = find(|line| time_of_millis(line.timestamp_ms()));
        }
    }
    identity
}

/// True for the record of a chat that another one started.
fn is_of_agent(chat: Field<'_>) -> bool {
    chat.and_then(|chat| chat.member("subagentInfo"))
        .is_some_and(|info| name(info.member("parentAgentId")).is_some())
}

/// True for the record of an editor's conversation that another one started.
fn is_started_by_agent(composer: Field<'_>) -> bool {
    composer
        .and_then(|composer| composer.member("subagentInfo"))
        .is_some_and(Value::is_object)
}

/// True if the conversation's record has a known schema version, or its messages do where it has no record.
fn is_known_row_schema(head: &Head<'_>) -> bool {
    let version = |record: Field<'_>| record?.member("_v")?.unsigned();
    let known = find_line(lines(head), |line| {
        let line = MarkLine::lenient(line);
        let of_record = version(line.composer()).map(|version| COMPOSER_SCHEMAS.contains(&version));
        of_record.or_else(|| version(line.bubble()).map(|version| version == BUBBLE_SCHEMA))
    });
    known == Some(true)
}

fn transcript_time(line: Value<'_>) -> Option<String> {
    let mut parts = line.member("message")?.member("content")?.elements();
    parts.find_map(|part| prompt_time(&decoded(part.member("text"))?))
}

/// The head may end inside the document, so the first prompt is searched in its text.
fn transcript_document_time(text: &str) -> Option<String> {
    let at = text.find("\"<timestamp>")?;
    prompt_time(text.get(at + 1..)?)
}

/// A time as a text, or in milliseconds.
fn created(field: Field<'_>) -> Option<String> {
    tape_time(field)
        .map(Cow::into_owned)
        .or_else(|| time_of_millis(field))
}

fn name(field: Field<'_>) -> Option<String> {
    decoded_non_empty(field).map(Cow::into_owned)
}
