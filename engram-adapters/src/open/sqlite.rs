//! Opens SQLite stores for reading. A store is never changed, and its schema is not trusted.

use std::io::Read;
use std::path::{Path, PathBuf};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::policy::Policy;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode as Sqlite, OpenFlags};

use super::copies::CopyDirectory;
use super::database_header::{HEADER_BYTES, is_database, stated_length};
use super::regular::regular;
use super::sqlite_copy::{COPY_NAME, State, copy, journal, log};
use super::sqlite_index::{SearchedColumn, create_indexes, without_index};
use super::table::Table;

/// How many instructions of SQLite's virtual machine run between two looks at the budget.
const INSTRUCTIONS_PER_STEP: i32 = 100_000;
/// The budget of instructions for any store, and for each of its bytes. Reading each row once takes a small part of it.
const INSTRUCTIONS: u64 = 200_000_000;
const INSTRUCTIONS_PER_BYTE: u64 = 100;

/// A store open for reading. The files that it is read from exist as long as this value.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    limits: Limits,
    in_place: Option<InPlace>,
    _copy: Option<CopyDirectory>,
}

/// A database that is read in place, and its state when it was opened.
#[derive(Debug, Clone)]
pub struct InPlace {
    path: PathBuf,
    state: State,
}

impl InPlace {
    /// Fails if the database has changed since it was opened.
    ///
    /// # Errors
    /// `io`.
    pub fn verify_unchanged(&self) -> Result<(), AdapterError> {
        if State::of(&self.path) == self.state {
            return Ok(());
        }
        let error = AdapterError::new(ErrorCode::Io)
            .expected("a store that does not change while it is read");
        Err(error
            .found("another process has changed it")
            .path(self.path.to_string_lossy()))
    }
}

impl Store {
    /// Opens the database at `path`, with its write-ahead log or rollback journal.
    ///
    /// A database that nobody writes is read in place, without locks. Any other is copied to a temporary directory first, as it was at one
    /// moment.
    ///
    /// # Errors
    /// `unknown_harness` if the file is not a database (or an encrypted one), `truncated_input` if it is shorter than its header says,
    /// `io` if it cannot be read or changes all the time. All have the path.
    pub fn open(path: &Path, limits: Limits) -> Result<Store, AdapterError> {
        // No policy converts the beginning of a database.
        Store::opened(path, limits)
            .map_err(|error| error.path(path.to_string_lossy()).under(Policy::Permissive))
    }

    fn opened(path: &Path, limits: Limits) -> Result<Store, AdapterError> {
        refuse_links(path)?;
        let state = State::of(path);
        let in_place = InPlace {
            path: path.to_owned(),
            state,
        };
        // A header and a length of two states contradict each other.
        check_header(path, in_place.state.has_companion())
            .or_else(|error| in_place.verify_unchanged().and(Err(error)))?;
        if !in_place.state.is_quiet() {
            return Store::of_copy(path, limits);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection =
            Connection::open_with_flags(immutable_uri(path)?, flags).map_err(refused)?;
        let bytes = in_place.state.database_bytes();
        let mut store = Store {
            connection,
            limits,
            in_place: Some(in_place),
            _copy: None,
        };
        store.restrict(bytes).map_err(refused)?;
        Ok(store)
    }

    fn of_copy(path: &Path, limits: Limits) -> Result<Store, AdapterError> {
        let copy = copy(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(copy.path().join(COPY_NAME), flags).map_err(refused)?;
        let bytes = copy.path().join(COPY_NAME).metadata()?.len();
        let mut store = Store {
            connection,
            limits,
            in_place: None,
            _copy: Some(copy),
        };
        store.restrict(bytes).map_err(refused)?;
        Ok(store)
    }

    /// A store is data: nothing in its schema may run, nothing is written, and no query of a database of so many bytes takes longer than
    /// reading all of it would.
    fn restrict(&mut self, bytes: u64) -> rusqlite::Result<()> {
        let longest = i32::try_from(self.limits.record_bytes).unwrap_or(i32::MAX);
        self.connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, longest)?;
        self.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        self.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        self.connection.execute_batch("PRAGMA query_only = ON;")?;
        let budget = INSTRUCTIONS.saturating_add(bytes.saturating_mul(INSTRUCTIONS_PER_BYTE));
        let mut steps = budget / INSTRUCTIONS_PER_STEP as u64;
        self.connection.progress_handler(
            INSTRUCTIONS_PER_STEP,
            Some(move || {
                steps = steps.saturating_sub(1);
                steps == 0
            }),
        )
    }

    /// The same store with an index on each of these columns, so that no search of them reads a whole table.
    ///
    /// Most harnesses create these indexes, so most stores are read as they are. A store that lacks one is copied, and the copy gets it. If
    /// that fails, the store is read without it: slowly, but within its budget.
    #[must_use]
    pub fn with_indexes(self, columns: &[SearchedColumn]) -> Store {
        let missing = without_index(&self.connection, columns).unwrap_or_default();
        if missing.is_empty() {
            return self;
        }
        let Some(InPlace { path, .. }) = &self.in_place else {
            // It is a copy already.
            let _ = create_indexes(&self.connection, &missing);
            return self;
        };
        match Store::of_copy(path, self.limits) {
            // What was read before the copy was made must be true of it.
            Ok(copy)
                if create_indexes(&copy.connection, &missing).is_ok()
                    && self.verify_unchanged().is_ok() =>
            {
                Store {
                    in_place: self.in_place,
                    ..copy
                }
            }
            _ => self,
        }
    }

    /// The connection, for queries.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The database, if it is read in place.
    pub fn in_place(&self) -> Option<&InPlace> {
        self.in_place.as_ref()
    }

    /// Fails if the store has changed since it was opened: what was read may be of two states, and SQLite may have refused to read it for
    /// that reason. Call it after reading.
    ///
    /// # Errors
    /// `io`.
    pub fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.in_place
            .as_ref()
            .map_or(Ok(()), InPlace::verify_unchanged)
    }

