//! Files beside a transcript: which call started a sub-agent, and big outputs.
//!
//! Sub-agents have their own files from 2.0.30 on: `agent-<id>.jsonl` beside the session's file, and from 2.1.10 on
//! `<session>/subagents/agent-<id>.jsonl`, with `agent-<id>.meta.json` from 2.1.100 on. Agents of a workflow have a folder for each run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engram_core::adapter::{SideFiles, SideInfo};
use engram_core::hash::{Hash, StreamHasher};
use engram_core::head::Head;
use memchr::memmem;

use super::detect::identify;
use crate::claude_code::schema::{Block, Line, Message};
use crate::shared::value::{StructuralIndex, parse, raw_str, text};

/// What the files around the transcript at `path` add to it.
pub fn sidecar(path: &Path, head: &Head<'_>) -> SideInfo {
    let identity = identify(head);
    let mut info = SideInfo::default();
    let Some(session) = identity.session_id.filter(|session| is_plain_name(session)) else { return info };
    info.side_files = path.parent().map(|folder| Arc::new(SessionFiles::new(path, folder, &session)) as Arc<dyn SideFiles>);
    let Some(agent) = identity.agent_id else { return info };
    let meta = AgentMeta::read(path);
    let started = if meta.call.is_none() {
        let starter = [("agentId", Some(agent.as_str())), ("runId", workflow_run(path))];
        session_file(path, &session).and_then(|file| starting_call(&file, &starter))
    } else {
        None
    };
    let (call, kind) = started.unwrap_or_default();
    info.parent_session_id = Some(session);
    info.parent_call_id = meta.call.or(call);
    info.agent = meta.kind.or(kind);
    info
}

/// True for ids that are safe as a file name.
fn is_plain_name(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The run of a workflow, if the file is that of one of its agents: `<session>/subagents/workflows/<run>/agent-<id>.jsonl`.
fn workflow_run(path: &Path) -> Option<&str> {
    let folder = path.parent()?;
    let is_run = folder.parent().and_then(Path::file_name).is_some_and(|name| name == "workflows");
    folder.file_name().and_then(OsStr::to_str).filter(|run| is_run && is_plain_name(run))
}

/// The session's own folder, if the file is inside of it.
fn session_folder<'p>(path: &'p Path, session: &str) -> Option<&'p Path> {
    path.ancestors().skip(1).take(4).find(|folder| folder.file_name().is_some_and(|name| name == session))
}

/// The session's own file, from the path of a sub-agent's file.
fn session_file(path: &Path, session: &str) -> Option<PathBuf> {
    let name = format!("{session}.jsonl");
    let beside = path.parent().map(|folder| folder.join(&name));
    let above = session_folder(path, session).and_then(Path::parent).map(|project| project.join(&name));
    [beside, above].into_iter().flatten().find(|file| file.is_file())
}

/// The folder with the outputs that were too big for the session's file.
fn results_folder(path: &Path, session: &str) -> Option<PathBuf> {
    let own = path.parent()?.join(session);
    let of_agents = session_folder(path, session).map(Path::to_owned);
    [Some(own), of_agents].into_iter().flatten().map(|session| session.join("tool-results")).find(|folder| folder.is_dir())
}

/// The content of `agent-<id>.meta.json`.
#[derive(Default)]
struct AgentMeta {
    kind: Option<String>,
    /// The call that started the agent (2.1.329).
    call: Option<String>,
}

impl AgentMeta {
    fn read(path: &Path) -> Self {
        let Ok(meta) = fs::read_to_string(path.with_extension("meta.json")) else { return AgentMeta::default() };
        let mut index = StructuralIndex::default();
        let Ok(meta) = parse(&meta, &mut index) else { return AgentMeta::default() };
        let owned = |name| text(meta.member(name)).map(|text| text.decode_lossy().into_owned());
        AgentMeta { kind: owned("agentType"), call: owned("toolUseId") }
    }
}

/// The members of a result that name what a call started, and their values: a sub-agent, or a workflow's run.
type Starter<'s> = [(&'static str, Option<&'s str>); 2];

/// The call with a result that names the agent or its run, and the agent's type if the result has it.
fn starting_call(session: &Path, starter: &Starter<'_>) -> Option<(Option<String>, Option<String>)> {
    let mut reader = BufReader::new(File::open(session).ok()?);
    let finders: Vec<memmem::Finder<'_>> = starter.iter().filter_map(|(_, value)| value.map(memmem::Finder::new)).collect();
    let (mut bytes, mut index) = (Vec::new(), StructuralIndex::default());
    while reader.read_until(b'\n', &mut bytes).ok()? > 0 {
        if finders.iter().any(|finder| finder.find(&bytes).is_some())
            && let Ok(line) = std::str::from_utf8(&bytes)
            && let Ok(line) = parse(line.trim_end(), &mut index)
            && let Some(started) = result_of_agent(&Line::lenient(line), starter)
        {
            return Some(started);
        }
        bytes.clear();
    }
    None
}

