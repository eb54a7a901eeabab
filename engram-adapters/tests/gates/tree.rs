//! What the gates run over: the fixture tree, the recordings beside it where there are any, and the sessions in them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use engram_adapters::open::store::{OPENERS, StoredSession, open};
use engram_adapters::{Entry, REGISTRY, by_id, detect};
use engram_core::adapter::Context;
use engram_core::drive::Input;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use rayon::prelude::*;

/// Files beside sessions that no adapter reads as one, by the end of their path: prompt histories, indexes, side files, stores.
const NO_SESSIONS: &[&str] =
    &["/history.jsonl", "/session_index.jsonl", "/sessions-index.json", ".meta.json", ".db", ".txt", "/projects.json", "/.project_root"];

/// Harnesses whose printed stream (`stdout/*.jsonl`) is a session too.
const PRINTING: &[&str] = &["opencode"];
/// What the folder is called in which a harness's own exports of the sessions of a case lie.
const EXPORTS: &str = "export";
/// How folders are called that hold, in place of a version, the steps of one store through several: `<number>-<version>`.
const UPGRADES: &str = "upgrade-";

/// One scenario of one harness version: session files, what really happened, and how it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The harness, as its folder is called.
    pub harness: String,
    /// The harness version.
    pub version: String,
    /// The scenario.
    pub scenario: String,
    /// The folder.
    pub folder: PathBuf,
    /// In a chain of upgrades, the folders of the steps before this one: their sessions lie in its store too.
    pub earlier: Vec<PathBuf>,
}

impl Case {
    /// `<harness>/<version>/<scenario>`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.harness, self.version, self.scenario)
    }

    /// True for a case of the fixture tree.
    pub fn is_fixture(&self) -> bool {
        self.folder.starts_with(root().join("fixtures"))
    }

    /// `truth.json`, with that of all earlier steps.
    pub fn truth(&self) -> serde_json::Value {
        let mut truth = read_json(&self.folder.join("truth.json"));
        for earlier in &self.earlier {
            let earlier = read_json(&earlier.join("truth.json"));
            for (key, list) in truth.as_object_mut().into_iter().flatten() {
                let more = earlier[key.as_str()].as_array().cloned().unwrap_or_default();
                list.as_array_mut().into_iter().for_each(|list| list.extend(more.iter().cloned()));
            }
        }
        truth
    }
}

/// In which of a harness's own forms a session lies. A case may hold the same sessions in several, and each is judged by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As the harness keeps it: files, or a store.
    Kept,
    /// As the harness exports it.
    Exported,
    /// As the harness prints it while it runs.
    Printed,
}

/// One session file of a case.
pub struct Artifact {
    /// The case that it belongs to.
    pub case: Case,
    /// Where it lies.
    pub path: PathBuf,
    /// Its path below the folder that all sessions of the case share.
    pub name: String,
    /// Its text, decompressed.
    pub bytes: Vec<u8>,
    /// The adapter that recognises it.
    pub entry: &'static Entry,
    /// The form that it is in.
    pub form: Form,
    /// What the store that it lies in says about it, for sessions of stores.
    pub stored: Option<Context>,
}

impl Artifact {
    /// `<harness>/<version>/<scenario>/<name>`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.case.name(), self.name)
    }
}

/// The workspace root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in a workspace")
}

