//! Which handler converts each type of a printed line. A type that the member table does not have is unrecognized. The messages of `assistant` and
//! `user` lines are those of a transcript.

use std::borrow::Cow;

use engram_core::emit::Fault;
use engram_core::event::{Meta, SessionFacts};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{self, Emitter};
use engram_core::text::Text;

use super::line::{StreamRecord, StreamState, key_of};
use super::notices;
use crate::claude_code::authors::is_whole_command_output;
use crate::claude_code::emit::session_meta::{begin_record, fill_in};
use crate::claude_code::format::{PrintedKind, rule};
use crate::claude_code::plan::Fate;
use crate::claude_code::readers::{Block, Line, Printed};
use crate::claude_code::record::Record;
use crate::claude_code::{emit, members};
use crate::shared::printed_parts::emit_left;
use crate::shared::value::{Field, elements, non_empty_text, raw_str, text};

type Handler = fn(&mut StreamState, &StreamRecord<'_>, &mut Emitter<'_>) -> Outcome;

/// The handler of a type, or what becomes of its lines.
fn handler(kind: PrintedKind) -> Result<Handler, Outcome> {
    Ok(match kind {
        PrintedKind::Assistant => assistant,
        PrintedKind::StreamEvent => part,
        PrintedKind::User => user,
        PrintedKind::SystemInit => notices::init,
        PrintedKind::Result => notices::result,
        PrintedKind::SystemCompactBoundary => notices::compact_boundary,
        PrintedKind::SystemInformational
        | PrintedKind::SystemNotification
        | PrintedKind::ConversationReset => notices::notice,
        PrintedKind::SystemSessionTitleChanged => notices::title,
        PrintedKind::SystemModelFallback => notices::model_fallback,
        PrintedKind::SystemTaskStarted => notices::task_started,
        PrintedKind::SystemTaskNotification => notices::task_notification,
        PrintedKind::SystemHookResponse => notices::hook_response,
        PrintedKind::SystemPermissionDenied => notices::permission_denied,
        PrintedKind::SystemApiRetry => notices::api_retry,
        PrintedKind::ToolProgress => notices::tool_progress,
        PrintedKind::ControlRequest => notices::control_request,
        PrintedKind::Omitted(outcome) => return Err(outcome),
    })
}

/// Converts one printed line, whose note is at this place.
pub(super) fn line<'a>(
    state: &mut StreamState,
    (printed, source): (Printed<'a>, &'a steps::Record<'a>),
    at: usize,
    out: &mut Emitter<'_>,
) -> Outcome {
    let mut stream = StreamRecord {
        record: Record {
            at,
            line: as_transcript(&printed),
            ..Record::default()
        },
        printed,
        source,
    };
    let record = &mut stream.record;
    let agent = text(agent_of(&stream.printed));
    record.agent = agent.map(|agent| agent.decode_lossy());
    fill_in(&mut state.session, record);
    let is_preserved = |uuid: Text<'_>| state.preserved.contains(&hash64(uuid.raw()));
    record.replay |= record.is_conversation && text(record.line.uuid()).is_some_and(is_preserved);
    if state.session.plan.fate(at) != Fate::Convert {
        let record =
            members::named_type(&mut state.session.scratch, &record.line).unwrap_or_default();
        return Outcome::duplicate(record, rule::HISTORY_REPEATED);
    }
    let facts_changed = begin_record(&mut state.session, record, out);
    let is_first = agent.is_some_and(|agent| state.agents.insert(hash64(agent.raw())));
    if is_first {
        emit_agent(&stream, out);
    }
    let outcome = convert(state, &stream, out);
    if facts_changed || is_first {
        Outcome::Mapped
    } else {
        outcome
    }
}

fn convert(state: &mut StreamState, stream: &StreamRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    // The check has found its type.
    let Ok(kind) = kind_of(&stream.printed) else {
        return Outcome::Mapped;
    };
    match handler(kind) {
        Ok(handler) => {
            let outcome = handler(state, stream, out);
            // The line after the boundary of a compaction has the summary.
            state.session.summary_follows = kind == PrintedKind::SystemCompactBoundary;
            outcome
        }
        Err(omitted) => omitted,
    }
}

/// The type of a line.
///
/// # Errors
/// [`Fault::Unrecognized`] if it is not known.
pub fn kind_of(printed: &Printed<'_>) -> Result<PrintedKind, Fault> {
    let record = record_type(printed);
    PrintedKind::named(&record).ok_or_else(|| Fault::unrecognized(&record))
}

