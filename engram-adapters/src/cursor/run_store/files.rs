//! The text form of a run store: a folder with `agents.ndjson`, `runs.ndjson`, `run_events.ndjson` and `checkpoints.ndjson`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use super::secret::without_secret;
use crate::open::lines::{json_or_text, quoted};
use crate::shared::value::{StructuralIndex, parse};

/// The file of agents.
pub(in crate::cursor) const AGENTS: &str = "agents.ndjson";
/// The file of runs.
pub(in crate::cursor) const RUNS: &str = "runs.ndjson";
/// The file of the events of runs.
pub(in crate::cursor) const EVENTS: &str = "run_events.ndjson";
/// The file of the blobs of conversations.
pub(in crate::cursor) const CHECKPOINTS: &str = "checkpoints.ndjson";

/// True for the folder of such a store.
pub(in crate::cursor) fn is_root(folder: &Path) -> bool {
    [AGENTS, RUNS].iter().all(|name| folder.join(name).is_file())
}

/// True for a file of such a store.
pub(in crate::cursor) fn is_inside(name: &str) -> bool {
    [AGENTS, RUNS, EVENTS, CHECKPOINTS].contains(&name)
}

/// A line of a file, and its members that name other records.
pub(in crate::cursor) struct Line {
    /// Its JSON, without the secret.
    pub(in crate::cursor) json: String,
    /// The agent that it belongs to, or is.
    pub(in crate::cursor) agent_id: String,
    /// The run that it belongs to, or is.
    pub(in crate::cursor) run_id: String,
    /// The place of a run among the runs of its agent, or of an event among those of its run.
    pub(in crate::cursor) order: u64,
    /// False for a line that is not JSON, and so belongs to any agent. It may hold a secret, so its text is not kept.
    pub(in crate::cursor) is_json: bool,
}

/// The lines of a file for which `wanted` is true, and those that are not JSON.
pub(in crate::cursor) fn lines(path: &Path, limits: Limits, wanted: impl Fn(&Line) -> bool) -> Result<Vec<Line>, AdapterError> {
    let mut found = Vec::new();
    let mut index = StructuralIndex::default();
    each_line(path, limits, |number, text| {
        let Some(value) = parse(text, &mut index).ok().filter(|value| value.is_object()) else {
            found.push(Line {
                json: quoted(&place(path, number)),
                agent_id: String::new(),
                run_id: String::new(),
                order: 0,
                is_json: false,
            });
            return Ok(());
        };
        let name =
            |member: &str| value.member(member).and_then(|id| id.text()).map(|id| id.decode_lossy().into_owned()).unwrap_or_default();
        let order = value.member("turnNumber").or(value.member("seq")).and_then(|order| order.unsigned()).unwrap_or_default();
        let line = Line { json: String::new(), agent_id: name("agentId"), run_id: name("runId"), order, is_json: true };
        if wanted(&line) {
            let json = without_secret(text).unwrap_or_default();
            found.push(Line { json: json_or_text(json.as_bytes()), ..line });
        }
        Ok(())
    })?;
    Ok(found)
}

/// The name of a file and the number of a line.
fn place(path: &Path, number: u64) -> String {
    format!("{}:{number}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// The blobs of an agent's conversation, in order: their ids and bytes.
pub(in crate::cursor) fn blobs(path: &Path, agent_id: &str, limits: Limits) -> Result<Vec<(String, Vec<u8>)>, AdapterError> {
    let mut found = Vec::new();
    let mut index = StructuralIndex::default();
    each_line(path, limits, |_, text| {
        let Ok(value) = parse(text, &mut index) else { return Ok(()) };
        let name = |member: &str| value.member(member).and_then(|id| id.text()).map(|id| id.decode_lossy().into_owned());
        let of_agent = name("agentId").is_some_and(|agent| agent == agent_id);
        if let (true, Some(id), Some(data)) = (of_agent, name("blobId"), name("dataBase64")) {
            found.extend(BASE64_STANDARD.decode(data).ok().map(|bytes| (id, bytes)));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Visits every line that is not blank, with its number. A file that does not exist has none.
fn each_line(path: &Path, limits: Limits, mut visit: impl FnMut(u64, &str) -> Result<(), AdapterError>) -> Result<(), AdapterError> {
    if !path.exists() {
        return Ok(());
    }
    let named = |error: AdapterError| error.path(path.to_string_lossy());
    let mut reader = BufReader::new(File::open(path).map_err(|error| named(error.into()))?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = (&mut reader).take(limits.record_bytes + 1).read_until(b'\n', &mut bytes).map_err(|error| named(error.into()))?;
        if read == 0 {
            break;
        }
        if bytes.len() as u64 > limits.record_bytes {
            let error = AdapterError::new(ErrorCode::LimitExceeded).line(number);
            return Err(named(error.expected(format!("a line of at most {} bytes", limits.record_bytes))));
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if !text.is_empty() {
            visit(number, text)?;
        }
    }
    Ok(())
}

/// `<folder>/index.db` for `<folder>/agents/<agent>/store.db`.
pub(in crate::cursor) fn run_store_of(chat: &Path) -> Option<PathBuf> {
    let agents = chat.parent()?.parent()?;
    (agents.file_name()? == "agents").then(|| agents.with_file_name("index.db"))
}
