//! From the name of a hook step to its handler.

use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::ledger::Outcome;

use super::held_reads::{HeldPayload, HeldRead, Role};
use super::open_writes::Before;
use super::schema::Payload;
use super::state::HookState;
use super::{files, lifecycle, messages, tool_steps};
use crate::cursor::descriptor::omitted;
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::cursor::members;
use crate::shared::route::{Action, Route};
use crate::shared::value::{StructuralIndex, parse, raw_str};

/// Converts the payload of one step.
type Handler = fn(&mut HookState, &Payload<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

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

/// Steps after which no call of the turn is under way.
const ENDS: &[&str] = &["stop", "sessionEnd", "sessionStart", "beforeSubmitPrompt"];

/// Converts one payload.
pub(super) fn convert(state: &mut HookState, source: &str, payload: &Payload<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let role = state.reads.role(payload);
    let step = raw_str(payload.hook_event_name());
    let location = out.location();
    // Reads that run side by side with a write that is under way may be the first halves of edits, too.
    if (matches!(role, Role::Begins) || (role == Role::Other && !state.writes.has(payload)))
        && emit_settled(state, ENDS.contains(&step), out)?
    {
        out.attribute_to(location, RecordHeader::default());
    }
    begin_record(payload, out)?;
    let action = Route::find(RECORDS, step).ok_or_else(|| Fault::unrecognized(step))?;
    members::check(step, payload.object(), out)?;
    let now = state.facts.facts_of(payload);
    let has_new_facts = state.facts.emit_changed(&now, payload, out)?;
    let kept = matches!(role, Role::Begins | Role::BelongsTo(_)).then(|| out.keep(source)).flatten();
    let outcome = match (kept, action) {
        (Some(source), _) => hold(state, role, payload, HeldPayload { source, location, is_mapped: has_new_facts }, out)?,
        (None, Action::Convert(handler)) => {
            if let Role::BelongsTo(at) = role
                && let Some(read) = state.reads.take(at)
            {
                emit_read(state, read, out)?;
                out.attribute_to(location, RecordHeader::default());
                begin_record(payload, out)?;
            }
            let outcome = handler(state, payload, out)?;
            begin_write(state, role, step, payload, out);
            outcome
        }
        (None, Action::Omit) => omitted(step)?,
    };
    // Not for a malformed payload: it leaves no events.
    state.facts = now;
    Ok(if has_new_facts { Outcome::Mapped } else { outcome })
}

/// Holds the payload of a read.
fn hold(state: &mut HookState, role: Role, payload: &Payload<'_>, held: HeldPayload, out: &mut Emitter) -> Result<Outcome, Fault> {
    let location = held.location;
    match role {
        Role::BelongsTo(at) => state.reads.add(at, payload, held, out),
        _ => {
            if let Some(oldest) = state.reads.begin(payload, held) {
                emit_read(state, oldest, out)?;
                out.attribute_to(location, RecordHeader::default());
            }
        }
    }
    Ok(inner_read(raw_str(payload.hook_event_name())))
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

/// Notes a write that begins, with what the read before it shows.
fn begin_write(state: &mut HookState, role: Role, step: &str, payload: &Payload<'_>, out: &Emitter) {
    let read = if let Role::Contains(at) = role { state.reads.take(at) } else { None };
    if (step, raw_str(payload.tool_name())) == ("preToolUse", "Write") {
        let before = match read {
            Some(HeldRead { content: Some(content), .. }) => Before::Text(content),
            Some(HeldRead { is_missing: true, .. }) => Before::Missing,
            _ => Before::Unknown,
        };
        state.writes.begin(payload, before, out);
    }
}

/// Emits the reads that are calls of their own. True if there were any.
pub(super) fn emit_settled(state: &mut HookState, at_end: bool, out: &mut Emitter) -> Result<bool, Fault> {
    let settled = state.reads.take_settled(at_end);
    let has_any = !settled.is_empty();
    settled.into_iter().try_for_each(|read| emit_read(state, read, out))?;
    Ok(has_any)
}

fn emit_read(state: &mut HookState, read: HeldRead, out: &mut Emitter) -> Result<(), Fault> {
    let mut index = StructuralIndex::default();
    for HeldPayload { source, location, is_mapped } in &read.payloads {
        let payload = Payload::strict(parse(source, &mut index)?, "")?;
        let step = raw_str(payload.hook_event_name());
        out.attribute_to(*location, RecordHeader::default());
        begin_record(&payload, out)?;
        if let Some(Action::Convert(handler)) = Route::find(RECORDS, step) {
            handler(state, &payload, out).map(drop)?;
        }
        if let Outcome::Duplicate { record, rule } = inner_read(step)
            && !is_mapped
        {
            out.duplicate_was_mapped(record, rule);
        }
    }
    Ok(())
}

/// Sets version and session. A payload has no id of its own: the turn's is in all its payloads.
fn begin_record(payload: &Payload<'_>, out: &mut Emitter) -> Result<(), Fault> {
    if let Some(version) = decoded(payload.cursor_version()) {
        out.version(&version)?;
    }
    let (session, agent) = (decoded_non_empty(payload.conversation_id()), decoded_non_empty(payload.subagent_id()));
    out.set_source(session.as_deref(), agent.as_deref());
    out.set_header(RecordHeader::default());
    Ok(())
}

/// The record types of the table, and whether they are omitted.
#[cfg(test)]
pub(in crate::cursor) fn rows() -> Vec<(&'static str, bool)> {
    RECORDS.iter().map(|row| (row.record, matches!(row.action, Action::Omit))).collect()
}
