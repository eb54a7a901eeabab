//! Which handler converts each record type. A type that the member table does not have is unrecognized.

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record as Source};

use super::attachments::AttachmentLine;
use super::progress::{unwrapped, wrapped_lines};
use super::session_meta::{begin_record, fill_in};
use super::state::State;
use super::{assistant, late, progress, provided, session_lines, system, user};
use crate::claude_code::format::{
    AttachmentKind, LineKind, ProgressKind, QueueKind, SystemKind, rule,
};
use crate::claude_code::members;
use crate::claude_code::notes::Kind;
use crate::claude_code::plan::Fate;
use crate::claude_code::readers::{Line, Progress};
use crate::claude_code::record::Record;
use crate::shared::value::{raw_str, text};

type Handler = fn(&mut State, &Record<'_>, &mut Emitter<'_>) -> Outcome;

/// Lines that only their `type` distinguishes.
fn line_handler(kind: LineKind) -> Result<Handler, Outcome> {
    Ok(match kind {
        LineKind::Assistant => assistant::assistant,
        LineKind::User => user::user,
        LineKind::LastPrompt => session_lines::last_prompt,
        LineKind::AiTitle
        | LineKind::CustomTitle
        | LineKind::AgentName
        | LineKind::AgentSetting
        | LineKind::PermissionMode
        | LineKind::Mode
        | LineKind::CostState => session_lines::changed_fact,
        LineKind::Tag | LineKind::ContinuedIn | LineKind::PrLink => session_lines::notice,
        LineKind::ApiRequestShape => session_lines::request_shape,
        LineKind::ApiRequestBlob => provided::sent_message,
        LineKind::ContentReplacement => session_lines::content_replacement,
        LineKind::Summary => session_lines::summary,
        LineKind::WorktreeState | LineKind::Relocated => session_lines::moved,
        LineKind::Omitted(outcome) => return Err(outcome),
    })
}

/// `system` lines, by their `subtype`.
fn system_handler(kind: SystemKind) -> Result<Handler, Outcome> {
    Ok(match kind {
        SystemKind::LocalCommand => system::local_command,
        SystemKind::CompactBoundary => system::compact_boundary,
        SystemKind::MicrocompactBoundary
        | SystemKind::BridgeStatus
        | SystemKind::AwaySummary
        | SystemKind::AgentsKilled
        | SystemKind::MemorySaved
        | SystemKind::PermissionRetry
        | SystemKind::FileSnapshot
        | SystemKind::ModelConsentFallback
        | SystemKind::ScheduledTaskFire => system::notice,
        SystemKind::Informational => system::informational,
        SystemKind::StopHookSummary => system::stop_hook_summary,
        SystemKind::ApiError | SystemKind::Error => system::api_error,
        SystemKind::ApiRefusal
        | SystemKind::ModelRefusalFallback
        | SystemKind::ModelRefusalNoFallback => system::refusal,
        SystemKind::ModelFallback => system::model_fallback,
        SystemKind::Omitted(outcome) => return Err(outcome),
    })
}

/// `progress` lines, by the type of their `data`.
fn progress_handler(kind: ProgressKind) -> Result<Handler, Outcome> {
    Ok(match kind {
        ProgressKind::HookProgress => progress::hook_progress,
        ProgressKind::BashProgress => progress::bash_progress,
        ProgressKind::AgentProgress => agent_progress,
        ProgressKind::Omitted(outcome) => return Err(outcome),
    })
}

/// `queue-operation` lines, by their `operation`.
fn queue_handler(kind: QueueKind) -> Result<Handler, Outcome> {
    Ok(match kind {
        QueueKind::Enqueue => late::enqueue,
        QueueKind::Omitted(outcome) => return Err(outcome),
    })
}

/// What a line is, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    Line(LineKind),
    System(SystemKind),
    Progress(ProgressKind),
    Queue(QueueKind),
    Attachment(AttachmentKind),
}

