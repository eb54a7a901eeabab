//! From the name of a hook step to its handler.

use engram_core::emit::Fault;
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;

use super::plan::{Note, Plan, What};
use super::schema::Step;
use super::state::HookState;
use super::{files, lifecycle, messages, tool_steps};
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::cursor::members;
use crate::cursor::readers::Payload;
use crate::cursor::steps::Out;
use crate::shared::route::{Action, Route};
use crate::shared::value::raw_str;

/// Converts the payload of one step.
type Handler = fn(&mut HookState, &Step<'_>, &mut Out<'_, '_>) -> Result<Outcome, Fault>;

/// What happens to each hook step (SDK 1.0.9 to 1.0.36). The session facts that every payload has are emitted before it.
static RECORDS: &[Route<Handler>] = &[
    Route::convert("preToolUse", tool_steps::call),
    Route::convert("postToolUse", tool_steps::result),
    Route::convert("postToolUseFailure", tool_steps::failure),
    Route::convert("beforeShellExecution", tool_steps::before_execution),
    Route::convert("afterShellExecution", tool_steps::after_shell),
    Route::convert("beforeMCPExecution", tool_steps::before_execution),
    Route::convert("afterMCPExecution", tool_steps::after_mcp),
    Route::convert("beforeReadFile", files::content),
    Route::convert("beforeTabFileRead", files::content),
    Route::convert("afterFileEdit", files::edits),
    Route::convert("afterTabFileEdit", files::edits),
    Route::convert("afterAgentThought", messages::reasoning),
    Route::convert("afterAgentResponse", messages::answer),
    Route::convert("beforeSubmitPrompt", messages::prompt),
    Route::convert("subagentStart", lifecycle::subagent_start),
    Route::convert("subagentStop", lifecycle::subagent_stop),
    Route::convert("preCompact", lifecycle::compaction),
    Route::convert("stop", lifecycle::stop),
    Route::convert("sessionStart", lifecycle::session_start),
    Route::convert("sessionEnd", lifecycle::session_end),
    Route::omit("workspaceOpen"),
];

/// Converts one payload.
pub(super) fn convert(state: &mut HookState, plan: &Plan, step: &Step<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let name = raw_str(step.hook_event_name());
    let action = Route::find(RECORDS, name).ok_or_else(|| Fault::unrecognized(name))?;
    if let Some(version) = decoded(step.cursor_version()) {
        out.version(&version)?;
    }
    set_source(step, out);
    members::check(name, step.object(), out);
    let now = state.facts.facts_of(step);
    let has_new_facts = state.facts.emit_changed(&now, step, out)?;
    let outcome = match action {
        _ if plan.inner.contains(&step.number) => inner_read(name),
        Action::Convert(handler) => handler(state, step, out)?,
        Action::Omit => omitted(name)?,
    };
    if (name, raw_str(step.tool_name())) == ("preToolUse", "Write") {
        state.writes.begin(step, plan.before.get(&step.number).copied().unwrap_or_default());
    }
    // Not for a malformed payload: it leaves no events.
    state.facts = now;
    Ok(if has_new_facts { Outcome::Mapped } else { outcome })
}

/// What step 1 notes of a payload.
pub(super) fn note(step: &Step<'_>) -> Option<Note> {
    let name = raw_str(step.hook_event_name());
    let call = decoded_non_empty(step.tool_use_id());
    let is_read = step.tool_name().is_some_and(|tool| raw_str(Some(tool)) == "Read");
    let what = match name {
        "beforeReadFile" => What::Content,
        _ if call.is_none() => return None,
        "preToolUse" if is_read => What::ReadBegins,
        "preToolUse" => What::OtherBegins,
        "postToolUse" if is_read => What::ReadEnds { is_missing: false },
        "postToolUseFailure" if is_read => What::ReadEnds { is_missing: raw_str(step.failure_type()) == "error" },
        _ => return None,
    };
    let conversation = decoded(step.conversation_id());
    let file = step.tool_input().and_then(|input| input.member("file_path")).or(step.file_path());
    let file = hash64((&conversation, decoded(file), decoded(step.generation_id())));
    let call = call.map_or(0, |call| hash64((&conversation, call)));
    Some(Note { number: step.number, call, file, what })
}

/// The outcome of a payload of a read that is a part of an edit.
fn inner_read(step: &str) -> Outcome {
    let record = match step {
        "preToolUse" => "preToolUse",
        "postToolUse" => "postToolUse",
        "postToolUseFailure" => "postToolUseFailure",
        _ => "beforeReadFile",
    };
    Outcome::Duplicate { record, rule: "inner_read" }
}

/// Sets the session. A payload has no id of its own: the turn's is in all its payloads.
pub(super) fn set_source(payload: &Payload<'_>, out: &mut Out<'_, '_>) {
    let (session, agent) = (decoded_non_empty(payload.conversation_id()), decoded_non_empty(payload.subagent_id()));
    out.set_source(session.as_deref(), agent.as_deref());
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
