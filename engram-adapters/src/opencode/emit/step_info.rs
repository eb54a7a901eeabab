//! The session's own record of OpenCode 2.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Author, Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::last_notices::LastNotices;
use super::session_state::SessionState;
use super::step_messages::directory;
use crate::opencode::readers::{Model, StepInfo, Time};
use crate::shared::value::{Value, amount, integer, non_empty_text, text};

/// Converts the session's own record.
#[cold]
pub(super) fn session_info(
    state: &mut SessionState,
    value: Value<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let info = StepInfo::lenient(value);
    let time = Time::lenient_opt(info.time());
    let created = integer(time.created());
    state.replay.set_session_created(created);
    state.revert.set(info.revert(), None);
    let created = created.and_then(|created| state.clock.format(created));
    out.set_header(RecordHeader::new(created, text(info.id())));
    let model = Model::lenient_opt(info.model());
    let parent = non_empty_text(info.parent_id());
    if parent.is_some() {
        state.prompt_author = Author::Agent;
    }
    state.last_stated.set_end(info.agent(), &model);
    let facts = SessionFacts {
        title: non_empty_text(info.title()),
        cwd: state.last_stated.changed_cwd(directory(info.location())),
        parent_session_id: parent,
        parent_call_id: state.side_info.parent_call_id.as_deref().map(Text::Plain),
        fork_of: info
            .fork()
            .and_then(|fork| non_empty_text(fork.member("sessionID"))),
        cost_total_usd: amount(info.cost()).filter(|cost| cost.as_str() != "0"),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::Root);
    state.last_notices = LastNotices::of(None, time.archived());
    Outcome::Mapped
}
