//! Session facts: from a header, or from a change of it.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{ImplicitInput, Meta, SessionFacts};
use engram_core::text::Text;

use super::message_record::path_in;
use crate::gemini::schema::Record;
use crate::gemini::state::session_state::SessionState;
use crate::shared::value::{Value, non_empty_text};

/// Converts a header: the first line, or a document without its messages. Its time is set.
#[cold]
pub(super) fn header(state: &mut SessionState, header: &Record<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let is_first = state.session.add_header(header.role());
    state.session.switch_to(header.session_id(), out);
    let side_info = state.side_info.clone();
    let mut facts = SessionFacts::default();
    if is_first {
        facts.parent_session_id = side_info.parent_session_id.as_deref().map(Text::Plain);
        facts.parent_call_id = side_info.parent_call_id.as_deref().map(Text::Plain);
        facts.agent = side_info.agent.as_deref().map(Text::Plain);
        facts.cwd = side_info.cwd.as_deref().map(Text::Plain);
    }
    if !is_first && header.directories().is_none() && header.summary().is_none() {
        return state.tally.emit(Meta::System { name: Text::Plain("resumed"), text: None }, Pointer::Root, out);
    }
    emit_session_facts(state, facts, header, "", out)
}

/// Emits what a header states, or a change of it at `base`.
#[cold]
pub(super) fn emit_session_facts<'f>(
    state: &mut SessionState,
    mut facts: SessionFacts<'f>,
    header: &Record<'f>,
    base: &str,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let directories: Vec<Text<'_>> = header.directories().into_iter().flat_map(Value::elements).filter_map(Value::text).collect();
    // The first directory is the working directory; the user added the others.
    facts.cwd = directories.first().copied().or(facts.cwd);
    let is_subagent = state.session.is_subagent();
    let summary = non_empty_text(header.summary());
    // The summary of a sub-agent is what it returns, not a title.
    facts.title = summary.filter(|_| !is_subagent);
    let is_header = base.is_empty();
    if is_header || facts.cwd.is_some() || facts.title.is_some() {
        state.tally.emit(Meta::Session(facts), Pointer::Root, out)?;
    }
    if let Some(summary) = summary.filter(|_| is_subagent) {
        let system = Meta::System { name: Text::Plain("summary"), text: Some(summary) };
        state.tally.emit(system, Pointer::At(&path_in(base, "/summary")), out)?;
    }
    for (n, directory) in directories.iter().enumerate().skip(1) {
        let name = Text::Plain("directory");
        let input = ImplicitInput { name, file: Some(*directory), hash: None, bytes: None, text: None };
        state.tally.emit(Meta::Context(input), Pointer::Item(&path_in(base, "/directories"), n), out)?;
    }
    Ok(())
}
