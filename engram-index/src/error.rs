//! What can go wrong, with a stable code for machines and a sentence for people.

use std::io;
use std::path::{Path, PathBuf};

/// Why the index gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no index here.
    #[error("there is no index at {}; `engram ingest --index` makes one of the sessions of this machine, `engram index add` one of other tapes", .0.display())]
    NoIndex(PathBuf),
    /// The index was made by another version of this program.
    #[error("{} has schema {found}, and this program reads {expected}; make it again with `engram index rebuild`", path.display())]
    OtherSchema {
        /// The database.
        path: PathBuf,
        /// The schema of the file.
        found: i64,
        /// The schema of this program.
        expected: i64,
    },
    /// What lies in the place of a file of the index is not a file of the index.
    #[error("{} is {what}; nothing was read or written there. Move it away, or name another directory with `--index DIR`", path.display())]
    Foreign {
        /// The place.
        path: PathBuf,
        /// What lies there.
        what: &'static str,
    },
    /// The file system failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The disk, or the size that the index may have, is full. Nothing of the tape that was being taken in is left.
    #[error("{}: no room to write; the index is as it was before this tape. Free some space and run the command again", .0.display())]
    Full(PathBuf),
    /// SQLite failed.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// The database is damaged.
    #[error("{} is damaged ({what}); delete it, or make it again with `engram index rebuild`", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite found.
        what: String,
    },
    /// The file is no valid tape.
    #[error("{}, line {line}: {what}; it was left out", path.display())]
    BadTape {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 for the whole file.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// Nothing in the index has this name.
    #[error("{0}")]
    NotFound(String),
    /// The question cannot be asked.
    #[error("{0}")]
    BadQuery(String),
}

impl Error {
    /// The stable name of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NoIndex(_) => "no_index",
            Error::OtherSchema { .. } => "index_schema",
            Error::Foreign { .. } => "index_foreign",
            Error::Io { .. } => "io",
            Error::Full(_) => "index_full",
            Error::Sqlite { .. } => "index_failed",
            Error::Damaged { .. } => "index_damaged",
            Error::BadTape { .. } => "bad_tape",
            Error::NotFound(_) => "not_found",
            Error::BadQuery(_) => "bad_query",
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full(path),
            _ => Error::Io { path, source },
        }
    }

    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase};
        use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE};
        // Readers share memory through a file (`-shm`), which needs room on the disk too. And a file that reached the limit of the process or a
        // quota cannot be written, which SQLite does not tell from a broken disk.
        let no_room = [SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE];
        if source
            .sqlite_error()
            .is_some_and(|error| no_room.contains(&error.extended_code))
        {
            return Error::Full(path.to_owned());
        }
        match source.sqlite_error_code() {
            Some(DiskFull) => Error::Full(path.to_owned()),
            Some(DatabaseCorrupt | NotADatabase) => Error::Damaged {
                path: path.to_owned(),
                what: source.to_string(),
            },
            _ => Error::Sqlite {
                path: path.to_owned(),
                source,
            },
        }
    }
}
