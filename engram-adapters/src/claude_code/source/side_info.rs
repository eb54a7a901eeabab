//! Files beside a transcript: which call started a sub-agent, and big outputs.
//!
//! Sub-agents have their own files from 2.0.28 on: `agent-<id>.jsonl` beside the session's file, and from 2.1.10 on
//! `<session>/subagents/agent-<id>.jsonl`, with `agent-<id>.meta.json` from 2.1.100 on. The agents of a workflow have a directory for each
//! run, `<session>/subagents/workflows/<run>/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engram_core::adapter::{Identity, LogRecord, OlderLog, SideFiles, SideInfo};
use engram_core::event::BesideFile;
use engram_core::hash::Hash;
use engram_core::head::Head;

use super::older_logs::older_logs;
use crate::claude_code::readers::{Block, Line, Message};
use crate::shared::neighbours::Neighbours;
use crate::shared::remembered::LineFacts;
use crate::shared::value::{Field, StructuralIndex, parse, text};

/// The directory of a session's outputs that were too big for its file.
const RESULTS: &str = "tool-results";

/// What the files around the transcript at `path` add to it.
pub fn side_info(path: &Path, _: &Head<'_>, identity: &Identity) -> SideInfo {
    let mut info = SideInfo::default();
    let session = identity.session_id.as_deref();
    let Some(session) = session.filter(|session| is_plain_name(session)) else {
        return info;
    };
    let Some(mut files) = SessionFiles::open(path, session) else {
        return info;
    };
    if let Some(agent) = &identity.agent_id {
        files.own_log = None;
        let meta = files.agent_meta(path);
        let of_agent = || files.starting_call(path, "agentId", agent);
        let of_run = || files.starting_call(path, "runId", workflow_run(path)?);
        let started = if meta.call.is_none() {
            of_agent().or_else(of_run)
        } else {
            None
        };
        let (call, kind) = started.unwrap_or_default();
        info.parent_session_id = Some(session.to_owned());
        info.parent_call_id = meta.call.or(call);
        info.agent = meta.kind.or(kind);
    }
    info.side_files = Some(Arc::new(files));
    info
}

/// True for ids that are safe as a file name.
fn is_plain_name(id: &str) -> bool {
    !id.is_empty()
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The run of a workflow, if the file is that of one of its agents.
fn workflow_run(path: &Path) -> Option<&str> {
    let directory = path.parent()?;
    let is_run = directory
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name == "workflows");
    directory
        .file_name()?
        .to_str()
        .filter(|run| is_run && is_plain_name(run))
}

/// The content of `agent-<id>.meta.json`.
#[derive(Default)]
struct AgentMeta {
    kind: Option<String>,
    /// The call that started the agent (2.1.329).
    call: Option<String>,
}

impl AgentMeta {
    fn of(meta: &str) -> Option<Self> {
        let mut index = StructuralIndex::default();
        let meta = parse(meta, &mut index).ok()?;
        let owned = |name| text(meta.member(name)).map(|text| text.decode_lossy().into_owned());
        Some(AgentMeta {
            kind: owned("agentType"),
            call: owned("toolUseId"),
        })
    }
}

/// The call that started a sub-agent or a run of a workflow, and the type of the agent if the result says it.
type StartingCall = (Option<String>, Option<String>);

/// The members of a result that name what the call started.
const STARTED: [&str; 2] = ["agentId", "runId"];

/// The calls of a session by what they started.
static STARTING_CALLS: LineFacts<StartingCall> = LineFacts::new(&STARTED, add_starting_calls);

/// The key of [`STARTING_CALLS`] for a value of one of these members.
fn started_by(member: &str, value: &str) -> String {
    format!("{member} {value}")
}

fn add_starting_calls(line: &str, add: &mut dyn FnMut(String, StartingCall)) {
    let mut index = StructuralIndex::default();
    let Ok(line) = parse(line, &mut index).map(Line::lenient) else {
        return;
    };
    let Some(result) = line.tool_use_result() else {
        return;
    };
    let owned = |value: Field<'_>| text(value).map(|text| text.decode_lossy().into_owned());
    let Some(blocks) = line
        .message()
        .and_then(|message| Message::lenient(message).content())
    else {
        return;
    };
    let call = blocks
        .elements()
        .find_map(|block| owned(Block::lenient(block).tool_use_id()));
    for member in STARTED {
        if let Some(value) = owned(result.member(member)) {
            add(
                started_by(member, &value),
                (call.clone(), owned(result.member("agentType"))),
            );
        }
    }
}

/// The files beside a session's file.
struct SessionFiles {
    /// The files of the project.
    neighbours: Neighbours,
    session: String,
    /// The name of the file, if it is that of a session.
    own_log: Option<String>,
    /// The transcript's own directory, from the project's.
    directory: PathBuf,
}

