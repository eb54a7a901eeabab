//! The text form of a run store: a directory with `agents.ndjson`, `runs.ndjson`, `run_events.ndjson` and `checkpoints.ndjson`.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use super::secret::without_secret;
use crate::open::lines::{Size, json_or_text, quoted};
use crate::shared::neighbours::Neighbours;
use crate::shared::value::{StructuralIndex, Value, parse};

/// The file of agents.
pub(in crate::cursor) const AGENTS: &str = "agents.ndjson";
/// The file of runs.
pub(in crate::cursor) const RUNS: &str = "runs.ndjson";
/// The file of the events of runs.
pub(in crate::cursor) const EVENTS: &str = "run_events.ndjson";
/// The file of the blobs of conversations.
pub(in crate::cursor) const CHECKPOINTS: &str = "checkpoints.ndjson";

/// True for the directory of such a store.
pub(in crate::cursor) fn is_root(directory: &Path) -> bool {
    [AGENTS, RUNS]
        .iter()
        .all(|name| directory.join(name).is_file())
}

/// True for a file of such a store.
pub(in crate::cursor) fn is_inside(name: &str) -> bool {
    [AGENTS, RUNS, EVENTS, CHECKPOINTS].contains(&name)
}

/// A line of a file, and its members that name other records.
#[derive(Default)]
pub(in crate::cursor) struct Line {
    /// Its JSON, without the secret.
    pub(in crate::cursor) json: String,
    /// The agent that it belongs to, or is.
    pub(in crate::cursor) agent_id: String,
    /// The run that it belongs to, or is.
    pub(in crate::cursor) run_id: String,
    /// The place of a run among the runs of its agent, or of an event among those of its run.
    pub(in crate::cursor) order: u64,
    /// False for a line that is not JSON, and so belongs to any agent. It may contain a secret, so its text is not kept.
    pub(in crate::cursor) is_json: bool,
}

impl Line {
    /// A line without its JSON.
    fn named(value: Value<'_>) -> Line {
        let name = |member: &str| {
            value
                .member(member)
                .and_then(|id| id.text())
                .map(|id| id.decode_lossy().into_owned())
                .unwrap_or_default()
        };
        let order = value
            .member("turnNumber")
            .or(value.member("seq"))
            .and_then(|order| order.unsigned())
            .unwrap_or_default();
        Line {
            json: String::new(),
            agent_id: name("agentId"),
            run_id: name("runId"),
            order,
            is_json: true,
        }
    }
}

/// The files of a store. Nothing outside of its directory is read.
pub(in crate::cursor) struct Files {
    directory: Neighbours,
    limits: Limits,
}

impl Files {
    /// The files in a directory; `None` if it cannot be opened.
    pub(in crate::cursor) fn open(directory: &Path, limits: Limits) -> Option<Files> {
        Neighbours::open(directory, &directory.join(AGENTS))
            .map(|directory| Files { directory, limits })
    }

    /// True if the store has this file.
    pub(in crate::cursor) fn has(&self, name: &str) -> bool {
        self.directory.is_file(Path::new(name))
    }

    /// The lines of a file for which `wanted` is true, and those that are not JSON.
    pub(in crate::cursor) fn lines(
        &self,
        file: &str,
        wanted: impl Fn(&Line) -> bool,
    ) -> Result<Vec<Line>, AdapterError> {
        let (mut found, mut size) = (Vec::new(), Size::new(self.limits));
        let mut index = StructuralIndex::default();
        self.each_line(file, |number, text| {
            let value = parse(text, &mut index)
                .ok()
                .filter(|value| value.is_object());
            let line = match value {
                None => Line {
                    json: quoted(&format!("{file}:{number}")),
                    is_json: false,
                    ..Line::default()
                },
                Some(value) => {
                    let line = Line::named(value);
                    if !wanted(&line) {
                        return Ok(());
                    }
                    let json = without_secret(text).unwrap_or_default();
                    Line {
                        json: json_or_text(json.as_bytes()),
                        ..line
                    }
                }
            };
            size.add(line.json.len())?;
            found.push(line);
            Ok(())
        })?;
        Ok(found)
    }

    /// The blobs of an agent's conversation, in order: their ids and bytes.
    pub(in crate::cursor) fn blobs(
        &self,
        file: &str,
        agent_id: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, AdapterError> {
        let (mut found, mut size) = (Vec::new(), Size::new(self.limits));
        let mut index = StructuralIndex::default();
        self.each_line(file, |_, text| {
            let Ok(value) = parse(text, &mut index) else {
                return Ok(());
            };
            let name = |member: &str| {
                value
                    .member(member)
                    .and_then(|id| id.text())
                    .map(|id| id.decode_lossy().into_owned())
            };
            let of_agent = name("agentId").is_some_and(|agent| agent == agent_id);
            if let (true, Some(id), Some(data)) = (of_agent, name("blobId"), name("dataBase64")) {
                size.add(data.len())?;
                found.extend(BASE64_STANDARD.decode(data).ok().map(|bytes| (id, bytes)));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Visits every line that is not blank, with its number. A file that does not exist has none.
    fn each_line(
        &self,
        file: &str,
        mut visit: impl FnMut(u64, &str) -> Result<(), AdapterError>,
    ) -> Result<(), AdapterError> {
        let Some(mut reader) = self.directory.open_file(Path::new(file)) else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            if reader
                .by_ref()
                .take(self.limits.record_bytes.saturating_add(1))
                .read_until(b'\n', &mut bytes)?
                == 0
            {
                break;
            }
            if bytes.len() as u64 > self.limits.record_bytes {
                let error = AdapterError::new(ErrorCode::LimitExceeded).line(number);
                return Err(error.expected(format!(
                    "a line of at most {} bytes",
                    self.limits.record_bytes
                )));
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim();
            if !text.is_empty() {
                visit(number, text)?;
            }
        }
        Ok(())
    }
}

/// `<directory>/index.db` for `<directory>/agents/<agent>/store.db`.
pub(in crate::cursor) fn run_store_of(chat: &Path) -> Option<PathBuf> {
    let agents = chat.parent()?.parent()?;
    (agents.file_name()? == "agents").then(|| agents.with_file_name("index.db"))
}
