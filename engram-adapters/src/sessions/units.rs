//! Units: what can be converted alone, on any machine that has its files.
//!
//! A single file is no unit: the log of a sub-agent is read with the log of its session, and outputs have files of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::hash::{Hash, StreamHasher};
use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use super::find::SessionFinder;
use super::location::SessionLocation;
use super::options::SessionOptions;
use super::stamp::{DATABASE_LOGS, modified};
use crate::registration::Registration;
use crate::shared::remembered::absolute;

/// Digits of an id and of a state.
const DIGITS: usize = 32;
/// The most files of a unit whose sizes and times are looked at.
const MAX_FILES: usize = 100_000;

/// A session with its sub-agents and side files, or one session of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Its id: 32 hexadecimal digits, made from harness and session, and from the path of what has no session and of a store. It stays
    /// the same when the session grows.
    pub unit: String,
    /// The harness.
    pub harness: String,
    /// The id of the session; `None` if its log says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What is converted: the log of the session and those of its sub-agents, or the store. Absolute. Characters that are not Unicode are
    /// U+FFFD.
    pub paths: Vec<String>,
    /// The files and directories that these are read with: all that must be copied too. Absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// True for a session of a store. `paths` is then the store, which has other sessions too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_store: bool,
    /// The size of all its files in bytes; for a session of a store, an equal share of the store.
    pub bytes: u64,
    /// 32 hexadecimal digits, made from names, sizes and times of all its files: if it is the same, nothing has changed.
    pub state: String,
}

impl Unit {
    /// The part of `count` parts that this unit belongs to, from 0. It depends on the id alone.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn shard(&self, count: u32) -> u32 {
        let hash = Hash::of_bytes(self.unit.as_bytes());
        let [a, b, c, d, ..] = *hash.bytes();
        u32::from_le_bytes([a, b, c, d]) % count
    }

    /// Where its sessions are.
    ///
    /// # Errors
    /// `io` if one of its files is not there any more, and what opening its store fails with.
    pub fn locations(
        &self,
        options: &SessionOptions,
    ) -> Result<Vec<SessionLocation>, AdapterError> {
        let mut finder = SessionFinder::new(options);
        self.paths.iter().for_each(|path| finder.add(path.as_ref()));
        let is_wanted = |found: &Result<SessionLocation, AdapterError>| {
            found.as_ref().map_or(true, |location| self.has(location))
        };
        finder
            .finish()
            .locations
            .into_iter()
            .filter(is_wanted)
            .collect()
    }

    /// True if this session, found at one of the paths of the unit, belongs to the unit.
    pub fn has(&self, location: &SessionLocation) -> bool {
        let container = shown(location.container());
        self.paths.contains(&container)
            && (!self.in_store || self.session.as_deref() == location.id_in_store())
    }
}

/// The units at these paths, in the order in which they are found, and the errors of what cannot be opened.
///
/// The head of each log is read, and what its side files say about its sub-agents. Only sessions that are there in several forms are
/// converted, to compare these.
///
/// ```
/// use engram_adapters::sessions::{SessionOptions, units};
///
/// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex/0.169.0/main");
/// let (units, errors) = units([directory], &SessionOptions::default());
/// assert_eq!((units[0].harness.as_str(), units[0].paths.len(), errors.len()), ("codex", 1, 0));
/// ```
pub fn units(
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
    options: &SessionOptions,
) -> (Vec<Unit>, Vec<AdapterError>) {
    let mut finder = SessionFinder::new(options);
    paths.into_iter().for_each(|path| finder.add(path.as_ref()));
    let mut groups = Groups::default();
    let mut errors = Vec::new();
    for location in finder.finish().locations {
        let is_named = location.as_ref().is_ok_and(SessionLocation::is_named);
        match location.and_then(|location| Part::of(&location, options)) {
            Ok(part) => groups.add(part),
            // In a directory, files that are not sessions are expected.
            Err(error)
                if error.code == ErrorCode::UnknownHarness
                    && error.harness.is_none()
                    && !is_named => {}
            Err(error) => errors.push(error),
        }
    }
    (groups.into_units(), errors)
}

/// One log, or one session of a store.
struct Part {
    adapter: &'static Registration,
    /// The harness that wrote it.
    harness: &'static str,
    /// The session that it belongs to: for a sub-agent, the one that started it.
    session: Option<String>,
    path: PathBuf,
    beside: Vec<PathBuf>,
    in_store: bool,
}

impl Part {
    fn of(location: &SessionLocation, options: &SessionOptions) -> Result<Part, AdapterError> {
        let path = absolute(location.container());
        if let Some((adapter, id)) = location.stored_by().zip(location.id_in_store()) {
            let beside = beside_store(adapter, &path);
            return Ok(Part {
                adapter,
                harness: adapter.descriptor().harness_family,
                session: Some(id.to_owned()),
                path,
                beside,
                in_store: true,
            });
        }
        let source = location.open(options)?;
        let session = source
            .parent_session_id()
            .or(source.session_id())
            .map(str::to_owned);
        Ok(Part {
            adapter: source.registration(),
            harness: source.harness(),
            session,
            path,
            beside: source.beside(),
            in_store: false,
        })
    }
}

/// What a store is read with, as far as it is there.
fn beside_store(adapter: &Registration, store: &Path) -> Vec<PathBuf> {
    let logs = DATABASE_LOGS.iter().map(|log| {
        let mut name = store.as_os_str().to_owned();
        name.push(log);
        PathBuf::from(name)
    });
    logs.chain((adapter.store_opener().read_with)(store))
        .filter(|path| path.exists())
        .collect()
}

