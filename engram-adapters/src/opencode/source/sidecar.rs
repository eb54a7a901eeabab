//! Side files of an export: the parent's export names the call that started the session.

use std::fs;
use std::path::Path;

use engram_core::adapter::SideInfo;
use engram_core::head::Head;

use super::detect;
use super::parent_call::{starting_call, starting_step};
use crate::shared::value::{StructuralIndex, Value, parse};

/// The largest parent export that is read.
const MAX_PARENT_BYTES: u64 = 64 << 20;

/// Finds the parent's export in the same folder, if its file is named after the parent's id.
pub fn sidecar(path: &Path, head: &Head<'_>) -> SideInfo {
    SideInfo { parent_call_id: parent_call(path, head), ..SideInfo::default() }
}

fn parent_call(path: &Path, head: &Head<'_>) -> Option<String> {
    let (id, parent) = detect::session_and_parent(head)?;
    let is_plain = parent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let export = path.with_file_name(format!("{parent}.json"));
    if !is_plain || fs::metadata(&export).ok()?.len() > MAX_PARENT_BYTES {
        return None;
    }
    let text = fs::read_to_string(export).ok()?;
    let mut index = StructuralIndex::default();
    let messages = parse(&text, &mut index).ok()?.member("messages")?;
    if let Some(call) = messages.elements().find_map(|message| starting_step(message, &id)) {
        return Some(call);
    }
    let parts = messages.elements().filter_map(|message| message.member("parts")).flat_map(Value::elements);
    parts.filter(|part| part.raw().contains(&id)).find_map(|part| starting_call(part, &id))
}
