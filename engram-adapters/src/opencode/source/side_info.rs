//! Side files of an export: the parent's export names the call that started the session.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, ParentCall, SideInfo};
use engram_core::head::Head;

use super::detect;
use super::parent_call::{call_of_part, calls_of_answer, side_info_of};
use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, Value, elements, parse};

/// Finds the parent's export in the same directory, if its file is named after the parent's id.
pub fn side_info(path: &Path, head: &Head<'_>, _: &Identity) -> SideInfo {
    let started = || {
        let (id, parent) = detect::session_and_parent(head)?;
        let is_plain = parent
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let neighbours = Neighbours::open(path.parent()?, path).filter(|_| is_plain)?;
        let calls = calls_in(&neighbours.text(Path::new(&format!("{parent}.json")))?, &id);
        Some((calls, neighbours))
    };
    let Some((calls, neighbours)) = started() else {
        return SideInfo::default();
    };
    SideInfo {
        side_files: Some(Arc::new(neighbours)),
        ..side_info_of(calls)
    }
}

/// The calls in the parent's export that gave the session its prompts.
fn calls_in(export: &str, id: &str) -> Vec<ParentCall> {
    let mut index = StructuralIndex::default();
    let messages = parse(export, &mut index)
        .ok()
        .and_then(|export| export.member("messages"));
    let messages = || elements(messages);
    let of_session = |(child, call): (String, ParentCall)| (child == id).then_some(call);
    let calls: Vec<ParentCall> = messages()
        .flat_map(calls_of_answer)
        .filter_map(of_session)
        .collect();
    if !calls.is_empty() {
        return calls;
    }
    let parts = messages()
        .filter_map(|message| message.member("parts"))
        .flat_map(Value::elements);
    parts
        .filter(|part| part.raw().contains(id))
        .filter_map(call_of_part)
        .filter_map(of_session)
        .collect()
}
