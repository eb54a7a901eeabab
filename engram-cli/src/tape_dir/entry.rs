//! One line of the index: a source, its state on disk, and the tape that was made from it.

use engram_adapters::Registry;
use engram_adapters::sessions::Stamp;
use engram_command::message::sentence;
use engram_core::error::AdapterError;
use engram_core::hash::Hash;
use engram_core::overview::{self, Overview};
use serde::{Deserialize, Serialize};

/// A source: a file or a store, and the id of a session in the store.
pub type Key = (String, Option<String>);

/// What became of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The tape was made from the source as the entry describes both.
    Current,
    /// A run is giving the tape its name. If the run was killed, the file is the tape that is described here, or still the one before.
    Writing,
    /// The last attempt failed. A tape that is named is older.
    Failed,
    /// The store does not contain the session any more. The tape is the last one.
    Gone,
    /// A session that the filters of the run left out.
    Filtered,
    /// A session that another source has in a form that says more.
    OtherForm,
    /// Not a session.
    NoSession,
    /// A file that is not even tried, or a store without sessions.
    Nothing,
}

/// What the index has of one source.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The absolute path of the file or store.
    pub source: String,
    /// The id of the session, if the source is a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What became of it.
    pub state: State,
    /// The state of the source when it was read.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What else decides about the tape.
    #[serde(flatten)]
    pub setup: Setup,
    /// The path of the tape in this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape: Option<String>,
    /// The hash of the file at that path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape_hash: Option<String>,
    /// The size of that file in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape_bytes: Option<u64>,
    /// While the tape is being written: the hash of the tape that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_hash: Option<String>,
    /// Tapes that were made from this source before and could not be replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Superseded>,
    /// The source of the session that is converted instead, if this is another form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_of: Option<Key>,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What the tape is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Overview>,
}

/// What decides about a tape beside the source. If it changes, every source is read again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// A hash of the ids and versions of all adapters, and of the form of overviews.
    pub adapters: String,
    /// The options of the conversion.
    pub options: String,
}

impl Setup {
    /// The versions of these adapters, the form of overviews, and these options.
    pub fn new(registry: &Registry, options: String) -> Setup {
        let descriptors = registry.adapters().map(|adapter| adapter.descriptor());
        let versions: Vec<String> = descriptors
            .map(|it| format!("{} {}", it.adapter_id, it.adapter_version))
            .chain([format!("overview {}", overview::FORM)])
            .collect();
        let hash = Hash::of_bytes(versions.join("\n").as_bytes()).to_string();
        Setup {
            adapters: hash
                .chars()
                .skip_while(|c| *c != ':')
                .skip(1)
                .take(16)
                .collect(),
            options,
        }
    }
}

/// A tape that stays beside a newer one of the same source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// The path of the older tape.
    pub tape: String,
    /// Why it was not replaced.
    pub why: String,
}

/// Why the last attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The error's stable code.
    pub code: String,
    /// A sentence.
    pub message: String,
}

impl Failure {
    /// The failure that an error is.
    pub fn of(error: &AdapterError) -> Failure {
        Failure {
            code: error.code.as_str().to_owned(),
            message: sentence(error),
        }
    }
}

impl Entry {
    /// An entry without a tape.
    pub fn new(key: &Key, state: State, stamp: Stamp, setup: &Setup) -> Entry {
        Entry {
            source: key.0.clone(),
            session: key.1.clone(),
            state,
            stamp,
            setup: setup.clone(),
            tape: None,
            tape_hash: None,
            tape_bytes: None,
            replaces_hash: None,
            supersedes: Vec::new(),
            form_of: None,
            error: None,
            overview: None,
        }
    }

    /// The source.
    pub fn key(&self) -> Key {
        (self.source.clone(), self.session.clone())
    }
}
