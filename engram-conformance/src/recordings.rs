//! Loads a tree of recordings: the directories, the ground truth, and the scenarios that each recording declares.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;

use crate::recording::Recording;
use crate::scenario::Scenario;
use crate::session::files;

/// The list of declared scenarios, at the root of a tree. One line per recording: its name, a tab, and its scenarios.
const SCENARIO_LIST: &str = "scenarios.tsv";

/// Scenarios with this prefix are steps of one store that several versions used one after the other.
const UPGRADE_PREFIX: &str = "upgrade";
/// Directories with this prefix contain such steps in place of a version. The steps are called `<number>-<version>`.
const UPGRADE_DIRECTORY_PREFIX: &str = "upgrade-";

/// Why recordings cannot be used. Every error names the file.
#[derive(Debug, thiserror::Error)]
pub enum RecordingsError {
    /// There are no recordings.
    #[error(
        "{0} has no recordings: expected <harness>/<version>/<scenario>/ with session/ and truth.json"
    )]
    Empty(PathBuf),
    /// A file cannot be read.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// The ground truth is missing.
    #[error("{0} has a session, but no truth.json beside it")]
    NoTruth(PathBuf),
    /// There are no sessions.
    #[error("{0} has a truth.json, but no file below session/")]
    NoSession(PathBuf),
    /// A file is not JSON.
    #[error("{0}: {1}")]
    BrokenJson(PathBuf, serde_json::Error),
    /// The list of scenarios is wrong.
    #[error("{path}, line {line}: {what}")]
    BadList {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

/// A tree of recordings.
#[derive(Debug, Clone)]
pub struct Recordings {
    /// Its root.
    pub root: PathBuf,
    /// The recordings, sorted by directory.
    pub all: Vec<Recording>,
    /// True if the tree declares its scenarios. Then it must prove every claim of the adapter.
    pub is_declared: bool,
}

impl Recordings {
    /// Reads a tree of directories `<harness>/<version>/<scenario>/`. Skips directories whose name begins with `_` or `.`.
    ///
    /// # Errors
    /// If there are no recordings, if one of them is incomplete, or if `scenarios.tsv` is wrong.
    pub fn load(root: &Path) -> Result<Recordings, RecordingsError> {
        let declared = declared(&root.join(SCENARIO_LIST))?;
        let mut recordings = Recordings {
            is_declared: declared.is_some(),
            ..Recordings::undeclared(root)?
        };
        recordings.declare(declared.unwrap_or_default())?;
        Ok(recordings)
    }

    /// Every `one_in`-th recording, in the order of directories: a sample where all would take too long. It declares nothing, since it cannot
    /// prove a claim.
    ///
    /// ```no_run
    /// # use std::path::Path;
    /// use engram_conformance::Recordings;
    /// let sample = Recordings::load(Path::new("recordings"))?.sample(6);
    /// # Ok::<(), engram_conformance::RecordingsError>(())
    /// ```
    #[must_use]
    pub fn sample(mut self, one_in: usize) -> Recordings {
        if one_in > 1 {
            self.all = self.all.into_iter().step_by(one_in).collect();
            self.undeclare();
        }
        self
    }

    fn undeclare(&mut self) {
        self.is_declared = false;
        self.all
            .iter_mut()
            .for_each(|recording| recording.declared = None);
    }

    /// Reads several trees as one. It declares scenarios if each of them does.
    ///
    /// # Errors
    /// Those of [`Recordings::load`] for one of them.
    pub fn load_all(roots: &[PathBuf]) -> Result<Recordings, RecordingsError> {
        let mut trees = roots.iter().map(|root| Recordings::load(root));
        let mut merged = trees
            .next()
            .ok_or_else(|| RecordingsError::Empty(PathBuf::new()))??;
        for tree in trees {
            let tree = tree?;
            merged.is_declared &= tree.is_declared;
            merged.all.extend(tree.all);
        }
        if !merged.is_declared {
            merged.undeclare();
        }
        Ok(merged)
    }

    /// Like [`Recordings::load`], but ignores `scenarios.tsv`.
    ///
    /// # Errors
    /// If there are no recordings, or if one of them is incomplete.
    pub fn undeclared(root: &Path) -> Result<Recordings, RecordingsError> {
        let directories: Vec<PathBuf> = directories(root)?
            .iter()
            .flat_map(|harness| below(harness))
            .flat_map(|version| below(&version))
            .collect();
        let all: Vec<Recording> = directories
            .par_iter()
            .filter_map(|directory| recording(directory).transpose())
            .collect::<Result<_, _>>()?;
        if all.is_empty() {
            return Err(RecordingsError::Empty(root.to_owned()));
        }
        let mut recordings = Recordings {
            root: root.to_owned(),
            all,
            is_declared: false,
        };
        recordings.add_truth_of_earlier_steps();
        Ok(recordings)
    }

    /// The recordings of one harness.
    pub fn of<'r>(&'r self, harness: &'r str) -> impl Iterator<Item = &'r Recording> {
        self.all
            .iter()
            .filter(move |recording| recording.harness == harness)
    }

    /// In a series of upgrades, the store of each step also contains the sessions of the steps before.
    fn add_truth_of_earlier_steps(&mut self) {
        let steps: Vec<Recording> = self
            .all
            .iter()
            .filter(|recording| recording.scenario.starts_with(UPGRADE_PREFIX))
            .cloned()
            .collect();
        let number = |version: &str| {
            version
                .split('.')
                .map(|part| part.parse().unwrap_or(0))
                .collect::<Vec<u64>>()
        };
        for recording in &mut self.all {
            let is_earlier = |step: &&Recording| {
                let is_same =
                    step.harness == recording.harness && step.scenario == recording.scenario;
                is_same && number(&step.version) < number(&recording.version)
            };
            let earlier: Vec<&Value> = steps
                .iter()
                .filter(is_earlier)
                .map(|step| &step.truth)
                .collect();
            for (key, list) in recording.truth.as_object_mut().into_iter().flatten() {
                let more = earlier
                    .iter()
                    .flat_map(|truth| truth[key.as_str()].as_array().into_iter().flatten());
                list.as_array_mut()
                    .into_iter()
                    .for_each(|list| list.extend(more.clone().cloned()));
            }
        }
    }

    fn declare(&mut self, mut declared: BTreeMap<String, Declared>) -> Result<(), RecordingsError> {
        for recording in self.all.iter_mut().filter(|_| self.is_declared) {
            recording.declared = declared
                .remove(&recording.name())
                .map(|declared| declared.scenarios);
        }
        match declared.into_iter().next() {
            Some((name, Declared { line, .. })) => Err(RecordingsError::BadList {
                path: self.root.join(SCENARIO_LIST),
                line,
                what: format!("there is no recording {name}"),
            }),
            None => Ok(()),
        }
    }
}

/// A line of the list.
#[derive(Default)]
struct Declared {
    line: usize,
    scenarios: BTreeSet<&'static str>,
}

fn declared(path: &Path) -> Result<Option<BTreeMap<String, Declared>>, RecordingsError> {
    if !path.is_file() {
        return Ok(None);
    }
    let text =
        fs::read_to_string(path).map_err(|error| RecordingsError::Io(path.to_owned(), error))?;
    let bad = |line: usize, what: String| RecordingsError::BadList {
        path: path.to_owned(),
        line,
        what,
    };
    let mut found = BTreeMap::new();
    for (at, row) in text
        .lines()
        .enumerate()
        .filter(|(_, row)| !row.is_empty() && !row.starts_with('#'))
    {
        let line = at + 1;
        let (name, names) = row.split_once('\t').ok_or_else(|| {
            bad(
                line,
                "expected the name of a recording, a tab, and scenarios".to_owned(),
            )
        })?;
        let known = |name: &str| {
            Scenario::named(name)
                .map(|scenario| scenario.name)
                .ok_or_else(|| bad(line, format!("unknown scenario {name}")))
        };
        let scenarios = names
            .split_whitespace()
            .map(known)
            .collect::<Result<_, _>>()?;
        if found
            .insert(name.to_owned(), Declared { line, scenarios })
            .is_some()
        {
            return Err(bad(line, format!("{name} is listed twice")));
        }
    }
    Ok(Some(found))
}

/// Reads a directory as a recording; `None` if it has neither sessions nor ground truth.
fn recording(directory: &Path) -> Result<Option<Recording>, RecordingsError> {
    let (truth, session) = (directory.join("truth.json"), directory.join("session"));
    let has_session = !files(&session).is_empty();
    match (truth.is_file(), has_session) {
        (false, false) => return Ok(None),
        (false, true) => return Err(RecordingsError::NoTruth(directory.to_owned())),
        (true, false) => return Err(RecordingsError::NoSession(directory.to_owned())),
        (true, true) => {}
    }
    if directory.join("recording.json").is_file() {
        read_json(&directory.join("recording.json"))?;
    }
    let mut names = directory
        .components()
        .rev()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let mut name = || names.next().unwrap_or_default();
    let (mut scenario, mut version, harness) = (name(), name(), name());
    if version.starts_with(UPGRADE_DIRECTORY_PREFIX)
        && let Some((_, step)) = scenario.split_once('-')
    {
        (scenario, version) = (version.clone(), step.to_owned());
    }
    Ok(Some(Recording {
        harness,
        version,
        scenario,
        directory: directory.to_owned(),
        truth: read_json(&truth)?,
        declared: None,
    }))
}

/// Reads a JSON file.
fn read_json(path: &Path) -> Result<Value, RecordingsError> {
    let text =
        fs::read_to_string(path).map_err(|error| RecordingsError::Io(path.to_owned(), error))?;
    crate::tape::parse(&text).map_err(|error| RecordingsError::BrokenJson(path.to_owned(), error))
}

/// The subdirectories that are not hidden, sorted by name.
fn directories(path: &Path) -> Result<Vec<PathBuf>, RecordingsError> {
    let listing =
        fs::read_dir(path).map_err(|error| RecordingsError::Io(path.to_owned(), error))?;
    let is_hidden = |path: &Path| {
        path.file_name()
            .is_none_or(|name| name.to_string_lossy().starts_with(['_', '.']))
    };
    let mut found: Vec<PathBuf> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && !is_hidden(path))
        .collect();
    found.sort();
    Ok(found)
}

