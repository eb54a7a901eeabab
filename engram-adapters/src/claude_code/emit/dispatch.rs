//! Which handler converts each record type: one row in one of these tables. A type without a row is unrecognized.

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record as Source};

use super::agent_lines::{unwrapped, wrapped_lines};
use super::attachments::{self, AttachmentLine, Conversion};
use super::session_meta::{begin_record, fill_in};
use super::state::State;
#[cfg(test)]
use super::stream;
use super::{assistant, late, progress, queue, sent_messages, session_lines, system, user};
use crate::claude_code::descriptor::DESCRIPTOR;
use crate::claude_code::members;
use crate::claude_code::notes::Kind;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::plan::Fate;
use crate::claude_code::record::Record;
use crate::claude_code::schema::{Line, Progress};
use crate::shared::route::{Action, Route};
use crate::shared::value::{raw_str, text};

type Handler = fn(&mut State, &Record<'_>, &mut Emitter<'_>) -> Outcome;

/// What happens to a line, by its `type`.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("assistant", assistant::assistant),
    Route::convert("user", user::user),
    Route::omit("file-history-snapshot"),
    Route::convert("last-prompt", session_lines::last_prompt),
    Route::convert("ai-title", session_lines::ai_title),
    Route::convert("permission-mode", session_lines::permission_mode),
    Route::convert("mode", session_lines::mode),
    Route::convert("cost-state", session_lines::cost),
    Route::convert("api-request-shape", session_lines::request_shape),
    Route::omit("api-request"),
    Route::convert("api-request-blob", sent_messages::sent_message),
    Route::omit("atis-latch"),
    Route::omit("agent-color"),
    Route::omit("frame-link"),
    Route::omit("artifact-comment-monitor"),
    Route::omit("artifact-autoreact-ledger"),
    Route::omit("fork-context-ref"),
    Route::convert("agent-setting", session_lines::agent_setting),
    Route::convert("tag", session_lines::tag),
    Route::convert("continued-in", session_lines::continued_in),
    Route::convert("content-replacement", session_lines::content_replacement),
    Route::omit("tools-used"),
    Route::omit("file-history-delta"),
    Route::omit("bridge-session"),
    Route::convert("pr-link", session_lines::pull_request),
    Route::convert("summary", session_lines::summary),
    Route::convert("custom-title", session_lines::custom_title),
    Route::convert("agent-name", session_lines::agent_name),
    Route::convert("worktree-state", session_lines::moved),
    Route::convert("relocated", session_lines::moved),
];

/// What happens to a `system` line, by its `subtype`.
static SYSTEM: &[Route<Handler>] = &[
    Route::omit("system/turn_duration"),
    Route::convert("system/local_command", system::local_command),
    Route::convert("system/compact_boundary", system::compact_boundary),
    Route::convert("system/microcompact_boundary", system::notice),
    Route::convert("system/informational", system::informational),
    Route::convert("system/bridge_status", system::notice),
    Route::convert("system/away_summary", system::notice),
    Route::convert("system/scheduled_task_fire", system::notice),
    Route::convert("system/stop_hook_summary", system::stop_hook_summary),
    Route::convert("system/api_error", system::api_error),
    Route::convert("system/error", system::api_error),
    Route::convert("system/api_refusal", system::refusal),
    Route::convert("system/model_refusal_fallback", system::refusal),
    Route::convert("system/model_refusal_no_fallback", system::refusal),
    Route::convert("system/model_fallback", system::model_fallback),
];

/// What happens to a `progress` line, by the type of its `data`.
static PROGRESS: &[Route<Handler>] = &[
    Route::convert("progress/hook_progress", progress::hook_progress),
    Route::convert("progress/bash_progress", progress::bash_progress),
    Route::convert("progress/agent_progress", agent_progress),
    Route::omit("progress/mcp_progress"),
    Route::omit("progress/query_update"),
    Route::omit("progress/search_results_received"),
    Route::omit("progress/waiting_for_task"),
];

/// What happens to a `queue-operation` line, by its `operation`.
static QUEUE_OPERATIONS: &[Route<Handler>] = &[
    Route::convert("queue-operation/enqueue", queue::enqueue),
    Route::convert("queue-operation/dequeue", queue::dequeue),
    Route::convert("queue-operation/remove", queue::remove),
    Route::omit("queue-operation/popAll"),
];

