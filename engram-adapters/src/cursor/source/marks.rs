//! Detection marks: what in a line or a document proves that it is one of Cursor's formats.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::form::Form;
use crate::cursor::format::{SdkKind, mark};
use crate::cursor::readers::MarkLine;
use crate::cursor::transcript::document::MESSAGES;
use crate::shared::document::required_array;
use crate::shared::value::{StructuralIndex, Value, has_members, parse, raw_str};

/// One of these names is at the beginning of every line with a mark, except in captures.
static LEADING: LazyLock<[Finder<'_>; 5]> = LazyLock::new(|| {
    [
        "\"role\"",
        "\"turn_ended\"",
        "\"conversation_id\"",
        "\"store\"",
        "\"run_id\"",
    ]
    .map(Finder::new)
});

/// A line of a capture has this name near its beginning or its end.
static SESSION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"session_id\""));

/// Codex wraps its records in this member.
static PAYLOAD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\",\"payload\":"));

/// [`PAYLOAD`] is within the first bytes of a line: this many after the beginning of the time.
const ENVELOPE_BYTES: usize = 100;

/// The [`LEADING`] names are within this many bytes of the beginning of a line.
const BEGINNING_BYTES: usize = 1024;

/// [`SESSION`] is within this many bytes of the end of a line. The text of a message, which may be long, comes before it.
const END_BYTES: usize = 1024;

/// False for most lines of other harnesses, which then are not parsed.
pub(super) fn may_have_mark(line: &[u8]) -> bool {
    let (beginning, end) = (
        &line[..line.len().min(BEGINNING_BYTES)],
        &line[line.len().saturating_sub(END_BYTES)..],
    );
    if is_other_harness(beginning) {
        return false;
    }
    LEADING.iter().any(|name| name.find(beginning).is_some())
        || [beginning, end]
            .iter()
            .any(|part| SESSION.find(part).is_some())
}

/// True for a line that begins like those of Claude Code and Codex, which have roles too.
fn is_other_harness(beginning: &[u8]) -> bool {
    let after_time = || {
        beginning
            .strip_prefix(b"{\"timestamp\":\"")
            .and_then(|time| time.get(..ENVELOPE_BYTES))
    };
    beginning.starts_with(b"{\"parentUuid\":")
        || after_time().is_some_and(|envelope| PAYLOAD.find(envelope).is_some())
}

/// The mark of a line. A `system/init` line alone has none: another harness prints the same.
pub(super) fn line_mark(line: &MarkLine<'_>) -> Option<(Form, &'static str)> {
    if line.uuid().is_some() || line.camel_session_id().is_some() {
        return None;
    }
    if line.hook_event_name().is_some()
        && line.conversation_id().is_some()
        && line.generation_id().is_some()
    {
        return Some((Form::HookLog, mark::HOOK_PAYLOAD));
    }
    match raw_str(line.store()) {
        "chat" if has_members(line.object(), &["meta"]) => {
            return Some((Form::ChatStore, mark::STORE_CHAT));
        }
        "agent" if has_members(line.object(), &["agent"]) => {
            return Some((Form::RunStore, mark::STORE_RUN));
        }
        "composer" => return Some((Form::EditorRows, mark::STORE_COMPOSER_ROW)),
        "inline_composer" | "tab" => {
            return Some((Form::EditorInline, mark::STORE_COMPOSER_INLINE));
        }
        _ => {}
    }
    if line.store().is_none() && is_sdk_message(line) {
        return Some((Form::MessageStream, mark::SDK_MESSAGE));
    }
    if line.kind().is_none() && line.store().is_none() {
        let content = line.message().and_then(|message| message.member("content"));
        let is_message = matches!(raw_str(line.role()), "user" | "assistant")
            && content.is_some_and(Value::is_array);
        return is_message.then_some((Form::Transcript, mark::TRANSCRIPT_MESSAGE));
    }
    if raw_str(line.kind()) == "turn_ended" && line.status().is_some() {
        return Some((Form::Transcript, mark::TRANSCRIPT_TURN_ENDED));
    }
    stream_mark(line).map(|mark| (Form::Stream, mark))
}

/// A message of the SDK names its agent and its run.
fn is_sdk_message(line: &MarkLine<'_>) -> bool {
    let is_of_run =
        line.agent_id().is_some() && line.run_id().is_some() && line.session_id().is_none();
    is_of_run && SdkKind::named(raw_str(line.kind())).is_some()
}

fn stream_mark(line: &MarkLine<'_>) -> Option<&'static str> {
    line.session_id()?;
    match raw_str(line.kind()) {
        "tool_call" if line.call_id().is_some() && line.tool_call().is_some() => {
            Some(mark::STREAM_TOOL_CALL)
        }
        "result" if line.request_id().is_some() && line.duration_api_ms().is_some() => {
            Some(mark::STREAM_RESULT)
        }
        "assistant" if line.timestamp_ms().is_some() => Some(mark::STREAM_TIME),
        "thinking" | "connection" | "retry" | "interaction_query"
            if line.subtype().is_some() && line.timestamp_ms().is_some() =>
        {
            Some(mark::STREAM_TIME)
        }
        _ => None,
    }
}

/// `{"mode": .., "messages": [{"role": ..`: a document may be larger than its head, so only its first bytes are looked at.
pub(super) fn is_transcript_document(text: &str) -> bool {
    let beginning: String = text
        .chars()
        .take(256)
        .filter(|c| !c.is_ascii_whitespace())
        .collect();
    let messages = beginning
        .strip_prefix("{\"mode\":")
        .and_then(|rest| rest.split_once(",\"messages\":["));
    messages.is_some_and(|(mode, rest)| !mode.contains(',') && rest.starts_with("{\"role\":\""))
}

/// The same document with its members in another order.
pub(super) fn is_reordered_transcript_document(document: &str) -> bool {
    let first = document.trim_start_matches('{').trim_ascii_start();
    if !["\"messages\"", "\"mode\"", "\"turnEnded\""]
        .iter()
        .any(|name| first.starts_with(name))
    {
        return false;
    }
    let mut index = StructuralIndex::default();
    let transcript = parse(document, &mut index)
        .ok()
        .filter(|transcript| has_members(*transcript, &["mode"]));
    let messages = transcript.and_then(|transcript| required_array(transcript, MESSAGES).ok());
    messages
        .and_then(|messages| messages.elements().next())
        .is_some_and(|first| first.member("role").is_some())
}
