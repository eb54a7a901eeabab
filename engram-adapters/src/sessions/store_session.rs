//! Sessions in a store: listed when the store is opened, exported one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use super::discover::Candidate;
use super::stores::{RegisteredStore, open_store};
use crate::open::store::{Export, LostRecords, Opened, SkippedSession, Store, StoredSession};
use crate::registration::Registration;
use crate::registry::Registry;

/// A session in a store.
#[derive(Clone)]
pub(super) struct StoreSession {
    /// The name in messages: the store's path, and the session's id if the path is not the session's alone.
    pub name: PathBuf,
    /// The kind of store, for people.
    pub kind: &'static str,
    /// The adapter that converts the session's export.
    pub registration: &'static Registration,
    /// True if the caller named the store.
    pub named: bool,
    /// Its share of the store's size on disk.
    pub bytes: u64,
    /// The session.
    pub session: StoredSession,
    /// The open store; `None` if it was closed and must be opened again for the export.
    store: Option<Arc<dyn Store>>,
    path: PathBuf,
}

/// The sessions of one store.
pub(super) struct StoreSessions {
    /// The sessions to convert.
    pub sessions: Vec<StoreSession>,
    /// Sessions that are not converted, with the reason.
    pub skipped: Vec<SkippedSession>,
    /// Records that no session has.
    pub lost: Vec<LostRecords>,
    /// Files of the store that cannot be read.
    pub unreadable: Vec<AdapterError>,
}

/// The sessions of the store at a candidate's path; `None` if it is not a store.
///
/// # Errors
/// As [`open_store`]; `unknown_harness` for a store without sessions that the caller named.
pub(super) fn store_sessions(
    registry: &Registry,
    candidate: &Candidate,
    limits: Limits,
) -> Result<Option<StoreSessions>, AdapterError> {
    let Some((registration, opened)) = open(registry, &candidate.path, limits)? else {
        return Ok(None);
    };
    let (kind, found) = (opened.kind(), opened.sessions().to_vec());
    let (skipped, lost, unreadable) = (
        opened.skipped().to_vec(),
        opened.lost().to_vec(),
        opened.unreadable().to_vec(),
    );
    if found.is_empty() && lost.is_empty() && unreadable.is_empty() && candidate.named {
        let error = AdapterError::new(ErrorCode::UnknownHarness)
            .expected("a session")
            .path(candidate.path.to_string_lossy());
        return Err(error.found(&format!("a store without any: {kind}")));
    }
    let share = candidate.bytes / found.len().max(1) as u64;
    // Some harnesses keep each chat in its own database: those of a home directory cannot all stay open.
    let store: Option<Arc<dyn Store>> = if found.len() > 1 {
        Some(Arc::from(opened))
    } else {
        None
    };
    let stored = |session: StoredSession| StoreSession {
        name: display_path(&session),
        kind,
        registration,
        named: candidate.named,
        bytes: share,
        session,
        store: store.clone(),
        path: candidate.path.clone(),
    };
    Ok(Some(StoreSessions {
        sessions: found.into_iter().map(stored).collect(),
        skipped,
        lost,
        unreadable,
    }))
}

fn open(registry: &Registry, path: &Path, limits: Limits) -> Opened<RegisteredStore> {
    open_store(registry, path, limits).map_err(|mut error| {
        error
            .path
            .get_or_insert_with(|| path.to_string_lossy().into_owned());
        error
    })
}

/// How messages name a session of a store: its file, followed by `#` and its id if the file does not have the id's name.
pub fn display_path(session: &StoredSession) -> PathBuf {
    if session
        .path
        .file_stem()
        .is_some_and(|stem| stem == session.id.as_str())
    {
        return session.path.clone();
    }
    let mut name = session.path.clone().into_os_string();
    name.push("#");
    name.push(&session.id);
    PathBuf::from(name)
}

impl StoreSession {
    /// The path of the store.
    pub fn container(&self) -> &Path {
        &self.path
    }

    /// The session in its harness's own export form.
    ///
    /// # Errors
    /// As [`Store::export`]; `malformed_record` if the store gives nothing: what belongs to a session must not be lost in silence.
    pub fn export(&self, registry: &Registry, limits: Limits) -> Result<Export, AdapterError> {
        let export = match &self.store {
            Some(store) => self.export_from(&**store)?,
            None => match open(registry, &self.path, limits)? {
                Some((_, store)) => self.export_from(&*store)?,
                None => {
                    return Err(
                        AdapterError::new(ErrorCode::Io).expected("the store that was there")
                    );
                }
            },
        };
        if export.text.trim_ascii().is_empty() {
            return Err(AdapterError::new(ErrorCode::MalformedRecord)
                .expected("a session")
                .found("a store that gives nothing"));
        }
        Ok(export)
    }

