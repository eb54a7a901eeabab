//! What the files beside an export say about it: the call that started the session.

use std::fs;
use std::path::Path;

use engram_core::adapter::SideInfo;
use engram_core::head::Head;

use super::detect;
use super::schema::Metadata;
use crate::shared::value::{StructuralIndex, Value, parse, text};

/// The largest export of a parent that is looked into.
const LARGEST_PARENT: u64 = 64 << 20;

/// Looks into the parent's export in the same folder, where it goes by the parent's id.
pub(super) fn surroundings(path: &Path, head: &Head<'_>) -> SideInfo {
    SideInfo { parent_call_id: parent_call(path, head), ..SideInfo::default() }
}

fn parent_call(path: &Path, head: &Head<'_>) -> Option<String> {
    let (id, parent) = detect::family(head)?;
    let is_plain = parent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let export = path.with_file_name(format!("{parent}.json"));
    if !is_plain || fs::metadata(&export).ok()?.len() > LARGEST_PARENT {
        return None;
    }
    let text = fs::read_to_string(export).ok()?;
    let mut index = StructuralIndex::default();
    let messages = parse(&text, &mut index).ok()?.member("messages")?;
    let parts = messages.elements().filter_map(|message| message.member("parts")).flat_map(Value::elements);
    parts.filter(|part| part.raw().contains(&id)).find_map(|part| call_that_started(part, &id))
}

/// The id of the call, if this part is the one that started the session.
pub(super) fn starts(part: &str, session_id: &str) -> Option<String> {
    if !part.contains(session_id) {
        return None;
    }
    call_that_started(parse(part, &mut StructuralIndex::default()).ok()?, session_id)
}

fn call_that_started(part: Value<'_>, session_id: &str) -> Option<String> {
    let metadata = Metadata::lenient(part.member("state")?.member("metadata")?);
    let started = text(metadata.session_id()).is_some_and(|id| id.eq_str(session_id));
    started.then(|| text(part.member("callID")).map(|id| id.decode_lossy().into_owned()))?
}
