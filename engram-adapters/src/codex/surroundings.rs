//! What the files around a rollout say: the call of the parent's session that started this one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use engram_core::adapter::SideInfo;
use engram_core::head::Head;
use memchr::memmem;

use crate::shared::value::{StructuralIndex, parse, raw_str, text};

use super::detect;
use super::schema::{AgentActivity, Output, elements};

/// The most of a parent's rollout that is read, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// The most files of a folder that are looked at.
const MAX_FILES: usize = 10_000;

/// The call that started the session, where the parent's rollout lies in the same folder and names it.
///
/// Rollouts lie in folders by day and carry the id of their thread in their names. Nothing is opened beside the parent's.
pub(super) fn surroundings(path: &Path, head: &Head<'_>) -> SideInfo {
    let known = || {
        let (child, parent) = detect::lineage(head)?;
        let rollout = rollout_of(path.parent()?, &parent)?;
        spawning_call(&rollout, &child)
    };
    SideInfo { parent_call_id: known(), ..SideInfo::default() }
}

/// The rollout of that thread in a folder.
fn rollout_of(folder: &Path, thread: &str) -> Option<PathBuf> {
    let ending = format!("-{thread}.jsonl");
    let entries = fs::read_dir(folder).ok()?.take(MAX_FILES).filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.ends_with(&ending)));
    named.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).min()
}

/// The first record that names the child as what a call started: its item (0.150 and later), or the call's output.
fn spawning_call(rollout: &Path, child: &str) -> Option<String> {
    let mut reader = BufReader::new(File::open(rollout).ok()?.take(MAX_BYTES));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if memmem::find(&line, child.as_bytes()).is_some()
            && let Ok(text) = std::str::from_utf8(&line)
            && let Some(call) = starts(text, child)
        {
            return Some(call);
        }
        line.clear();
    }
    None
}

/// The call by which this record says that the child was started.
fn starts(line: &str, child: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    let payload = parse(line, &mut index).ok()?.member("payload")?;
    let call = match payload.first("item").map(AgentActivity::lenient) {
        None if raw_str(payload.first("type")).starts_with("collab_") || raw_str(payload.first("type")) == "sub_agent_activity" => {
            let event = AgentActivity::lenient(payload);
            let started = event.new_thread_id().or(event.agent_thread_id().filter(|_| raw_str(event.kind()) == "started"));
            (raw_str(started) == child).then_some(event.call_id().or(event.event_id()))?
        }
        None if raw_str(payload.first("type")) == "function_call_output" => {
            let output = Output::lenient(payload);
            let said = text(output.output())?.decode().ok()?;
            said.starts_with(&format!("{{\"agent_id\":\"{child}\"")).then_some(output.call_id())?
        }
        Some(activity) if raw_str(activity.agent_thread_id()) == child => activity.id(),
        Some(activity) if raw_str(activity.tool()) == "spawn_agent" => {
            elements(activity.receiver_thread_ids()).any(|id| raw_str(Some(id)) == child).then_some(activity.id())?
        }
        _ => None,
    };
    text(call).map(|call| call.decode_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_output_or_its_item() {
        let output = r#"{"timestamp":"2026-11-21T10:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"agent_id\":\"child\",\"nickname\":\"N\"}"}}"#;
        let item = r#"{"timestamp":"2026-11-21T10:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"SubAgentActivity","id":"c2","kind":"started","agent_thread_id":"child"}}}"#;
        let spawn = r#"{"timestamp":"2026-05-12T10:00:00.000Z","type":"event_msg","payload":{"type":"collab_agent_spawn_end","call_id":"c4","new_thread_id":"child"}}"#;
        let started = r#"{"timestamp":"2026-07-11T10:00:00.000Z","type":"event_msg","payload":{"type":"sub_agent_activity","event_id":"c5","agent_thread_id":"child","kind":"started"}}"#;
        let wait = r#"{"timestamp":"2026-11-21T10:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CollabAgentToolCall","id":"c3","tool":"wait","receiver_thread_ids":["child"]}}}"#;
        assert_eq!(starts(output, "child").as_deref(), Some("c1"));
        assert_eq!(starts(item, "child").as_deref(), Some("c2"));
        assert_eq!(starts(spawn, "child").as_deref(), Some("c4"));
        assert_eq!(starts(started, "child").as_deref(), Some("c5"));
        assert_eq!(starts(wait, "child"), None);
        assert_eq!(starts(item, "other"), None);
    }
}
