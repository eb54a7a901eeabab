//! The `task` call of a parent session that started a child session.

use crate::opencode::schema::Metadata;
use crate::opencode::step_schema::{StepPart, StepState};
use crate::shared::value::{StructuralIndex, Value, parse, text};

/// The id of the call, if this tool part (JSON text) is the one that started the session.
pub(super) fn starting_call_in(part: &str, session_id: &str) -> Option<String> {
    if !part.contains(session_id) {
        return None;
    }
    starting_call(parse(part, &mut StructuralIndex::default()).ok()?, session_id)
}

/// The id of the call, if this answer of 2.x (JSON text) has the one that started the session.
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "only a database has them"))]
pub(super) fn starting_step_in(answer: &str, session_id: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    starting_step(parse(answer, &mut index).ok()?, session_id)
}

/// The id of the call, if this answer of 2.x has the one that started the session.
pub(super) fn starting_step(answer: Value<'_>, session_id: &str) -> Option<String> {
    let calls = answer.member("content").into_iter().flat_map(Value::elements).map(StepPart::lenient);
    let started = |part: &StepPart<'_>| {
        let state = StepState::lenient_opt(part.state());
        let details = Metadata::lenient_opt(state.metadata().or(state.structured()));
        [details.step_session_id(), details.session_id()].into_iter().any(|id| text(id).is_some_and(|id| id.eq_str(session_id)))
    };
    let call = calls.filter(|part| part.object().raw().contains(session_id)).find(started)?;
    text(call.id()).map(|id| id.decode_lossy().into_owned())
}

/// The id of the call, if this tool part is the one that started the session.
pub(super) fn starting_call(part: Value<'_>, session_id: &str) -> Option<String> {
    let metadata = Metadata::lenient(part.member("state")?.member("metadata")?);
    let started = text(metadata.session_id()).is_some_and(|id| id.eq_str(session_id));
    started.then(|| text(part.member("callID")).map(|id| id.decode_lossy().into_owned()))?
}
