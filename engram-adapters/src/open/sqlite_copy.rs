//! Consistent copies of databases that another process may be writing.
//!
//! SQLite never opens the database itself, so it takes no lock, and no writer fails because of a copy. The bytes are copied, and the copy is
//! used only if nothing that matters changed meanwhile. What matters depends on the journal mode. A write-ahead log may grow: SQLite ignores
//! an incomplete end of it. The database itself may not change, and the log may not start again.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use engram_core::error::{AdapterError, ErrorCode};

use super::bounds::COPY_BYTES;
use super::copies::{CopyDirectory, new_file};
use super::database_header::stated_length;
use super::journal::{self, Journal};
use super::regular::regular;

/// The file name of the database in a copy.
pub(super) const COPY_NAME: &str = "store.db";
/// The pauses before further attempts to copy a database that changes. A harness that works commits several times per second.
const PAUSES: [Duration; 7] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(320),
    Duration::from_millis(640),
    Duration::from_millis(1280),
    Duration::from_millis(1280),
];
/// A database that has not changed for so long is read in place.
const QUIET: Duration = Duration::from_secs(5);
/// Bytes at the beginning of a database, with the counter of its changes.
const DATABASE_HEADER: usize = 100;
/// Bytes at the beginning of a write-ahead log, with the numbers that change when it starts again.
const LOG_HEADER: usize = 32;
/// Bytes that are copied at once. Where all of them are zero, nothing is written, so that a sparse file stays one.
const CHUNK: usize = 64 << 10;

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
            log: stamp(&log(path), LOG_HEADER)
                .filter(|(length, ..)| *length > 0)
                .map(|(.., head)| head),
            journal: stamp(&journal(path), 0).filter(|(length, ..)| *length > 0),
        }
    }

    /// True if a file beside the database has a part of its content.
    pub fn has_companion(&self) -> bool {
        self.log.is_some() || self.journal.is_some()
    }

    /// True if nobody seems to write the database now.
    pub fn is_quiet(&self) -> bool {
        let changed = self.database.as_ref().and_then(|(_, changed, _)| *changed);
        !self.has_companion()
            && changed.is_some_and(|changed| changed.elapsed().is_ok_and(|age| age > QUIET))
    }

    /// The bytes of the database: as many as its header says. A file may have more, such as a hole of any size. SQLite before 3.7 left the
    /// number of pages as it was, which the two counters of the header show (fileformat.html, section 1.3.8).
    pub fn database_bytes(&self) -> u64 {
        let Some((length, _, header)) = &self.database else {
            return 0;
        };
        let stated = stated_length(header)
            .filter(|stated| *stated > 0 && header.get(24..28) == header.get(92..96));
        stated.map_or(*length, |stated| stated.min(*length))
    }
}

/// Copies the database to a temporary directory, as it was at one moment.
///
/// # Errors
/// `io` if it does not stop changing, or cannot be read; `limit_exceeded` if it is too large; `incomplete_store` for a journal that cannot
/// be used.
pub(super) fn copy(path: &Path) -> Result<CopyDirectory, AdapterError> {
    for pause in PAUSES {
        let before = State::of(path);
        let copied = copy_files(path, before.database_bytes());
        // What changes while it is read may look like anything.
        if State::of(path) == before {
            return copied;
        }
        drop(copied);
        thread::sleep(pause);
    }
    let error = AdapterError::new(ErrorCode::Io)
        .expected("a store that another process does not change all the time");
    Err(error.found("it changed during each attempt to copy it"))
}

/// Copies the bytes of the database and of the files beside it.
fn copy_files(path: &Path, mut database: u64) -> Result<CopyDirectory, AdapterError> {
    let directory = CopyDirectory::new()?;
    let target = directory.path().join(COPY_NAME);
    let mut room = COPY_BYTES;
    let old = journal(path);
    if is_filled(&old) {
        let copied = journal(&target);
        copy_bytes(&old, &copied, None, &mut journal::most(database).min(room))?;
        match journal::look(&copied)? {
            // The transaction may have made the database smaller.
            Journal::Hot { database: before } => database = database.max(before),
            Journal::Idle => fs::remove_file(&copied)?,
        }
    }
    copy_bytes(path, &target, Some(database), &mut room)?;
    if is_filled(&log(path)) {
        copy_bytes(&log(path), &log(&target), None, &mut room)?;
    }
    Ok(directory)
}

