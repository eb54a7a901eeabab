//! Which handler converts each record type: one row in one of these tables. A type without a row is unrecognized.

use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use super::agent_lines::{unwrapped, wrapped_lines};
use super::attachments::{self, AttachmentLine, Conversion};
use super::progress::{bash_progress, hook_progress};
use super::session_meta::{begin_early, begin_record, check_repeated};
#[cfg(test)]
use super::stream;
use super::{assistant, queue, session_lines, system, user};
use crate::claude_code::descriptor::DESCRIPTOR;
use crate::claude_code::members;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::schema::Progress;
use crate::claude_code::state::early_results::EarlyResult;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::record_facts::Repetition;
use crate::shared::route::{Action, Route};
use crate::shared::value::{StructuralIndex, Value, parse, raw_str, text};

type Handler = fn(&mut SessionState, &Record<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;
type ProgressHandler = fn(&mut SessionState, &Record<'_>, &Progress<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What happens to a line, by its `type`.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("assistant", assistant::assistant),
    Route::convert("user", user::user),
    Route::convert("progress", progress),
    Route::convert("attachment", attachment),
    Route::convert("system", system),
    Route::omit("file-history-snapshot"),
    Route::convert("last-prompt", session_lines::last_prompt),
    Route::convert("queue-operation", queue_operation),
    Route::convert("ai-title", session_lines::ai_title),
    Route::convert("permission-mode", session_lines::permission_mode),
    Route::convert("mode", session_lines::mode),
    Route::convert("cost-state", session_lines::cost),
    Route::convert("api-request-shape", session_lines::request_shape),
    Route::omit("api-request"),
    Route::omit("api-request-blob"),
    Route::omit("atis-latch"),
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
];

/// Its handler begins the record.
const HOOK_PROGRESS: &str = "progress/hook_progress";

/// What happens to a `progress` line, by the type of its `data`.
static PROGRESS: &[Route<ProgressHandler>] = &[
    Route::convert(HOOK_PROGRESS, hook_progress),
    Route::convert("progress/bash_progress", bash_progress),
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

/// Converts one line of the transcript.
pub fn line(state: &mut SessionState, value: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let mut record = Record::default();
    record.line.strict_into(value, "")?;
    if state.lines.begin(&record.line) == Repetition::Whole
        && let Some(outcome) = duplicate(state, &record, rule::REPEATED, out)?
    {
        return Ok(outcome);
    }
    if is_rewritten(state, &record)
        && let Some(outcome) = duplicate(state, &record, rule::APPENDED_AGAIN, out)?
    {
        return Ok(outcome);
    }
    state.early_results.count_line();
    convert(state, &mut record, out)
}

/// Converts a result that has waited for its call. It was compared with the member table when it was read.
pub fn early_result(
    state: &mut SessionState,
    early: &EarlyResult,
    index: &mut StructuralIndex,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let mut record = Record { is_early: true, replay: early.replay, ..Record::default() };
    record.line.strict_into(parse(&early.json, index)?, "")?;
    begin_early(state, &mut record, early.location, out)?;
    if user::user(state, &record, out)? == Outcome::Mapped {
        out.duplicate_was_mapped("user", rule::EARLY_RESULT);
    }
    Ok(())
}

/// True for a line of the history that the file has again with another id.
#[inline]
fn is_rewritten(state: &mut SessionState, record: &Record<'_>) -> bool {
    let dialect = state.dialect_of(&record.line);
    state.rewritten.is_copy(&record.line, dialect, &state.lines)
}

/// A line whose facts were read before. None if the ledger has no name for its type.
#[cold]
fn duplicate(state: &mut SessionState, record: &Record<'_>, rule: &'static str, out: &mut Emitter<'_>) -> Result<Option<Outcome>, Fault> {
    check_repeated(state, record, out)?;
    Ok(members::named_type(&mut state.scratch, &record.line).map(|record| Outcome::Duplicate { record, rule }))
}

/// Converts a line of the transcript, or a line that another one wraps.
fn convert(state: &mut SessionState, record: &mut Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    // Of `progress` lines only those of hooks state facts of the session: their handler begins the record.
    let is_progress = raw_str(record.line.kind()) == "progress";
    let facts_changed = !is_progress && begin_record(state, record, out)?;
    let kind = raw_str(record.line.kind());
    if state.copies.is_copy(record, *state.dialect)
        && let Some(record) = members::named_type(&mut state.scratch, &record.line)
    {
        return Ok(if facts_changed { Outcome::Mapped } else { Outcome::Duplicate { record, rule: rule::COPIED } });
    }
    let outcome = match Route::find(RECORDS, kind) {
        Some(Action::Convert(handler)) => handler(state, record, out)?,
        Some(Action::Omit) => omitted(kind)?,
        None => return Err(Fault::unrecognized(kind)),
    };
    // A line that changes a session fact is no duplicate.
    Ok(if facts_changed { Outcome::Mapped } else { outcome })
}

/// The row for a nested type, `<outer>/<inner>`. A row that ends with `*` is for all types with that beginning.
fn nested<H: Copy>(table: &[Route<H>], outer: &str, inner: &str) -> Result<Route<H>, Fault> {
    let covers = |pattern: &str| pattern.strip_suffix('*').map_or(pattern == inner, |beginning| inner.starts_with(beginning));
    let is_row = |row: &&Route<H>| row.record.get(outer.len() + 1..).is_some_and(covers);
    table.iter().find(is_row).copied().ok_or_else(|| Fault::unrecognized(&format!("{outer}/{inner}")))
}

/// The outcome of a record type that gives no event.
fn omitted(record: &str) -> Result<Outcome, Fault> {
    DESCRIPTOR.ignored_record(record).ok_or_else(|| Fault::unrecognized(record))
}

fn system(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let row = nested(SYSTEM, "system", raw_str(record.line.subtype()))?;
    if let Some(content) = record.line.content().filter(|content| content.text().is_none()) {
        return Err(Fault::malformed("/content", "text", content.raw()));
    }
    match row.action {
        Action::Convert(handler) => handler(state, record, out),
        Action::Omit => omitted(row.record),
    }
}

fn queue_operation(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let row = nested(QUEUE_OPERATIONS, "queue-operation", raw_str(record.line.operation()))?;
    match row.action {
        Action::Convert(handler) => handler(state, record, out),
        Action::Omit => omitted(row.record),
    }
}

fn attachment(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let line = AttachmentLine::new(&record.line)?;
    state.has_attachments = true;
    let row = nested(ATTACHMENTS, "attachment", line.kind())?;
    match row.action {
        Action::Convert(conversion) => line.convert(conversion, state, out),
        Action::Omit => omitted(row.record),
    }
}

fn progress(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let data =
        record.line.data().map(Progress::lenient).ok_or_else(|| Fault::malformed("/data", "the data of a progress line", "nothing"))?;
    let row = nested(PROGRESS, "progress", raw_str(data.kind()))?;
    if row.record != HOOK_PROGRESS {
        members::check(state, record, out)?;
    }
    match row.action {
        Action::Convert(handler) => handler(state, record, &data, out),
        Action::Omit => omitted(row.record),
    }
}

/// `progress/agent_progress`: lines of a sub-agent. They are converted here only if the sub-agent has no file of its own.
fn agent_progress(state: &mut SessionState, record: &Record<'_>, data: &Progress<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let omitted = Outcome::Duplicate { record: "progress/agent_progress", rule: rule::AGENT_PROGRESS };
    let agent = text(data.agent_id()).ok_or_else(|| Fault::malformed("/data/agentId", "the id of a sub-agent", "nothing"))?;
    let agent = agent.decode_lossy();
    if state.side_info.side_files.as_ref().is_some_and(|files| files.has_agent(&agent)) {
        return Ok(omitted);
    }
    let mut is_mapped = false;
    for (place, value) in wrapped_lines(data) {
        let line = unwrapped(&record.line, value, place)?;
        // The sub-agent's own `progress` lines are left out: their results follow.
        if raw_str(line.kind()) != "progress" && state.dedup.insert_wrapped_line(&line) {
            let mut inner = Record { line, prefix: place, agent: Some(agent.clone()), ..Record::default() };
            let outcome = convert(state, &mut inner, out).map_err(|fault| fault.within(place))?;
            is_mapped |= outcome == Outcome::Mapped;
        }
    }
    Ok(if is_mapped { Outcome::Mapped } else { omitted })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of lines that transcripts and captures have.
    const SHARED: [&str; 4] = ["assistant", "user", "system/compact_boundary", "system/informational"];

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
        const OUTER: [&str; 4] = ["progress", "attachment", "system", "queue-operation"];
        let table = members::MEMBERS.table().unwrap();
        let rows: Vec<&str> = rows().into_iter().map(|(record, _)| record).filter(|record| !OUTER.contains(record)).collect();
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
