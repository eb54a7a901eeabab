//! Facts from the files beside a rollout: the call of the parent's session that started this one.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SideInfo};
use engram_core::head::Head;
use engram_core::text::Text;

use crate::shared::neighbours::Neighbours;
use crate::shared::remembered::LineFacts;
use crate::shared::value::{Field, StructuralIndex, elements, parse, raw_str, text};

use super::detect;
use crate::codex::readers::{AgentActivity, Output};

/// The call that started the session, if the parent's rollout is in the same directory and names it.
///
/// Rollouts are in directories by day, and their file names end with the id of their thread. The call is in the first record that says
/// which call started the child: an item (0.150 and later), an event, or the call's output.
pub fn side_info(path: &Path, head: &Head<'_>, _: &Identity) -> SideInfo {
    let started = || {
        let (child, parent) = detect::lineage(head)?;
        let neighbours = Neighbours::open(path.parent()?, path)?;
        let rollouts = neighbours.names_ending(Path::new(""), &format!("-{parent}.jsonl"));
        let call = neighbours.line_fact(Path::new(rollouts.first()?), &STARTING_CALLS, &child)?;
        Some((call, neighbours))
    };
    let Some((call, neighbours)) = started() else {
        return SideInfo::default();
    };
    SideInfo {
        parent_call_id: Some(call),
        side_files: Some(Arc::new(neighbours)),
        ..SideInfo::default()
    }
}

/// The calls of a rollout that started a child, by the id of the child.
static STARTING_CALLS: LineFacts<String> =
    LineFacts::new(&["thread_id", "agent_id"], add_starting_calls);

/// Adds the children that this record has a call for.
fn add_starting_calls(line: &str, add: &mut dyn FnMut(String, String)) {
    let mut index = StructuralIndex::default();
    let Some(payload) = parse(line, &mut index)
        .ok()
        .and_then(|line| line.member("payload"))
    else {
        return;
    };
    let mut add = |child: Option<Text<'_>>, call: Field<'_>| {
        if let (Some(child), Some(call)) = (child, text(call)) {
            add(
                child.decode_lossy().into_owned(),
                call.decode_lossy().into_owned(),
            );
        }
    };
    let payload_type = raw_str(payload.first_member("type"));
    if let Some(activity) = payload.first_member("item").map(AgentActivity::lenient) {
        add(text(activity.agent_thread_id()), activity.id());
        if raw_str(activity.tool()) == "spawn_agent" {
            elements(activity.receiver_thread_ids())
                .for_each(|child| add(text(Some(child)), activity.id()));
        }
    } else if payload_type == "function_call_output" {
        let output = Output::lenient(payload);
        let printed = text(output.output()).map(|printed| printed.decode_lossy());
        let child = printed
            .as_deref()
            .and_then(|printed| printed.strip_prefix("{\"agent_id\":\"")?.split('"').next());
        add(child.map(Text::Plain), output.call_id());
    } else if payload_type.starts_with("collab_") || payload_type == "sub_agent_activity" {
        let event = AgentActivity::lenient(payload);
        let started = event.new_thread_id().or(event
            .agent_thread_id()
            .filter(|_| raw_str(event.kind()) == "started"));
        add(text(started), event.call_id().or(event.event_id()));
    }
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
        let call_that_started = |line: &str, child: &str| {
            let mut calls = Vec::new();
            add_starting_calls(line, &mut |of, call| {
                calls.extend((of == child).then_some(call))
            });
            calls.pop()
        };
        assert_eq!(call_that_started(output, "child").as_deref(), Some("c1"));
        assert_eq!(call_that_started(item, "child").as_deref(), Some("c2"));
        assert_eq!(call_that_started(spawn, "child").as_deref(), Some("c4"));
        assert_eq!(call_that_started(started, "child").as_deref(), Some("c5"));
        assert_eq!(call_that_started(wait, "child"), None);
        assert_eq!(call_that_started(item, "other"), None);
    }
}