/// Like [`directories`]; empty if the directory cannot be read.
fn below(path: &Path) -> Vec<PathBuf> {
    directories(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_trees_are_read_as_one() {
        let directory = tempfile::tempdir().unwrap();
        let trees: Vec<PathBuf> = ["one", "other"]
            .iter()
            .map(|name| directory.path().join(name))
            .collect();
        for tree in &trees {
            let recording = tree.join("tool/1.0/qa");
            fs::create_dir_all(recording.join("session")).unwrap();
            fs::write(recording.join("session/log.jsonl"), "{}").unwrap();
            fs::write(recording.join("truth.json"), "{}").unwrap();
        }
        fs::write(trees[0].join(SCENARIO_LIST), "tool/1.0/qa\ttext_response\n").unwrap();
        let one = Recordings::load_all(&trees[..1]).unwrap();
        assert!(one.is_declared && one.all[0].declared.is_some());
        let both = Recordings::load_all(&trees).unwrap();
        assert!(
            !both.is_declared
                && both.all.len() == 2
                && both
                    .all
                    .iter()
                    .all(|recording| recording.declared.is_none())
        );
        assert!(Recordings::load_all(&[]).is_err());
        assert_eq!(both.clone().sample(1).all.len(), 2);
        assert_eq!(both.sample(2).all.len(), 1);
        let sample = one.sample(2);
        assert!(!sample.is_declared && sample.all[0].declared.is_none());
    }
}
