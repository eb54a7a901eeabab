//! Side files of a session: the parent's log names the call that started a sub-agent; long outputs have files of their own.

use std::path::Path;
use std::sync::Arc;

use engram_core::adapter::{Identity, SideFiles, SideInfo};
use engram_core::event::BesideFile;
use engram_core::hash::Hash;
use engram_core::head::Head;

use super::detect::form;
use super::repeated_logs::{CHATS, RepeatedLogs};
use crate::gemini::readers::{AgentActivity, Call, Line};
use crate::gemini::schema::Form;
use crate::shared::neighbours::Neighbours;
use crate::shared::remembered::LineFacts;
use crate::shared::value::{StructuralIndex, Value, parse, text};

/// The directory of outputs that are too long for a result, next to [`CHATS`] (0.31.0 and later).
const OUTPUTS: &str = "tool-outputs";

/// The file with the project's directory, next to [`CHATS`] (0.29.0 and later).
const PROJECT_ROOT: &str = ".project_root";

/// What the files around the session at `path` add.
pub fn side_info(path: &Path, head: &Head<'_>, identity: &Identity) -> SideInfo {
    if matches!(form(head), Form::TypedPrompts | Form::Saved) {
        let logs = path
            .parent()
            .and_then(|project| Neighbours::open(project, path))
            .map(RepeatedLogs::new);
        return SideInfo {
            side_files: logs.map(|logs| Arc::new(logs) as Arc<dyn SideFiles>),
            ..SideInfo::default()
        };
    }
    let Some(chats) = path
        .ancestors()
        .find(|directory| directory.file_name().is_some_and(|name| name == CHATS))
    else {
        return SideInfo::default();
    };
    let Some(neighbours) = chats
        .parent()
        .and_then(|project| Neighbours::open(project, path))
    else {
        return SideInfo::default();
    };
    let mut side_info = SideInfo::default();
    if neighbours.is_file(Path::new(PROJECT_ROOT)) {
        side_info.cwd = neighbours
            .text(Path::new(PROJECT_ROOT))
            .map(|root| root.trim().to_owned())
            .filter(|root| !root.is_empty());
    }
    // The directory of a sub-agent's log is named after its parent's session.
    let parent = path
        .parent()
        .filter(|directory| *directory != chats)
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    if let (Some(agent_id), Some(parent)) = (&identity.agent_id, parent) {
        side_info.parent_session_id = Some(parent.to_owned());
        if let Some((call_id, agent)) = starting_call(&neighbours, parent, agent_id) {
            side_info.parent_call_id = Some(call_id);
            side_info.agent = agent;
        }
    }
    side_info.side_files = Some(Arc::new(Outputs(neighbours)));
    side_info
}

/// The calls of a log that started a sub-agent, and the agent's name, by the agent's id.
static STARTING_CALLS: LineFacts<(String, Option<String>)> =
    LineFacts::new(&["agentId", "isSubagentProgress"], add_starting_calls);

/// The call in the parent's log that started the sub-agent, and the agent's name.
fn starting_call(
    neighbours: &Neighbours,
    parent: &str,
    agent_id: &str,
) -> Option<(String, Option<String>)> {
    let session = parent.get(..8)?;
    let logs = neighbours.names_ending(Path::new(CHATS), &format!("-{session}.jsonl"));
    let of_lines = logs.iter().find_map(|name| {
        neighbours.line_fact(&Path::new(CHATS).join(name), &STARTING_CALLS, agent_id)
    });
    of_lines.or_else(|| {
        let documents = neighbours.names_ending(Path::new(CHATS), &format!("-{session}.json"));
        documents.iter().find_map(|name| {
            call_of_document(&neighbours.text(&Path::new(CHATS).join(name))?, agent_id)
        })
    })
}

/// The call in a log that is one document.
fn call_of_document(document: &str, agent_id: &str) -> Option<(String, Option<String>)> {
    let mut index = StructuralIndex::default();
    let messages = Line::lenient(parse(document, &mut index).ok()?).messages()?;
    let mut call = None;
    for message in messages.elements() {
        add_calls(message, &mut |agent, of_agent| {
            if agent == agent_id {
                call = Some(of_agent);
            }
        });
    }
    call
}

fn add_starting_calls(line: &str, add: &mut dyn FnMut(String, (String, Option<String>))) {
    let mut index = StructuralIndex::default();
    if let Ok(message) = parse(line, &mut index) {
        add_calls(message, add);
    }
}

/// The calls of a message that started a sub-agent.
fn add_calls(message: Value<'_>, add: &mut dyn FnMut(String, (String, Option<String>))) {
    let Some(calls) = Line::lenient(message).tool_calls() else {
        return;
    };
    for call in calls.elements() {
        let owned =
            |value: Option<Value<'_>>| text(value).map(|text| text.decode_lossy().into_owned());
        let (agent, call) = (owned(call.member("agentId")), Call::lenient(call));
        let agent = agent.or_else(|| agent_of_activities(&call));
        if let (Some(agent), Some(id)) = (agent, owned(call.id())) {
            add(
                agent,
                (
                    id,
                    owned(call.args().and_then(|args| args.member("agent_name"))),
                ),
            );
        }
    }
}

/// The sub-agent whose calls the terminal shows: a call that was cancelled does not name it (0.61.0). None before its first call.
fn agent_of_activities(call: &Call<'_>) -> Option<String> {
    let mut activities = call.progress().activities()?.elements();
    activities.find_map(|activity| {
        let id = text(AgentActivity::lenient(activity).id())?;
        let id = id.decode_lossy();
        id.split_once('#').map(|(agent, _)| agent.to_owned())
    })
}

/// The output files of a project's sessions.
#[derive(Debug)]
struct Outputs(Neighbours);

impl SideFiles for Outputs {
    /// The log has the path on the machine of the session, so only the part after the directory's name is used.
    fn hash(&self, recorded_path: &str) -> Option<(Hash, u64)> {
        let (_, inside) = recorded_path.rsplit_once(&format!("/{OUTPUTS}/"))?;
        self.0.digest(&Path::new(OUTPUTS).join(inside))
    }

    fn files_read(&self) -> Vec<BesideFile> {
        self.0.files_read()
    }

    fn directories(&self) -> Vec<String> {
        vec![self.0.name_from_artifact(Path::new(OUTPUTS))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened from recordings with 0.61.0.
    #[test]
    fn a_call_names_its_sub_agent_or_shows_its_calls() {
        let found = |member: &str| {
            let line = format!(
                r#"{{"toolCalls":[{{"id":"c","args":{{"agent_name":"mender"}},{member}}}]}}"#
            );
            let mut found = Vec::new();
            add_starting_calls(&line, &mut |agent, call| found.push((agent, call)));
            found
        };
        let call = ("c".to_owned(), Some("mender".to_owned()));
        let shown = |ids: &str| {
            found(&format!(
                r#""resultDisplay":{{"isSubagentProgress":true,"recentActivity":[{ids}]}}"#
            ))
        };
        assert_eq!(found(r#""agentId":"a""#), [("a".to_owned(), call.clone())]);
        // A thought has an id of its own.
        assert_eq!(
            shown(r#"{"id":"t"},{"id":"a#0-0"}"#),
            [("a".to_owned(), call)]
        );
        assert!(shown("").is_empty());
    }
}