    fn export_from(&self, store: &dyn Store) -> Result<Export, AdapterError> {
        let export = store.export(&self.session);
        // A change may be the reason of a failure too.
        store.verify_unchanged()?;
        export
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::*;

    /// The databases of all fixtures.
    fn databases() -> Vec<PathBuf> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        let files = walkdir::WalkDir::new(fixtures)
            .sort_by_file_name()
            .into_iter()
            .flatten()
            .map(walkdir::DirEntry::into_path);
        files
            .filter(|path| {
                path.extension()
                    .is_some_and(|end| end == "db" || end == "vscdb" || end == "sqlite")
            })
            .collect()
    }

    fn session_of(store: Box<dyn Store>, path: &Path) -> StoreSession {
        let (kind, session) = (store.kind(), store.sessions()[0].clone());
        let store: Arc<dyn Store> = Arc::from(store);
        StoreSession {
            name: path.to_owned(),
            kind,
            registration: Registry::builtin().adapters().next().unwrap(),
            named: true,
            bytes: 0,
            session,
            store: Some(store),
            path: path.to_owned(),
        }
    }

    /// Every kind of database fails if another process changes it between opening and the end of an export.
    #[test]
    fn a_database_that_changes_while_it_is_read_is_an_error_for_each_kind_of_store() {
        let registry = Registry::builtin();
        let mut tried = BTreeSet::new();
        for database in databases() {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(database.file_name().unwrap());
            fs::copy(&database, &path).unwrap();
            // A database that somebody has just written is read from a copy.
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(SystemTime::now() - Duration::from_secs(3600))
                .unwrap();
            let Some((_, store)) = open_store(&registry, &path, Limits::default())
                .ok()
                .flatten()
            else {
                continue;
            };
            if store.sessions().is_empty() || !tried.insert(store.kind()) {
                continue;
            }
            let session = session_of(store, &path);
            assert!(
                session.export(&registry, Limits::default()).is_ok(),
                "{}",
                path.display()
            );
            rusqlite::Connection::open(&path)
                .unwrap()
                .execute_batch("PRAGMA user_version = 77;")
                .unwrap();
            let error = session.export(&registry, Limits::default()).unwrap_err();
            assert_eq!(error.code, ErrorCode::Io, "{}", session.kind);
        }
        let kinds = [
            "Claude Code",
            "Cursor chat",
            "Cursor editor",
            "Cursor run",
            "OpenCode",
        ];
        let missing: Vec<_> = kinds
            .iter()
            .filter(|kind| !tried.iter().any(|tried| tried.starts_with(**kind)))
            .collect();
        assert!(missing.is_empty(), "{missing:?} of {tried:?}");
    }

    /// Indexes and keys decide how fast rows are found, and nothing else.
    #[test]
    fn a_database_without_keys_gives_the_same_exports() {
        let exports = |path: &Path| {
            let (_, store) = open_store(&Registry::builtin(), path, Limits::default())
                .ok()
                .flatten()?;
            let of_session = |session| {
                let export = store.export(session).unwrap();
                (
                    session.id.clone(),
                    export.text,
                    export.context.parent_call_id,
                    export.context.later_calls,
                )
            };
            Some(store.sessions().iter().map(of_session).collect::<Vec<_>>())
        };
        let mut compared = 0;
        for database in databases() {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(database.file_name().unwrap());
            fs::copy(&database, &path).unwrap();
            let Some(with_keys) = exports(&path) else {
                continue;
            };
            let writer = rusqlite::Connection::open(&path).unwrap();
            let sql =
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
            let tables: Vec<String> = writer
                .prepare(sql)
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let mut without_keys = String::from("PRAGMA foreign_keys = OFF;");
            for table in tables {
                let copy = format!(
                    "CREATE TABLE copied AS SELECT * FROM \"{table}\" ORDER BY rowid; DROP TABLE \"{table}\";"
                );
                without_keys.push_str(&format!("{copy} ALTER TABLE copied RENAME TO \"{table}\";"));
            }
            writer.execute_batch(&without_keys).unwrap();
            drop(writer);
            for is_quiet in [false, true] {
                if is_quiet {
                    File::options()
                        .write(true)
                        .open(&path)
                        .unwrap()
                        .set_modified(SystemTime::now() - Duration::from_secs(3600))
                        .unwrap();
                }
                assert!(
                    exports(&path).as_ref() == Some(&with_keys),
                    "{}",
                    database.display()
                );
            }
            compared += with_keys.len();
        }
        assert!(compared > 20, "{compared}");
    }
}
