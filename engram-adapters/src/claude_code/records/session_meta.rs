//! What every line states before its own content: session, sub-agent, time, version, and changed session facts.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::{Meta, SessionFacts};
use engram_core::text::Text;

use crate::claude_code::members;
use crate::claude_code::record::{Record, line_time};
use crate::claude_code::schema::{Fact, Line};
use crate::claude_code::state::last_stated::Changes;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::value::{non_empty_text, raw_str, text};
use engram_core::keys::hash64;

/// Fills in the record and emits the session facts that it changes. Returns whether there were any.
///
/// # Errors
/// [`Fault::Malformed`] if the line has no type, or its message is malformed.
pub(super) fn begin_record(state: &mut SessionState, record: &mut Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    fill_in(state, record)?;
    emit_session_meta(state, record, out)
}

#[inline(never)]
fn fill_in(state: &mut SessionState, record: &mut Record<'_>) -> Result<(), Fault> {
    let dialect = state.dialect_of(&record.line);
    if dialect != *state.dialect {
        state.dialect.set(dialect);
    }
    if let Some(message) = record.line.message() {
        record.message.strict_into(message, "/message")?;
    }
    record.kind = raw_str(record.line.kind());
    if record.kind.is_empty() {
        return Err(Fault::malformed("/type", "the type of a record", record.line.object().raw()));
    }
    record.message_key = record.message.id().or_else(|| record.line.request_id()).map(|id| hash64(id.raw()));
    if record.agent.is_none() {
        record.agent = state.sidechains.agent(&record.line, *state.dialect);
    }
    record.time = line_time(&record.line);
    record.is_conversation = matches!(record.kind, "user" | "assistant" | "system" | "attachment" | "progress");
    record.replay = record.is_conversation && state.replay.is_replay(record, *state.dialect);
    // It gives no event: the next line states its facts again.
    record.is_conversation &= record.kind != "system" || raw_str(record.line.subtype()) != "turn_duration";
    Ok(())
}

#[inline(never)]
fn emit_session_meta(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let location = out.location();
    // What waited for this line is attributed to earlier lines, perhaps of other sub-agents.
    let late_emitted = state.usage.flush_before(record, out)?
        | state.titles.resolve(record, out)?
        | state.prompts.release_before(record, state.has_attachments, out)?;
    if late_emitted {
        state.last_stated.forget_session();
    }
    let count = if record.is_conversation { Fact::REPEATED } else { Fact::OF_ANY_LINE };
    let mut changes = state.last_stated.set_facts(&record.line, count);
    if changes.has(Fact::Session) || !state.last_stated.is_agent(record.agent.as_deref()) {
        set_source(state, record, out);
    }
    let header = RecordHeader { t: record.time.as_deref(), id: text(record.line.uuid()), replay: record.replay };
    if late_emitted {
        out.attribute_to(location, header);
    } else {
        out.set_header(header);
    }
    out.set_pointer_prefix(record.prefix);
    if changes.has(Fact::Version) {
        state_version(&record.line, out)?;
    }
    if matches!(record.prefix, Pointer::Root) {
        members::check(state, record, out)?;
    }
    if record.is_conversation {
        changes = state.last_stated.set_conversation_facts(record, changes);
        if changes.has_conversation_fact() || (state.replay.has_origin() && !record.replay) {
            return emit_changes(state, changes, record, out);
        }
    }
    Ok(false)
}

#[inline(never)]
fn set_source(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter) {
    if let Some(session) = record.session_id() {
        let agent = record.agent.as_deref();
        state.last_stated.set_agent(agent);
        out.set_source(Some(&session), agent);
    }
}

#[cold]
fn state_version(line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
    match text(line.version()) {
        Some(version) => out.version(&version.decode_lossy()).map(|_| ()),
        None => Ok(()),
    }
}

#[cold]
fn emit_changes(state: &mut SessionState, changes: Changes, record: &Record<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let line = &record.line;
    let origin = if record.replay { None } else { state.replay.take_origin() };
    let mut facts = SessionFacts { fork_of: origin.as_deref().map(Text::Plain), ..SessionFacts::default() };
    if changes.has(Fact::Parent) {
        facts.parent_session_id = text(line.session_id());
        facts.parent_call_id = state.side_info.parent_call_id.as_deref().map(Text::Plain);
        facts.agent = state.side_info.agent.as_deref().map(Text::Plain);
    }
    let changed = |fact, field| if changes.has(fact) { non_empty_text(field) } else { None };
    facts.agent = facts.agent.or_else(|| changed(Fact::AgentType, line.agent_type()));
    facts.cwd = changed(Fact::Cwd, line.cwd());
    facts.repo_branch = changed(Fact::Branch, line.git_branch());
    facts.model = changed(Fact::Model, record.message.model());
    facts.permission_mode = changed(Fact::PermissionMode, line.permission_mode());
    facts.effort = changed(Fact::Effort, line.effort());
    let stated = [
        facts.parent_session_id,
        facts.agent,
        facts.cwd,
        facts.repo_branch,
        facts.model,
        facts.fork_of,
        facts.permission_mode,
        facts.effort,
    ];
    let is_any = stated.iter().any(Option::is_some);
    if is_any {
        out.emit(Meta::Session(facts), Pointer::Root)?;
    }
    Ok(is_any)
}

/// Compares a line that was read before with the member table. It changes nothing else: a later record without a time does not inherit
/// the time of a repeated one.
pub(super) fn check_repeated(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    members::check(state, record, out)
}

/// Begins a line again that has waited for a later one.
pub(super) fn begin_early(
    state: &mut SessionState,
    record: &mut Record<'_>,
    location: RecordLocation,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let replay = record.replay;
    fill_in(state, record)?;
    record.replay = replay;
    let _ = state.usage.flush_before(record, out)?;
    state.last_stated.forget_session();
    set_source(state, record, out);
    out.attribute_to(location, RecordHeader { t: record.time.as_deref(), id: text(record.line.uuid()), replay });
    Ok(())
}
