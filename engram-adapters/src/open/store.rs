//! Stores that hold many sessions. Each is opened into its harness's own export form, session by session.

use std::path::{Path, PathBuf};

use engram_core::adapter::Context;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;

use crate::{claude_code, cursor, opencode};

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
    pub context: Context,
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

/// How the stores of one harness are opened.
pub struct Opener {
    /// The adapter that converts what they are opened into.
    pub adapter_id: &'static str,
    /// True when a folder is the root of such a store. Looks at its content only as far as that takes.
    pub is_root: fn(&Path) -> bool,
    /// True for the name of a file or folder in a root that is read with it. What else lies there is no part of the store.
    pub is_inside: fn(&str) -> bool,
    /// Opens a database file or the root folder of a store; none when it is another's.
    pub open: fn(&Path, Limits) -> Opened<Box<dyn Store>>,
}

/// Every opener.
pub const OPENERS: &[Opener] = &[opencode::store::OPENER, cursor::store::OPENER, claude_code::store::OPENER];

/// The opener of the store that has its root at this folder, if it is one.
pub fn root(path: &Path) -> Option<&'static Opener> {
    OPENERS.iter().find(|opener| (opener.is_root)(path))
}

/// Opens the store at `path`, if it is one: a database, or the root folder of a store.
///
/// # Errors
/// As the opener gives them. A database that no opener knows is none of ours, and no error.
pub fn open(path: &Path, limits: Limits) -> Opened<(&'static Opener, Box<dyn Store>)> {
    for opener in OPENERS {
        if path.is_dir() && !(opener.is_root)(path) {
            continue;
        }
        if let Some(store) = (opener.open)(path, limits)? {
            return Ok(Some((opener, store)));
        }
    }
    Ok(None)
}
