//! Side files of a session: the parent's log names the call that started a sub-agent; long outputs have files of their own.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use engram_core::adapter::{SideFiles, SideInfo};
use engram_core::hash::Hash;
use engram_core::head::Head;
use memchr::memmem;

use super::detect::identify;
use crate::gemini::schema::{Call, Record};
use crate::shared::value::{StructuralIndex, Value, parse, raw_str, text};

/// The folder of a project's sessions.
const CHATS: &str = "chats";
/// The folder of outputs that are too long for a result, next to [`CHATS`] (0.31.0 and later).
const OUTPUTS: &str = "tool-outputs";

/// What the files around the session at `path` add.
pub fn sidecar(path: &Path, head: &Head<'_>) -> SideInfo {
    let identity = identify(head);
    let mut side_info = SideInfo::default();
    let Some(chats) = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == CHATS)) else { return side_info };
    if let Some(outputs) = chats.parent().map(|project| project.join(OUTPUTS)).filter(|folder| folder.is_dir()) {
        side_info.side_files = Some(Arc::new(Outputs(outputs)));
    }
    // The folder of a sub-agent's log is named after its parent's session.
    let parent = path.parent().filter(|folder| *folder != chats).and_then(Path::file_name).and_then(|name| name.to_str());
    if let (Some(agent_id), Some(parent)) = (identity.agent_id, parent) {
        side_info.parent_session_id = Some(parent.to_owned());
        if let Some((call_id, agent)) = starting_call(chats, parent, &agent_id) {
            side_info.parent_call_id = Some(call_id);
            side_info.agent = agent;
        }
    }
    side_info
}

/// The call in the parent's log that started the sub-agent, and the agent's name.
fn starting_call(chats: &Path, parent: &str, agent_id: &str) -> Option<(String, Option<String>)> {
    let prefix = parent.get(..8)?;
    let mut logs: Vec<PathBuf> = fs::read_dir(chats).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    logs.retain(|log| log.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(&format!("-{prefix}.jsonl"))));
    logs.sort();
    logs.iter().find_map(|log| starting_call_in(&fs::read_to_string(log).ok()?, agent_id))
}

fn starting_call_in(log: &str, agent_id: &str) -> Option<(String, Option<String>)> {
    let mark = format!("\"agentId\":\"{agent_id}\"");
    let mut index = StructuralIndex::default();
    log.lines().filter(|line| memmem::find(line.as_bytes(), mark.as_bytes()).is_some()).find_map(|line| {
        let line = Record::lenient(parse(line, &mut index).ok()?);
        let call = line.tool_calls()?.elements().find(|call| raw_str(call.member("agentId")) == agent_id)?;
        let call = Call::lenient(call);
        let owned = |value: Option<Value<'_>>| text(value).map(|text| text.decode_lossy().into_owned());
        Some((owned(call.id())?, owned(call.args().and_then(|args| args.member("agent_name")))))
    })
}

/// The output files of a project's sessions.
#[derive(Debug)]
struct Outputs(PathBuf);

impl SideFiles for Outputs {
    /// The log has the path on the machine of the session, so only the part after the folder's name is used.
    fn hash(&self, recorded_path: &str) -> Option<(Hash, u64)> {
        let (_, inside) = recorded_path.rsplit_once(&format!("/{OUTPUTS}/"))?;
        let inside = Path::new(inside);
        if !inside.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let bytes = fs::read(self.0.join(inside)).ok()?;
        Some((Hash::of_bytes(&bytes), bytes.len() as u64))
    }
}
