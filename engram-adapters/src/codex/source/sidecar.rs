//! Facts from the files beside a rollout: the call of the parent's session that started this one.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::SideInfo;
use engram_core::head::Head;

use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, parse, raw_str, text};

use super::detect;
use crate::codex::schema::{AgentActivity, Output, elements};

/// The call that started the session, if the parent's rollout is in the same folder and names it.
///
/// Rollouts are in folders by day, and their file names end with the id of their thread. The call is in the first record that states which
/// call started the child: an item (0.150 and later), an event, or the call's output.
pub fn sidecar(path: &Path, head: &Head<'_>) -> SideInfo {
    let started = || {
        let (child, parent) = detect::lineage(head)?;
        let neighbours = Neighbours::open(path.parent()?, path)?;
        let rollout = rollout_of(&neighbours, &parent)?;
        let call = neighbours.find_line(Path::new(&rollout), &child, |line| call_that_started(line, &child))?;
        Some((call, neighbours))
    };
    let Some((call, neighbours)) = started() else { return SideInfo::default() };
    SideInfo { parent_call_id: Some(call), side_files: Some(Arc::new(neighbours)), ..SideInfo::default() }
}

/// The name of the rollout of that thread.
fn rollout_of(neighbours: &Neighbours, thread: &str) -> Option<String> {
    let ending = format!("-{thread}.jsonl");
    neighbours.names(Path::new("")).into_iter().find(|name| name.ends_with(&ending))
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
