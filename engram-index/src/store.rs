//! The database: opened for reading or, with the lock, for writing.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::error::Error;
use crate::rows::FileRef;

/// The database in the directory of an index.
pub const DATABASE: &str = "index.db";
const LOCK: &str = "index.lock";
/// What SQLite calls a database in memory.
const MEMORY: &str = ":memory:";
/// Raised by every change of `schema.sql`, and of what is taken from a tape.
pub const SCHEMA: i64 = 13;
/// What SQLite calls the application id, "Engr": a database without it is somebody else's.
const APPLICATION: i32 = 0x456e_6772;
/// Where the header of a database has the application id, and its length up to there.
const APPLICATION_AT: usize = 68;
const HEADER: usize = APPLICATION_AT + 4;
const SQL: &str = include_str!("schema.sql");
/// Pages of the database that are kept in memory while it is written, in KiB.
const WRITE_CACHE: i64 = 128 << 10;
/// The bytes that a new database has before its first tape.
const PAGE: i64 = 4096;

/// Numbers of names, files and repositories that this run has seen.
#[derive(Debug, Default)]
pub struct Interned {
    names: HashMap<String, i64>,
    files: HashMap<FileRef, i64>,
}

/// A database that this process alone writes.
#[derive(Debug)]
pub struct Writer {
    /// The database.
    pub path: PathBuf,
    pub(crate) db: Connection,
    pub(crate) interned: Interned,
    /// True if texts have fingerprints.
    pub(crate) texts: bool,
    /// Of an index in memory, nobody else knows.
    lock: Option<File>,
}

impl Writer {
    /// Opens the index in a directory, and makes both if they are not there. Waits until no other process writes it; `wait` is called before.
    ///
    /// # Errors
    /// [`Error::OtherSchema`], or as the file system and SQLite give them.
    pub fn open(directory: &Path, wait: impl FnOnce()) -> Result<Writer, Error> {
        let lock = lock(directory, wait)?;
        Writer::at(&directory.join(DATABASE), lock)
    }

    /// As [`Writer::open`], but does not wait: `None` if another process writes it.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn try_open(directory: &Path) -> Result<Option<Writer>, Error> {
        make_directory(directory).map_err(Error::io(directory))?;
        let path = directory.join(LOCK);
        let file = open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => Writer::at(&directory.join(DATABASE), file).map(Some),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::io(&path)(error)),
        }
    }

    /// An index in memory. It takes tapes as one in a directory does, and is gone with the process; [`Writer::into_index`] makes it answer.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn in_memory() -> Result<Writer, Error> {
        let path = Path::new(MEMORY);
        let db = Connection::open_in_memory().map_err(|error| Error::sqlite(path, error))?;
        Writer::of(path, db, None)
    }

    /// Opens a database at a path, with the lock of its directory.
    pub(crate) fn at(path: &Path, lock: File) -> Result<Writer, Error> {
        let failed = |error| Error::sqlite(path, error);
        let is_new = look_at(path)? == Place::Free;
        let db = Connection::open(path).map_err(failed)?;
        own_file(path);
        db.busy_timeout(Duration::from_secs(30)).map_err(failed)?;
        let set = |name: &str, value: &dyn rusqlite::ToSql| db.pragma_update(None, name, value);
        (|| {
            if is_new {
                set("page_size", &PAGE)?;
                // Before there is a log: the file itself says whose it is, whenever this process is killed.
                set("application_id", &APPLICATION)?;
            }
            set("journal_mode", &"WAL")?;
            set("synchronous", &"NORMAL")?;
            set("cache_size", &-WRITE_CACHE)?;
            set("temp_store", &"MEMORY")?;
            set("journal_size_limit", &(8 << 20))
        })()
        .map_err(failed)?;
        Writer::of(path, db, Some(lock))
    }

    /// Makes the tables of a new database, and looks whether those of an old one are of this schema.
    fn of(path: &Path, db: Connection, lock: Option<File>) -> Result<Writer, Error> {
        let failed = |error| Error::sqlite(path, error);
        match version(&db, path)? {
            0 => {
                let sql = format!("BEGIN; {SQL} PRAGMA user_version = {SCHEMA}; COMMIT;");
                db.execute_batch(&sql).map_err(failed)?;
            }
            SCHEMA => {}
            found => {
                return Err(Error::OtherSchema {
                    path: path.to_owned(),
                    found,
                    expected: SCHEMA,
                });
            }
        }
        db.set_prepared_statement_cache_capacity(64);
        let texts = has_texts(&db).map_err(failed)?;
        Ok(Writer {
            path: path.to_owned(),
            db,
            interned: Interned::default(),
            texts,
            lock,
        })
    }

    /// Makes fingerprints of the texts of all tapes from now on: for a new index.
    pub(crate) fn keep_texts(&mut self) -> Result<(), Error> {
        let kept = self.db.execute(
            "INSERT OR REPLACE INTO setting (name, value) VALUES ('text', 1)",
            [],
        );
        self.texts = true;
        kept.map(drop).map_err(|error| self.failed(error))
    }

    /// The lock, when the database is closed.
    pub(crate) fn into_lock(self) -> Option<File> {
        self.lock
    }

    /// Limits the size of the database, for tests of a full disk: SQLite then fails as it does without room.
    ///
    /// # Errors
    /// As SQLite gives them.
    pub fn limit_size(&self, bytes: u64) -> Result<(), Error> {
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / PAGE;
        self.db
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
            .map_err(|error| self.failed(error))
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> Error {
        Error::sqlite(&self.path, error)
    }

    /// The number of a name.
    pub(crate) fn name(&mut self, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.interned.names.get(text) {
            return Ok(*id);
        }
        let id = intern(
            &self.db,
            "SELECT id FROM name WHERE text = ?1",
            "INSERT INTO name (text) VALUES (?1)",
            [text],
        )?;
        self.interned.names.insert(text.to_owned(), id);
        Ok(id)
    }

    pub(crate) fn maybe_name(&mut self, text: Option<&str>) -> rusqlite::Result<Option<i64>> {
        text.map(|text| self.name(text)).transpose()
    }

    /// The number of a file.
    pub(crate) fn file(&mut self, file: &FileRef) -> rusqlite::Result<i64> {
        if let Some(id) = self.interned.files.get(file) {
            return Ok(*id);
        }
        let repo = if file.root.is_empty() {
            0
        } else {
            let key = [file.url.as_str(), file.root.as_str()];
            intern(
                &self.db,
                "SELECT id FROM repo WHERE url = ?1 AND root = ?2",
                "INSERT INTO repo (url, root) VALUES (?1, ?2)",
                key,
            )?
        };
        let key = rusqlite::params![repo, file.path];
        let id = intern(
            &self.db,
            "SELECT id FROM file WHERE repo = ?1 AND path = ?2",
            "INSERT INTO file (repo, path) VALUES (?1, ?2)",
            key,
        )?;
        self.interned.files.insert(file.clone(), id);
        Ok(id)
    }
}

