//! The input of the gates: the fixture tree, further recordings if there are any, and the sessions in them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use engram_adapters::{Registration, Registry, conformance};
pub use engram_conformance::files;
use engram_conformance::{Form, Recordings, Session, read_decompressed};
use engram_core::adapter::{SideInfo, StreamAdapter};
use rayon::prelude::*;

/// One scenario of one harness version: session files, the ground truth, and how it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The harness: the name of its directory.
    pub harness: String,
    /// The harness version.
    pub version: String,
    /// The scenario.
    pub scenario: String,
    /// The directory.
    pub directory: PathBuf,
}

impl Case {
    /// `<harness>/<version>/<scenario>`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.harness, self.version, self.scenario)
    }
}

/// One session file of a case.
pub struct Artifact {
    /// The case that it belongs to.
    pub case: Case,
    /// The path of the file.
    pub path: PathBuf,
    /// Its path below the directory that all sessions of the case share.
    pub name: String,
    /// Its text, decompressed.
    pub bytes: Vec<u8>,
    /// The adapter that recognises it.
    pub entry: &'static Registration,
    /// The form that it is in.
    pub form: Form,
    /// Facts from files next to it.
    pub context: SideInfo,
}

impl Artifact {
    /// The adapter.
    pub fn adapter(&self) -> &'static dyn StreamAdapter {
        self.entry.stream().expect("the built-in adapters stream")
    }

    /// `<harness>/<version>/<scenario>/<name>`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.case.name(), self.name)
    }
}

/// The built-in adapters.
pub fn registered() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::builtin)
}

/// True for a file that is not a session by its place.
pub fn is_not_a_session(path: &Path) -> bool {
    conformance::is_not_a_session(registered(), path)
}

/// True for a file that is a session because the harness prints sessions.
pub fn is_printed(harness: &str, file: &str) -> bool {
    conformance::is_printed(registered(), harness, file)
}

/// The workspace root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in a workspace")
}

/// A JSON file of the tree.
pub fn read_json(path: &Path) -> serde_json::Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The last component of a path.
pub fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The cases of a tree of recordings, one in so many.
fn cases(tree: &Path, one_in: usize) -> Vec<Case> {
    let recordings = Recordings::undeclared(tree)
        .unwrap_or_else(|error| panic!("{error}"))
        .sample(one_in);
    let case = |recording: engram_conformance::Recording| {
        let engram_conformance::Recording {
            harness,
            version,
            scenario,
            directory,
            ..
        } = recording;
        Case {
            harness,
            version,
            scenario,
            directory,
        }
    };
    recordings.all.into_iter().map(case).collect()
}

/// True when an adapter is registered for the harness.
fn is_registered(harness: &str) -> bool {
    registered()
        .adapters()
        .any(|entry| entry.descriptor().harness_family == harness)
}

/// The cases of the fixture tree. Fails if a registered harness has none: then a gate would prove nothing.
pub fn fixture_cases() -> Vec<Case> {
    let found = cases(&root().join("fixtures"), 1);
    for entry in registered().adapters() {
        let harness = entry.descriptor().harness_family;
        assert!(
            found.iter().any(|case| case.harness == harness),
            "no fixtures for {harness}"
        );
    }
    found
}

/// The trees of recordings that `ENGRAM_RECORDINGS` names, separated as in `PATH` and seen from the workspace root. Empty if it is not set.
pub fn recording_trees() -> Vec<PathBuf> {
    let trees = std::env::var_os("ENGRAM_RECORDINGS").unwrap_or_default();
    std::env::split_paths(&trees)
        .filter(|tree| !tree.as_os_str().is_empty())
        .map(|tree| root().join(tree))
        .collect()
}

/// Of how many recordings the gates read one: all, or what `ENGRAM_SAMPLE` says.
pub fn one_in() -> usize {
    std::env::var("ENGRAM_SAMPLE").map_or(1, |number| {
        number
            .parse()
            .unwrap_or_else(|_| panic!("ENGRAM_SAMPLE={number} is no number"))
    })
}

/// The cases of these trees, of registered harnesses.
pub fn recording_cases() -> Vec<Case> {
    let of_tree = |tree: PathBuf| {
        let found: Vec<Case> = cases(&tree, one_in())
            .into_iter()
            .filter(|case| is_registered(&case.harness))
            .collect();
        assert!(
            !found.is_empty(),
            "ENGRAM_RECORDINGS names {}, which contains no recordings",
            tree.display()
        );
        found
    };
    recording_trees().into_iter().flat_map(of_tree).collect()
}

/// The text of a session file.
pub fn read_session(path: &Path) -> Vec<u8> {
    read_decompressed(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The session files of a case, and the findings for the others.
pub fn artifacts(case: &Case) -> (Vec<Artifact>, Vec<String>) {
    let (found, findings) = conformance::sessions(registered(), &case.harness, &case.directory);
    let artifact = |(session, entry): (Session, &'static Registration)| {
        let Session {
            name,
            path,
            bytes,
            context,
            form,
            ..
        } = session;
        Artifact {
            case: case.clone(),
            path,
            name,
            bytes,
            entry,
            form,
            context,
        }
    };
    (found.into_iter().map(artifact).collect(), findings)
}

/// All sessions of some cases.
pub struct Corpus {
    /// The cases, each with its sessions.
    pub cases: Vec<(Case, Vec<Artifact>)>,
    /// Files that no adapter, or more than one, recognises.
    pub findings: Vec<String>,
}

impl Corpus {
    fn read(cases: Vec<Case>) -> Corpus {
        let found: Vec<(Vec<Artifact>, Vec<String>)> = cases.par_iter().map(artifacts).collect();
        let mut corpus = Corpus {
            cases: Vec::new(),
            findings: Vec::new(),
        };
        for (case, (artifacts, findings)) in cases.into_iter().zip(found) {
            corpus.cases.push((case, artifacts));
            corpus.findings.extend(findings);
        }
        corpus
    }

    /// Every session.
    pub fn artifacts(&self) -> impl Iterator<Item = &Artifact> {
        self.cases.iter().flat_map(|(_, artifacts)| artifacts)
    }
}

/// The fixtures.
pub fn fixtures() -> &'static Corpus {
    static FIXTURES: OnceLock<Corpus> = OnceLock::new();
    FIXTURES.get_or_init(|| Corpus::read(fixture_cases()))
}

/// The recordings that the environment names, if any.
pub fn recordings() -> &'static Corpus {
    static RECORDINGS: OnceLock<Corpus> = OnceLock::new();
    RECORDINGS.get_or_init(|| Corpus::read(recording_cases()))
}
