//! Opens SQLite stores for reading: the store on disk is never written, locked, or given a file beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode as Sqlite, OpenFlags};

use super::copies::CopyFolder;
use super::database_header::is_database;

/// Bytes of the database header.
const HEADER_BYTES: usize = 100;

/// Files beside a database that hold what it does not hold yet (`-wal`) or no longer (`-journal`).
const COMPANIONS: [&str; 2] = ["-wal", "-journal"];

/// How often a store that changes while it is copied is copied again.
const COPY_ATTEMPTS: usize = 3;

/// A store open for reading. What it reads from lives as long as this value.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    /// Where the store was copied to, when SQLite would have had to write beside it.
    _copy: Option<CopyFolder>,
}

impl Store {
    /// Opens the database at `path`, its write-ahead log or rollback journal included.
    ///
    /// A database without such a file is read where it lies, without locks. One with such a file is copied to a temporary
    /// directory first, since SQLite would otherwise write an index, or the rollback itself, beside the store.
    ///
    /// # Errors
    /// `unknown_harness` when the file is no database (or an encrypted one), `truncated_input` when it is shorter than it
    /// says, `io` when it cannot be read or does not hold still. All with the path.
    pub fn open(path: &Path, limits: Limits) -> Result<Store, AdapterError> {
        Store::opened(path, limits).map_err(|error| error.path(path.to_string_lossy()))
    }

    fn opened(path: &Path, limits: Limits) -> Result<Store, AdapterError> {
        let has_companion = COMPANIONS.iter().any(|suffix| is_filled(&beside(path, suffix)));
        check_header(path, has_companion)?;
        let (connection, copy) = if has_companion {
            let copy = copy_whole(path)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            (Connection::open_with_flags(copy.path().join(COPY_NAME), flags).map_err(refused)?, Some(copy))
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
            (Connection::open_with_flags(immutable_uri(path)?, flags).map_err(refused)?, None)
        };
        let longest = i32::try_from(limits.record_bytes).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest).map_err(refused)?;
        // A store is data: no function of its schema may run, and nothing is written, not even to a copy.
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;").map_err(refused)?;
        Ok(Store { connection, _copy: copy })
    }

    /// The connection, for queries.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The names of the ordinary tables. Views and virtual tables are left out: reading them would run what the store says.
    ///
    /// # Errors
    /// As [`refused`].
    pub fn tables(&self) -> Result<Vec<String>, AdapterError> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name";
        self.strings(sql)
    }

    /// The names of the columns of a table, in the order of the schema.
    ///
    /// # Errors
    /// As [`refused`].
    pub fn columns(&self, table: &str) -> Result<Vec<String>, AdapterError> {
        let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(refused)?;
        let rows = statement.query_map([table], |row| row.get(0)).map_err(refused)?;
        rows.collect::<Result<_, _>>().map_err(refused)
    }

    fn strings(&self, sql: &str) -> Result<Vec<String>, AdapterError> {
        let mut statement = self.connection.prepare(sql).map_err(refused)?;
        let rows = statement.query_map([], |row| row.get(0)).map_err(refused)?;
        rows.collect::<Result<_, _>>().map_err(refused)
    }
}

/// The bytes of a column, whatever type SQLite gave it. Nothing for NULL and numbers.
pub fn column(value: ValueRef<'_>) -> Vec<u8> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Vec::new(),
    }
}

/// The error that a refusal of SQLite stands for: `unknown_harness` for what is no database, `malformed_record` for a damaged
/// one, `limit_exceeded` for a value over the limit, else `io`.
pub fn refused(error: rusqlite::Error) -> AdapterError {
    let code = match error.sqlite_error_code() {
        Some(Sqlite::NotADatabase) => ErrorCode::UnknownHarness,
        Some(Sqlite::DatabaseCorrupt) => ErrorCode::MalformedRecord,
        Some(Sqlite::TooBig) => ErrorCode::LimitExceeded,
        Some(_) => ErrorCode::Io,
        // No complaint of SQLite's: a column holds another type than a reader asked for.
        None => ErrorCode::MalformedRecord,
    };
    AdapterError::new(code).expected("a readable SQLite database").found(&error.to_string())
}

/// What the copy of a store is called.
const COPY_NAME: &str = "store.db";

/// Copies a database and its companions to a new temporary directory, and again when they changed meanwhile.
fn copy_whole(path: &Path) -> Result<CopyFolder, AdapterError> {
    for _ in 0..COPY_ATTEMPTS {
        let directory = CopyFolder::new()?;
        let before = stamps(path);
        let target = directory.path().join(COPY_NAME);
        copy(path, &target)?;
        for suffix in COMPANIONS {
            let companion = beside(path, suffix);
            if is_filled(&companion) {
                copy(&companion, &beside(&target, suffix))?;
            }
        }
        if stamps(path) == before {
            return Ok(directory);
        }
    }
    Err(AdapterError::new(ErrorCode::Io).expected("a store that holds still").found("it changed while it was copied"))
}

