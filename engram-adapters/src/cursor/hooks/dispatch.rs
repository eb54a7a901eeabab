//! From the name of a hook step to its handler.

use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::ledger::Outcome;

use super::schema::Payload;
use super::session_facts::LastFacts;
use super::{files, lifecycle, messages, tool_steps};
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::cursor::members;
use crate::shared::route::{Action, Route};
use crate::shared::value::{Value, non_empty_text, raw_str};

/// Converts the payload of one step.
type Handler = fn(&Payload<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What happens to each hook step (SDK 1.0.32). The session facts that every payload has are emitted before it.
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
pub(super) fn convert(facts: &mut LastFacts, payload: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let payload = Payload::strict(payload, "")?;
    begin_record(&payload, out)?;
    let step = raw_str(payload.hook_event_name());
    let action = Route::find(RECORDS, step).ok_or_else(|| Fault::unrecognized(step))?;
    members::check(step, payload.object(), out)?;
    let now = facts.facts_of(&payload);
    let has_new_facts = facts.emit_changed(&now, &payload, out)?;
    let outcome = match action {
        Action::Convert(handler) => handler(&payload, out)?,
        Action::Omit => omitted(step)?,
    };
    // Not for a malformed payload: it leaves no events.
    *facts = now;
    Ok(if has_new_facts { Outcome::Mapped } else { outcome })
}

/// Sets version, session and id.
fn begin_record(payload: &Payload<'_>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(version) = decoded(payload.cursor_version()) {
        out.version(&version)?;
    }
    let (session, agent) = (decoded_non_empty(payload.conversation_id()), decoded_non_empty(payload.subagent_id()));
    out.set_source(session.as_deref(), agent.as_deref());
    out.set_header(RecordHeader { id: non_empty_text(payload.generation_id()), ..RecordHeader::default() });
    Ok(())
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
