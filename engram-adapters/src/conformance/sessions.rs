//! Opens the sessions of a recording as the command does: files, stores, exports, and printed streams.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use engram_conformance::{Form, Open, Session, files, read_decompressed};
use engram_core::limits::Limits;
use engram_core::pipeline::Input;

use crate::registration::Registration;
use crate::registry::Registry;
use crate::sessions::{open_store, store_at_root};

/// Ends of the paths of files that are not sessions: prompt histories, indexes, journals and scripts of workflows, notes that a harness
/// remembers, side files, stores.
const NOT_SESSIONS: &[&str] = &[
    "/history.jsonl",
    "/session_index.jsonl",
    "/sessions-index.json",
    ".meta.json",
    ".db",
    ".sqlite",
    ".txt",
    ".md",
    "/projects.json",
    "/.project_root",
    "/custom-title.json",
    "/journal.jsonl",
    ".js",
];
/// Directories with side files of sessions: outputs of tools and of servers, in any format.
const SIDE_DIRECTORIES: &[&str] = &["tool-results", "rewind-file-snapshots"];
/// The directory with what a harness keeps of its workflows. Their agents have directories below it.
const WORKFLOWS: &str = "workflows";
/// What SQLite adds to the name of a database for the files that it keeps beside it.
const SQLITE_SUFFIXES: &[&str] = &["-wal", "-shm", "-journal"];
/// Ends of the names of databases.
const DATABASES: &[&str] = &[".db", ".vscdb", ".sqlite"];
/// The name of the directory with the harness's own exports of sessions.
const EXPORT_DIRECTORY: &str = "export";

/// The last component of a path.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// True for an empty file, a file in a store, and a file whose path shows that it is not a session.
pub fn is_not_a_session(registry: &Registry, path: &Path) -> bool {
    let spelled = path.to_string_lossy().replace('\\', "/");
    NOT_SESSIONS.iter().any(|end| spelled.ends_with(end))
        || path
            .ancestors()
            .skip(1)
            .any(|directory| SIDE_DIRECTORIES.contains(&name_of(directory)))
        || path
            .parent()
            .is_some_and(|directory| name_of(directory) == "stdout" && !is_stream(path))
        || path
            .parent()
            .is_some_and(|directory| name_of(directory) == WORKFLOWS)
        || is_beside_database(name_of(path))
        || std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0)
        || path
            .ancestors()
            .filter(|directory| {
                directory
                    .parent()
                    .is_some_and(|parent| name_of(parent) == "session")
            })
            .any(|directory| store_at_root(registry, directory).is_some())
}

/// True for a file that SQLite keeps beside a database. It is part of the database.
fn is_beside_database(name: &str) -> bool {
    let database = SQLITE_SUFFIXES
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix));
    database.is_some_and(|database| DATABASES.iter().any(|end| database.ends_with(end)))
}

/// True for a file that is a store.
fn is_store(path: &Path) -> bool {
    DATABASES
        .iter()
        .chain(&[".txt"])
        .any(|end| name_of(path).ends_with(end))
}

