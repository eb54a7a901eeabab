//! Run stores, opened: one text per agent. A directory of text files contains the conversations of its agents too.

use std::collections::HashMap;
use std::path::Path;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
#[cfg(feature = "sqlite")]
use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use serde::Deserialize;

use super::files::{self, AGENTS, CHECKPOINTS, EVENTS, Files, RUNS};
#[cfg(feature = "sqlite")]
use super::rows;
use crate::cursor::chat_store::export::{Chat, root_of_agent};
use crate::cursor::source::store_kinds::{self, RUNS_OF};
#[cfg(feature = "sqlite")]
use crate::cursor::source::store_tables;
#[cfg(feature = "sqlite")]
use crate::open::database::DatabaseFile;
use crate::open::lines::{Lines, quoted};
#[cfg(feature = "sqlite")]
use crate::open::sqlite;
use crate::open::store::{Export, LostRecords, Opened, Store, StoredSession};
use crate::shared::value::{StructuralIndex, parse};

/// Writes the lines of an agent. The runs are ids and records; `events` are those of the run with an id.
fn text_of_runs(
    agent: &str,
    runs: &[(String, String)],
    limits: Limits,
    mut events: impl FnMut(&str) -> Result<Vec<String>, AdapterError>,
) -> Result<Lines, AdapterError> {
    let mut lines = Lines::new(limits);
    lines.line(&[("store", "\"agent\""), ("agent", agent)])?;
    for (id, run) in runs {
        let (beginning, end) = halves(run);
        lines.line(&[("store", "\"run\""), ("run", &beginning)])?;
        for event in events(id)? {
            let kind = quoted(&message_type(&event));
            lines.line(&[
                ("type", &kind),
                ("store", "\"run_event\""),
                ("event", &event),
            ])?;
        }
        if let Some(end) = end {
            lines.line(&[("store", "\"run_end\""), ("run", &end)])?;
        }
    }
    Ok(lines)
}

/// The members of a run that its end decides. They are written after the events of the run, so that all lines are in the order in which
/// things happened. The error stays with the beginning: the event that has the end of the run has no text of its own.
const END: &[&str] = &[
    "status",
    "usage",
    "usageRef",
    "result",
    "latestCheckpointRef",
    "updatedAt",
    "finishedAt",
    "endedAt",
    "cancelledAt",
    "expiredAt",
];

/// A run's beginning and end. What is not an object has no end.
fn halves(run: &str) -> (String, Option<String>) {
    let mut index = StructuralIndex::default();
    let Some(object) = parse(run, &mut index).ok().filter(|run| run.is_object()) else {
        return (run.to_owned(), None);
    };
    let (mut beginning, mut end) = (Vec::new(), Vec::new());
    for (name, value) in object.members() {
        let half = if END.contains(&name) {
            &mut end
        } else {
            &mut beginning
        };
        half.push(format!("\"{name}\":{}", value.raw()));
    }
    let whole = |members: Vec<String>| format!("{{{}}}", members.join(","));
    (whole(beginning), (!end.is_empty()).then(|| whole(end)))
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
    let Ok(event) = serde_json::from_str::<Event>(event) else {
        return String::new();
    };
    let kind = event
        .payload
        .and_then(|payload| payload.message)
        .and_then(|message| message.kind);
    kind.or(event.event_type).unwrap_or_default()
}

/// `index.db`, open for reading.
#[cfg(feature = "sqlite")]
pub(in crate::cursor) struct RunDatabase {
    store: Mutex<sqlite::Store>,
    limits: Limits,
    sessions: Vec<StoredSession>,
    lost: Vec<LostRecords>,
    path: PathBuf,
}

#[cfg(feature = "sqlite")]
impl RunDatabase {
    /// Opens a run store.
    pub(in crate::cursor) fn open(database: DatabaseFile<'_>) -> Result<RunDatabase, AdapterError> {
        let DatabaseFile {
            path,
            limits,
            store,
            tables,
        } = database;
        store_tables::RUNS.require_all(path, &tables)?;
        let store = store.with_indexes(&[
            ("agents", "agent_id"),
            ("runs", "agent_id"),
            ("run_events", "run_id"),
        ]);
        let session = |id| StoredSession {
            id,
            path: path.to_owned(),
        };
        let sessions = rows::agent_ids(&store)?.into_iter().map(session).collect();
        let lost = rows::lost(&store, path)?;
        Ok(RunDatabase {
            store: Mutex::new(store),
            limits,
            sessions,
            lost,
            path: path.to_owned(),
        })
    }

    fn text(&self, agent_id: &str) -> Result<String, AdapterError> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = rows::agent(&store, agent_id)?.unwrap_or_else(|| "{}".into());
        let runs = rows::runs(&store, agent_id)?;
        let lines = text_of_runs(&agent, &runs, self.limits, |id| rows::events(&store, id))?;
        Ok(lines.end())
    }
}

