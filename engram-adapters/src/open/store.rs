//! Stores that hold many sessions. Each is opened into its harness's own export form, session by session.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use engram_core::adapter::SideInfo;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use super::sqlite;

/// A session in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id, as the store gives it. It may hold anything.
    pub id: String,
    /// The file or folder that it is read from.
    pub path: PathBuf,
}

/// A session that is not converted, and why: an older copy of one that is, or one whose id cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAside {
    /// The session.
    pub session: StoredSession,
    /// Why, in a sentence without a full stop.
    pub reason: &'static str,
}

/// A session in its harness's own export form.
#[derive(Debug, Clone)]
pub struct Export {
    /// The text that the adapter converts.
    pub text: String,
    /// What the rest of the store says about it.
    pub context: SideInfo,
}

/// A store open for reading.
pub trait Store: Send + Sync {
    /// What kind of store it is, for people.
    fn kind(&self) -> &'static str;

    /// Its sessions, each once, in the order of their ids.
    fn sessions(&self) -> &[StoredSession];

    /// What is in the store and not among its sessions.
    fn left_aside(&self) -> &[LeftAside];

    /// One session's export. Nothing of the others is held in memory.
    ///
    /// # Errors
    /// `io`, `malformed_record` or `limit_exceeded`, with the path.
    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError>;
}

/// A store, if the path leads to one.
pub type Opened<S> = Result<Option<S>, AdapterError>;

/// A store of any harness, if it is one.
pub type OpenedStore = Opened<Box<dyn Store>>;

/// A database that may be a store. It is opened once, whosever it is.
pub struct DatabaseFile<'p> {
    /// Where it lies.
    pub path: &'p Path,
    /// The bounds that it is read with.
    pub limits: Limits,
    /// The database.
    pub store: sqlite::Store,
    /// The names of its tables.
    pub tables: Vec<String>,
}

impl<'p> DatabaseFile<'p> {
    /// Opens the file at `path`; none when it is no database.
    ///
    /// # Errors
    /// As [`sqlite::Store::open`].
    pub fn open(path: &'p Path, limits: Limits) -> Opened<DatabaseFile<'p>> {
        if !sqlite::is_database(&beginning(path)) {
            return Ok(None);
        }
        let store = sqlite::Store::open(path, limits)?;
        let tables = store.tables().map_err(|error| error.path(path.to_string_lossy()))?;
        Ok(Some(DatabaseFile { path, limits, store, tables }))
    }

    /// True when it has that table.
    pub fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|known| known == table)
    }
}

/// The first bytes of a file, as many as it takes to tell what it is. None of a folder, or of what cannot be read.
pub(crate) fn beginning(path: &Path) -> Vec<u8> {
    let mut first = Vec::new();
    match File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut first)) {
        Ok(_) => first,
        Err(_) => Vec::new(),
    }
}

/// What is looked at to tell a database or a text.
const HEAD_BYTES: u64 = 64;

/// How the stores of one harness are opened.
pub struct Opener {
    /// The adapter that converts what they are opened into.
    pub adapter_id: &'static str,
    /// True when a folder is the root of such a store. Looks at its content only as far as that takes.
    pub is_root: fn(&Path) -> bool,
    /// True for the name of a file or folder in a root that is read with it. What else lies there is no part of the store.
    pub is_inside: fn(&str) -> bool,
    /// Opens the root folder of a store.
    pub open_root: fn(&Path, Limits) -> OpenedStore,
    /// True for a database with the tables of such a store.
    pub has_tables: fn(&DatabaseFile<'_>) -> bool,
    /// Opens such a database; none when it holds nothing of the harness's after all.
    pub open_database: fn(DatabaseFile<'_>) -> OpenedStore,
    /// Opens a file that begins so and is no database; none when it is another's.
    pub open_text: fn(&Path, &[u8], Limits) -> OpenedStore,
}

impl Opener {
    /// An opener that opens nothing, for what a harness has not.
    pub const NOTHING: Opener = Opener {
        adapter_id: "",
        is_root: |_| false,
        is_inside: |_| false,
        open_root: |_, _| Ok(None),
        has_tables: |_| false,
        open_database: |_| Ok(None),
        open_text: |_, _, _| Ok(None),
    };
}
