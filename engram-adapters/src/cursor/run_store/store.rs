//! Run stores, opened: one text per agent. A folder of text files holds the conversations of its agents too.

use std::path::{Path, PathBuf};
#[cfg(feature = "sqlite")]
use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use serde::Deserialize;

use super::files::{self, AGENTS, CHECKPOINTS, EVENTS, RUNS};
#[cfg(feature = "sqlite")]
use super::rows;
use crate::cursor::chat_store::export::{Chat, root_of_agent};
#[cfg(feature = "sqlite")]
use crate::open::database::DatabaseFile;
use crate::open::lines::{Lines, quoted};
#[cfg(feature = "sqlite")]
use crate::open::sqlite;
use crate::open::store::{Export, Opened, Store, StoredSession};

/// Writes the lines of an agent. `events` are those of one run.
fn text_of_runs(
    agent: &str,
    runs: &[String],
    limits: Limits,
    events: impl Fn(&str) -> Result<Vec<String>, AdapterError>,
) -> Result<Lines, AdapterError> {
    let mut lines = Lines::new(limits);
    lines.line(&[("store", "\"agent\""), ("agent", agent)])?;
    for run in runs {
        lines.line(&[("store", "\"run\""), ("run", run)])?;
        for event in events(run)? {
            let kind = quoted(&message_type(&event));
            lines.line(&[("type", &kind), ("store", "\"run_event\""), ("event", &event)])?;
        }
    }
    Ok(lines)
}

/// The type of the message in an event; of an event without a message, its own.
fn message_type(event: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Event {
        event_type: Option<String>,
        payload: Option<Payload>,
    }
    #[derive(Deserialize)]
    struct Payload {
        message: Option<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        #[serde(rename = "type")]
        kind: Option<String>,
    }
    let Ok(event) = serde_json::from_str::<Event>(event) else { return String::new() };
    let kind = event.payload.and_then(|payload| payload.message).and_then(|message| message.kind);
    kind.or(event.event_type).unwrap_or_default()
}

fn run_id(run: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Run {
        run_id: Option<String>,
    }
    serde_json::from_str::<Run>(run).ok().and_then(|run| run.run_id).unwrap_or_default()
}

/// `index.db`, open for reading.
#[cfg(feature = "sqlite")]
pub(in crate::cursor) struct RunDatabase {
    store: Mutex<sqlite::Store>,
    limits: Limits,
    sessions: Vec<StoredSession>,
    path: PathBuf,
}

#[cfg(feature = "sqlite")]
impl RunDatabase {
    /// Opens a run store.
    pub(in crate::cursor) fn open(database: DatabaseFile<'_>) -> Result<RunDatabase, AdapterError> {
        let DatabaseFile { path, limits, store, .. } = database;
        let session = |id| StoredSession { id, path: path.to_owned() };
        let sessions = rows::agent_ids(&store)?.into_iter().map(session).collect();
        Ok(RunDatabase { store: Mutex::new(store), limits, sessions, path: path.to_owned() })
    }

    fn text(&self, agent_id: &str) -> Result<String, AdapterError> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = rows::agent(&store, agent_id)?.unwrap_or_else(|| "{}".into());
        let runs = rows::runs(&store, agent_id)?;
        let lines = text_of_runs(&agent, &runs, self.limits, |run| rows::events(&store, &run_id(run)))?;
        store.verify_unchanged()?;
        Ok(lines.end())
    }
}

#[cfg(feature = "sqlite")]
impl Store for RunDatabase {
    fn kind(&self) -> &'static str {
        "Cursor run store"
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self.text(&session.id).map_err(|error| error.path(self.path.to_string_lossy()))?;
        Ok(Export { text, context: SideInfo::default() })
    }
}

/// The end of the id of an agent's runs, beside its conversation.
const RUNS_OF: &str = ".runs";

/// A folder of text files. Each agent has its runs, and the conversation that its checkpoints hold.
pub(in crate::cursor) struct RunFiles {
    folder: PathBuf,
    limits: Limits,
    sessions: Vec<StoredSession>,
}