#[cfg(feature = "sqlite")]
impl Store for RunDatabase {
    fn kind(&self) -> &'static str {
        store_kinds::RUNS
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn lost(&self) -> &[LostRecords] {
        &self.lost
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self
            .text(&session.id)
            .map_err(|error| error.path(self.path.to_string_lossy()))?;
        Ok(Export {
            text,
            context: SideInfo::default(),
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .verify_unchanged()
    }
}

/// A directory of text files. Each agent has its runs, and the conversation that its checkpoints contain.
pub(in crate::cursor) struct RunFiles {
    files: Files,
    limits: Limits,
    sessions: Vec<StoredSession>,
}

impl RunFiles {
    /// Opens a directory.
    pub(in crate::cursor) fn open(directory: &Path, limits: Limits) -> Opened<RunFiles> {
        let Some(files) = Files::open(directory, limits) else {
            return Ok(None);
        };
        let agents = files.lines(AGENTS, |_| true)?;
        let mut ids: Vec<String> = agents
            .into_iter()
            .map(|agent| agent.agent_id)
            .filter(|id| !id.is_empty())
            .collect();
        ids.sort();
        ids.dedup();
        let forms = |id: String| {
            let runs = StoredSession {
                id: format!("{id}{RUNS_OF}"),
                path: directory.join(RUNS),
            };
            [
                StoredSession {
                    id,
                    path: directory.join(CHECKPOINTS),
                },
                runs,
            ]
        };
        let has_chat = files.has(CHECKPOINTS);
        let sessions = ids
            .into_iter()
            .flat_map(forms)
            .filter(|session| has_chat || session.path.ends_with(RUNS))
            .collect();
        Ok(Some(RunFiles {
            files,
            limits,
            sessions,
        }))
    }

    fn text(&self, session: &StoredSession) -> Result<String, AdapterError> {
        let id = session.id.strip_suffix(RUNS_OF).unwrap_or(&session.id);
        let agents = self.files.lines(AGENTS, |line| line.agent_id == id)?;
        // A later line of an agent or a run is its later state.
        let agent = agents
            .iter()
            .rev()
            .find(|agent| agent.is_json)
            .map_or("{}", |agent| &agent.json);
        let mut runs = self.files.lines(RUNS, |line| line.agent_id == id)?;
        let mut broken: Vec<String> = take_broken(&mut runs);
        runs.reverse();
        runs.sort_by(|one, other| (one.order, &one.run_id).cmp(&(other.order, &other.run_id)));
        runs.dedup_by(|one, other| one.run_id == other.run_id);
        let runs: Vec<(String, String)> =
            runs.into_iter().map(|run| (run.run_id, run.json)).collect();
        if session.path.ends_with(CHECKPOINTS) {
            return self.text_of_chat(id, agent, runs.into_iter().map(|(_, run)| run).collect());
        }
        let mut of_run: HashMap<&str, Vec<files::Line>> = runs
            .iter()
            .map(|(id, _)| (id.as_str(), Vec::new()))
            .collect();
        let mut events = self
            .files
            .lines(EVENTS, |line| of_run.contains_key(line.run_id.as_str()))?;
        broken.extend(take_broken(&mut events));
        for event in events {
            if let Some(events) = of_run.get_mut(event.run_id.as_str()) {
                events.push(event);
            }
        }
        let events = |id: &str| {
            let mut events = of_run.remove(id).unwrap_or_default();
            events.sort_by_key(|event| event.order);
            Ok(events.into_iter().map(|event| event.json).collect())
        };
        let mut lines = text_of_runs(agent, &runs, self.limits, events)?;
        broken
            .iter()
            .try_for_each(|line| lines.line(&[("store", "\"broken\""), ("line", line)]))?;
        Ok(lines.end())
    }

    fn text_of_chat(
        &self,
        id: &str,
        agent: &str,
        runs: Vec<String>,
    ) -> Result<String, AdapterError> {
        let blobs = self.files.blobs(CHECKPOINTS, id)?;
        let last = blobs.last().map(|(id, _)| id.clone());
        // A blob's id is the hash of its content, so that a later line with the id is the same blob.
        let blobs: HashMap<String, Vec<u8>> = blobs.into_iter().rev().collect();
        let find = |id: &str| Ok(blobs.get(id).cloned());
        let chat = Chat {
            meta: &format!("{{\"agentId\":{}}}", quoted(id)),
            roots: root_of_agent(agent).into_iter().collect(),
            last,
            agent: Some(agent.to_owned()),
            runs,
            missing: None,
            blobs: &find,
        };
        chat.text(self.limits)
    }
}

/// The places of lines that are not JSON, which are taken out.
fn take_broken(lines: &mut Vec<files::Line>) -> Vec<String> {
    let broken = lines
        .iter()
        .filter(|line| !line.is_json)
        .map(|line| line.json.clone())
        .collect();
    lines.retain(|line| line.is_json);
    broken
}

impl Store for RunFiles {
    fn kind(&self) -> &'static str {
        store_kinds::RUNS
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self
            .text(session)
            .map_err(|error| error.path(session.path.to_string_lossy()))?;
        Ok(Export {
            text,
            context: SideInfo::default(),
        })
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        Ok(())
    }
}
