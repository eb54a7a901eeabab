//! Opens `store.db` of the command line and the SDK: one chat as blobs under their hashes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use rusqlite::OptionalExtension;
use serde::Deserialize;

use super::export::{Chat, root_of_agent};
use crate::cursor::fields::hex::from_hex;
use crate::cursor::run_store::files::run_store_of;
use crate::cursor::run_store::rows;
use crate::cursor::run_store::secret::without_secret;
use crate::cursor::source::store_kinds;
use crate::cursor::source::store_tables::{CHAT, RUNS};
use crate::open::database::DatabaseFile;
use crate::open::lines::json_or_text;
use crate::open::sqlite::{self, column, count, refused};
use crate::open::store::{Export, Opened, Store, StoredSession};
use crate::shared::neighbours::is_below;

/// A chat open for reading.
pub(in crate::cursor) struct ChatDatabase {
    store: Mutex<sqlite::Store>,
    limits: Limits,
    /// The record of the chat itself, without its secret.
    meta: String,
    root: String,
    sessions: Vec<StoredSession>,
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    agent_id: String,
    #[serde(default)]
    latest_root_blob_id: String,
}

/// What the run store beside a chat has of its agent.
#[derive(Default)]
struct Beside {
    agent: Option<String>,
    runs: Vec<String>,
    /// What the run store lacks.
    missing: Option<String>,
}

impl ChatDatabase {
    /// Opens a chat. None if it is empty, or the tables belong to another product.
    pub(in crate::cursor) fn open(database: DatabaseFile<'_>) -> Opened<ChatDatabase> {
        let DatabaseFile {
            path,
            limits,
            store,
            tables,
        } = database;
        CHAT.require_all(path, &tables)?;
        let value: Option<Vec<u8>> = store
            .connection()
            .query_row("SELECT value FROM meta WHERE key = '0'", [], |row| {
                Ok(column(row.get_ref(0)?))
            })
            .optional()
            .map_err(refused)?;
        let json = value
            .as_deref()
            .and_then(from_hex)
            .and_then(|json| String::from_utf8(json).ok());
        let record = json.and_then(|json| {
            Some((
                serde_json::from_str::<Meta>(&json).ok()?,
                without_secret(&json)?,
            ))
        });
        let Some((meta, kept)) = record else {
            return without_record(path, &store);
        };
        let chat = ChatDatabase {
            store: Mutex::new(store.with_indexes(&[("blobs", "id")])),
            limits,
            meta: json_or_text(kept.as_bytes()),
            root: meta.latest_root_blob_id,
            sessions: vec![StoredSession {
                id: meta.agent_id,
                path: path.to_owned(),
            }],
            path: path.to_owned(),
        };
        Ok(Some(chat))
    }

    fn text(&self) -> Result<String, AdapterError> {
        let beside = self.facts_of_run_store()?;
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let last: Option<String> = store
            .connection()
            .query_row(
                "SELECT CAST(id AS TEXT) FROM blobs ORDER BY rowid DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .optional()
            .map_err(refused)?;
        let own = Some(self.root.clone()).filter(|root| !root.is_empty());
        let mut roots: Vec<String> = own
            .into_iter()
            .chain(beside.agent.as_deref().and_then(root_of_agent))
            .collect();
        roots.dedup();
        let mut query = store
            .connection()
            .prepare("SELECT data FROM blobs WHERE id = ?1 AND data IS NOT NULL")
            .map_err(refused)?;
        let query = std::cell::RefCell::new(&mut query);
        let blobs = |id: &str| -> Result<Option<Vec<u8>>, AdapterError> {
            query
                .borrow_mut()
                .query_row([id], |row| Ok(column(row.get_ref(0)?)))
                .optional()
                .map_err(refused)
        };
        let chat = Chat {
            meta: &self.meta,
            roots,
            last,
            agent: beside.agent,
            runs: beside.runs,
            missing: beside.missing,
            blobs: &blobs,
        };
        chat.text(self.limits)
    }

    /// What the run store beside the chat has. A run store that cannot be read does not keep the chat from being read, but one that changes
    /// while it is read does: its facts are there.
    fn facts_of_run_store(&self) -> Result<Beside, AdapterError> {
        let Some(path) = run_store_of(&self.path).filter(|path| {
            path.is_file()
                && path
                    .parent()
                    .is_some_and(|directory| is_below(directory, path))
        }) else {
            return Ok(Beside::default());
        };
        let Some(index) = DatabaseFile::open(&path, self.limits)
            .ok()
            .flatten()
            .filter(|index| RUNS.are_in(index))
        else {
            return Ok(Beside::default());
        };
        let read = |id: &str| -> Result<Beside, AdapterError> {
            ["agents", "runs"]
                .iter()
                .try_for_each(|table| RUNS.require(&path, &index.tables, table))?;
            let agent = rows::agent(&index.store, id)?;
            let runs = rows::runs(&index.store, id)?
                .into_iter()
                .map(|(_, run)| run)
                .collect();
            let missing = agent
                .is_none()
                .then(|| "the agent of the chat in index.db".to_owned());
            Ok(Beside {
                agent,
                runs,
                missing,
            })
        };
        let id = self
            .sessions
            .first()
            .map(|session| session.id.as_str())
            .unwrap_or_default();
        let beside = read(id).unwrap_or_else(|error| {
            let missing = error
                .expected
                .unwrap_or_else(|| "a run store that can be read".to_owned());
            Beside {
                missing: Some(missing),
                ..Beside::default()
            }
        });
        index.store.verify_unchanged()?;
        Ok(beside)
    }
}

/// A database without the record of its chat: an error if it has something and the name of a chat's.
fn without_record(path: &Path, store: &sqlite::Store) -> Opened<ChatDatabase> {
    let rows = count(
        store,
        "SELECT (SELECT count(*) FROM meta) + (SELECT count(*) FROM blobs)",
    )?;
    if rows == 0 || !CHAT.has_file_name(path) {
        return Ok(None);
    }
    Err(CHAT.lacks(
        path,
        "the record of the chat (row `0` of the table `meta`)",
        "no such record, or one that cannot be read",
    ))
}

impl Store for ChatDatabase {
    fn kind(&self) -> &'static str {
        store_kinds::CHATS
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn export(&self, _session: &StoredSession) -> Result<Export, AdapterError> {
        let text = self
            .text()
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
