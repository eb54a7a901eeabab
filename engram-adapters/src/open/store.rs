//! The types of stores, which contain many sessions. Each session is exported in its harness's own form.

use std::fmt;
use std::path::{Path, PathBuf};

use engram_core::adapter::SideInfo;
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use super::database::DatabaseFile;
pub use super::database::Opened;
#[cfg(feature = "sqlite")]
use super::sqlite;

/// A session in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id in the store. It may contain any characters.
    pub id: String,
    /// The file or directory that it is read from.
    pub path: PathBuf,
}

/// A session that is not converted: an older copy of another one, or a session whose id cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedSession {
    /// The session.
    pub session: StoredSession,
    /// The reason, without a full stop.
    pub reason: &'static str,
}

/// Records of a store that no session has, or that lack the records that belong to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecords {
    /// The file or directory that contains them.
    pub path: PathBuf,
    /// The table or file of the store that they are in.
    pub table: String,
    /// How many there are.
    pub records: u64,
    /// What they are and what they lack, in the plural.
    pub what: &'static str,
}

impl LostRecords {
    /// The error under strict policy.
    pub fn error(&self) -> AdapterError {
        let error =
            AdapterError::new(ErrorCode::IncompleteStore).expected("a session for each record");
        error
            .found(&self.to_string())
            .path(self.path.to_string_lossy())
    }
}

impl fmt::Display for LostRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} in {}", self.what, self.records, self.table)
    }
}

/// The records that searches find: each a table, a condition, and what the records are.
///
/// # Errors
/// As [`sqlite::refused`].
#[cfg(feature = "sqlite")]
pub fn lost_records<C: fmt::Display>(
    store: &sqlite::Store,
    path: &Path,
    searches: impl IntoIterator<Item = (&'static str, C, &'static str)>,
) -> Result<Vec<LostRecords>, AdapterError> {
    let mut lost = Vec::new();
    for (table, condition, what) in searches {
        let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let records = sqlite::count(store, &sql)?;
        lost.extend((records > 0).then(|| LostRecords {
            path: path.to_owned(),
            table: table.to_owned(),
            records,
            what,
        }));
    }
    Ok(lost)
}

/// A session in its harness's own export form.
#[derive(Debug, Clone)]
pub struct Export {
    /// The text that the adapter converts.
    pub text: String,
    /// What the rest of the store says about the session.
    pub context: SideInfo,
}

/// A store open for reading.
pub trait Store: Send + Sync {
    /// What kind of store it is, for people.
    fn kind(&self) -> &'static str;

    /// Its sessions, each once, in the order of their ids.
    fn sessions(&self) -> &[StoredSession];

    /// Sessions in the store that are not converted.
    fn skipped(&self) -> &[SkippedSession] {
        &[]
    }

    /// Records that no session has, and sessions whose records are gone: an error under strict policy, a warning under permissive policy.
    fn lost(&self) -> &[LostRecords] {
        &[]
    }

    /// Files of the store that cannot be read, each with its path. The sessions of the others are converted.
    fn unreadable(&self) -> &[AdapterError] {
        &[]
    }

    /// Exports one session. The others are not kept in memory.
    ///
    /// # Errors
    /// `io`, `malformed_record` or `limit_exceeded`, with the path.
    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError>;

    /// Fails if the store has changed since it was opened: what was exported may be of two states. Called after each export. A database
    /// asks [`sqlite::Store::verify_unchanged`](super::sqlite::Store::verify_unchanged); files have no state that they share.
    ///
    /// # Errors
    /// `io`, with the path.
    fn verify_unchanged(&self) -> Result<(), AdapterError>;
}

/// A store of any harness, if it is one.
pub type OpenedStore = Opened<Box<dyn Store>>;

/// Opens the stores of one harness.
pub struct Opener {
    /// True if a directory is the root of such a store.
    pub is_root: fn(&Path) -> bool,
    /// True for the name of a file or directory in a root that belongs to the store.
    pub is_inside: fn(&str) -> bool,
    /// Opens the root directory of a store.
    pub open_root: fn(&Path, Limits) -> OpenedStore,
    /// True for a database with tables of such a store, even if some are missing
    /// ([`StoreTables::are_in`](super::tables::StoreTables::are_in)).
    pub has_tables: fn(&DatabaseFile<'_>) -> bool,
    /// Opens such a database; `None` if it is empty or contains nothing of the harness. If it lacks what its sessions need, that is an
    /// error.
    pub open_database: fn(DatabaseFile<'_>) -> OpenedStore,
    /// Files elsewhere that the sessions of the store at this path are read with. A change of one of them may change a tape.
    pub read_with: fn(&Path) -> Vec<PathBuf>,
    /// True for the first bytes of a JSON Lines file that may be such a store. A search asks it before it opens one.
    pub begins_lines: fn(&[u8]) -> bool,
    /// Opens a file that is not a database and begins with these bytes; `None` if it is not such a store.
    pub open_text: fn(&Path, &[u8], Limits) -> OpenedStore,
    /// The form of texts that are opened into a document, wherever they come from.
    pub text_form: Option<TextForm>,
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}

/// A form of logs that are plain text.
#[derive(Clone, Copy)]
pub struct TextForm {
    /// True for the first bytes of such a text.
    pub begins: fn(&[u8]) -> bool,
    /// The document that the adapter converts.
    pub document: fn(&str) -> String,
}

impl Opener {
    /// Opens nothing. The default of every field.
    pub const NOTHING: Opener = Opener {
        is_root: |_| false,
        is_inside: |_| false,
        open_root: |_, _| Ok(None),
        has_tables: |_| false,
        open_database: |_| Ok(None),
        read_with: |_| Vec::new(),
        begins_lines: |_| false,
        open_text: |_, _, _| Ok(None),
        text_form: None,
    };
}
