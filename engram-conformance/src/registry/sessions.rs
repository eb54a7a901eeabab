//! The sessions of a recording, opened as the command opens them: files, stores, exports, and what a harness prints.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use engram_adapters::open::openers::{OPENERS, open};
use engram_adapters::{Entry, by_id, detect};
use engram_core::limits::Limits;
use engram_core::pipeline::Input;

use crate::options::{Form, Open, Session, text_of};
use crate::recordings::files;

/// Files beside sessions that no adapter reads as one, by the end of their path: prompt histories, indexes, side files, stores.
const NO_SESSIONS: &[&str] =
    &["/history.jsonl", "/session_index.jsonl", "/sessions-index.json", ".meta.json", ".db", ".txt", "/projects.json", "/.project_root"];
/// Harnesses whose printed stream (`stdout/*.jsonl`) is a session too.
const PRINTING: &[&str] = &["opencode"];
/// What the folder is called in which a harness's own exports of the sessions of a recording lie.
const EXPORTS: &str = "export";

/// The last component of a path.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// True for a file that by its place is no session, or that the harness left empty, or that lies in a store.
pub fn is_no_session(path: &Path) -> bool {
    let spelled = path.to_string_lossy().replace('\\', "/");
    NO_SESSIONS.iter().any(|end| spelled.ends_with(end))
        || std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0)
        || path.ancestors().filter(|folder| folder.parent().is_some_and(|parent| name_of(parent) == "session")).any(is_store_root)
}

/// True for a folder that is opened into sessions as a whole.
fn is_store_root(folder: &Path) -> bool {
    OPENERS.iter().any(|opener| (opener.is_root)(folder))
}

/// True for a file that is opened into sessions.
fn is_store(path: &Path) -> bool {
    [".db", ".vscdb", ".txt"].iter().any(|end| name_of(path).ends_with(end))
}

/// True for a file of a harness's recording, named from its folder, that the harness printed and that is a session too.
pub fn is_printed(harness: &str, file: &str) -> bool {
    PRINTING.contains(&harness) && file.starts_with("stdout/")
}

/// Every session of a recording with the adapter that recognises it, and what is wrong with the other files.
pub fn sessions(harness: &str, recording: &Path) -> (Vec<(Session, &'static Entry)>, Vec<String>) {
    let folder = recording.join("session");
    let (stores, mut paths): (Vec<PathBuf>, Vec<PathBuf>) = files(&folder).into_iter().partition(|path| is_store(path));
    paths.extend(files(&recording.join("stdout")).into_iter().filter(|_| is_printed(harness, "stdout/")));
    paths.retain(|path| !is_no_session(path));
    let mut roots: Vec<PathBuf> = std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    roots.retain(|path| path.is_dir() && is_store_root(path));
    roots.sort();
    let stores = stores.into_iter().filter(|store| !roots.iter().any(|root| store.starts_with(root)));
    let shared = shared_folder(&paths).unwrap_or(folder);
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for path in roots.iter().cloned().chain(stores) {
        match stored(&path) {
            Ok(sessions) => found.extend(sessions),
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    for path in paths {
        match file(recording, &shared, &path) {
            Ok(session) => found.push(session),
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    (found, wrong)
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

/// The session that a file is.
fn file(recording: &Path, shared: &Path, path: &Path) -> Result<(Session, &'static Entry), String> {
    let bytes = text_of(path).map_err(|error| error.to_string())?;
    let mut input = Input::new(bytes.as_slice(), Limits::default());
    let head = input.head().map_err(|error| error.to_string())?;
    let (entry, _) = detect(&head).map_err(|error| error.to_string())?;
    let context = (entry.surroundings)(path, &head);
    let name = path.strip_prefix(shared).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let place = path.strip_prefix(recording).unwrap_or(path);
    let form = if place.starts_with("stdout") {
        Form::Printed
    } else if place.parent().is_some_and(|folder| name_of(folder) == EXPORTS) {
        Form::Exported
    } else {
        Form::Kept
    };
    Ok((Session { name, path: path.to_owned(), bytes, context, form }, entry))
}

/// The sessions of a store, each in the form that its adapter converts. A file that no opener knows holds none.
fn stored(path: &Path) -> Result<Vec<(Session, &'static Entry)>, engram_core::error::AdapterError> {
    let Some((opener, store)) = open(path, Limits::default())? else { return Ok(Vec::new()) };
    let entry = by_id(opener.adapter_id)?;
    let mut found = Vec::new();
    for session in store.sessions() {
        let export = store.export(session)?;
        let name = format!("{}/{}", name_of(path), session.id);
        let (path, bytes, context) = (path.to_owned(), export.text.into_bytes(), export.context);
        found.push((Session { name, path, bytes, context, form: Form::Kept }, entry));
    }
    Ok(found)
}

/// Opens the sessions of recordings as the registry recognises them, which has to be as those of one adapter.
pub struct Registered(pub &'static Entry);

impl Open for Registered {
    fn sessions(&self, recording: &Path) -> Result<Vec<Session>, String> {
        let descriptor = self.0.adapter.describe();
        let (found, wrong) = sessions(descriptor.harness_family, recording);
        if let Some(wrong) = wrong.into_iter().next() {
            return Err(wrong);
        }
        let foreign = found.iter().find(|(_, entry)| entry.adapter.describe().adapter_id != descriptor.adapter_id);
        match foreign {
            Some((session, entry)) => Err(format!("{} is recognised by {}", session.name, entry.adapter.describe().adapter_id)),
            None => Ok(found.into_iter().map(|(session, _)| session).collect()),
        }
    }
}