fn result_of_agent(line: &Line<'_>, starter: &Starter<'_>) -> Option<(Option<String>, Option<String>)> {
    let result = line.tool_use_result()?;
    if !starter.iter().any(|(name, value)| value.is_some_and(|value| raw_str(result.member(name)) == value)) {
        return None;
    }
    let owned = |text: engram_core::text::Text<'_>| text.decode_lossy().into_owned();
    let call =
        Message::lenient(line.message()?).content()?.elements().find_map(|block| text(Block::lenient(block).tool_use_id())).map(owned);
    Some((call, text(result.member("agentType")).map(owned)))
}

/// The files beside a session's file.
struct SessionFiles {
    /// The folder of the session's big outputs. No file outside it is read, whatever path the log gives.
    results: Option<PathBuf>,
    /// The folders with the files of the session's sub-agents.
    agents: [PathBuf; 2],
}

impl SessionFiles {
    fn new(path: &Path, folder: &Path, session: &str) -> Self {
        SessionFiles { results: results_folder(path, session), agents: [folder.to_owned(), folder.join(session).join("subagents")] }
    }
}

impl SideFiles for SessionFiles {
    fn has_agent(&self, agent_id: &str) -> bool {
        is_plain_name(agent_id) && self.agents.iter().any(|folder| folder.join(format!("agent-{agent_id}.jsonl")).is_file())
    }

    fn hash(&self, recorded_path: &str) -> Option<(Hash, u64)> {
        let folder = self.results.as_ref()?;
        let mut parts = recorded_path.rsplit(['/', '\\']);
        let name = parts.next().filter(|name| !name.is_empty() && *name != "." && *name != "..")?;
        if parts.next() != Some("tool-results") {
            return None;
        }
        let file = folder.join(name).canonicalize().ok()?;
        if file.parent() != Some(&*folder.canonicalize().ok()?) || !file.is_file() {
            return None;
        }
        let mut reader = BufReader::new(File::open(file).ok()?);
        let mut hasher = StreamHasher::default();
        loop {
            let chunk = reader.fill_buf().ok()?;
            if chunk.is_empty() {
                return Some(hasher.finish());
            }
            hasher.update(chunk);
            let length = chunk.len();
            reader.consume(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_outside_the_results_folder_is_read() {
        let root = std::env::temp_dir().join(format!("engram-side-files-{}", std::process::id()));
        let folder = root.join("session").join("tool-results");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("out.txt"), "output").unwrap();
        fs::write(root.join("secret.txt"), "secret").unwrap();
        let files = SessionFiles::new(&root.join("session.jsonl"), &root, "session");
        assert_eq!(files.hash("/elsewhere/session/tool-results/out.txt"), Some((Hash::of_bytes(b"output"), 6)));
        for path in [
            "/x/tool-results/../../secret.txt",
            "/x/tool-results/..",
            "out.txt",
            "/etc/out.txt",
            "/x/tool-results/",
            "/x/tool-results/none.txt",
        ] {
            assert_eq!(files.hash(path), None, "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("secret.txt"), folder.join("link.txt")).unwrap();
            assert_eq!(files.hash("/x/tool-results/link.txt"), None);
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn agent_of_a_workflow_was_started_by_the_call_whose_result_names_the_run() {
        let root = std::env::temp_dir().join(format!("engram-workflows-{}", std::process::id()));
        let run = root.join("s").join("subagents").join("workflows").join("wf_1-a");
        fs::create_dir_all(&run).unwrap();
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]},"toolUseResult":{"runId":"wf_1-a"}}"#;
        fs::write(root.join("s.jsonl"), format!("{result}\n")).unwrap();
        let path = run.join("agent-a1.jsonl");
        let starter = [("agentId", Some("a1")), ("runId", workflow_run(&path))];
        assert_eq!(session_file(&path, "s"), Some(root.join("s.jsonl")));
        assert_eq!(starting_call(&root.join("s.jsonl"), &starter), Some((Some("t1".to_owned()), None)));
        assert_eq!(workflow_run(&root.join("agent-a1.jsonl")), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn sub_agent_files_are_found_beside_the_session_or_in_its_folder() {
        let root = std::env::temp_dir().join(format!("engram-agents-{}", std::process::id()));
        let own = root.join("session").join("subagents");
        fs::create_dir_all(&own).unwrap();
        fs::write(root.join("agent-a1.jsonl"), "").unwrap();
        fs::write(own.join("agent-a2.jsonl"), "").unwrap();
        let files = SessionFiles::new(&root.join("session.jsonl"), &root, "session");
        let found = ["a1", "a2", "a3", "../session/subagents/agent-a2", ""].map(|agent| files.has_agent(agent));
        assert_eq!(found, [true, true, false, false, false]);
        fs::remove_dir_all(&root).unwrap();
    }
}
