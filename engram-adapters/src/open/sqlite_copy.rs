//! Consistent copies of databases that another process may be writing.
//!
//! A copy is used only if nothing that matters changed while it was made. What matters depends on the journal mode. A write-ahead log may
//! grow: SQLite ignores an incomplete end of it. The database itself may not change, and the log may not start again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use engram_core::error::{AdapterError, ErrorCode};
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::copies::CopyDirectory;

/// The file name of the database in a copy.
pub(super) const COPY_NAME: &str = "store.db";
/// The pauses before further attempts to copy a database that changes. A harness that works commits several times per second.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(320),
    Duration::from_millis(1280),
];
/// A database that has not changed for so long is read in place.
const QUIET: Duration = Duration::from_secs(5);
/// Bytes at the beginning of a database, with the counter of its changes.
const DATABASE_HEADER: usize = 100;
/// Bytes at the beginning of a write-ahead log, with the numbers that change when it starts again.
const LOG_HEADER: usize = 32;

/// What shows that a file has changed: its length, its time of change, and its first bytes.
type Stamp = Option<(u64, Option<SystemTime>, Vec<u8>)>;

/// The state of a database and of the files beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    database: Stamp,
    log: Option<Vec<u8>>,
    journal: Stamp,
}

impl State {
    pub fn of(path: &Path) -> State {
        State {
            database: stamp(path, DATABASE_HEADER),
            // The log may grow, so only its beginning counts.
            log: stamp(&log(path), LOG_HEADER).filter(|(length, ..)| *length > 0).map(|(.., head)| head),
            journal: stamp(&journal(path), 0).filter(|(length, ..)| *length > 0),
        }
    }

    /// True if a file beside the database has a part of its content.
    pub fn has_companion(&self) -> bool {
        self.log.is_some() || self.journal.is_some()
    }

    /// True if the database uses a write-ahead log (fileformat.html, section 1.3.3).
    fn uses_log(&self) -> bool {
        self.log.is_some() || self.database.as_ref().is_some_and(|(.., header)| header.get(18..20) == Some(&[2, 2]))
    }

    /// True if nobody seems to write the database now.
    pub fn is_quiet(&self) -> bool {
        let changed = self.database.as_ref().and_then(|(_, changed, _)| *changed);
        !self.has_companion() && changed.is_some_and(|changed| changed.elapsed().is_ok_and(|age| age > QUIET))
    }
}

/// Copies the database to a temporary directory, as it was at one moment.
///
/// # Errors
/// `io` if it does not stop changing, or cannot be read.
pub(super) fn copy(path: &Path) -> Result<CopyDirectory, AdapterError> {
    for pause in PAUSES {
        let before = State::of(path);
        // A read transaction is exact, and writes nothing unless the database uses a log.
        if !before.uses_log()
            && let Some(copied) = copy_in_transaction(path)?
        {
            return Ok(copied);
        }
        let copied = copy_files(path)?;
        if State::of(path) == before {
            return Ok(copied);
        }
        thread::sleep(pause);
    }
    let error = AdapterError::new(ErrorCode::Io).expected("a store that another process does not change all the time");
    Err(error.found("it changed during each attempt to copy it"))
}

/// Copies the database in one read transaction. `None` if a writer has locked it, or it must be rolled back first.
fn copy_in_transaction(path: &Path) -> Result<Option<CopyDirectory>, AdapterError> {
    let directory = CopyDirectory::new()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = Connection::open_with_flags(path, flags).and_then(|source| {
        let mut target = Connection::open(directory.path().join(COPY_NAME))?;
        Backup::new(&source, &mut target)?.step(-1)
    });
    Ok(matches!(copied, Ok(rusqlite::backup::StepResult::Done)).then_some(directory))
}

/// Copies the bytes of the database and of the files beside it.
fn copy_files(path: &Path) -> io::Result<CopyDirectory> {
    let directory = CopyDirectory::new()?;
    let target = directory.path().join(COPY_NAME);
    copy_bytes(path, &target)?;
    for (from, to) in [(log(path), log(&target)), (journal(path), journal(&target))] {
        if is_filled(&from) {
            copy_bytes(&from, &to)?;
        }
    }
    Ok(directory)
}

/// Copies the content alone: a copy of a read-only file must be writable, for SQLite to roll it back or to index its log.
fn copy_bytes(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut File::create_new(to)?).map(drop)
}

fn stamp(path: &Path, head: usize) -> Stamp {
    // Opening a named pipe would wait for its other end.
    let file = is_regular(path).then(|| File::open(path).ok())??;
    let metadata = file.metadata().ok()?;
    let mut first = Vec::with_capacity(head);
    file.take(head as u64).read_to_end(&mut first).ok()?;
    Some((metadata.len(), metadata.modified().ok(), first))
}

fn is_regular(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn is_filled(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// The write-ahead log of a database.
pub(super) fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The rollback journal of a database.
pub(super) fn journal(path: &Path) -> PathBuf {
    beside(path, "-journal")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
