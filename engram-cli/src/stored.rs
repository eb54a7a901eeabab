//! Sessions that lie in a store: opened with it, exported one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engram_adapters::open::Candidate;
use engram_adapters::open::openers;
use engram_adapters::open::store::{Export, LeftAside, Opened, Opener, Store, StoredSession};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

/// A session in a store.
#[derive(Clone)]
pub struct Stored {
    /// The store's path, and the session's id where that does not name the session: what messages say.
    pub name: PathBuf,
    /// What kind of store it is, for people.
    pub kind: &'static str,
    /// The adapter that converts what the session is exported into.
    pub adapter_id: &'static str,
    /// True when the caller named the store.
    pub named: bool,
    /// Its share of the store's size on disk.
    pub bytes: u64,
    /// The session.
    pub session: StoredSession,
    /// The store; none where it was closed again and has to be opened for the export.
    store: Option<Arc<dyn Store>>,
    path: PathBuf,
    limits: Limits,
}

/// What a store holds.
pub struct Sessions {
    /// The sessions that are converted.
    pub sessions: Vec<Stored>,
    /// Those that are not, and why.
    pub left_aside: Vec<LeftAside>,
}

/// The sessions of the store that a candidate is; none when it is no store.
///
/// # Errors
/// As [`openers::open`]; `unknown_harness` for a store without sessions that the caller named.
pub fn sessions(candidate: &Candidate, limits: Limits) -> Result<Option<Sessions>, AdapterError> {
    let Some((opener, opened)) = open(&candidate.path, limits)? else { return Ok(None) };
    let (kind, found) = (opened.kind(), opened.sessions().to_vec());
    let left_aside = opened.left_aside().to_vec();
    if found.is_empty() && candidate.named {
        let error = AdapterError::new(ErrorCode::UnknownHarness).expected("a session").path(candidate.path.to_string_lossy());
        return Err(error.found(&format!("a store without any: {kind}")));
    }
    let share = candidate.bytes / found.len().max(1) as u64;
    // Every chat of some harnesses is a database of its own: those of a home folder cannot all be held open.
    let store: Option<Arc<dyn Store>> = if found.len() > 1 { Some(Arc::from(opened)) } else { None };
    let stored = |session: StoredSession| Stored {
        name: name(&session),
        kind,
        adapter_id: opener.adapter_id,
        named: candidate.named,
        bytes: share,
        session,
        store: store.clone(),
        path: candidate.path.clone(),
        limits,
    };
    Ok(Some(Sessions { sessions: found.into_iter().map(stored).collect(), left_aside }))
}

fn open(path: &Path, limits: Limits) -> Opened<(&'static Opener, Box<dyn Store>)> {
    openers::open(path, limits).map_err(|mut error| {
        error.path.get_or_insert_with(|| path.to_string_lossy().into_owned());
        error
    })
}

/// How messages name a session: its file, and its id where the file is not its own.
pub fn name(session: &StoredSession) -> PathBuf {
    if session.path.file_stem().is_some_and(|stem| stem == session.id.as_str()) {
        return session.path.clone();
    }
    let mut name = session.path.clone().into_os_string();
    name.push("#");
    name.push(&session.id);
    PathBuf::from(name)
}

impl Stored {
    /// The session in its harness's own export form.
    ///
    /// # Errors
    /// As [`Store::export`].
    pub fn export(&self) -> Result<Export, AdapterError> {
        match &self.store {
            Some(store) => store.export(&self.session),
            None => match open(&self.path, self.limits)? {
                Some((_, store)) => store.export(&self.session),
                None => Err(AdapterError::new(ErrorCode::Io).expected("the store that was there")),
            },
        }
    }
}
