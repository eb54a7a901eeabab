//! The store of an agent of OpenClaw, `openclaw-agent.sqlite`: a row for each entry of a session, as JSON or (2026.9.6) as zstd.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use memchr::memmem;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row};

use crate::open::database::DatabaseFile;
use crate::open::lines::{Size, json_or_text};
use crate::open::sqlite::{self, column, refused};
use crate::open::store::{
    Export, LostRecords, OpenedStore, Opener, Store, StoredSession, lost_records,
};
use crate::open::tables::{NeededTable, StoreTables};
use crate::open::zstd_bytes;
use crate::shared::value::{StructuralIndex, owned, parse, raw_str};

/// Opens the databases. Each agent has a directory with its own database, so no single directory has them all.
pub(super) const OPENER: Opener = Opener {
    has_tables: |file| TABLES.are_in(file),
    open_database,
    ..Opener::NOTHING
};

const KIND: &str = "OpenClaw database";

/// The columns are those that 2026.9.1 and 2026.9.6 have in common.
const TABLES: StoreTables = StoreTables {
    kind: KIND,
    is_file_name: |name| name == "openclaw-agent.sqlite",
    tables: &[
        NeededTable {
            name: "transcript_events",
            columns: &["session_id", "seq", "event_json", "created_at"],
            is_mark: true,
        },
        NeededTable {
            name: "session_windows",
            columns: &["session_id", "session_key"],
            is_mark: true,
        },
        NeededTable {
            name: "session_nodes",
            columns: &["session_key", "current_session_id", "spawned_by"],
            is_mark: true,
        },
    ],
};

/// The table of sessions whose rows were moved into an archive, which is a file below `sessions/cold` or a column of this table.
const ARCHIVES: &str = "session_transcript_cold_archives";

fn open_database(file: DatabaseFile<'_>) -> OpenedStore {
    TABLES.require_all(file.path, &file.tables)?;
    let has_archives = file.has(ARCHIVES);
    let is_zstd = file
        .table("transcript_events")
        .is_some_and(|table| table.has("event_zstd"));
    let database = Database {
        sessions: session_ids(&file.store)?
            .into_iter()
            .map(|id| StoredSession {
                id,
                path: file.path.to_owned(),
            })
            .collect(),
        lost: lost(&file, has_archives)?,
        path: file.path.to_owned(),
        limits: file.limits,
        zstd: if is_zstd { "event_zstd" } else { "NULL" },
        store: Mutex::new(file.store),
    };
    Ok(Some(Box::new(database)))
}

/// The database, open for reading.
struct Database {
    sessions: Vec<StoredSession>,
    lost: Vec<LostRecords>,
    path: PathBuf,
    limits: Limits,
    /// The column of compressed entries.
    zstd: &'static str,
    store: Mutex<sqlite::Store>,
}

/// The ids of all sessions that have entries.
fn session_ids(store: &sqlite::Store) -> Result<Vec<String>, AdapterError> {
    let sql = "SELECT DISTINCT CAST(session_id AS TEXT) FROM transcript_events ORDER BY 1";
    let mut statement = store.connection().prepare(sql).map_err(refused)?;
    let ids = statement.query_map([], |row| row.get(0)).map_err(refused)?;
    ids.collect::<Result<_, _>>().map_err(refused)
}

/// Entries that no session has, sessions that lack what the store says of them, and sessions whose entries are not in their rows.
fn lost(file: &DatabaseFile<'_>, has_archives: bool) -> Result<Vec<LostRecords>, AdapterError> {
    let mut searches = vec![
        (
            "transcript_events",
            "NOT EXISTS (SELECT 1 FROM session_windows AS own WHERE own.session_id = transcript_events.session_id)",
            "entries of no session",
        ),
        (
            "session_windows",
            "NOT EXISTS (SELECT 1 FROM session_nodes AS node WHERE node.session_key = session_windows.session_key)",
            "sessions without a key",
        ),
        (
            "session_windows",
            "NOT EXISTS (SELECT 1 FROM transcript_events)",
            "sessions without entries (their table is empty)",
        ),
    ];
    if has_archives {
        let moved = "archive_blob IS NOT NULL";
        searches.push((ARCHIVES, moved, "sessions that are in an archive"));
    }
    lost_records(&file.store, file.path, searches)
}