impl SessionFiles {
    fn open(path: &Path, session: &str) -> Option<Self> {
        let own = path.parent()?;
        // The files of a session's sub-agents are in a directory that is named after the session.
        let of_session = own
            .ancestors()
            .find(|directory| directory.file_name().is_some_and(|name| name == session));
        let project = of_session.and_then(Path::parent).unwrap_or(own);
        let directory = own.strip_prefix(project).ok()?.to_owned();
        let own_log = path
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|_| directory.as_os_str().is_empty())
            .map(str::to_owned);
        Some(SessionFiles {
            neighbours: Neighbours::open(project, path)?,
            session: session.to_owned(),
            own_log,
            directory,
        })
    }

    fn agent_meta(&self, path: &Path) -> AgentMeta {
        let name = path
            .with_extension("meta.json")
            .file_name()
            .map(|name| self.directory.join(name));
        name.and_then(|meta| AgentMeta::of(&self.neighbours.text(&meta)?))
            .unwrap_or_default()
    }

    /// The call in the session's own file whose result names what it started, and the agent's type.
    fn starting_call(&self, path: &Path, member: &str, value: &str) -> Option<StartingCall> {
        let file = PathBuf::from(format!("{}.jsonl", self.session));
        if path.file_name() == Some(file.as_os_str()) {
            return None;
        }
        self.neighbours
            .line_fact(&file, &STARTING_CALLS, &started_by(member, value))
    }
}

impl SideFiles for SessionFiles {
    fn has_agent(&self, agent_id: &str) -> bool {
        let name = format!("agent-{agent_id}.jsonl");
        let of_session = Path::new(&self.session).join("subagents").join(&name);
        is_plain_name(agent_id)
            && [self.directory.join(&name), of_session]
                .iter()
                .any(|file| self.neighbours.is_file(file))
    }

    /// Hash and size of an output that was too big for the session's file. The log has its path on the machine of the session, of which the
    /// name counts.
    fn hash(&self, recorded_path: &str) -> Option<(Hash, u64)> {
        let mut parts = recorded_path.rsplit(['/', '\\']);
        let name = parts.next().filter(|name| !name.is_empty())?;
        if parts.next() != Some(RESULTS) {
            return None;
        }
        self.neighbours
            .digest(&Path::new(&self.session).join(RESULTS).join(name))
    }

    fn older_logs(&self, records: &[LogRecord]) -> Vec<OlderLog> {
        self.own_log
            .as_deref()
            .map(|name| older_logs(&self.neighbours, (name, &self.session), records))
            .unwrap_or_default()
    }

    fn files_read(&self) -> Vec<BesideFile> {
        self.neighbours.files_read()
    }

    fn directories(&self) -> Vec<String> {
        vec![self.neighbours.name_from_artifact(Path::new(&self.session))]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_file_outside_the_results_directory_is_read() {
        let root = std::env::temp_dir().join(format!("engram-side-files-{}", std::process::id()));
        let directory = root.join("session").join("tool-results");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("out.txt"), "output").unwrap();
        fs::write(root.join("secret.txt"), "secret").unwrap();
        let files = SessionFiles::open(&root.join("session.jsonl"), "session").unwrap();
        assert_eq!(
            files.hash("/elsewhere/session/tool-results/out.txt"),
            Some((Hash::of_bytes(b"output"), 6))
        );
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
            std::os::unix::fs::symlink(root.join("secret.txt"), directory.join("link.txt"))
                .unwrap();
            assert_eq!(files.hash("/x/tool-results/link.txt"), None);
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn agent_of_a_workflow_was_started_by_the_call_whose_result_names_the_run() {
        let root = std::env::temp_dir().join(format!("engram-workflows-{}", std::process::id()));
        let run = root
            .join("s")
            .join("subagents")
            .join("workflows")
            .join("wf_1-a");
        fs::create_dir_all(&run).unwrap();
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]},"toolUseResult":{"runId":"wf_1-a"}}"#;
        fs::write(root.join("s.jsonl"), format!("{result}\n")).unwrap();
        let path = run.join("agent-a1.jsonl");
        fs::write(&path, "").unwrap();
        let files = SessionFiles::open(&path, "s").unwrap();
        assert_eq!(
            files.starting_call(&path, "runId", workflow_run(&path).unwrap()),
            Some((Some("t1".to_owned()), None))
        );
        assert_eq!(workflow_run(&root.join("agent-a1.jsonl")), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn sub_agent_files_are_found_beside_the_session_or_in_its_directory() {
        let root = std::env::temp_dir().join(format!("engram-agents-{}", std::process::id()));
        let own = root.join("session").join("subagents");
        fs::create_dir_all(&own).unwrap();
        fs::write(root.join("agent-a1.jsonl"), "").unwrap();
        fs::write(own.join("agent-a2.jsonl"), "").unwrap();
        let files = SessionFiles::open(&root.join("session.jsonl"), "session").unwrap();
        let found = ["a1", "a2", "a3", "../session/subagents/agent-a2", ""]
            .map(|agent| files.has_agent(agent));
        assert_eq!(found, [true, true, false, false, false]);
        fs::remove_dir_all(&root).unwrap();
    }
}