/// A JSON file of the tree.
pub fn read_json(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folders in a folder, sorted, those left out whose name begins with `_`.
fn folders(path: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(path) else { return Vec::new() };
    let mut found: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    found.retain(|path| !file_name(path).starts_with('_'));
    found.sort();
    found
}

/// Every file below a folder, sorted by path.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = Vec::new();
    for path in listing.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The last component of a path.
pub fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The cases below a folder that is laid out as `<harness>/<version>/<scenario>`.
pub fn cases(tree: &Path) -> Vec<Case> {
    let mut found = Vec::new();
    for harness in folders(tree) {
        for version in folders(&harness) {
            for folder in folders(&version) {
                let (version, scenario) = match file_name(&folder).split_once('-') {
                    Some((_, step)) if file_name(&version).starts_with(UPGRADES) => (step, file_name(&version)),
                    _ => (file_name(&version), file_name(&folder)),
                };
                let (harness, version, scenario) = (file_name(&harness).to_owned(), version.to_owned(), scenario.to_owned());
                found.push(Case { harness, version, scenario, folder, earlier: Vec::new() });
            }
        }
    }
    chain(&mut found);
    found
}

/// Gives each step of a chain of upgrades the steps before it.
fn chain(cases: &mut [Case]) {
    let parsed = |case: &Case| semver::Version::parse(&case.version).ok();
    let steps: Vec<Case> = cases.iter().filter(|case| case.scenario.starts_with("upgrade")).cloned().collect();
    for case in cases.iter_mut() {
        let is_earlier = |step: &&Case| step.harness == case.harness && step.scenario == case.scenario && parsed(step) < parsed(case);
        case.earlier = steps.iter().filter(is_earlier).map(|step| step.folder.clone()).collect();
    }
}

/// True when an adapter is registered for the harness.
fn is_registered(harness: &str) -> bool {
    REGISTRY.iter().any(|entry| entry.adapter.describe().harness_family == harness)
}

/// The cases of the fixture tree. There must be some for every registered harness, or a gate over them would prove nothing.
pub fn fixture_cases() -> Vec<Case> {
    let found = cases(&root().join("fixtures"));
    for entry in REGISTRY {
        let harness = entry.adapter.describe().harness_family;
        assert!(found.iter().any(|case| case.harness == harness), "no fixtures for {harness}");
    }
    found
}

/// The cases of the recordings that `ENGRAM_RECORDINGS` names (from the workspace root), of registered harnesses. None where it is not set.
pub fn recording_cases() -> Vec<Case> {
    let Some(folder) = std::env::var_os("ENGRAM_RECORDINGS") else { return Vec::new() };
    let folder = root().join(folder);
    let found: Vec<Case> = cases(&folder).into_iter().filter(|case| is_registered(&case.harness)).collect();
    let found: Vec<Case> = found.into_iter().filter(|case| case.folder.join("truth.json").is_file()).collect();
    assert!(!found.is_empty(), "ENGRAM_RECORDINGS is set, but {} holds no recordings", folder.display());
    found
}

/// The text of a session file.
pub fn read_session(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension() != Some(OsStr::new("zst")) {
        return bytes;
    }
    let mut text = Vec::new();
    zstd::Decoder::new(bytes.as_slice())
        .and_then(|mut decoder| decoder.read_to_end(&mut text))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

/// True for a file that by its place is no session, or that the harness left empty.
pub fn is_no_session(path: &Path) -> bool {
    let spelled = path.to_string_lossy();
    NO_SESSIONS.iter().any(|end| spelled.ends_with(end))
        || fs::metadata(path).is_ok_and(|meta| meta.len() == 0)
        || path.ancestors().filter(|folder| folder.parent().is_some_and(|parent| file_name(parent) == "session")).any(is_store_root)
}

/// True for a folder that is opened into sessions as a whole.
fn is_store_root(folder: &Path) -> bool {
    OPENERS.iter().any(|opener| (opener.is_root)(folder))
}

/// The session files of a case, and what is wrong with the others.
pub fn artifacts(case: &Case) -> (Vec<Artifact>, Vec<String>) {
    let folder = case.folder.join("session");
    let (stores, mut paths): (Vec<PathBuf>, Vec<PathBuf>) = files(&folder).into_iter().partition(|path| is_store(path));
    paths.extend(files(&case.folder.join("stdout")).into_iter().filter(|_| is_printed(case, "stdout/")));
    let paths: Vec<PathBuf> = paths.into_iter().filter(|path| !is_no_session(path)).collect();
    let roots: Vec<PathBuf> = folders(&folder).into_iter().filter(|folder| is_store_root(folder)).collect();
    let stores = stores.into_iter().filter(|store| !roots.iter().any(|root| store.starts_with(root)));
    let shared = shared_folder(&paths).unwrap_or(folder);
    let (mut found, mut findings) = (Vec::new(), Vec::new());
    for path in roots.iter().cloned().chain(stores) {
        match stored(case, &path) {
            Ok(sessions) => found.extend(sessions),
            Err(error) => findings.push(format!("{}: {error}", path.display())),
        }
    }
    for path in paths {
        let bytes = read_session(&path);
        let name = path.strip_prefix(&shared).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let head = Input::new(bytes.as_slice(), Limits::default());
        match recognise(head) {
            Ok(entry) => found.push(Artifact { case: case.clone(), form: form(case, &path), path, name, bytes, entry, stored: None }),
            Err(error) => findings.push(format!("{}/{name}: {error}", case.name())),
        }
    }
    (found, findings)
}

/// True for a file of a case, named from its folder, that the harness printed and that is a session too.
pub fn is_printed(case: &Case, file: &str) -> bool {
    PRINTING.contains(&case.harness.as_str()) && file.starts_with("stdout/")
}

fn form(case: &Case, path: &Path) -> Form {
    let place = path.strip_prefix(&case.folder).unwrap_or(path);
    if place.starts_with("stdout") {
        Form::Printed
    } else if place.parent().is_some_and(|folder| file_name(folder) == EXPORTS) {
        Form::Exported
    } else {
        Form::Kept
    }
}

/// True for a file that is opened into sessions.
fn is_store(path: &Path) -> bool {
    [".db", ".vscdb", ".txt"].iter().any(|end| path.to_string_lossy().ends_with(end))
}

/// The sessions of a store, each in the form that its adapter converts. A file that no opener knows holds none.
fn stored(case: &Case, path: &Path) -> Result<Vec<Artifact>, AdapterError> {
    let Some((opener, store)) = open(path, Limits::default())? else { return Ok(Vec::new()) };
    let entry = by_id(opener.adapter_id)?;
    let session = |session: &StoredSession| {
        let export = store.export(session)?;
        let name = format!("{}/{}", file_name(path), session.id);
        let (path, bytes) = (path.to_owned(), export.text.into_bytes());
        Ok(Artifact { case: case.clone(), path, name, bytes, entry, form: Form::Kept, stored: Some(export.context) })
    };
    store.sessions().iter().map(session).collect()
}

fn recognise(mut input: Input<&[u8]>) -> Result<&'static Entry, String> {
    let head = input.head().map_err(|error| error.to_string())?;
    detect(&head).map(|(entry, _)| entry).map_err(|error| error.to_string())
}

fn shared_folder(paths: &[PathBuf]) -> Option<PathBuf> {
    let mut shared = paths.first()?.parent()?.to_owned();
    for path in paths {
        while !path.starts_with(&shared) {
            shared.pop();
        }
    }
    Some(shared)
}

/// All sessions of some cases.
pub struct Corpus {
    /// The cases, each with its sessions; once for each form that it holds them in.
    pub cases: Vec<(Case, Vec<Artifact>)>,
    /// Files that no adapter, or more than one, recognises.
    pub findings: Vec<String>,
}

impl Corpus {
    fn read(cases: Vec<Case>) -> Corpus {
        let found: Vec<(Vec<Artifact>, Vec<String>)> = cases.par_iter().map(artifacts).collect();
        let mut corpus = Corpus { cases: Vec::new(), findings: Vec::new() };
        for (case, (artifacts, findings)) in cases.into_iter().zip(found) {
            let mut forms: BTreeMap<Form, Vec<Artifact>> = BTreeMap::from_iter(artifacts.is_empty().then(|| (Form::Kept, Vec::new())));
            for artifact in artifacts {
                forms.entry(artifact.form).or_default().push(artifact);
            }
            corpus.cases.extend(forms.into_values().map(|artifacts| (case.clone(), artifacts)));
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

/// The recordings beside the workspace, where the environment names them.
pub fn recordings() -> &'static Corpus {
    static RECORDINGS: OnceLock<Corpus> = OnceLock::new();
    RECORDINGS.get_or_init(|| Corpus::read(recording_cases()))
}