/// Copies the bytes alone: a copy of a read-only file must be writable, for SQLite to roll it back or to index its log.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut File::create_new(to)?).map(drop)
}

/// Length and time of change of the database and its companions.
fn stamps(path: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |path: &Path| fs::metadata(path).ok().and_then(|metadata| Some((metadata.len(), metadata.modified().ok()?)));
    std::iter::once(stamp(path)).chain(COMPANIONS.iter().map(|suffix| stamp(&beside(path, suffix)))).collect()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn is_filled(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Refuses what is no database, and what ends before the size that its header states.
fn check_header(path: &Path, has_companion: bool) -> Result<(), AdapterError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    if !is_database(&header) {
        let found = if header.is_empty() { "an empty file" } else { "other bytes, or an encrypted database" };
        return Err(AdapterError::new(ErrorCode::UnknownHarness).expected("an SQLite database").found(found));
    }
    let Some(stated) = stated_length(&header) else {
        return Err(AdapterError::new(ErrorCode::TruncatedInput).expected("a whole database header"));
    };
    // The pages that a short file lacks may stand in its log.
    if length < stated && !has_companion {
        let error = AdapterError::new(ErrorCode::TruncatedInput).expected(format!("a database of {stated} bytes"));
        return Err(error.found(&format!("{length} bytes")));
    }
    Ok(())
}

/// Page size times page count, as the header states them (fileformat.html, sections 1.3.2 and 1.3.8).
fn stated_length(header: &[u8]) -> Option<u64> {
    let page_size = match u16::from_be_bytes(header.get(16..18)?.try_into().ok()?) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u32::from_be_bytes(header.get(28..32)?.try_into().ok()?);
    (header.len() == HEADER_BYTES).then_some(page_size * u64::from(pages))
}

/// The path as a URI that promises SQLite that nothing changes, so that it neither locks nor writes.
fn immutable_uri(path: &Path) -> Result<String, AdapterError> {
    let path = path.canonicalize()?;
    let Some(text) = path.to_str() else {
        return Err(AdapterError::new(ErrorCode::Io).expected("a path that is UTF-8"));
    };
    let mut uri = String::from(if text.starts_with('/') { "file:" } else { "file:///" });
    for byte in text.replace('\\', if cfg!(windows) { "/" } else { "\\" }).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b':' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A database of one row in a directory of its own.
    fn database() -> (TempDir, PathBuf, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a store%20?.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE note (text); INSERT INTO note VALUES ('first');").unwrap();
        (directory, path, writer)
    }

    fn notes(path: &Path) -> Result<Vec<String>, ErrorCode> {
        let store = Store::open(path, Limits::default()).map_err(|error| error.code)?;
        store.strings("SELECT text FROM note").map_err(|error| error.code)
    }

    fn names(directory: &TempDir) -> Vec<(OsString, Vec<u8>)> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).map(|e| (e.file_name(), fs::read(e.path()).unwrap())).collect();
        names.sort();
        names
    }

    #[test]
    fn a_clean_store_is_read_where_it_lies_and_left_as_it_is() {
        let (directory, path, writer) = database();
        drop(writer);
        let before = names(&directory);
        assert_eq!(notes(&path).unwrap(), ["first"]);
        assert_eq!(names(&directory), before);
    }

    #[test]
    fn the_log_is_read_too_and_left_as_it_is() {
        let (directory, path, writer) = database();
        writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; INSERT INTO note VALUES ('second');").unwrap();
        let before = names(&directory);
        assert_eq!(notes(&path).unwrap(), ["first", "second"]);
        assert_eq!(names(&directory), before);
        fs::remove_file(beside(&path, "-wal")).unwrap();
        assert_eq!(notes(&path).unwrap(), ["first"], "what only the log held is gone with it");
    }

    #[test]
    fn a_locked_store_is_read_and_an_open_transaction_is_not() {
        let (_directory, path, writer) = database();
        writer.execute_batch("BEGIN EXCLUSIVE; INSERT INTO note VALUES ('never');").unwrap();
        assert_eq!(notes(&path).unwrap(), ["first"]);
    }

    #[test]
    fn what_is_no_whole_database_is_refused() {
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
        assert_eq!(refusal(&whole[..whole.len() - 100]), ErrorCode::TruncatedInput);
        let mut damaged = whole.clone();
        damaged[100..].fill(0xff);
        assert_eq!(refusal(&damaged), ErrorCode::MalformedRecord);
        assert_eq!(notes(&directory.path().join("missing.db")).unwrap_err(), ErrorCode::Io);
    }

    #[test]
    fn views_are_no_tables() {
        let (_directory, path, writer) = database();
        writer.execute_batch("CREATE VIEW endless AS SELECT * FROM note; CREATE TABLE other (a, b);").unwrap();
        drop(writer);
        let store = Store::open(&path, Limits::default()).unwrap();
        assert_eq!(store.tables().unwrap(), ["note", "other"]);
        assert_eq!(store.columns("other").unwrap(), ["a", "b"]);
    }
}
