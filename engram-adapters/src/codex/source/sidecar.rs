//! Facts from the files beside a rollout: the call of the parent's session that started this one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use engram_core::adapter::SideInfo;
use engram_core::head::Head;
use memchr::memmem;

use crate::shared::value::{StructuralIndex, parse, raw_str, text};

use super::detect;
use crate::codex::schema::{AgentActivity, Output, elements};

/// The most of a parent's rollout that is read, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// The most files of a folder that are listed.
const MAX_FILES: usize = 10_000;

/// The call that started the session, if the parent's rollout is in the same folder and names it.
///
/// Rollouts are in folders by day, and their file names end with the id of their thread. Only the parent's is opened.
pub fn sidecar(path: &Path, head: &Head<'_>) -> SideInfo {
    let parent_call = || {
        let (child, parent) = detect::lineage(head)?;
        let rollout = rollout_of(path.parent()?, &parent)?;
        spawning_call(&rollout, &child)
    };
    SideInfo { parent_call_id: parent_call(), ..SideInfo::default() }
}

/// The rollout of that thread in a folder.
fn rollout_of(folder: &Path, thread: &str) -> Option<PathBuf> {
    let ending = format!("-{thread}.jsonl");
    let entries = fs::read_dir(folder).ok()?.take(MAX_FILES).filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.ends_with(&ending)));
    named.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).min()
}

/// The call in the first record that states which call started the child: an item (0.150 and later), an event, or the call's output.
fn spawning_call(rollout: &Path, child: &str) -> Option<String> {
    let mut reader = BufReader::new(File::open(rollout).ok()?.take(MAX_BYTES));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if memmem::find(&line, child.as_bytes()).is_some()
            && let Ok(text) = std::str::from_utf8(&line)
            && let Some(call) = call_that_started(text, child)
        {
            return Some(call);
        }
        line.clear();
    }
    None
}

/// The call that started the child, if this record states it.
fn call_that_started(line: &str, child: &str) -> Option<String> {
    let mut index = StructuralIndex::default();
    let payload = parse(line, &mut index).ok()?.member("payload")?;
    let call = match payload.first_member("item").map(AgentActivity::lenient) {
        None if raw_str(payload.first_member("type")).starts_with("collab_")
            || raw_str(payload.first_member("type")) == "sub_agent_activity" =>
        {
            let event = AgentActivity::lenient(payload);
            let started = event.new_thread_id().or(event.agent_thread_id().filter(|_| raw_str(event.kind()) == "started"));
            (raw_str(started) == child).then_some(event.call_id().or(event.event_id()))?
        }
        None if raw_str(payload.first_member("type")) == "function_call_output" => {
            let output = Output::lenient(payload);
            let printed = text(output.output())?.decode().ok()?;
            printed.starts_with(&format!("{{\"agent_id\":\"{child}\"")).then_some(output.call_id())?
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
    fn the_spawning_call_is_in_its_output_item_or_event() {
        let output = r#"{"timestamp":"2026-11-21T10:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"agent_id\":\"child\",\"nickname\":\"N\"}"}}"#;
        let item = r#"{"timestamp":"2026-11-21T10:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"SubAgentActivity","id":"c2","kind":"started","agent_thread_id":"child"}}}"#;
        let spawn = r#"{"timestamp":"2026-05-12T10:00:00.000Z","type":"event_msg","payload":{"type":"collab_agent_spawn_end","call_id":"c4","new_thread_id":"child"}}"#;
        let started = r#"{"timestamp":"2026-07-11T10:00:00.000Z","type":"event_msg","payload":{"type":"sub_agent_activity","event_id":"c5","agent_thread_id":"child","kind":"started"}}"#;
        let wait = r#"{"timestamp":"2026-11-21T10:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CollabAgentToolCall","id":"c3","tool":"wait","receiver_thread_ids":["child"]}}}"#;
        assert_eq!(call_that_started(output, "child").as_deref(), Some("c1"));
        assert_eq!(call_that_started(item, "child").as_deref(), Some("c2"));
        assert_eq!(call_that_started(spawn, "child").as_deref(), Some("c4"));
        assert_eq!(call_that_started(started, "child").as_deref(), Some("c5"));
        assert_eq!(call_that_started(wait, "child"), None);
        assert_eq!(call_that_started(item, "other"), None);
    }
}