/// Parts by the session that they belong to.
#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    /// The group of a session, by its adapter and its id.
    of_session: HashMap<(&'static str, String), usize>,
    /// The group of a log.
    of_path: HashMap<PathBuf, usize>,
}

struct Group {
    adapter: &'static Registration,
    harness: &'static str,
    session: Option<String>,
    in_store: bool,
    paths: Vec<PathBuf>,
    beside: BTreeSet<PathBuf>,
    /// The group that this one was joined to; its own number if it is a unit.
    joined_to: usize,
}

impl Groups {
    fn add(&mut self, part: Part) {
        let next = self.groups.len();
        let key = part
            .session
            .clone()
            .filter(|_| !part.in_store)
            .map(|session| (part.adapter.id(), session));
        let at = key.map_or(next, |key| *self.of_session.entry(key).or_insert(next));
        if at == next {
            let Part {
                adapter,
                harness,
                session,
                in_store,
                ..
            } = part;
            self.groups.push(Group {
                adapter,
                harness,
                session,
                in_store,
                paths: Vec::new(),
                beside: BTreeSet::new(),
                joined_to: next,
            });
        }
        if !part.in_store {
            self.of_path.insert(part.path.clone(), at);
        }
        self.groups[at].paths.push(part.path);
        self.groups[at].beside.extend(part.beside);
    }

    /// A log that is read with the log of another session belongs to that session.
    fn join(&mut self) {
        for at in 0..self.groups.len() {
            let read_with: Vec<usize> = self.groups[at]
                .beside
                .iter()
                .filter_map(|path| self.of_path.get(path).copied())
                .collect();
            for other in read_with {
                let (from, to) = (self.unit_of(at), self.unit_of(other));
                self.groups[from].joined_to = to;
            }
        }
    }

    fn unit_of(&self, mut at: usize) -> usize {
        while self.groups[at].joined_to != at {
            at = self.groups[at].joined_to;
        }
        at
    }

    fn into_units(mut self) -> Vec<Unit> {
        self.join();
        for at in 0..self.groups.len() {
            let unit = self.unit_of(at);
            if unit != at {
                let (paths, beside) = (
                    std::mem::take(&mut self.groups[at].paths),
                    std::mem::take(&mut self.groups[at].beside),
                );
                self.groups[unit].paths.extend(paths);
                self.groups[unit].beside.extend(beside);
            }
        }
        let mut sessions_of_store: HashMap<PathBuf, u64> = HashMap::new();
        let stores = self
            .groups
            .iter()
            .filter(|group| group.in_store)
            .flat_map(|group| group.paths.first());
        stores.for_each(|store| *sessions_of_store.entry(store.clone()).or_default() += 1);
        let units = self
            .groups
            .into_iter()
            .filter(|group| !group.paths.is_empty());
        units
            .map(|group| {
                let shared_by = group
                    .paths
                    .first()
                    .filter(|_| group.in_store)
                    .and_then(|store| sessions_of_store.get(store));
                group.into_unit(shared_by.copied().unwrap_or(1))
            })
            .collect()
    }
}

impl Group {
    fn into_unit(mut self, sessions_of_store: u64) -> Unit {
        self.beside
            .retain(|path| !self.paths.contains(path) && path.exists());
        let (state, bytes) = self.state();
        let harness = self.harness;
        let is_by_path = self.in_store || self.session.is_none();
        let path = self
            .paths
            .first()
            .filter(|_| is_by_path)
            .map(|path| shown(path))
            .unwrap_or_default();
        let id = digits([harness, self.session.as_deref().unwrap_or_default(), &path]);
        Unit {
            unit: id,
            harness: harness.to_owned(),
            session: self.session,
            paths: self.paths.iter().map(|path| shown(path)).collect(),
            beside: self.beside.iter().map(|path| shown(path)).collect(),
            in_store: self.in_store,
            bytes: bytes / sessions_of_store,
            state,
        }
    }

    /// The state of all files, and their size.
    fn state(&self) -> (String, u64) {
        let entries = self.paths.iter().chain(&self.beside).flat_map(|path| {
            let walk = WalkDir::new(path).follow_root_links(true).into_iter();
            walk.filter_entry(|entry| {
                entry.depth() != 1 || !self.in_store || self.is_in_store(entry)
            })
        });
        let with_metadata = |path: PathBuf| {
            path.metadata()
                .ok()
                .filter(Metadata::is_file)
                .map(|found| (path, found))
        };
        let files = entries
            .filter_map(Result::ok)
            .map(DirEntry::into_path)
            .take(MAX_FILES)
            .filter_map(with_metadata);
        let files: BTreeMap<PathBuf, Metadata> = files.collect();
        let states: Vec<String> = files
            .iter()
            .map(|(path, found)| format!("{} {} {}", shown(path), found.len(), modified(found)))
            .collect();
        (
            digits(states.iter().map(String::as_str)),
            files.values().map(Metadata::len).sum(),
        )
    }

    /// True for what belongs to the store whose root contains it.
    fn is_in_store(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name().to_string_lossy();
        let of_database = DATABASE_LOGS.iter().find_map(|log| name.strip_suffix(log));
        (self.adapter.store_opener().is_inside)(of_database.unwrap_or(&name))
    }
}

/// A hash of some texts.
fn digits<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hasher = StreamHasher::default();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update(&[0]);
    }
    let hash = hasher.finish().0.to_string();
    hash.chars()
        .skip_while(|letter| *letter != ':')
        .skip(1)
        .take(DIGITS)
        .collect()
}

/// A path as a unit has it.
fn shown(path: &Path) -> String {
    absolute(path).to_string_lossy().into_owned()
}