    /// The plain tables. Views, virtual tables and tables with generated columns are left out: reading them would run what the
    /// store says.
    ///
    /// # Errors
    /// As [`refused`]; `malformed_record` if the name of a column is not UTF-8.
    pub fn tables(&self) -> Result<Vec<Table>, AdapterError> {
        let names = self.strings(
            "SELECT name FROM pragma_table_list AS entry WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
             AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(entry.name) WHERE hidden <> 0) ORDER BY name",
        )?;
        // The names of a query's columns are read without a check later on, so all must be text.
        names
            .into_iter()
            .map(|name| {
                Ok(Table {
                    columns: self.columns(&name)?,
                    name,
                })
            })
            .collect()
    }

    /// The names of the columns of a table, in the order of the schema.
    ///
    /// # Errors
    /// As [`refused`].
    pub fn columns(&self, table: &str) -> Result<Vec<String>, AdapterError> {
        let mut statement = self
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .map_err(refused)?;
        let rows = statement
            .query_map([table], |row| row.get(0))
            .map_err(refused)?;
        rows.collect::<Result<_, _>>().map_err(refused)
    }

    fn strings(&self, sql: &str) -> Result<Vec<String>, AdapterError> {
        let mut statement = self.connection.prepare(sql).map_err(refused)?;
        let rows = statement.query_map([], |row| row.get(0)).map_err(refused)?;
        rows.collect::<Result<_, _>>().map_err(refused)
    }
}

/// The number that a query gives.
///
/// # Errors
/// As [`refused`].
pub fn count(store: &Store, sql: &str) -> Result<u64, AdapterError> {
    let number: i64 = store
        .connection()
        .query_row(sql, [], |row| row.get(0))
        .map_err(refused)?;
    Ok(u64::try_from(number).unwrap_or_default())
}

/// The bytes of a column, whatever type SQLite gave it. Nothing for NULL and numbers.
pub fn column(value: ValueRef<'_>) -> Vec<u8> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Vec::new(),
    }
}

/// The error for a refusal of SQLite: `unknown_harness` for what is not a database, `malformed_record` for a damaged one, `limit_exceeded`
/// for a value or an effort over the limit, else `io`.
pub fn refused(error: rusqlite::Error) -> AdapterError {
    let code = match error.sqlite_error_code() {
        Some(Sqlite::NotADatabase) => ErrorCode::UnknownHarness,
        Some(Sqlite::DatabaseCorrupt) => ErrorCode::MalformedRecord,
        Some(Sqlite::TooBig | Sqlite::OperationInterrupted) => ErrorCode::LimitExceeded,
        Some(_) => ErrorCode::Io,
        // SQLite has no objection: a column has another type than a reader asked for.
        None => ErrorCode::MalformedRecord,
    };
    AdapterError::new(code)
        .expected("a readable SQLite database")
        .found(&error.to_string())
        .under(Policy::Permissive)
}

/// Refuses a link in the place of a log: it could lead to that of another database.
fn refuse_links(path: &Path) -> Result<(), AdapterError> {
    let is_link = |log: &PathBuf| log.symlink_metadata().is_ok_and(|found| found.is_symlink());
    match [log(path), journal(path)].iter().find(|log| is_link(log)) {
        Some(log) => {
            let error = AdapterError::new(ErrorCode::Io)
                .expected("a regular file as the log of a database");
            Err(error.found(&format!("a link, {}", log.to_string_lossy())))
        }
        None => Ok(()),
    }
}