/// True if the first line of a printed file is a JSON value. With other options a command prints one document over many lines.
fn is_stream(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    text.split(|byte| *byte == b'\n')
        .next()
        .is_some_and(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}

/// True for a file that is a session because the harness prints sessions. `file` is relative to the recording's directory.
pub fn is_printed(registry: &Registry, harness: &str, file: &str) -> bool {
    let mut adapters = registry
        .adapters()
        .filter(|registration| registration.descriptor().harness_family == harness);
    file.starts_with("stdout/")
        && adapters.any(|registration| registration.certification().prints_sessions())
}

/// True if the version of a recording (`<harness>/<version>/<scenario>`) prints lines without a mark of the harness.
fn has_unmarked_captures(registry: &Registry, harness: &str, recording: &Path) -> bool {
    let version = recording.parent().map(name_of).unwrap_or_default();
    let mut adapters = registry
        .adapters()
        .filter(|registration| registration.descriptor().harness_family == harness);
    adapters.any(|registration| {
        registration
            .certification()
            .unmarked_captures()
            .contains(&version)
    })
}

/// Every session of a recording with the adapter that detects it, and the errors for the other files.
pub fn sessions(
    registry: &Registry,
    harness: &str,
    recording: &Path,
) -> (Vec<(Session, &'static Registration)>, Vec<String>) {
    let directory = recording.join("session");
    let (stores, mut paths): (Vec<PathBuf>, Vec<PathBuf>) = files(&directory)
        .into_iter()
        .partition(|path| is_store(path));
    paths.extend(
        files(&recording.join("stdout"))
            .into_iter()
            .filter(|_| is_printed(registry, harness, "stdout/")),
    );
    paths.retain(|path| !is_not_a_session(registry, path));
    let mut roots: Vec<PathBuf> = std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    roots.retain(|path| path.is_dir() && store_at_root(registry, path).is_some());
    roots.sort();
    let stores = stores
        .into_iter()
        .filter(|store| !roots.iter().any(|root| store.starts_with(root)));
    let shared = shared_directory(&paths).unwrap_or(directory);
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for path in roots.iter().cloned().chain(stores) {
        match read_store(registry, &path) {
            Ok(sessions) => found.extend(sessions),
            Err(error) => errors.push(format!("{}: {error}", path.display())),
        }
    }
    for path in paths {
        let is_unmarked = path.starts_with(recording.join("stdout"))
            && has_unmarked_captures(registry, harness, recording);
        match read_file(registry, recording, &shared, &path) {
            Ok((_, entry)) if is_unmarked => errors.push(format!(
                "{}: a version without marks, but {} recognises it",
                path.display(),
                entry.id()
            )),
            Ok(session) => found.push(session),
            Err(_) if is_unmarked => {}
            Err(error) => errors.push(format!("{}: {error}", path.display())),
        }
    }
    (found, errors)
}

/// The deepest directory that contains all paths.
fn shared_directory(paths: &[PathBuf]) -> Option<PathBuf> {
    let mut shared = paths.first()?.parent()?.to_owned();
    for path in paths {
        while !path.starts_with(&shared) {
            shared.pop();
        }
    }
    Some(shared)
}

/// Reads a file as one session.
fn read_file(
    registry: &Registry,
    recording: &Path,
    shared: &Path,
    path: &Path,
) -> Result<(Session, &'static Registration), String> {
    let bytes = read_decompressed(path).map_err(|error| error.to_string())?;
    let mut input = Input::new(bytes.as_slice(), Limits::default());
    let head = input.head().map_err(|error| error.to_string())?;
    let (entry, _) = registry.detect(&head).map_err(|error| error.to_string())?;
    let context = entry.side_info(path, &head, &entry.identify(&head));
    let name = path
        .strip_prefix(shared)
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/");
    let place = path.strip_prefix(recording).unwrap_or(path);
    let form = if place.starts_with("stdout") {
        Form::Streamed
    } else if place
        .parent()
        .is_some_and(|directory| name_of(directory) == EXPORT_DIRECTORY)
    {
        Form::Exported
    } else {
        Form::Stored
    };
    Ok((
        Session {
            name,
            path: path.to_owned(),
            bytes,
            context,
            form,
            is_exported_by_opener: false,
        },
        entry,
    ))
}

/// Exports the sessions of a store. A file that no opener knows has none.
fn read_store(
    registry: &Registry,
    path: &Path,
) -> Result<Vec<(Session, &'static Registration)>, engram_core::error::AdapterError> {
    let Some((entry, store)) = open_store(registry, path, Limits::default())? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for session in store.sessions() {
        let export = store.export(session)?;
        let name = format!("{}/{}", name_of(path), session.id);
        let (path, bytes, context) = (path.to_owned(), export.text.into_bytes(), export.context);
        found.push((
            Session {
                name,
                path,
                bytes,
                context,
                form: Form::Stored,
                is_exported_by_opener: true,
            },
            entry,
        ));
    }
    Ok(found)
}

/// Opens the sessions of recordings with the registry, which must detect all of them as sessions of one adapter.
pub struct RegisteredSessions<'r>(pub &'r Registry, pub &'static Registration);

impl Open for RegisteredSessions<'_> {
    fn sessions(&self, recording: &Path) -> Result<Vec<Session>, String> {
        let descriptor = self.1.descriptor();
        let (found, errors) = sessions(self.0, descriptor.harness_family, recording);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        let foreign = found
            .iter()
            .find(|(_, entry)| entry.id() != descriptor.adapter_id);
        match foreign {
            Some((session, entry)) => {
                Err(format!("{} is detected by {}", session.name, entry.id()))
            }
            None => Ok(found.into_iter().map(|(session, _)| session).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_not_a_session;
    use crate::registry::Registry;

    #[test]
    fn files_that_sqlite_keeps_beside_a_database_are_not_sessions() {
        for name in ["store.db-wal", "store.db-shm", "state.vscdb-journal"] {
            assert!(
                is_not_a_session(&Registry::empty(), Path::new(name)),
                "{name}"
            );
        }
        for name in [
            "tool-results/sound.wav",
            "workflows/wf_1.json",
            "workflows/scripts/flow.js",
            "workflows/wf_1/journal.jsonl",
        ] {
            assert!(
                is_not_a_session(&Registry::empty(), &Path::new("session/x").join(name)),
                "{name}"
            );
        }
        for name in ["notes-wal", "a.jsonl", "workflows/wf_1/agent-a.jsonl"] {
            assert!(
                !is_not_a_session(&Registry::empty(), Path::new(name)),
                "{name}"
            );
        }
    }
}