/// What happens to an `attachment` line, by the type of its attachment.
static ATTACHMENTS: &[Route<Conversion>] = &[
    Route::convert("attachment/queued_command", Conversion::Custom(attachments::queued_command)),
    Route::convert("attachment/total_tokens_reminder", Conversion::Text("/attachment/text")),
    Route::convert("attachment/silent_turn_reminder", Conversion::Text("/attachment/text")),
    Route::convert("attachment/model", Conversion::Text("/attachment/text")),
    Route::convert("attachment/date", Conversion::Text("/attachment/date")),
    Route::convert("attachment/environment", Conversion::Text("/attachment/snapshot")),
    Route::convert("attachment/advisor_tool", Conversion::Text("/attachment/model")),
    Route::convert("attachment/output_style", Conversion::Text("/attachment/style")),
    Route::convert("attachment/output_style_instructions", Conversion::Text("/attachment/style")),
    Route::convert("attachment/fork_briefing", Conversion::Text("/attachment/text")),
    Route::convert("attachment/session_cron_carry", Conversion::Text("/attachment/tasks")),
    Route::convert("attachment/todo_reminder", Conversion::Text("/attachment/content")),
    Route::convert("attachment/task_reminder", Conversion::Text("/attachment/content")),
    Route::convert("attachment/critical_system_reminder", Conversion::Text("/attachment/content")),
    Route::convert("attachment/session_context", Conversion::Custom(attachments::session_context)),
    Route::convert("attachment/remote_session_change", Conversion::Custom(attachments::remote_session_change)),
    Route::convert("attachment/edited_text_file", Conversion::File { name: "/attachment/filename", text: "/attachment/snippet" }),
    Route::convert("attachment/file", Conversion::Custom(attachments::attached_file)),
    Route::convert("attachment/skill_listing", Conversion::Hash("/attachment/content")),
    Route::convert("attachment/agent_listing_delta", Conversion::Hash("/attachment/addedLines")),
    Route::convert("attachment/deferred_tools_delta", Conversion::Hash("/attachment/addedLines")),
    Route::convert("attachment/deferred_tools_record", Conversion::Hash("/attachment/entries")),
    Route::convert("attachment/auto_mode", Conversion::Custom(attachments::auto_mode)),
    Route::convert("attachment/prompt_snapshot", Conversion::Custom(attachments::prompt_snapshot)),
    Route::convert("attachment/hook_*", Conversion::Custom(attachments::hook)),
    Route::convert("attachment/date_change", Conversion::Text("/attachment/newDate")),
    Route::convert("attachment/command_permissions", Conversion::Text("/attachment/allowedTools")),
    Route::convert("attachment/companion_intro", Conversion::Text("/attachment/name")),
    Route::convert("attachment/plan_mode", Conversion::Text("/attachment/planFilePath")),
    Route::convert("attachment/plan_mode_exit", Conversion::Text("/attachment/planFilePath")),
    Route::convert("attachment/plan_mode_reentry", Conversion::Text("/attachment/planFilePath")),
    Route::convert("attachment/read_truncation_notice", Conversion::Text("/attachment/banner")),
    Route::convert("attachment/compact_file_reference", Conversion::Text("/attachment/filename")),
    Route::convert("attachment/dynamic_skill", Conversion::Text("/attachment/skillDir")),
    Route::convert("attachment/task_status", Conversion::Text("/attachment/description")),
    Route::convert("attachment/auto_mode_exit", Conversion::Name),
    Route::convert("attachment/ultra_effort_enter", Conversion::Name),
    Route::convert("attachment/ultra_effort_exit", Conversion::Name),
    Route::convert("attachment/budget_usd", Conversion::Name),
    Route::convert("attachment/mcp_instructions_delta", Conversion::Hash("/attachment/addedBlocks")),
    Route::convert("attachment/invoked_skills", Conversion::Hash("/attachment/skills")),
    Route::convert("attachment/nested_memory", Conversion::Custom(attachments::nested_memory)),
    Route::convert(
        "attachment/plan_file_reference",
        Conversion::File { name: "/attachment/planFilePath", text: "/attachment/planContent" },
    ),
    Route::convert("attachment/selected_lines_in_ide", Conversion::File { name: "/attachment/filename", text: "/attachment/content" }),
    Route::convert("attachment/instructions", Conversion::Custom(attachments::instructions)),
    Route::convert("attachment/directory", Conversion::File { name: "/attachment/path", text: "/attachment/content" }),
    Route::convert("attachment/already_read_file", Conversion::Custom(attachments::attached_file)),
    Route::convert("attachment/unknown_command_fallback", Conversion::Text("/attachment/commandName")),
    Route::convert("attachment/diagnostics", Conversion::Text("/attachment/files")),
    Route::convert("attachment/opened_file_in_ide", Conversion::Text("/attachment/filename")),
    Route::convert("attachment/goal_status", Conversion::Custom(attachments::goal_status)),
    Route::convert("attachment/structured_output", Conversion::Custom(attachments::structured_output)),
];

