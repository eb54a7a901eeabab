//! What was read of files that many artifacts lie beside: kept as long as the file does not change.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use engram_core::hash::Hash;
use memchr::memmem::Finder;

use super::below::Facts;

/// A directory that changed more recently is listed again: it may change once more without another time.
const SETTLED: Duration = Duration::from_secs(2);
/// The most files that are remembered.
const MAX_FILES: usize = 64;
/// The most facts of all remembered files together, and of one file: further ones are not found.
const MAX_FACTS: usize = 1 << 16;

/// The state of a file or directory. Two reads in the same state give the same: logs grow, so a log that changed has another size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileState {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

impl FileState {
    /// None if the system has no times. `path` must be absolute.
    pub fn of(path: PathBuf, facts: &Facts) -> Option<FileState> {
        Some(FileState {
            path,
            bytes: facts.bytes,
            modified: facts.modified?,
        })
    }

    /// As [`FileState::of`], of a directory. None if it has changed just now: its size does not show a further change.
    pub fn of_directory(path: PathBuf, facts: &Facts) -> Option<FileState> {
        let is_settled = |state: &FileState| {
            SystemTime::now()
                .duration_since(state.modified)
                .is_ok_and(|age| age >= SETTLED)
        };
        FileState::of(path, facts).filter(is_settled)
    }
}

/// Values by the state of the file that they were made from. The oldest are forgotten first.
#[derive(Debug)]
pub(crate) struct Remembered<V> {
    values: Mutex<VecDeque<(FileState, Arc<V>)>>,
}

impl<V> Remembered<V> {
    /// Nothing is known yet.
    pub const fn new() -> Self {
        Remembered {
            values: Mutex::new(VecDeque::new()),
        }
    }

    /// The value for a file in this state; `read` makes it if it is not known. `size` is the number of facts in a value.
    pub(super) fn get(
        &self,
        state: Option<FileState>,
        size: fn(&V) -> usize,
        read: impl FnOnce() -> Option<V>,
    ) -> Option<Arc<V>> {
        let Some(state) = state else {
            return read().map(Arc::new);
        };
        let values = || self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values()
            .iter()
            .find(|(known, _)| *known == state)
            .map(|(_, value)| value.clone());
        if known.is_some() {
            return known;
        }
        // Not under the lock: other threads read other files meanwhile.
        let value = Arc::new(read()?);
        let mut values = values();
        values.retain(|(known, _)| known.path != state.path);
        values.push_back((state, value.clone()));
        while values.len() > MAX_FILES
            || values.len() > 1
                && values.iter().map(|(_, value)| size(value)).sum::<usize>() > MAX_FACTS
        {
            values.pop_front();
        }
        Some(value)
    }
}

/// Facts that the lines of a file state, by a key. An adapter has one `static` of it for each kind of fact.
///
/// A session with many sub-agents has their calls in one log. Each sub-agent looks up its own call there, so the log is read once for all
/// of them.
#[derive(Debug)]
pub struct LineFacts<T: 'static> {
    /// A line without any of these texts has no facts.
    marks: &'static [&'static str],
    /// Gives the facts of a line with their keys. The first fact with a key counts.
    facts_of: fn(&str, &mut dyn FnMut(String, T)),
    files: Remembered<FactsOfFile<T>>,
}

/// The facts of one file.
#[derive(Debug)]
pub(super) struct FactsOfFile<T> {
    by_key: HashMap<String, T>,
    /// Hash and size of the file.
    pub digest: (Hash, u64),
}

impl<T: Clone> LineFacts<T> {
    /// Facts that `facts_of` finds in lines with one of `marks`.
    pub const fn new(
        marks: &'static [&'static str],
        facts_of: fn(&str, &mut dyn FnMut(String, T)),
    ) -> Self {
        LineFacts {
            marks,
            facts_of,
            files: Remembered::new(),
        }
    }

    /// The facts of a file. `read` passes each of its lines to a function and returns its hash and size; `None` if it cannot be read.
    pub(super) fn of_file(
        &self,
        state: Option<FileState>,
        read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Option<(Hash, u64)>,
    ) -> Option<Arc<FactsOfFile<T>>> {
        self.files.get(
            state,
            |facts| facts.by_key.len(),
            || {
                let marks: Vec<Finder> = self.marks.iter().map(Finder::new).collect();
                let mut by_key = HashMap::new();
                let mut add = |key: String, fact: T| {
                    if by_key.len() < MAX_FACTS {
                        by_key.entry(key).or_insert(fact);
                    }
                };
                let digest = read(&mut |line| {
                    let has_facts = marks.iter().any(|mark| mark.find(line).is_some());
                    if let Some(line) = std::str::from_utf8(line).ok().filter(|_| has_facts) {
                        (self.facts_of)(line.trim_end(), &mut add);
                    }
                })?;
                Some(FactsOfFile { by_key, digest })
            },
        )
    }
}

impl<T: Clone> FactsOfFile<T> {
    /// The fact with this key.
    pub fn get(&self, key: &str) -> Option<T> {
        self.by_key.get(key).cloned()
    }
}

/// The absolute form of a path, as the name of a file in this process.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::below::Directory;
    use super::*;

    fn state(path: &str, bytes: u64) -> Option<FileState> {
        Some(FileState {
            path: path.into(),
            bytes,
            modified: SystemTime::UNIX_EPOCH,
        })
    }

    #[test]
    fn a_file_is_read_again_only_if_its_state_is_another() {
        let remembered = Remembered::<u64>::new();
        let get = |state: Option<FileState>, value: u64| {
            *remembered.get(state, |_| 1, || Some(value)).unwrap()
        };
        assert_eq!(
            [
                get(state("a", 1), 1),
                get(state("b", 1), 2),
                get(state("a", 1), 3),
                get(state("b", 1), 4)
            ],
            [1, 2, 1, 2]
        );
        assert_eq!([get(state("a", 2), 5), get(state("a", 1), 6)], [5, 6]);
        assert_eq!([get(None, 7), get(None, 8)], [7, 8]);
        assert_eq!(remembered.get(state("c", 1), |_| 1, || None), None);
        assert_eq!(get(state("c", 1), 9), 9);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let remembered = Remembered::<usize>::new();
        for file in 0..2 * MAX_FILES {
            remembered.get(state(&file.to_string(), 1), |_| 1, || Some(1));
        }
        assert_eq!(remembered.values.lock().unwrap().len(), MAX_FILES);
        remembered.get(state("large", 1), |size| *size, || Some(MAX_FACTS));
        remembered.get(state("other", 1), |size| *size, || Some(1));
        assert_eq!(remembered.values.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_directory_that_has_just_changed_has_no_state() {
        let directory = tempfile::tempdir().unwrap();
        let opened = Directory::open(directory.path()).unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let facts = || opened.facts(Path::new("file")).unwrap();
        assert_eq!(
            (
                FileState::of_directory(path.clone(), &facts()),
                FileState::of(path.clone(), &facts()).unwrap().bytes
            ),
            (None, 1)
        );
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - 2 * SETTLED).unwrap();
        assert!(FileState::of_directory(path.clone(), &facts()).is_some());
    }
}
