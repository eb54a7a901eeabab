//! Recordings, their tapes and an index over them, in a directory of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_conformance::{Recording, Recordings};
use engram_core::tape::JsonLines;
use engram_index::{Index, Writer};
use tempfile::TempDir;

/// The recordings of the repository, and the trees that `ENGRAM_RECORDINGS` names. `ENGRAM_SAMPLE=12` takes one in twelve.
pub fn all() -> Vec<Recording> {
    let all: Vec<Recording> = in_repository().into_iter().chain(elsewhere()).collect();
    all.into_iter().step_by(sample()).collect()
}

/// As [`all`], with every recording of the repository: enough lines to ask for a share of them.
pub fn with_all_fixtures() -> Vec<Recording> {
    let sampled = elsewhere().into_iter().step_by(sample());
    in_repository().into_iter().chain(sampled).collect()
}

fn sample() -> usize {
    let sample = std::env::var("ENGRAM_SAMPLE").unwrap_or_default();
    sample.parse().unwrap_or(1).max(1)
}

fn in_repository() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let all = Recordings::undeclared(&root.join("fixtures")).unwrap().all;
    assert!(!all.is_empty(), "no recordings");
    all
}

fn elsewhere() -> Vec<Recording> {
    let trees = std::env::var_os("ENGRAM_RECORDINGS").unwrap_or_default();
    let trees = std::env::split_paths(&trees).filter(|tree| tree.is_dir());
    trees
        .flat_map(|tree| Recordings::undeclared(&tree).unwrap().all)
        .collect()
}

/// The recordings of the repository alone.
pub fn fixtures(name: &str) -> Vec<Recording> {
    let mut all = in_repository();
    all.retain(|recording| recording.name().contains(name));
    assert!(!all.is_empty(), "no fixture is called {name}");
    all
}

/// Tapes and an index.
pub struct Made {
    pub directory: TempDir,
    pub index: PathBuf,
    pub tapes: PathBuf,
}

impl Made {
    pub fn open(&self) -> Index {
        Index::open(&self.index).unwrap()
    }

    pub fn add(&self) -> engram_index::Added {
        Writer::open(&self.index, || ())
            .unwrap()
            .add(std::slice::from_ref(&self.tapes), &mut |_| ())
            .unwrap()
    }
}

/// Converts a recording and indexes its tapes.
pub fn made(recordings: &[&Recording]) -> Made {
    let directory = tempfile::tempdir().unwrap();
    let (index, tapes) = (
        directory.path().join("index"),
        directory.path().join("tapes"),
    );
    fs::create_dir(&tapes).unwrap();
    for (n, recording) in recordings.iter().enumerate() {
        for (name, tape) in tapes_of(&recording.directory.join("session")) {
            fs::write(tapes.join(format!("{n}-{name}.tape.jsonl")), tape).unwrap();
        }
    }
    let made = Made {
        directory,
        index,
        tapes,
    };
    let added = made.add();
    assert!(added.failed.is_empty(), "{:?}", added.failed);
    made
}

/// The tapes of all sessions in a directory, by number.
pub fn tapes_of(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut tapes = BTreeMap::new();
    for session in sessions(directory, &SessionOptions::default()).flatten() {
        let mut tape = Vec::new();
        if session.convert(&mut JsonLines::new(&mut tape)).is_ok() {
            tapes.insert(format!("{:03}", tapes.len()), tape);
        }
    }
    tapes
}