/// What happens to a line.
#[derive(Clone, Copy)]
enum Row {
    Convert(Handler),
    Attach(Conversion),
    /// It gives no event. The type of the record.
    Omit(&'static str),
}

/// Finds the row of a line.
///
/// # Errors
/// [`Fault::Unrecognized`] if no table has its type.
fn row_of(line: &Line<'_>) -> Result<Row, Fault> {
    let kind = raw_str(line.kind());
    let converts = |route: Route<Handler>| match route.action {
        Action::Convert(handler) => Row::Convert(handler),
        Action::Omit => Row::Omit(route.record),
    };
    match kind {
        "system" => nested(SYSTEM, kind, raw_str(line.subtype())).map(converts),
        "progress" => nested(PROGRESS, kind, raw_str(line.data().and_then(|data| data.member("type")))).map(converts),
        "queue-operation" => nested(QUEUE_OPERATIONS, kind, raw_str(line.operation())).map(converts),
        "attachment" => {
            let route = nested(ATTACHMENTS, kind, raw_str(line.attachment().and_then(|attachment| attachment.member("type"))))?;
            Ok(match route.action {
                Action::Convert(conversion) => Row::Attach(conversion),
                Action::Omit => Row::Omit(route.record),
            })
        }
        _ => RECORDS.iter().find(|route| route.record == kind).copied().map(converts).ok_or_else(|| Fault::unrecognized(kind)),
    }
}

/// The row for a nested type, `<outer>/<inner>`. A row that ends with `*` is for all types with that beginning.
fn nested<H: Copy>(table: &[Route<H>], outer: &str, inner: &str) -> Result<Route<H>, Fault> {
    let covers = |pattern: &str| pattern.strip_suffix('*').map_or(pattern == inner, |beginning| inner.starts_with(beginning));
    let is_row = |row: &&Route<H>| row.record.get(outer.len() + 1..).is_some_and(covers);
    table.iter().find(is_row).copied().ok_or_else(|| Fault::unrecognized(&format!("{outer}/{inner}")))
}

/// Checks that a table has the type of a line.
///
/// # Errors
/// [`Fault::Unrecognized`] if none has.
pub fn knows(line: &Line<'_>) -> Result<(), Fault> {
    if raw_str(line.kind()) == "progress" && line.data().is_none() {
        return Err(Fault::malformed("/data", "the data of a progress line", "nothing"));
    }
    if raw_str(line.kind()) == "attachment" && line.attachment().is_none() {
        return Err(Fault::malformed("/attachment", "an attachment", "nothing"));
    }
    match row_of(line)? {
        Row::Omit(record) if DESCRIPTOR.ignored_record(record).is_none() => Err(Fault::unrecognized(record)),
        _ => Ok(()),
    }
}

/// Emits one line of the transcript, whose note is at this place, and what stands before and after it.
pub fn line(state: &mut State, source: &Source<'_>, at: usize, out: &mut Emitter<'_>) -> Outcome {
    let mut record = Record { at, line: Line::lenient(source.value), ..Record::default() };
    fill_in(state, &mut record);
    match state.plan.fate(at) {
        Fate::Repeated if state.plan.notes.all[at].kind == Kind::Title => duplicate(state, &record, rule::SAME_TITLE),
        Fate::Repeated => duplicate(state, &record, rule::REPEATED),
        Fate::AppendedAgain => duplicate(state, &record, rule::APPENDED_AGAIN),
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
    Outcome::Duplicate { record, rule }
}

/// Converts a line of the transcript, or a line that another one wraps.
fn convert(state: &mut State, record: &mut Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    // Of `progress` lines only some state facts of the session: their handlers begin the record.
    let facts_changed = raw_str(record.line.kind()) != "progress" && begin_record(state, record, out);
    let outcome = match row_of(&record.line) {
        _ if state.plan.fate(record.at) == Fate::Copied => duplicate(state, record, rule::COPIED),
        Ok(Row::Convert(handler)) => handler(state, record, out),
        Ok(Row::Attach(conversion)) => AttachmentLine::new(&record.line).convert(conversion, state, out),
        Ok(Row::Omit(record)) => DESCRIPTOR.ignored_record(record).unwrap_or(Outcome::Mapped),
        // The check has found it.
        Err(_) => Outcome::Mapped,
    };
    // A line that changes a session fact is no duplicate.
    if facts_changed { Outcome::Mapped } else { outcome }
}

/// `progress/agent_progress`: lines of a sub-agent. They are converted here only if the sub-agent has no file of its own.
fn agent_progress(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let omitted = Outcome::Duplicate { record: "progress/agent_progress", rule: rule::AGENT_PROGRESS };
    let data = Progress::lenient_opt(record.line.data());
    let agent = text(data.agent_id()).map(|agent| agent.decode_lossy()).unwrap_or_default();
    if state.side_info.side_files.as_ref().is_some_and(|files| files.has_agent(&agent)) {
        return omitted;
    }
    let mut is_mapped = false;
    let lines = wrapped_lines(&data).filter_map(|(place, value)| Some((place, unwrapped(&record.line, value, place).ok()?)));
    // The sub-agent's own `progress` lines are left out: their results follow.
    let lines = lines.filter(|(_, line)| raw_str(line.kind()) != "progress");
    for (at, (place, line)) in (record.at + 1..).zip(lines) {
        if state.plan.fate(at) != Fate::Repeated {
            let mut inner = Record { at, line, prefix: place, agent: Some(agent.clone()), ..Record::default() };
            is_mapped |= convert(state, &mut inner, out) == Outcome::Mapped;
        }
    }
    if is_mapped { Outcome::Mapped } else { omitted }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of lines that transcripts and captures have.
    const SHARED: [&str; 5] = ["assistant", "user", "system/compact_boundary", "system/informational", "system/model_fallback"];

    /// Every row of every table, and whether it omits its records.
    fn rows() -> Vec<(&'static str, bool)> {
        fn of<H>(table: &'static [Route<H>]) -> impl Iterator<Item = (&'static str, bool)> {
            table.iter().map(|row| (row.record, matches!(row.action, Action::Omit)))
        }
        of(RECORDS)
            .chain(of(SYSTEM))
            .chain(of(PROGRESS))
            .chain(of(QUEUE_OPERATIONS))
            .chain(of(ATTACHMENTS))
            .chain(stream::rows().filter(|(record, _)| !SHARED.contains(record)))
            .collect()
    }

    #[test]
    fn every_omitted_record_type_has_one_rule() {
        for (record, _) in rows().into_iter().filter(|(_, is_omitted)| *is_omitted) {
            let rules = DESCRIPTOR.omission_rules.iter().filter(|rule| rule.record == record && rule.outcome().is_some());
            assert_eq!(rules.count(), 1, "{record}");
        }
    }

    #[test]
    fn every_rule_for_whole_records_has_a_row() {
        let rows = rows();
        for rule in DESCRIPTOR.omission_rules.iter().filter(|rule| rule.outcome().is_some()) {
            let is_for_all = rule.record == "*";
            assert!(is_for_all || rows.iter().any(|(record, _)| *record == rule.record), "{} for {}", rule.rule, rule.record);
        }
    }

    #[test]
    fn every_record_type_is_in_the_member_table() {
        let table = members::MEMBERS.table().unwrap();
        let rows: Vec<&str> = rows().into_iter().map(|(record, _)| record).collect();
        let absent: Vec<&&str> = rows.iter().filter(|record| table.record(record).is_none_or(|shape| shape.name != **record)).collect();
        assert_eq!(absent, [] as [&&str; 0]);
        let of_lines = table.records().iter().map(|shape| &*shape.name).filter(|name| !name.starts_with(members::ARGUMENTS));
        let without_row: Vec<&str> = of_lines.filter(|name| !rows.contains(name)).collect();
        assert_eq!(without_row, [] as [&str; 0]);
    }

    #[test]
    fn a_record_type_has_one_row() {
        let mut records: Vec<&str> = rows().into_iter().map(|(record, _)| record).collect();
        let count = records.len();
        records.sort_unstable();
        records.dedup();
        assert_eq!(records.len(), count);
    }
}
