//! The session's own record: title, directory, model, parent, permissions.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Author, Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::last_notices::LastNotices;
use super::revert::Undone;
use super::session_state::SessionState;
use super::titles::Titles;
use crate::opencode::readers::{Info, Model, Time};
use crate::shared::value::{Value, integer, non_empty_text, text};

/// Converts the session's own record.
#[cold]
pub(super) fn session_info(
    state: &mut SessionState,
    value: Value<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let info = Info::lenient(value);
    let time = Time::lenient_opt(info.time());
    let created = integer(time.created());
    state.replay.set_session_created(created);
    let created = created.and_then(|created| state.clock.format(created));
    out.set_header(RecordHeader::new(created, text(info.id())));
    let model = Model::lenient_opt(info.model());
    let parent = non_empty_text(info.parent_id()).or(state
        .side_info
        .parent_session_id
        .as_deref()
        .map(Text::Plain));
    if parent.is_some() && state.is_agents {
        state.prompt_author = Author::Agent;
    }
    state.last_stated.set_end(info.agent(), &model);
    let title;
    (title, state.titles) = Titles::of(&info);
    let facts = SessionFacts {
        title,
        cwd: state.last_stated.changed_cwd(info.directory()),
        parent_session_id: parent,
        parent_call_id: state.side_info.parent_call_id.as_deref().map(Text::Plain),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::Root);
    state.last_notices = LastNotices::of(info.share(), time.archived());
    state.undone = Undone::of(info.reverts());
    state.revert.set(info.revert(), info.revert_before());
    Outcome::Mapped
}