impl Database {
    /// Reads the entries of a session, in the order in which they were written.
    fn each(
        &self,
        store: &sqlite::Store,
        session: &str,
        mut read: impl FnMut(&[u8]) -> Result<(), AdapterError>,
    ) -> Result<(), AdapterError> {
        let sql = format!(
            "SELECT event_json, {} FROM transcript_events WHERE session_id = ?1 ORDER BY seq",
            self.zstd
        );
        let mut statement = store.connection().prepare(&sql).map_err(refused)?;
        let mut rows = statement.query([session]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            read(&self.entry(row)?)?;
        }
        Ok(())
    }

    /// The entries of a session as lines.
    fn text(&self, store: &sqlite::Store, session: &str) -> Result<String, AdapterError> {
        let (mut text, mut size) = (String::new(), Size::new(self.limits));
        self.each(store, session, |entry| {
            let line = json_or_text(entry);
            size.add(line.len() + 1)?;
            text.push_str(&line);
            text.push('\n');
            Ok(())
        })?;
        Ok(text)
    }

    /// What the store says of a session that another one started.
    fn context(&self, store: &sqlite::Store, session: &str) -> Result<SideInfo, AdapterError> {
        let sql = "SELECT own.session_key, parent.current_session_id FROM session_windows AS own
                   JOIN session_nodes AS node ON node.session_key = own.session_key
                   JOIN session_nodes AS parent ON parent.session_key = node.spawned_by WHERE own.session_id = ?1";
        let keys = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found = store.connection().query_row(sql, [session], keys);
        let Some((own, parent)): Option<(String, String)> = found.optional().map_err(refused)?
        else {
            return Ok(SideInfo::default());
        };
        let mut call = None;
        self.each(store, &parent, |entry| {
            call = call.take().or_else(|| call_that_started(entry, &own));
            Ok(())
        })?;
        Ok(SideInfo {
            parent_session_id: Some(parent),
            parent_call_id: call,
            ..SideInfo::default()
        })
    }

    /// An entry. What cannot be decompressed is no JSON, which the adapter reports at its place.
    fn entry(&self, row: &Row<'_>) -> Result<Vec<u8>, AdapterError> {
        match row.get_ref(1).map_err(refused)? {
            ValueRef::Blob(bytes) => zstd_bytes(bytes, self.limits),
            _ => Ok(column(row.get_ref(0).map_err(refused)?)),
        }
    }
}

/// The call whose result names the session that it started.
fn call_that_started(entry: &[u8], session_key: &str) -> Option<String> {
    memmem::find(entry, session_key.as_bytes())?;
    let (text, mut index) = (std::str::from_utf8(entry).ok()?, StructuralIndex::default());
    let message = parse(text, &mut index).ok()?.member("message")?;
    let details = message.member("details")?;
    // Of a call of a tool that was searched, the details have the result.
    let nested = details
        .member("result")
        .and_then(|result| result.member("details"));
    let mut results = [Some(details), nested].into_iter().flatten();
    let is_child = results.any(|result| raw_str(result.member("childSessionKey")) == session_key);
    is_child.then(|| owned(message.member("toolCallId")))?
}

impl Store for Database {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn lost(&self) -> &[LostRecords] {
        &self.lost
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        // The database is only read, so a panic under the lock leaves it consistent.
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let export = || {
            Ok(Export {
                text: self.text(&store, &session.id)?,
                context: self.context(&store, &session.id)?,
            })
        };
        export().map_err(|error: AdapterError| error.path(self.path.to_string_lossy()))
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.verify_unchanged()
    }
}

#[cfg(test)]
mod tests {
    use engram_core::error::ErrorCode;
    use rusqlite::{Connection, params};

    use super::*;

    const HEADER: &str = r#"{"type":"session","version":4,"id":"s","timestamp":"2026-11-30T03:00:00.000Z","cwd":"/p"}"#;

