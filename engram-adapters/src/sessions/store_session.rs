//! Sessions in a store: listed when the store is opened, exported one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use super::discover::Candidate;
use super::stores::{RegisteredStore, open_store};
use crate::open::store::{Export, Opened, SkippedSession, Store, StoredSession};
use crate::registration::Registration;
use crate::registry::Registry;

/// A session in a store.
#[derive(Clone)]
pub(super) struct StoreSession {
    /// The name in messages: the store's path, and the session's id if the path is not the session's alone.
    pub name: PathBuf,
    /// The kind of store, for people.
    pub kind: &'static str,
    /// The adapter that converts the session's export.
    pub registration: &'static Registration,
    /// True if the caller named the store.
    pub named: bool,
    /// Its share of the store's size on disk.
    pub bytes: u64,
    /// The session.
    pub session: StoredSession,
    /// The open store; `None` if it was closed and must be opened again for the export.
    store: Option<Arc<dyn Store>>,
    path: PathBuf,
}

/// The sessions of one store.
pub(super) struct StoreSessions {
    /// The sessions to convert.
    pub sessions: Vec<StoreSession>,
    /// Sessions that are not converted, with the reason.
    pub skipped: Vec<SkippedSession>,
}

/// The sessions of the store at a candidate's path; `None` if it is not a store.
///
/// # Errors
/// As [`open_store`]; `unknown_harness` for a store without sessions that the caller named.
pub(super) fn store_sessions(registry: &Registry, candidate: &Candidate, limits: Limits) -> Result<Option<StoreSessions>, AdapterError> {
    let Some((registration, opened)) = open(registry, &candidate.path, limits)? else { return Ok(None) };
    let (kind, found) = (opened.kind(), opened.sessions().to_vec());
    let skipped = opened.skipped().to_vec();
    if found.is_empty() && candidate.named {
        let error = AdapterError::new(ErrorCode::UnknownHarness).expected("a session").path(candidate.path.to_string_lossy());
        return Err(error.found(&format!("a store without any: {kind}")));
    }
    let share = candidate.bytes / found.len().max(1) as u64;
    // Some harnesses keep each chat in its own database: those of a home folder cannot all stay open.
    let store: Option<Arc<dyn Store>> = if found.len() > 1 { Some(Arc::from(opened)) } else { None };
    let stored = |session: StoredSession| StoreSession {
        name: display_path(&session),
        kind,
        registration,
        named: candidate.named,
        bytes: share,
        session,
        store: store.clone(),
        path: candidate.path.clone(),
    };
    Ok(Some(StoreSessions { sessions: found.into_iter().map(stored).collect(), skipped }))
}

fn open(registry: &Registry, path: &Path, limits: Limits) -> Opened<RegisteredStore> {
    open_store(registry, path, limits).map_err(|mut error| {
        error.path.get_or_insert_with(|| path.to_string_lossy().into_owned());
        error
    })
}

/// How messages name a session of a store: its file, followed by `#` and its id if the file does not have the id's name.
pub fn display_path(session: &StoredSession) -> PathBuf {
    if session.path.file_stem().is_some_and(|stem| stem == session.id.as_str()) {
        return session.path.clone();
    }
    let mut name = session.path.clone().into_os_string();
    name.push("#");
    name.push(&session.id);
    PathBuf::from(name)
}

impl StoreSession {
    /// The path of the store.
    pub fn container(&self) -> &Path {
        &self.path
    }

    /// The session in its harness's own export form.
    ///
    /// # Errors
    /// As [`Store::export`]; `malformed_record` if the store gives nothing: what belongs to a session must not be lost in silence.
    pub fn export(&self, registry: &Registry, limits: Limits) -> Result<Export, AdapterError> {
        let export = match &self.store {
            Some(store) => store.export(&self.session)?,
            None => match open(registry, &self.path, limits)? {
                Some((_, store)) => store.export(&self.session)?,
                None => return Err(AdapterError::new(ErrorCode::Io).expected("the store that was there")),
            },
        };
        if export.text.trim_ascii().is_empty() {
            return Err(AdapterError::new(ErrorCode::MalformedRecord).expected("a session").found("a store that gives nothing"));
        }
        Ok(export)
    }
}