impl RunFiles {
    /// Opens a folder.
    pub(in crate::cursor) fn open(folder: &Path, limits: Limits) -> Opened<RunFiles> {
        let agents = files::lines(&folder.join(AGENTS), limits, |_| true)?;
        let mut ids: Vec<String> = agents.into_iter().map(|agent| agent.agent_id).filter(|id| !id.is_empty()).collect();
        ids.sort();
        ids.dedup();
        let forms = |id: String| {
            let runs = StoredSession { id: format!("{id}{RUNS_OF}"), path: folder.join(RUNS) };
            [StoredSession { id, path: folder.join(CHECKPOINTS) }, runs]
        };
        let has_chat = folder.join(CHECKPOINTS).is_file();
        let sessions = ids.into_iter().flat_map(forms).filter(|session| has_chat || session.path.ends_with(RUNS)).collect();
        Ok(Some(RunFiles { folder: folder.to_owned(), limits, sessions }))
    }

    fn text(&self, session: &StoredSession) -> Result<String, AdapterError> {
        let id = session.id.strip_suffix(RUNS_OF).unwrap_or(&session.id);
        let agents = files::lines(&self.folder.join(AGENTS), self.limits, |line| line.agent_id == id)?;
        // A later line of an agent or a run is its later state.
        let agent = agents.iter().rev().find(|agent| agent.is_json).map_or("{}", |agent| &agent.json);
        let mut runs = files::lines(&self.folder.join(RUNS), self.limits, |line| line.agent_id == id)?;
        let mut broken: Vec<String> = take_broken(&mut runs);
        runs.reverse();
        runs.sort_by(|one, other| (one.order, &one.run_id).cmp(&(other.order, &other.run_id)));
        runs.dedup_by(|one, other| one.run_id == other.run_id);
        let runs: Vec<String> = runs.into_iter().map(|run| run.json).collect();
        if session.path.ends_with(CHECKPOINTS) {
            return self.text_of_chat(id, agent, runs);
        }
        let ids: Vec<String> = runs.iter().map(|run| run_id(run)).collect();
        let mut events = files::lines(&self.folder.join(EVENTS), self.limits, |line| ids.contains(&line.run_id))?;
        broken.extend(take_broken(&mut events));
        events.sort_by_key(|event| event.order);
        let of_run = |run: &str| {
            let id = run_id(run);
            Ok(events.iter().filter(|event| event.run_id == id).map(|event| event.json.clone()).collect())
        };
        let mut lines = text_of_runs(agent, &runs, self.limits, of_run)?;
        broken.iter().try_for_each(|line| lines.line(&[("store", "\"broken\""), ("line", line)]))?;
        Ok(lines.end())
    }

    fn text_of_chat(&self, id: &str, agent: &str, runs: Vec<String>) -> Result<String, AdapterError> {
        let blobs = files::blobs(&self.folder.join(CHECKPOINTS), id, self.limits)?;
        let find = |id: &str| Ok(blobs.iter().find(|(blob, _)| blob == id).map(|(_, bytes)| bytes.clone()));
        let chat = Chat {
            meta: &format!("{{\"agentId\":{}}}", quoted(id)),
            roots: root_of_agent(agent).into_iter().collect(),
            last: blobs.last().map(|(id, _)| id.clone()),
            agent: Some(agent.to_owned()),
            runs,
            blobs: &find,
        };
        chat.text(self.limits)
    }
}

/// The places of lines that are not JSON, which are taken out.
fn take_broken(lines: &mut Vec<files::Line>) -> Vec<String> {
    let broken = lines.iter().filter(|line| !line.is_json).map(|line| line.json.clone()).collect();
    lines.retain(|line| line.is_json);
    broken
}

impl Store for RunFiles {
    fn kind(&self) -> &'static str {
        "Cursor run store"
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self.text(session).map_err(|error| error.path(session.path.to_string_lossy()))?;
        Ok(Export { text, context: SideInfo::default() })
    }
}
