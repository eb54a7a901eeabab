//! Beginnings and ends: of sessions, turns and sub-agents; and compactions.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Author, Meta, MsgIn, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::events::{emit_notice, emit_usage};
use super::schema::Step;
use super::state::HookState;
use crate::cursor::format::{HookKind, rule};
use crate::cursor::readers::Payload;
use crate::cursor::steps::Out;
use crate::shared::value::{non_empty_text, raw_str};

/// The beginning of a session. Its facts are emitted with those of every payload.
pub(super) fn session_start(
    _: &mut HookState,
    _: &Step<'_>,
    _: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    Ok(Outcome::bookkeeping(
        HookKind::SessionStart.name(),
        rule::HOOK_SESSION,
    ))
}

/// The end of a session.
pub(super) fn session_end(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let omitted = Outcome::bookkeeping(HookKind::SessionEnd.name(), rule::HOOK_SESSION);
    Ok(if emit_end(state, payload, out)? {
        Outcome::Mapped
    } else {
        omitted
    })
}

/// The end of a turn.
pub(super) fn stop(
    state: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let omitted = Outcome::bookkeeping(HookKind::Stop.name(), rule::HOOK_STOP);
    Ok(if emit_end(state, payload, out)? {
        Outcome::Mapped
    } else {
        omitted
    })
}

/// A workspace was opened.
pub(super) fn workspace(
    _: &mut HookState,
    _: &Step<'_>,
    _: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    Ok(Outcome::bookkeeping(
        HookKind::WorkspaceOpen.name(),
        rule::HOOK_WORKSPACE,
    ))
}

/// Emits the tokens of an end, and the error or interruption that caused it. True if it emitted anything.
fn emit_end(
    state: &mut HookState,
    payload: &Payload<'_>,
    out: &mut Out<'_, '_>,
) -> Result<bool, Fault> {
    // Counts at an end are the sum of those of the answers, if the answers have any.
    let has_usage = !state.has_usage && emit_usage(payload, out)?;
    state.has_usage |= has_usage;
    let text = non_empty_text(payload.error_message());
    let event = match raw_str(payload.status()) {
        "aborted" => Meta::Interrupt { text },
        "error" => Meta::error(Some(Text::Plain("error")), text),
        _ => return Ok(has_usage),
    };
    out.emit(event, "/status")?;
    Ok(true)
}

/// A compaction of the history.
pub(super) fn compaction(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    out.emit(
        Meta::Compaction {
            text: None,
            trigger: non_empty_text(payload.trigger()),
        },
        Pointer::Root,
    )?;
    Ok(Outcome::Mapped)
}

/// A sub-agent with its task.
pub(super) fn subagent_start(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let call_id = non_empty_text(payload.tool_call_id());
    let facts = SessionFacts {
        model: non_empty_text(payload.subagent_model()),
        repo_branch: non_empty_text(payload.git_branch()),
        parent_session_id: non_empty_text(payload.parent_conversation_id()),
        parent_call_id: call_id,
        agent: non_empty_text(payload.subagent_type()),
        ..SessionFacts::default()
    };
    out.emit_child(
        call_id.and_then(|id| out.seq_of_call(id)),
        Meta::Session(facts),
        Pointer::Root,
    )?;
    if let Some(task) = non_empty_text(payload.task()) {
        let task = MsgIn::user(Author::Agent, Some(task));
        out.emit(task, "/task")?;
    }
    Ok(Outcome::Mapped)
}

/// The summary of a sub-agent, and the path of its transcript.
pub(super) fn subagent_stop(
    _: &mut HookState,
    payload: &Step<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    emit_notice(raw_str(payload.hook_event_name()), payload.summary(), out)?;
    if non_empty_text(payload.agent_transcript_path()).is_some() {
        emit_notice(
            "agent_transcript_path",
            payload.agent_transcript_path(),
            out,
        )?;
    }
    Ok(Outcome::Mapped)
}
