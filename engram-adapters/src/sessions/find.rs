//! Finds sessions at several paths, each once. Nothing is converted yet.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_core::error::AdapterError;

use super::discover::{Candidate, Discovered, IsUnchanged, discover};
use super::location::SessionLocation;
use super::options::SessionOptions;
use super::store_session::store_sessions;
use crate::open::store::{SkippedSession, StoredSession};

/// The sessions at some paths.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundSessions {
    /// What may be sessions, in the order in which they were first found. The same file or session is listed once.
    pub locations: Vec<Result<SessionLocation, AdapterError>>,
    /// Sessions in stores that are not converted, because a newer copy is, or because their id cannot be trusted.
    pub skipped: Vec<SkippedSession>,
    /// Links that lead out of the folder that was searched. They are not followed; what they lead to can be added by its own path.
    pub links_out: Vec<PathBuf>,
    /// Files and stores that were not opened, because they have not changed ([`SessionFinder::skip_unchanged`]), each once.
    pub unchanged: Vec<PathBuf>,
}

/// Collects the sessions at one path after another.
///
/// ```
/// use engram_adapters::sessions::{SessionFinder, SessionOptions};
///
/// let options = SessionOptions::default();
/// let mut finder = SessionFinder::new(&options);
/// finder.add(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex/0.169.0/main").as_ref());
/// let found = finder.finish();
/// assert!(!found.locations.is_empty() && found.skipped.is_empty());
/// ```
pub struct SessionFinder<'o> {
    options: &'o SessionOptions,
    found: FoundSessions,
    /// The index of each location, by its file and by its id inside the file.
    indexes: HashMap<Place, usize>,
    /// The stores that were found.
    stores: HashSet<PathBuf>,
    /// The files and stores in `unchanged`, without links.
    unchanged: HashSet<PathBuf>,
    is_unchanged: Box<IsUnchanged<'o>>,
}

/// A file, and a session's id if the file is a store.
type Place = (PathBuf, Option<String>);

impl<'o> SessionFinder<'o> {
    /// A finder that has searched nothing.
    pub fn new(options: &'o SessionOptions) -> Self {
        SessionFinder {
            options,
            found: FoundSessions::default(),
            indexes: HashMap::new(),
            stores: HashSet::new(),
            unchanged: HashSet::new(),
            is_unchanged: Box::new(|_| false),
        }
    }

    /// Does not open files and stores for which `is_unchanged` is true. It is asked for every file that may be a session.
    #[must_use]
    pub fn skip_unchanged(self, is_unchanged: impl Fn(&Path) -> bool + 'o) -> Self {
        SessionFinder { is_unchanged: Box::new(is_unchanged), ..self }
    }

    /// Adds the sessions at `path`: a session file, a store, or a folder to search.
    pub fn add(&mut self, path: &Path) {
        let Discovered { candidates, links_out } = discover(&self.options.registry, path, &self.is_unchanged);
        self.found.links_out.extend(links_out);
        for candidate in candidates {
            match candidate {
                Ok(candidate) => self.add_candidate(candidate),
                Err(error) => self.found.locations.push(Err(error)),
            }
        }
    }

    /// How many locations, errors included, were found.
    pub fn count(&self) -> usize {
        self.found.locations.len()
    }

    /// What was found.
    pub fn finish(self) -> FoundSessions {
        self.found
    }

    fn add_candidate(&mut self, candidate: Candidate) {
        let real = fs::canonicalize(&candidate.path).ok();
        if candidate.unchanged {
            if self.unchanged.insert(real.unwrap_or_else(|| candidate.path.clone())) {
                self.found.unchanged.push(candidate.path);
            }
            return;
        }
        let opened =
            if candidate.may_be_store { store_sessions(&self.options.registry, &candidate, self.options.limits) } else { Ok(None) };
        match opened {
            Ok(Some(store)) => {
                for session in store.sessions {
                    self.add_location(place(&session.session), SessionLocation::stored(session));
                }
                // A store that is found twice skips the same sessions.
                if real.is_none_or(|real| self.stores.insert(real)) {
                    self.found.skipped.extend(store.skipped);
                }
            }
            Ok(None) => self.add_location(real.map(|real| (real, None)), SessionLocation::file(candidate)),
            Err(error) => self.found.locations.push(Err(error)),
        }
    }

    fn add_location(&mut self, place: Option<Place>, location: SessionLocation) {
        let locations = &mut self.found.locations;
        match place.as_ref().and_then(|place| self.indexes.get(place)).and_then(|index| locations.get_mut(*index)) {
            Some(Ok(known)) => known.name_again(&location),
            _ => {
                self.indexes.extend(place.map(|place| (place, locations.len())));
                locations.push(Ok(location));
            }
        }
    }
}

fn place(session: &StoredSession) -> Option<Place> {
    fs::canonicalize(&session.path).ok().map(|real| (real, Some(session.id.clone())))
}
