//! The `task` call of a parent session that started a child session.

use crate::opencode::schema::Metadata;
use crate::shared::value::{StructuralIndex, Value, parse, text};

/// The id of the call, if this tool part (JSON text) is the one that started the session.
pub(super) fn starting_call_in(part: &str, session_id: &str) -> Option<String> {
    if !part.contains(session_id) {
        return None;
    }
    starting_call(parse(part, &mut StructuralIndex::default()).ok()?, session_id)
}

/// The id of the call, if this tool part is the one that started the session.
pub(super) fn starting_call(part: Value<'_>, session_id: &str) -> Option<String> {
    let metadata = Metadata::lenient(part.member("state")?.member("metadata")?);
    let started = text(metadata.session_id()).is_some_and(|id| id.eq_str(session_id));
    started.then(|| text(part.member("callID")).map(|id| id.decode_lossy().into_owned()))?
}
