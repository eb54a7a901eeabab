//! The `task` calls of a parent session that started a child session, or gave it another prompt.

use engram_core::adapter::{ParentCall, SideInfo};

use crate::opencode::schema::Metadata;
use crate::opencode::step_schema::{StepPart, StepState};
use crate::shared::value::{Field, StructuralIndex, Value, parse, text};

/// The most calls of one child session that are kept.
pub(super) const MAX_CALLS: usize = 4096;

/// What the calls add to the child session: the first one started it.
pub(super) fn side_info(calls: impl IntoIterator<Item = ParentCall>) -> SideInfo {
    let mut calls = calls.into_iter().take(MAX_CALLS);
    let parent_call_id = calls.next().map(|call| call.call_id);
    SideInfo { parent_call_id, later_calls: calls.collect(), ..SideInfo::default() }
}

/// The call of this tool part (JSON text), if it is one of the session's.
pub(super) fn call_in_part(part: &str, session_id: &str) -> Vec<ParentCall> {
    let mut index = StructuralIndex::default();
    let part = Some(part).filter(|part| part.contains(session_id)).and_then(|part| parse(part, &mut index).ok());
    part.and_then(|part| call_of_part(part, session_id)).into_iter().collect()
}

/// The calls of this answer of 2.x (JSON text) that are the session's.
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "only a database has them"))]
pub(super) fn calls_in_answer(answer: &str, session_id: &str) -> Vec<ParentCall> {
    let mut index = StructuralIndex::default();
    parse(answer, &mut index).map(|answer| calls_of_answer(answer, session_id).collect()).unwrap_or_default()
}

/// The calls of this answer of 2.x that are the session's.
pub(super) fn calls_of_answer<'a>(answer: Value<'a>, session_id: &'a str) -> impl Iterator<Item = ParentCall> + 'a {
    let calls = answer.member("content").into_iter().flat_map(Value::elements).map(StepPart::lenient);
    calls.filter(move |part| part.object().raw().contains(session_id)).filter_map(move |part| {
        let state = StepState::lenient_opt(part.state());
        let details = Metadata::lenient_opt(state.metadata().or(state.structured()));
        let is_of = |id: Field<'_>| text(id).is_some_and(|id| id.eq_str(session_id));
        let is_of_session = is_of(details.step_session_id()) || is_of(details.session_id());
        parent_call(part.id(), state.input()).filter(|_| is_of_session)
    })
}

/// The call of this tool part, if it is one of the session's.
pub(super) fn call_of_part(part: Value<'_>, session_id: &str) -> Option<ParentCall> {
    let state = part.member("state")?;
    let metadata = Metadata::lenient(state.member("metadata")?);
    let is_of_session = text(metadata.session_id()).is_some_and(|id| id.eq_str(session_id));
    parent_call(part.member("callID"), state.member("input")).filter(|_| is_of_session)
}

fn parent_call(id: Field<'_>, input: Field<'_>) -> Option<ParentCall> {
    let prompt = input.and_then(|input| text(input.member("prompt")));
    let prompt = prompt.map(|prompt| prompt.decode_lossy().into_owned()).unwrap_or_default();
    Some(ParentCall { call_id: text(id)?.decode_lossy().into_owned(), prompt })
}