/// Refuses what is not a database, and what ends before the size that its header says.
fn check_header(path: &Path, has_companion: bool) -> Result<(), AdapterError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let file = regular(path)?;
    let length = file.metadata()?.len();
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    if !is_database(&header) {
        let found = if header.is_empty() {
            "an empty file"
        } else {
            "other bytes, or an encrypted database"
        };
        return Err(AdapterError::new(ErrorCode::UnknownHarness)
            .expected("an SQLite database")
            .found(found));
    }
    let Some(stated) = stated_length(&header) else {
        return Err(
            AdapterError::new(ErrorCode::TruncatedInput).expected("a whole database header")
        );
    };
    // The pages that a short file lacks may be in its log.
    if length < stated && !has_companion {
        let error = AdapterError::new(ErrorCode::TruncatedInput)
            .expected(format!("a database of {stated} bytes"));
        return Err(error.found(&format!("{length} bytes")));
    }
    Ok(())
}

/// The path as a URI that promises SQLite that nothing changes, so that it neither locks nor writes.
fn immutable_uri(path: &Path) -> Result<String, AdapterError> {
    let path = path.canonicalize()?;
    let Some(text) = path.to_str() else {
        return Err(AdapterError::new(ErrorCode::Io).expected("a path that is UTF-8"));
    };
    let mut uri = String::from(if text.starts_with('/') {
        "file:"
    } else {
        "file:///"
    });
    for byte in text
        .replace('\\', if cfg!(windows) { "/" } else { "\\" })
        .bytes()
    {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b':' => {
                uri.push(char::from(byte))
            }
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use tempfile::TempDir;

    use super::*;

    /// A database of one row in a directory of its own.
    fn database() -> (TempDir, PathBuf, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a store%20?.db");
        let writer = Connection::open(&path).unwrap();
        writer
            .execute_batch("CREATE TABLE note (text); INSERT INTO note VALUES ('first');")
            .unwrap();
        (directory, path, writer)
    }

    fn notes(path: &Path) -> Result<Vec<String>, ErrorCode> {
        let store = Store::open(path, Limits::default()).map_err(|error| error.code)?;
        store
            .strings("SELECT text FROM note")
            .map_err(|error| error.code)
    }

    fn names(directory: &TempDir) -> Vec<(OsString, Vec<u8>)> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|e| (e.file_name(), fs::read(e.path()).unwrap()))
            .collect();
        names.sort();
        names
    }

    /// Makes the database look as if nobody had written it for a long time.
    fn age(path: &Path) {
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(SystemTime::now() - Duration::from_secs(3600))
            .unwrap();
    }

    #[test]
    fn a_quiet_store_is_read_in_place_and_a_new_one_from_a_copy() {
        let (directory, path, writer) = database();
        drop(writer);
        for is_quiet in [false, true] {
            if is_quiet {
                age(&path);
            }
            let before = names(&directory);
            let store = Store::open(&path, Limits::default()).unwrap();
            assert_eq!(store.in_place.is_some(), is_quiet);
            assert_eq!(store.strings("SELECT text FROM note").unwrap(), ["first"]);
            assert_eq!(names(&directory), before);
        }
    }

    #[test]
    fn a_store_that_changes_while_it_is_read_is_noticed() {
        let (_directory, path, writer) = database();
        age(&path);
        let store = Store::open(&path, Limits::default()).unwrap();
        assert!(store.verify_unchanged().is_ok());
        writer
            .execute_batch("INSERT INTO note VALUES ('second');")
            .unwrap();
        assert_eq!(store.verify_unchanged().unwrap_err().code, ErrorCode::Io);
    }

    /// A row of each table has the number of the last commit. A copy with two numbers is of two states.
    #[test]
    fn copies_of_a_store_in_use_are_of_one_state() {
        for mode in ["DELETE", "WAL"] {
            let (_directory, path, writer) = database();
            let tables = (0..20)
                .map(|n| format!("CREATE TABLE t{n} (commit_number, padding);"))
                .collect::<String>();
            writer.pragma_update(None, "journal_mode", mode).unwrap();
            writer.busy_timeout(Duration::from_secs(10)).unwrap();
            writer.execute_batch(&tables).unwrap();
            let is_done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let flag = is_done.clone();
            let writing = std::thread::spawn(move || {
                let mut number = 0;
                while !flag.load(std::sync::atomic::Ordering::Relaxed) {
                    number += 1;
                    let rows = (0..20).map(|n| {
                        format!(
                            "DELETE FROM t{n}; INSERT INTO t{n} VALUES ({number}, zeroblob(3000));"
                        )
                    });
                    writer
                        .execute_batch(&format!("BEGIN;{}COMMIT;", rows.collect::<String>()))
                        .unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            let query = (0..20)
                .map(|n| format!("SELECT commit_number FROM t{n}"))
                .collect::<Vec<_>>()
                .join(" UNION ");
            let mut read = 0;
            for _ in 0..15 {
                // A store that changes all the time may be refused, but never read wrongly.
                let Ok(store) = Store::open(&path, Limits::default()) else {
                    continue;
                };
                let mut statement = store.connection().prepare(&query).unwrap();
                let numbers: Vec<i64> = statement
                    .query_map([], |row| row.get(0))
                    .unwrap()
                    .map(Result::unwrap)
                    .collect();
                assert!(numbers.len() <= 1, "{mode}: {numbers:?}");
                read += 1;
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            writing.join().unwrap();
            assert!(read > 0, "{mode}");
        }
    }

    #[test]
    fn the_log_is_read_too_and_left_as_it_is() {
        let (directory, path, writer) = database();
        writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; INSERT INTO note VALUES ('second');").unwrap();
        let before = names(&directory);
        assert_eq!(notes(&path).unwrap(), ["first", "second"]);
        assert_eq!(names(&directory), before);
        fs::remove_file(log(&path)).unwrap();
        assert_eq!(
            notes(&path).unwrap(),
            ["first"],
            "what only the log had is gone with it"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_log_is_refused() {
        let (directory, path, writer) = database();
        drop(writer);
        fs::write(directory.path().join("other.db-wal"), "").unwrap();
        for log in [log(&path), journal(&path)] {
            std::os::unix::fs::symlink(directory.path().join("other.db-wal"), &log).unwrap();
            assert_eq!(notes(&path).unwrap_err(), ErrorCode::Io);
            fs::remove_file(&log).unwrap();
        }
        assert_eq!(notes(&path).unwrap(), ["first"]);
    }

    #[test]
    fn a_locked_store_is_read_and_an_open_transaction_is_not() {
        let (_directory, path, writer) = database();
        writer
            .execute_batch("BEGIN EXCLUSIVE; INSERT INTO note VALUES ('never');")
            .unwrap();
        assert_eq!(notes(&path).unwrap(), ["first"]);
    }

    #[test]
    fn a_file_that_is_not_a_complete_database_is_refused() {
        let (directory, path, writer) = database();
        drop(writer);
        let whole = fs::read(&path).unwrap();
        let refusal = |bytes: &[u8]| {
            let path = directory.path().join("other.db");
            fs::write(&path, bytes).unwrap();
            notes(&path).unwrap_err()
        };
        assert_eq!(refusal(b""), ErrorCode::UnknownHarness);
        assert_eq!(refusal(&[0x5a; 4096]), ErrorCode::UnknownHarness);
        assert_eq!(refusal(&whole[..50]), ErrorCode::TruncatedInput);
        assert_eq!(
            refusal(&whole[..whole.len() - 100]),
            ErrorCode::TruncatedInput
        );
        fs::write(&path, &whole[..whole.len() - 100]).unwrap();
        let message = Store::open(&path, Limits::default())
            .err()
            .unwrap()
            .to_string();
        assert!(!message.contains("--policy"), "{message}");
        let mut damaged = whole.clone();
        damaged[100..].fill(0xff);
        assert_eq!(refusal(&damaged), ErrorCode::MalformedRecord);
        assert_eq!(
            notes(&directory.path().join("missing.db")).unwrap_err(),
            ErrorCode::NotFound
        );
    }

    #[test]
    fn only_plain_tables_are_listed() {
        let (_directory, path, writer) = database();
        let schema = "CREATE VIEW endless AS SELECT * FROM note; CREATE TABLE other (a, b);
            CREATE TABLE computed (a, b AS (hex(zeroblob(1000000))));";
        writer.execute_batch(schema).unwrap();
        drop(writer);
        let store = Store::open(&path, Limits::default()).unwrap();
        let tables = store.tables().unwrap();
        assert_eq!(
            tables
                .iter()
                .map(|table| table.name.as_str())
                .collect::<Vec<_>>(),
            ["note", "other"]
        );
        assert_eq!(tables[1].columns, ["a", "b"]);
    }

    #[test]
    fn a_name_of_a_column_that_is_not_utf_8_is_an_error() {
        let (_directory, path, writer) = database();
        writer.execute_batch("CREATE TABLE other (aname);").unwrap();
        drop(writer);
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes
            .windows(7)
            .position(|window| window == b"(aname)")
            .unwrap();
        bytes[at + 1] = 0xff;
        fs::write(&path, bytes).unwrap();
        let store = Store::open(&path, Limits::default()).unwrap();
        assert_eq!(store.tables().unwrap_err().code, ErrorCode::MalformedRecord);
    }

    #[test]
    fn an_endless_query_ends() {
        let (_directory, path, writer) = database();
        drop(writer);
        let store = Store::open(&path, Limits::default()).unwrap();
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT text FROM note, n WHERE x < 0";
        assert_eq!(
            store.strings(endless).unwrap_err().code,
            ErrorCode::LimitExceeded
        );
    }
}