fn record_type<'a>(printed: &Printed<'a>) -> Cow<'a, str> {
    match raw_str(printed.subtype()) {
        "" => Cow::Borrowed(raw_str(printed.kind())),
        subtype => Cow::Owned(format!("{}/{subtype}", raw_str(printed.kind()))),
    }
}

/// The sub-agent that a line names. That a call runs is no line of its sub-agent.
pub fn agent_of<'a>(printed: &Printed<'a>) -> Field<'a> {
    if raw_str(printed.kind()) == PrintedKind::ToolProgress.name() {
        return printed
            .agent_retry()
            .and_then(|retry| retry.member("agent_id"));
    }
    printed.agent_id().or(printed.parent_call())
}

/// The line in the form that a transcript has.
pub fn as_transcript<'a>(printed: &Printed<'a>) -> Line<'a> {
    let mut line = Line::empty_of(printed.object());
    for (number, field) in [
        (const { Line::number("type") }, printed.kind()),
        (const { Line::number("subtype") }, printed.subtype()),
        (const { Line::number("uuid") }, printed.uuid()),
        (
            const { Line::number("timestamp") },
            printed.timestamp().or(printed.audit_time()),
        ),
        (const { Line::number("sessionId") }, printed.session_id()),
        (
            const { Line::number("message") },
            printed.message().filter(|message| message.is_object()),
        ),
        (
            const { Line::number("toolUseResult") },
            printed.tool_use_result(),
        ),
        (
            const { Line::number("parentToolUseID") },
            printed.parent_call(),
        ),
        (const { Line::number("isMeta") }, printed.is_synthetic()),
        (const { Line::number("requestId") }, printed.request_id()),
        (const { Line::number("error") }, printed.error()),
        (
            const { Line::number("isApiErrorMessage") },
            printed.is_api_error(),
        ),
        (
            const { Line::number("apiErrorStatus") },
            printed.api_error_status(),
        ),
        (
            const { Line::number("compactMetadata") },
            printed.compact_metadata(),
        ),
        (
            const { Line::number("tool_result_meta") },
            printed.result_meta(),
        ),
    ] {
        line.set(number, field);
    }
    line
}

/// Emits who started the sub-agent whose first line this is.
fn emit_agent(stream: &StreamRecord<'_>, out: &mut Emitter<'_>) {
    let (printed, call) = (&stream.printed, text(stream.printed.parent_call()));
    let facts = SessionFacts {
        parent_session_id: text(printed.session_id()),
        parent_call_id: call,
        agent: text(printed.agent_type()),
        ..SessionFacts::default()
    };
    let parent = call.and_then(|call| out.seq_of_call(call));
    out.emit_child(parent, Meta::Session(facts), "/parent_tool_use_id");
}

/// Tools by which the model starts a slash command.
const COMMAND_TOOLS: &[&str] = &["SlashCommand", "Skill"];

/// `assistant`: one block of a message.
pub(super) fn assistant(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let texts = elements(stream.record.message.content()).map(Block::lenient);
    if stream.record.agent.is_none()
        && let Some(text) = texts
            .filter_map(|block| non_empty_text(block.text()))
            .last()
    {
        state.last_text = Some(key_of(text));
    }
    emit::assistant::assistant(&mut state.session, &stream.record, out)
}

/// `stream_event`: a part of an answer. Most have their line.
fn part(state: &mut StreamState, stream: &StreamRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    match state.session.plan.notes.parts.left(stream.source.number) {
        Some(left) => {
            emit_left(stream.source, left, out);
            Outcome::Mapped
        }
        None => Outcome::duplicate(PrintedKind::StreamEvent.name(), rule::STREAM_PARTIAL),
    }
}

/// `user`: a tool result, the prompt of a sub-agent, or a text of the harness. What a person typed is printed only on demand.
pub(super) fn user(
    state: &mut StreamState,
    stream: &StreamRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    // The command before its output is not printed.
    let is_output = text(stream.record.message.content()).is_some_and(is_whole_command_output);
    state.session.words.follows_command = is_output;
    let starts_command = starts_command(state, stream);
    let outcome = emit::user::user(&mut state.session, &stream.record, out);
    state.session.words.is_next_launched = starts_command;
    outcome
}

/// True if the line has the result of a call by which the model starts a slash command.
fn starts_command(state: &StreamState, stream: &StreamRecord<'_>) -> bool {
    let blocks = elements(stream.record.message.content()).map(Block::lenient);
    let calls = blocks.filter_map(|block| text(block.tool_use_id()));
    calls
        .filter_map(|call| state.session.calls.tool(hash64(call.raw())))
        .any(|tool| COMMAND_TOOLS.contains(&tool))
}