/// Copies the content alone, at most `length` bytes: a copy of a read-only file must be writable, for SQLite to roll it back or to index
/// its log. Only its owner can read the copy.
fn copy_bytes(
    from: &Path,
    to: &Path,
    length: Option<u64>,
    room: &mut u64,
) -> Result<(), AdapterError> {
    let source = regular(from)?;
    let length = source.metadata()?.len().min(length.unwrap_or(u64::MAX));
    if length > *room {
        let error = AdapterError::new(ErrorCode::LimitExceeded)
            .expected(format!("at most {room} bytes to copy of a store in use"));
        return Err(error.found(&format!("{length} bytes in {}", from.to_string_lossy())));
    }
    *room -= length;
    let (mut source, mut target) = (source.take(length), new_file(to)?);
    let (mut chunk, mut copied) = (vec![0; CHUNK], 0);
    loop {
        let read = source.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        copied += read as u64;
        if chunk[..read].iter().all(|byte| *byte == 0) {
            target.seek(SeekFrom::Start(copied))?;
        } else {
            target.write_all(&chunk[..read])?;
        }
    }
    Ok(target.set_len(copied)?)
}

fn stamp(path: &Path, head: usize) -> Stamp {
    let file = regular(path).ok()?;
    let metadata = file.metadata().ok()?;
    let mut first = Vec::with_capacity(head);
    file.take(head as u64).read_to_end(&mut first).ok()?;
    Some((metadata.len(), metadata.modified().ok(), first))
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Instant;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;

    /// A database of one row, in use, in a directory of its own.
    fn database() -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let writer = Connection::open(&path).unwrap();
        writer
            .execute_batch("CREATE TABLE note (text); INSERT INTO note VALUES ('first');")
            .unwrap();
        (directory, path)
    }

    fn notes(copy: &CopyDirectory) -> i64 {
        let copy = Connection::open(copy.path().join(COPY_NAME)).unwrap();
        copy.query_row("SELECT count(*) FROM note", [], |row| row.get(0))
            .unwrap()
    }

    /// A journal that rolls back the first page and names a super-journal, as `sqlite3PagerSetSuper` writes it.
    fn journal_with_super(database: &[u8], name: &str) -> Vec<u8> {
        let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
        let size = usize::from(u16::from_be_bytes([database[16], database[17]]));
        let (nonce, page) = (12345_u32, &database[..size]);
        let sum = (1..)
            .map(|n| size.checked_sub(200 * n).filter(|at| *at > 0))
            .map_while(|at| at)
            .map(|at| u32::from(page[at]))
            .sum::<u32>();
        let numbers = [1, nonce, (database.len() / size) as u32, 512, size as u32];
        let mut journal = [&magic[..], &numbers.map(u32::to_be_bytes).concat()].concat();
        journal.resize(512, 0);
        journal.extend(1_u32.to_be_bytes());
        journal.extend(page);
        journal.extend(nonce.wrapping_add(sum).to_be_bytes());
        journal.extend((0x4000_0000 / size as u32 + 1).to_be_bytes());
        journal.extend(name.as_bytes());
        journal.extend((name.len() as u32).to_be_bytes());
        journal.extend(name.bytes().map(u32::from).sum::<u32>().to_be_bytes());
        journal.extend(magic);
        journal
    }

    #[cfg(unix)]
    #[test]
    fn a_super_journal_is_never_opened() {
        let (directory, path) = database();
        let pipe = directory.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let bytes = fs::read(&path).unwrap();
        fs::write(
            journal(&path),
            journal_with_super(&bytes, pipe.to_str().unwrap()),
        )
        .unwrap();
        let began = Instant::now();
        assert_eq!(copy(&path).err().unwrap().code, ErrorCode::IncompleteStore);
        assert!(began.elapsed() < Duration::from_secs(5));
        // Without the super-journal it is a journal as any other.
        let whole = fs::read(journal(&path)).unwrap();
        let own = whole.len() - 16 - pipe.to_str().unwrap().len() - 4;
        fs::write(journal(&path), &whole[..own]).unwrap();
        assert_eq!(notes(&copy(&path).unwrap()), 1);
        assert!(
            journal(&path).exists() && fs::read(&path).unwrap() == bytes,
            "the store stays as it is"
        );
    }

    #[test]
    fn what_no_journal_is_left_out_and_one_beyond_all_bounds_is_refused() {
        let (_directory, path) = database();
        fs::write(journal(&path), "not a journal, but in its place").unwrap();
        let copied = copy(&path).unwrap();
        assert!(!journal(&copied.path().join(COPY_NAME)).exists());
        assert_eq!(notes(&copied), 1);
        File::options()
            .write(true)
            .open(journal(&path))
            .unwrap()
            .set_len(2 << 30)
            .unwrap();
        assert_eq!(copy(&path).err().unwrap().code, ErrorCode::LimitExceeded);
    }

    #[test]
    fn a_hole_behind_the_database_is_not_copied() {
        let (_directory, path) = database();
        let stated = fs::metadata(&path).unwrap().len();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(100 << 30)
            .unwrap();
        let copied = copy(&path).unwrap();
        assert_eq!(
            fs::metadata(copied.path().join(COPY_NAME)).unwrap().len(),
            stated
        );
        assert_eq!(notes(&copied), 1);
        let mut header = fs::read(copied.path().join(COPY_NAME)).unwrap();
        header[28..32].fill(0xff);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .write_all(&header)
            .unwrap();
        assert_eq!(copy(&path).err().unwrap().code, ErrorCode::LimitExceeded);
    }

    #[cfg(unix)]
    #[test]
    fn a_copy_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, path) = database();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(log(&path), "a log").unwrap();
        let copied = copy(&path).unwrap();
        notes(&copied);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(copied.path()), 0o700);
        for entry in fs::read_dir(copied.path()).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        }
    }

    /// A writer that does not wait for locks, as a harness without a busy timeout.
    #[test]
    fn a_copy_never_makes_a_writer_fail() {
        for mode in ["DELETE", "WAL"] {
            let (_directory, path) = database();
            let writer = Connection::open(&path).unwrap();
            writer.pragma_update(None, "journal_mode", mode).unwrap();
            writer.busy_timeout(Duration::ZERO).unwrap();
            writer
                .execute_batch(
                    "CREATE TABLE pad (a); INSERT INTO pad VALUES (randomblob(20000000));",
                )
                .unwrap();
            let (done, failures) = (AtomicBool::new(false), AtomicU64::new(0));
            let (is_done, failed) = (&done, &failures);
            let commits = thread::scope(|scope| {
                let writing = scope.spawn(move || {
                    let mut commits = 0;
                    while !is_done.load(Ordering::Relaxed) {
                        let failure = writer
                            .execute_batch("INSERT INTO note VALUES ('next')")
                            .is_err();
                        failed.fetch_add(u64::from(failure), Ordering::Relaxed);
                        commits += 1;
                        thread::sleep(Duration::from_millis(2));
                    }
                    commits
                });
                // A store that changes all the time may be refused.
                let copied = copy(&path);
                is_done.store(true, Ordering::Relaxed);
                assert!(copied.is_ok() || mode == "DELETE");
                writing.join().unwrap()
            });
            assert!(commits > 1, "{mode}: {commits} commits");
            assert_eq!(failures.into_inner(), 0, "{mode}: of {commits} commits");
            assert!(copy(&path).is_ok(), "{mode}: the writer has stopped");
        }
    }
}
