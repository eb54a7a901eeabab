//! The tables of a run store (`index.db`), as the records of its text form: agents, runs and run events.

use std::path::Path;

use engram_core::error::AdapterError;
use rusqlite::types::ValueRef;
use rusqlite::{Params, Row};
use serde::Deserialize;

use super::secret::without_secret;
use crate::open::lines::{json_or_text, quoted};
use crate::open::sqlite::{Store, refused};
use crate::open::store::{LostRecords, lost_records};

/// How a column is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Text or a number.
    Plain,
    /// JSON.
    Json,
    /// JSON that may contain a secret.
    Secret,
}

/// A column, and the member of the text form that it is.
type Column = (&'static str, &'static str, Kind);

const AGENTS: &[Column] = &[
    ("agent_id", "agentId", Kind::Plain),
    ("workspace_ref", "cwd", Kind::Plain),
    ("status", "status", Kind::Plain),
    ("active_run_id", "activeRunId", Kind::Plain),
    ("latest_checkpoint_ref_json", "latestCheckpoint", Kind::Json),
    ("name", "name", Kind::Plain),
    ("metadata_json", "sdkMetadata", Kind::Secret),
    ("created_at", "createdAt", Kind::Plain),
    ("updated_at", "updatedAt", Kind::Plain),
];

const RUNS: &[Column] = &[
    ("run_id", "runId", Kind::Plain),
    ("request_id", "requestId", Kind::Plain),
    ("agent_id", "agentId", Kind::Plain),
    ("turn_number", "turnNumber", Kind::Plain),
    ("status", "status", Kind::Plain),
    ("model", "model", Kind::Plain),
    ("model_params_json", "modelParams", Kind::Json),
    (
        "start_checkpoint_ref_json",
        "startCheckpointRef",
        Kind::Json,
    ),
    (
        "latest_checkpoint_ref_json",
        "latestCheckpointRef",
        Kind::Json,
    ),
    ("error_code", "error", Kind::Plain),
    ("usage_ref", "usageRef", Kind::Plain),
    ("usage_json", "usage", Kind::Json),
    ("result", "result", Kind::Plain),
    ("created_at", "createdAt", Kind::Plain),
    ("updated_at", "updatedAt", Kind::Plain),
    ("started_at", "startedAt", Kind::Plain),
    ("finished_at", "finishedAt", Kind::Plain),
    ("cancelled_at", "cancelledAt", Kind::Plain),
    ("expired_at", "expiredAt", Kind::Plain),
];

const EVENTS: &[Column] = &[
    ("run_id", "runId", Kind::Plain),
    ("seq", "seq", Kind::Plain),
    ("offset", "offset", Kind::Plain),
    ("event_type", "eventType", Kind::Plain),
    ("payload_json", "payload", Kind::Json),
    ("payload_ref", "payloadRef", Kind::Plain),
    ("idempotency_key", "idempotencyKey", Kind::Plain),
    ("created_at", "createdAt", Kind::Plain),
];

/// The ids of all agents, in order.
pub(in crate::cursor) fn agent_ids(store: &Store) -> Result<Vec<String>, AdapterError> {
    let mut statement = store
        .connection()
        .prepare("SELECT CAST(agent_id AS TEXT) FROM agents ORDER BY agent_id")
        .map_err(refused)?;
    let rows = statement.query_map([], |row| row.get(0)).map_err(refused)?;
    rows.collect::<Result<_, _>>().map_err(refused)
}

/// An agent, if the store has it.
pub(in crate::cursor) fn agent(
    store: &Store,
    agent_id: &str,
) -> Result<Option<String>, AdapterError> {
    let found = rows(
        store,
        "SELECT * FROM agents WHERE agent_id = ?1",
        [agent_id],
        AGENTS,
    )?;
    Ok(found.into_iter().next())
}

/// The runs of an agent, in order: their ids and records.
pub(in crate::cursor) fn runs(
    store: &Store,
    agent_id: &str,
) -> Result<Vec<(String, String)>, AdapterError> {
    let runs = rows(
        store,
        "SELECT * FROM runs WHERE agent_id = ?1 ORDER BY turn_number, created_at, run_id",
        [agent_id],
        RUNS,
    )?;
    Ok(runs.into_iter().map(|run| (run_id(&run), run)).collect())
}

fn run_id(run: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Run {
        run_id: Option<String>,
    }
    serde_json::from_str::<Run>(run)
        .ok()
        .and_then(|run| run.run_id)
        .unwrap_or_default()
}

/// The events of a run, in order.
pub(in crate::cursor) fn events(store: &Store, run_id: &str) -> Result<Vec<String>, AdapterError> {
    rows(
        store,
        "SELECT * FROM run_events WHERE run_id = ?1 ORDER BY seq",
        [run_id],
        EVENTS,
    )
}

/// Rows that no agent has, and agents or runs whose content is gone.
pub(in crate::cursor) fn lost(
    store: &Store,
    path: &Path,
) -> Result<Vec<LostRecords>, AdapterError> {
    let searches = [
        (
            "runs",
            "NOT EXISTS (SELECT 1 FROM agents WHERE agent_id = runs.agent_id)",
            "runs of no agent",
        ),
        (
            "run_events",
            "NOT EXISTS (SELECT 1 FROM runs WHERE run_id = run_events.run_id)",
            "events of no run",
        ),
        (
            "agents",
            "NOT EXISTS (SELECT 1 FROM runs)",
            "agents without runs (their table is empty)",
        ),
        (
            "runs",
            "NOT EXISTS (SELECT 1 FROM run_events)",
            "runs without events (their table is empty)",
        ),
    ];
    lost_records(store, path, searches)
}

fn rows(
    store: &Store,
    sql: &str,
    params: impl Params,
    columns: &[Column],
) -> Result<Vec<String>, AdapterError> {
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement
        .query_map(params, |row| object(row, &names, columns))
        .map_err(refused)?;
    rows.collect::<Result<_, _>>().map_err(refused)
}

/// A row as a JSON object. A column that is not in the table keeps its name, so that it is reported.
fn object(row: &Row<'_>, names: &[String], columns: &[Column]) -> rusqlite::Result<String> {
    let mut members = Vec::with_capacity(names.len());
    for (n, name) in names.iter().enumerate() {
        let known = columns.iter().find(|(column, ..)| column == name);
        let (member, kind) = known.map_or((name.as_str(), Kind::Plain), |(_, member, kind)| {
            (*member, *kind)
        });
        let value = match row.get_ref(n)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => quoted(&number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => text(bytes, kind),
        };
        members.push(format!("{}:{value}", quoted(member)));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

fn text(bytes: &[u8], kind: Kind) -> String {
    match kind {
        Kind::Plain => quoted(&String::from_utf8_lossy(bytes)),
        Kind::Json => json_or_text(bytes),
        Kind::Secret => without_secret(&String::from_utf8_lossy(bytes))
            .map_or_else(|| "null".into(), |json| json_or_text(json.as_bytes())),
    }
}
