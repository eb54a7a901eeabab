//! From the name of a hook step to its handler.

use engram_core::emit::Fault;
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;

use super::plan::{Note, Plan, What};
use super::schema::Step;
use super::state::HookState;
use super::{files, lifecycle, messages, tool_steps};
use crate::cursor::fields::{decoded, decoded_non_empty};
use crate::cursor::format::{HookKind, rule};
use crate::cursor::members;
use crate::cursor::readers::Payload;
use crate::cursor::steps::Out;
use crate::shared::value::raw_str;

/// Converts the payload of one step.
type Handler = fn(&mut HookState, &Step<'_>, &mut Out<'_, '_>) -> Result<Outcome, Fault>;

/// What happens to each hook step (SDK 1.0.9 to 1.0.36). The session facts that every payload has are emitted before it.
fn handler(kind: HookKind) -> Handler {
    match kind {
        HookKind::PreToolUse => tool_steps::call,
        HookKind::PostToolUse => tool_steps::result,
        HookKind::PostToolUseFailure => tool_steps::failure,
        HookKind::BeforeShellExecution | HookKind::BeforeMCPExecution => {
            tool_steps::before_execution
        }
        HookKind::AfterShellExecution => tool_steps::after_shell,
        HookKind::AfterMCPExecution => tool_steps::after_mcp,
        HookKind::BeforeReadFile | HookKind::BeforeTabFileRead => files::content,
        HookKind::AfterFileEdit | HookKind::AfterTabFileEdit => files::edits,
        HookKind::AfterAgentThought => messages::reasoning,
        HookKind::AfterAgentResponse => messages::answer,
        HookKind::BeforeSubmitPrompt => messages::prompt,
        HookKind::SubagentStart => lifecycle::subagent_start,
        HookKind::SubagentStop => lifecycle::subagent_stop,
        HookKind::PreCompact => lifecycle::compaction,
        HookKind::Stop => lifecycle::stop,
        HookKind::SessionStart => lifecycle::session_start,
        HookKind::SessionEnd => lifecycle::session_end,
        HookKind::WorkspaceOpen => lifecycle::workspace,
    }
}

/// Converts one payload.
pub(super) fn convert(
    state: &mut HookState,
    plan: &Plan,
    step: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let name = raw_str(step.hook_event_name());
    let kind = HookKind::named(name).ok_or_else(|| Fault::unrecognized(name))?;
    if let Some(version) = decoded(step.cursor_version()) {
        out.version(&version)?;
    }
    set_source(step, out);
    members::check(name, step.object(), out);
    let now = state.facts.facts_of(step);
    let has_new_facts = state.facts.emit_changed(&now, step, out)?;
    // A read that is a part of an edit.
    let outcome = match plan.inner.contains(&step.number) {
        true => Outcome::duplicate(kind.name(), rule::INNER_READ),
        false => handler(kind)(state, step, out)?,
    };
    if kind == HookKind::PreToolUse && raw_str(step.tool_name()) == "Write" {
        state.writes.begin(
            step,
            plan.before.get(&step.number).copied().unwrap_or_default(),
        );
    }
    // Not for a malformed payload: it leaves no events.
    state.facts = now;
    Ok(if has_new_facts {
        Outcome::Mapped
    } else {
        outcome
    })
}

/// What step 1 notes of a payload.
pub(super) fn note(step: &Step<'_>) -> Option<Note> {
    let kind = HookKind::named(raw_str(step.hook_event_name()))?;
    let call = decoded_non_empty(step.tool_use_id());
    let is_read = step
        .tool_name()
        .is_some_and(|tool| raw_str(Some(tool)) == "Read");
    let what = match kind {
        HookKind::BeforeReadFile => What::Content,
        _ if call.is_none() => return None,
        HookKind::PreToolUse if is_read => What::ReadBegins,
        HookKind::PreToolUse => What::OtherBegins,
        HookKind::PostToolUse if is_read => What::ReadEnds { is_missing: false },
        HookKind::PostToolUseFailure if is_read => What::ReadEnds {
            is_missing: raw_str(step.failure_type()) == "error",
        },
        _ => return None,
    };
    let conversation = decoded(step.conversation_id());
    let file = step
        .tool_input()
        .and_then(|input| input.member("file_path"))
        .or(step.file_path());
    let file = hash64((&conversation, decoded(file), decoded(step.generation_id())));
    let call = call.map_or(0, |call| hash64((&conversation, call)));
    Some(Note {
        number: step.number,
        call,
        file,
        what,
    })
}

/// Sets the session. A payload has no id of its own: the turn's is in all its payloads.
pub(super) fn set_source(payload: &Payload<'_>, out: &mut Out<'_, '_>) {
    let (session, agent) = (
        decoded_non_empty(payload.conversation_id()),
        decoded_non_empty(payload.subagent_id()),
    );
    out.set_source(session.as_deref(), agent.as_deref());
}
