//! Finds sessions at several paths, each once. Only a session that is there in several forms is converted, to compare them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use engram_core::error::AdapterError;
use engram_core::policy::Policy;

use super::discover::{Candidate, Discovered, IsUnchanged, discover};
use super::forms::{FormIdentity, Located, OtherForm, identity, separate};
use super::location::SessionLocation;
use super::options::SessionOptions;
use super::store_session::store_sessions;
use crate::open::store::{LostRecords, SkippedSession, StoredSession};

/// The sessions at some paths.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundSessions {
    /// What may be sessions, in the order in which they were first found. The same file or session is listed once, and a session that is
    /// there in several forms in the one that says most.
    pub locations: Vec<Result<SessionLocation, AdapterError>>,
    /// Sessions in stores that are not converted, because a newer copy is, or because their id cannot be trusted.
    pub skipped: Vec<SkippedSession>,
    /// Records of stores that no session has. Under strict policy they are errors in `locations` instead.
    pub lost: Vec<LostRecords>,
    /// Links that lead out of the directory that was searched. They are not followed; what they lead to can be added by its own path.
    pub links_out: Vec<PathBuf>,
    /// Other forms of sessions in `locations`. Those that have something more are in `locations` too.
    pub other_forms: Vec<OtherForm>,
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
    located: Vec<Located>,
    skipped: Vec<SkippedSession>,
    lost: Vec<LostRecords>,
    links_out: Vec<PathBuf>,
    unchanged: Vec<PathBuf>,
    /// The index of each location, by its file and by its id inside the file.
    indexes: HashMap<Place, usize>,
    /// The stores that were found.
    stores: HashSet<PathBuf>,
    /// The files and stores in `unchanged`, without links.
    real_unchanged: HashSet<PathBuf>,
    is_unchanged: Box<IsUnchanged<'o>>,
}

/// A file, and a session's id if the file is a store.
type Place = (PathBuf, Option<String>);

impl<'o> SessionFinder<'o> {
    /// A finder that has searched nothing.
    pub fn new(options: &'o SessionOptions) -> Self {
        SessionFinder {
            options,
            located: Vec::new(),
            skipped: Vec::new(),
            lost: Vec::new(),
            links_out: Vec::new(),
            unchanged: Vec::new(),
            indexes: HashMap::new(),
            stores: HashSet::new(),
            real_unchanged: HashSet::new(),
            is_unchanged: Box::new(|_| false),
        }
    }

    /// Does not open files and stores for which `is_unchanged` is true. It is asked for every file that may be a session.
    #[must_use]
    pub fn skip_unchanged(self, is_unchanged: impl Fn(&Path) -> bool + 'o) -> Self {
        SessionFinder {
            is_unchanged: Box::new(is_unchanged),
            ..self
        }
    }

    /// Adds the sessions at `path`: a session file, a store, or a directory to search.
    pub fn add(&mut self, path: &Path) {
        let Discovered {
            candidates,
            links_out,
        } = discover(&self.options.registry, path, &self.is_unchanged);
        self.links_out.extend(links_out);
        for candidate in candidates {
            match candidate {
                Ok(candidate) => self.add_candidate(candidate),
                Err(error) => self.located.push((Err(error), None)),
            }
        }
    }

    /// The files and stores that were not opened so far, because they have not changed.
    pub fn unchanged(&self) -> &[PathBuf] {
        &self.unchanged
    }

    /// The sessions found so far that have a form of which their harness can leave several.
    pub fn forms(&self) -> impl Iterator<Item = &FormIdentity> {
        self.located.iter().filter_map(|(_, form)| form.as_ref())
    }

    /// Opens a file or store that was not opened because it has not changed: another form of one of its sessions has.
    pub fn open_again(&mut self, path: &Path) {
        let Some(index) = self
            .unchanged
            .iter()
            .position(|unchanged| unchanged == path)
        else {
            return;
        };
        self.unchanged.remove(index);
        let discovered = discover(&self.options.registry, path, &|_| false);
        for candidate in discovered
            .candidates
            .into_iter()
            .flatten()
            .filter(|candidate| candidate.path == path)
        {
            self.add_candidate(Candidate {
                named: false,
                ..candidate
            });
        }
    }

    /// How many locations, errors included, were found.
    pub fn count(&self) -> usize {
        self.located.len()
    }

    /// What was found.
    pub fn finish(self) -> FoundSessions {
        let (locations, other_forms) = separate(self.located, self.options);
        FoundSessions {
            locations,
            skipped: self.skipped,
            lost: self.lost,
            links_out: self.links_out,
            other_forms,
            unchanged: self.unchanged,
        }
    }

    fn add_candidate(&mut self, candidate: Candidate) {
        let real = fs::canonicalize(&candidate.path).ok();
        if candidate.unchanged {
            if self
                .real_unchanged
                .insert(real.unwrap_or_else(|| candidate.path.clone()))
            {
                self.unchanged.push(candidate.path);
            }
            return;
        }
        let opened = if candidate.may_be_store {
            store_sessions(&self.options.registry, &candidate, self.options.limits)
        } else {
            Ok(None)
        };
        match opened {
            Ok(Some(store)) => {
                for session in store.sessions {
                    self.add_location(place(&session.session), SessionLocation::stored(session));
                }
                // A store that is found twice skips, loses and cannot read the same.
                if real.is_none_or(|real| self.stores.insert(real)) {
                    self.skipped.extend(store.skipped);
                    self.located
                        .extend(store.unreadable.into_iter().map(|error| (Err(error), None)));
                    match self.options.policy {
                        Policy::Strict => self
                            .located
                            .extend(store.lost.iter().map(|lost| (Err(lost.error()), None))),
                        Policy::Permissive => self.lost.extend(store.lost),
                    }
                }
            }
            Ok(None) => self.add_location(
                real.map(|real| (real, None)),
                SessionLocation::file(candidate),
            ),
            Err(error) => self.located.push((Err(error), None)),
        }
    }

    fn add_location(&mut self, place: Option<Place>, location: SessionLocation) {
        match place
            .as_ref()
            .and_then(|place| self.indexes.get(place))
            .and_then(|index| self.located.get_mut(*index))
        {
            Some((Ok(known), _)) => known.name_again(&location),
            _ => {
                self.indexes
                    .extend(place.map(|place| (place, self.located.len())));
                let form = if self.options.every_form {
                    None
                } else {
                    identity(&location, self.options)
                };
                self.located.push((Ok(location), form));
            }
        }
    }
}

fn place(session: &StoredSession) -> Option<Place> {
    fs::canonicalize(&session.path)
        .ok()
        .map(|real| (real, Some(session.id.clone())))
}