    /// A database with the tables of 2026.9.6, as far as they are read.
    fn database(directory: &std::path::Path) -> (PathBuf, Connection) {
        let path = directory.join("openclaw-agent.sqlite");
        let writer = Connection::open(&path).unwrap();
        let tables = "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, event_zstd BLOB);
            CREATE TABLE session_windows (session_id TEXT, session_key TEXT);
            CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, spawned_by TEXT);
            CREATE TABLE session_transcript_cold_archives (session_id TEXT, archive_blob BLOB);
            INSERT INTO session_windows VALUES ('s', 'main'), ('c', 'child');
            INSERT INTO session_nodes VALUES ('main', 's', NULL), ('child', 'c', 'main');";
        writer.execute_batch(tables).unwrap();
        (path, writer)
    }

    fn add(writer: &Connection, session: &str, seq: i64, json: Option<&str>, zstd: Option<&[u8]>) {
        let sql = "INSERT INTO transcript_events VALUES (?1, ?2, ?3, 0, ?4)";
        writer
            .execute(sql, params![session, seq, json, zstd])
            .unwrap();
    }

    fn opened(path: &std::path::Path, limits: Limits) -> Box<dyn Store> {
        let file = DatabaseFile::open(path, limits).unwrap().unwrap();
        assert!((OPENER.has_tables)(&file));
        (OPENER.open_database)(file).unwrap().unwrap()
    }

    #[test]
    fn rows_are_lines_and_what_cannot_be_read_is_no_object() {
        let directory = tempfile::tempdir().unwrap();
        let (path, writer) = database(directory.path());
        add(&writer, "s", 2, Some("{\"broken\":"), None);
        add(&writer, "s", 0, Some(HEADER), None);
        let packed = zstd::encode_all(&b"{\"type\":\n\"label\"}"[..], 3).unwrap();
        add(&writer, "s", 1, None, Some(&packed));
        add(&writer, "s", 3, None, Some(&packed[..packed.len() - 3]));
        add(&writer, "s", 4, None, Some(b"no zstd"));
        let store = opened(&path, Limits::default());
        let text = store.export(&store.sessions()[0]).unwrap().text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], [HEADER, r#"{"type": "label"}"#]);
        assert_eq!(lines[2], r#""{\"broken\":""#);
        assert!(
            lines[3..].iter().all(|line| line.starts_with('"')),
            "{text}"
        );
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn a_row_that_is_too_large_is_refused_whatever_it_says() {
        let limits = Limits {
            record_bytes: 10_000,
            ..Limits::default()
        };
        let bomb = zstd::encode_all(&[b' '; 200_000][..], 19).unwrap();
        let large = "1".repeat(20_000);
        for (json, zstd) in [(None, Some(&bomb[..])), (Some(&*large), None)] {
            let directory = tempfile::tempdir().unwrap();
            let (path, writer) = database(directory.path());
            add(&writer, "s", 0, json, zstd);
            let store = opened(&path, limits);
            let error = store.export(&store.sessions()[0]).unwrap_err();
            assert_eq!(error.code, ErrorCode::LimitExceeded);
        }
    }

    #[test]
    fn a_session_that_another_one_started_names_the_call() {
        let directory = tempfile::tempdir().unwrap();
        let (path, writer) = database(directory.path());
        let result = |call: &str, key: &str| {
            format!(
                r#"{{"type":"message","message":{{"role":"toolResult","toolCallId":"{call}","details":{{"result":{{"details":{{"childSessionKey":"{key}"}}}}}}}}}}"#
            )
        };
        add(&writer, "s", 0, Some(HEADER), None);
        add(&writer, "s", 1, Some(&result("a", "child2")), None);
        add(&writer, "s", 2, Some(&result("b", "child")), None);
        add(&writer, "c", 0, Some(HEADER), None);
        let store = opened(&path, Limits::default());
        let context = |n: usize| store.export(&store.sessions()[n]).unwrap().context;
        let child = context(0);
        assert_eq!(child.parent_session_id.as_deref(), Some("s"));
        assert_eq!(child.parent_call_id.as_deref(), Some("b"));
        assert_eq!(context(1).parent_session_id, None);
    }

    #[test]
    fn sessions_in_an_archive_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        let (path, writer) = database(directory.path());
        let sql = "INSERT INTO session_transcript_cold_archives VALUES ('x', x'00'), ('y', NULL)";
        writer.execute_batch(sql).unwrap();
        add(&writer, "s", 0, Some(HEADER), None);
        let store = opened(&path, Limits::default());
        assert_eq!((store.lost().len(), store.lost()[0].records), (1, 1));
    }
}