fn intern(
    db: &Connection,
    find: &str,
    add: &str,
    key: impl rusqlite::Params + Copy,
) -> rusqlite::Result<i64> {
    if let Some(id) = db
        .prepare_cached(find)?
        .query_row(key, |row| row.get(0))
        .optional()?
    {
        return Ok(id);
    }
    db.prepare_cached(add)?.insert(key)
}

/// Opens the index in a directory for reading. A writer does not disturb it.
///
/// # Errors
/// [`Error::NoIndex`], [`Error::OtherSchema`], or as SQLite gives them.
pub fn open_to_read(directory: &Path) -> Result<(PathBuf, Connection), Error> {
    let path = directory.join(DATABASE);
    if look_at(&path)? == Place::Free {
        return Err(Error::NoIndex(directory.to_owned()));
    }
    let failed = |error| Error::sqlite(&path, error);
    // What a killed process left in the log is settled by the next one that opens the database, so that one must be able to write.
    let open =
        |access| Connection::open_with_flags(&path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let db = open(OpenFlags::SQLITE_OPEN_READ_WRITE)
        .or_else(|_| open(OpenFlags::SQLITE_OPEN_READ_ONLY))
        .map_err(failed)?;
    db.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
    db.pragma_update(None, "query_only", true).map_err(failed)?;
    db.pragma_update(None, "mmap_size", 1_i64 << 30)
        .map_err(failed)?;
    db.set_prepared_statement_cache_capacity(64);
    match version(&db, &path)? {
        SCHEMA => Ok((path, db)),
        // A process is making it, or was killed before it did.
        0 => Err(Error::NoIndex(directory.to_owned())),
        found => Err(Error::OtherSchema {
            path,
            found,
            expected: SCHEMA,
        }),
    }
}

/// True if the index has fingerprints of what was said.
pub fn has_texts(db: &Connection) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM setting WHERE name = 'text' AND value = 1")?
        .exists([])
}

fn version(db: &Connection, path: &Path) -> Result<i64, Error> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| Error::sqlite(path, error))
}

fn make_directory(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// The index says which sessions there are, so only its owner may read it.
fn own_file(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The directory is its owner's alone already.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// What lies where a database should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing, or what a process left that was killed before it made an index.
    Free,
    /// An index of this program, of any schema.
    Index,
}

/// Looks at the place of a database before SQLite opens it: SQLite follows links, waits for pipes, and writes into any database.
pub(crate) fn look_at(path: &Path) -> Result<Place, Error> {
    for suffix in LOGS {
        is_there(&with_suffix(path, suffix))?;
    }
    if !is_there(path)? {
        return Ok(Place::Free);
    }
    let mut header = Vec::with_capacity(HEADER);
    let file = File::open(path).map_err(Error::io(path))?;
    file.take(HEADER as u64)
        .read_to_end(&mut header)
        .map_err(Error::io(path))?;
    if header.is_empty() {
        return Ok(Place::Free);
    }
    if header.get(APPLICATION_AT..) == Some(&APPLICATION.to_be_bytes()) {
        return Ok(Place::Index);
    }
    Err(Error::Foreign {
        path: path.to_owned(),
        what: "no index of Engram",
    })
}

/// False if nothing is there. A link, a pipe or a directory is refused: what is written there would be somewhere else.
fn is_there(path: &Path) -> Result<bool, Error> {
    let what = match path.symlink_metadata() {
        Ok(found) if found.is_file() => return Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(path)(error)),
        Ok(found) if found.is_symlink() => "a link",
        Ok(_) => "no regular file",
    };
    Err(Error::Foreign {
        path: path.to_owned(),
        what,
    })
}

/// The files that SQLite keeps beside a database.
pub(crate) const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn open_lock(path: &Path) -> Result<File, Error> {
    is_there(path)?;
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(Error::io(path))
}

/// The lock of a directory, which is made if it is not there.
pub(crate) fn lock(directory: &Path, wait: impl FnOnce()) -> Result<File, Error> {
    make_directory(directory).map_err(Error::io(directory))?;
    let path = directory.join(LOCK);
    let file = open_lock(&path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            wait();
            file.lock().map_err(Error::io(&path))?;
        }
        Err(TryLockError::Error(error)) => return Err(Error::io(&path)(error)),
    }
    Ok(file)
}
