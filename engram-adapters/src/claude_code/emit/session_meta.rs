//! What every line says before its own content: session, sub-agent, time, version, and changed session facts.

use std::borrow::Cow;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Meta, SessionFacts};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::claude_code::emit::state::State;
use crate::claude_code::emit::state::last_stated::Changes;
use crate::claude_code::readers::{Line, Message};
use crate::claude_code::record::{Fact, Record, line_time};
use crate::shared::value::{non_empty_text, raw_str, text};

/// Fills in what follows from the fields of the line and from what was decided.
pub(super) fn fill_in(state: &mut State, record: &mut Record<'_>) {
    if let Some(note) = state.plan.notes.all.get(record.at) {
        state.dialect = note.dialect;
    }
    record.kind = raw_str(record.line.kind());
    if record.kind != "progress" {
        record.message = Message::lenient_opt(record.line.message());
    }
    if record.agent.is_none() {
        record.agent = agent(state, record);
    }
    record.time = line_time(&record.line);
    record.is_conversation = matches!(
        record.kind,
        "user" | "assistant" | "system" | "attachment" | "progress"
    );
    record.replay = record.is_conversation && state.plan.is_replay(record.at);
    // It gives no event: the next line has its facts again.
    record.is_conversation &=
        record.kind != "system" || raw_str(record.line.subtype()) != "turn_duration";
}

/// The sub-agent that wrote the line. A chain of lines that name none has the id of its first line.
fn agent<'a>(state: &mut State, record: &Record<'a>) -> Option<Cow<'a, str>> {
    if let Some(agent) = text(record.line.agent_id()) {
        return Some(agent.decode_lossy());
    }
    let first = state.plan.agents.chain(record.at)?;
    let id = || {
        text(record.line.uuid())
            .map(|uuid| uuid.decode_lossy().into_owned())
            .unwrap_or_default()
    };
    Some(Cow::Owned(
        state.chains.entry(first).or_insert_with(id).clone(),
    ))
}

/// Emits the session facts that a line changes. Returns whether there were any.
pub(super) fn begin_record(
    state: &mut State,
    record: &mut Record<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    if record.kind.is_empty() {
        fill_in(state, record);
    }
    let count = if record.is_conversation {
        Fact::REPEATED
    } else {
        Fact::OF_ANY_LINE
    };
    let mut changes = state.last_stated.set_facts(&record.line, count);
    if changes.has(Fact::Session) || !state.last_stated.is_agent(record.agent.as_deref()) {
        set_source(state, record, out);
    }
    out.set_header(RecordHeader {
        t: record.time.as_deref(),
        id: text(record.line.uuid()),
        replay: record.replay,
    });
    out.set_pointer_prefix(record.prefix);
    if changes.has(Fact::Version) {
        state_version(&record.line, out);
    }
    if !record.is_conversation {
        return false;
    }
    changes = state.last_stated.set_conversation_facts(record, changes);
    let plan = std::rc::Rc::clone(&state.plan);
    let forked = plan
        .replay
        .forked
        .as_ref()
        .filter(|(at, _)| *at == record.at)
        .map(|(_, session)| &**session);
    if changes.has_conversation_fact() || forked.is_some() {
        emit_changes(state, changes, forked, record, out)
    } else {
        false
    }
}

#[inline(never)]
pub(super) fn set_source(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) {
    if let Some(session) = record.session_id() {
        let agent = record.agent.as_deref();
        state.last_stated.set_agent(agent);
        out.set_source(Some(&session), agent);
    }
}

#[cold]
fn state_version(line: &Line<'_>, out: &mut Emitter) {
    if let Some(version) = text(line.version()) {
        let _ = out.version(&version.decode_lossy());
    }
}

#[cold]
fn emit_changes(
    state: &State,
    changes: Changes,
    forked: Option<&str>,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    let line = &record.line;
    let mut facts = SessionFacts {
        fork_of: forked.map(Text::Plain),
        ..SessionFacts::default()
    };
    if changes.has(Fact::Parent) {
        facts.parent_session_id = text(line.session_id());
        facts.parent_call_id = state.side_info.parent_call_id.as_deref().map(Text::Plain);
        facts.agent = state.side_info.agent.as_deref().map(Text::Plain);
    }
    let changed = |fact, field| {
        if changes.has(fact) {
            non_empty_text(field)
        } else {
            None
        }
    };
    facts.agent = facts
        .agent
        .or_else(|| changed(Fact::AgentType, line.agent_type()));
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
        out.emit(Meta::Session(facts), Pointer::Root);
    }
    is_any
}