/// What a line is.
///
/// # Errors
/// [`Fault`] if its type is not known, or if it lacks what has its type.
pub fn row_of(line: &Line<'_>) -> Result<Row, Fault> {
    let kind = raw_str(line.kind());
    let of = |inner: &str, row: Option<Row>| {
        row.ok_or_else(|| Fault::unrecognized(&format!("{kind}/{inner}")))
    };
    match kind {
        "system" => {
            let inner = raw_str(line.subtype());
            of(inner, SystemKind::named(inner).map(Row::System))
        }
        "progress" => {
            let data = line.data().ok_or_else(|| {
                Fault::malformed("/data", "the data of a progress line", "nothing")
            })?;
            let inner = raw_str(data.member("type"));
            of(inner, ProgressKind::named(inner).map(Row::Progress))
        }
        "queue-operation" => {
            let inner = raw_str(line.operation());
            of(inner, QueueKind::named(inner).map(Row::Queue))
        }
        "attachment" => {
            let attachment = line
                .attachment()
                .ok_or_else(|| Fault::malformed("/attachment", "an attachment", "nothing"))?;
            let inner = raw_str(attachment.member("type"));
            of(inner, AttachmentKind::named(inner).map(Row::Attachment))
        }
        _ => LineKind::named(kind)
            .map(Row::Line)
            .ok_or_else(|| Fault::unrecognized(kind)),
    }
}

/// Emits one line of the transcript, whose note is at this place, and what stands before and after it.
pub fn line(state: &mut State, source: &Source<'_>, at: usize, out: &mut Emitter<'_>) -> Outcome {
    let mut record = Record {
        at,
        line: Line::lenient(source.value),
        ..Record::default()
    };
    fill_in(state, &mut record);
    match state.plan.fate(at) {
        Fate::Repeated if state.plan.notes.all[at].kind == Kind::Title => {
            duplicate(state, &record, rule::TITLE_REPEATED)
        }
        Fate::Repeated => duplicate(state, &record, rule::HISTORY_REPEATED),
        Fate::AppendedAgain => duplicate(state, &record, rule::HISTORY_APPENDED_AGAIN),
        _ if state.plan.is_early(at) => Outcome::Mapped,
        _ => {
            late::before(state, source, at, out);
            let outcome = convert(state, &mut record, out);
            late::after(state, source, at, out);
            outcome
        }
    }
}

/// A line whose facts another line has.
#[cold]
fn duplicate(state: &mut State, record: &Record<'_>, rule: &'static str) -> Outcome {
    let record = members::named_type(&mut state.scratch, &record.line).unwrap_or_default();
    Outcome::duplicate(record, rule)
}

/// Converts a line of the transcript, or a line that another one wraps.
fn convert(state: &mut State, record: &mut Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    // Of `progress` lines only some state facts of the session: their handlers begin the record.
    let facts_changed =
        raw_str(record.line.kind()) != "progress" && begin_record(state, record, out);
    let outcome = match row_of(&record.line) {
        _ if state.plan.fate(record.at) == Fate::Copied => {
            duplicate(state, record, rule::HISTORY_COPIED)
        }
        Ok(row) => convert_row(row, state, record, out),
        // The check has found it.
        Err(_) => Outcome::Mapped,
    };
    // A line that changes a session fact is no duplicate.
    if facts_changed {
        Outcome::Mapped
    } else {
        outcome
    }
}

fn convert_row(row: Row, state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let handler = match row {
        Row::Line(kind) => line_handler(kind),
        Row::System(kind) => system_handler(kind),
        Row::Progress(kind) => progress_handler(kind),
        Row::Queue(kind) => queue_handler(kind),
        Row::Attachment(kind) => {
            return AttachmentLine::new(&record.line).convert(kind, state, out);
        }
    };
    handler.map_or_else(|omitted| omitted, |handler| handler(state, record, out))
}

/// `progress/agent_progress`: lines of a sub-agent. They are converted here only if the sub-agent has no file of its own.
fn agent_progress(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let omitted = Outcome::duplicate(ProgressKind::AgentProgress.name(), rule::AGENT_OWN_FILE);
    let data = Progress::lenient_opt(record.line.data());
    let agent = text(data.agent_id())
        .map(|agent| agent.decode_lossy())
        .unwrap_or_default();
    if state
        .side_info
        .side_files
        .as_ref()
        .is_some_and(|files| files.has_agent(&agent))
    {
        return omitted;
    }
    let mut is_mapped = false;
    let lines = wrapped_lines(&data)
        .filter_map(|(place, value)| Some((place, unwrapped(&record.line, value, place).ok()?)));
    // The sub-agent's own `progress` lines are left out: their results follow.
    let lines = lines.filter(|(_, line)| raw_str(line.kind()) != "progress");
    for (at, (place, line)) in (record.at + 1..).zip(lines) {
        if state.plan.fate(at) != Fate::Repeated {
            let mut inner = Record {
                at,
                line,
                prefix: place,
                agent: Some(agent.clone()),
                ..Record::default()
            };
            is_mapped |= convert(state, &mut inner, out) == Outcome::Mapped;
        }
    }
    if is_mapped { Outcome::Mapped } else { omitted }
}
