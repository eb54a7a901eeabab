//! Side files of an export: the parent's export names the call that started the session.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::SideInfo;
use engram_core::head::Head;

use super::detect;
use super::parent_call::starting_call;
use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, Value, parse};

/// Finds the parent's export in the same folder, if its file is named after the parent's id.
pub fn sidecar(path: &Path, head: &Head<'_>) -> SideInfo {
    let started = || {
        let (id, parent) = detect::session_and_parent(head)?;
        let is_plain = parent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let neighbours = Neighbours::open(path.parent()?, path).filter(|_| is_plain)?;
        let call = call_in(&neighbours.text(Path::new(&format!("{parent}.json")))?, &id)?;
        Some((call, neighbours))
    };
    let Some((call, neighbours)) = started() else { return SideInfo::default() };
    SideInfo { parent_call_id: Some(call), side_files: Some(Arc::new(neighbours)), ..SideInfo::default() }
}

/// The call in the parent's export that started the session.
fn call_in(export: &str, id: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    let messages = parse(export, &mut index).ok()?.member("messages")?;
    let parts = messages.elements().filter_map(|message| message.member("parts")).flat_map(Value::elements);
    parts.filter(|part| part.raw().contains(id)).find_map(|part| starting_call(part, id))
}
