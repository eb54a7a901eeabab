//! Finds the files and directories under a path that may be sessions or stores. Only their content decides what they are.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use walkdir::{DirEntry, WalkDir};

use super::stores::{open_store, store_at_root};
use crate::open::text::beginning_of;
use crate::open::{self, may_be_database};
use crate::registration::Registration;
use crate::registry::Registry;

/// Name endings of the files that are candidates when a directory is searched.
const ENDINGS: &[&str] = &[
    ".jsonl",
    ".ndjson",
    ".json",
    ".jsonl.zst",
    ".ndjson.zst",
    ".json.zst",
    ".jsonl.gz",
    ".ndjson.gz",
    ".json.gz",
];

/// Name endings of databases.
const DATABASE_ENDINGS: &[&str] = &[".db", ".vscdb", ".sqlite"];

/// As [`ENDINGS`], of files that may be stores: the log of a connection with several sessions.
const LINES_ENDINGS: &[&str] = &[".jsonl"];
/// How much of such a file is read to see whether it may be one.
const LINES_HEAD: u64 = 4096;

/// Name endings of files that are candidates only if an opener knows their content: most such files are not sessions.
const TEXT_ENDINGS: &[&str] = &[".txt"];

/// As [`TEXT_ENDINGS`], of compressed files. Such a file is no store.
const PACKED_TEXT_ENDINGS: &[&str] = &[".txt.zst", ".txt.gz"];

/// A file or directory that may be a session, or a store of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its path.
    pub path: PathBuf,
    /// True if the caller named this file or directory; false if it was found in a directory.
    pub named: bool,
    /// Its size on disk; 0 for a directory.
    pub bytes: u64,
    /// True if it may be a store: [`open_store`] decides.
    pub may_be_store: bool,
    /// True if the caller knows that it has not changed. Then nothing of it is read.
    pub unchanged: bool,
}

/// Asks the caller whether a file or store has not changed since it was read last.
pub(super) type IsUnchanged<'f> = dyn Fn(&Path) -> bool + 'f;

/// What is at a path.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    /// The file itself, or the candidates in the directory, in the order of their names.
    pub candidates: Vec<Result<Candidate, AdapterError>>,
    /// Links in the directory that lead out of it, to a directory or to a file with the name of a candidate. They are not followed.
    pub links_out: Vec<PathBuf>,
}

/// The candidates at `path`.
///
/// A search does not leave the directory: whoever wrote it must not choose what else is read. The root directory of a store is one
/// candidate, and what belongs to the store is not a candidate of its own.
pub(super) fn discover(
    registry: &Registry,
    path: &Path,
    is_unchanged: &IsUnchanged<'_>,
) -> Discovered {
    let one = |candidate| Discovered {
        candidates: vec![candidate],
        links_out: Vec::new(),
    };
    match path.metadata() {
        Err(error) => one(Err(AdapterError::from(error).path(path.to_string_lossy()))),
        Ok(metadata) if metadata.is_dir() => search(registry, path, is_unchanged),
        Ok(metadata) => one(Ok(named_file(path, &metadata, is_unchanged))),
    }
}

/// A named file may be anything. Only a regular file may be read twice: reading from a pipe consumes it.
fn named_file(path: &Path, metadata: &Metadata, is_unchanged: &IsUnchanged<'_>) -> Candidate {
    let unchanged = metadata.is_file() && is_unchanged(path);
    Candidate {
        path: path.to_owned(),
        named: true,
        bytes: metadata.len(),
        may_be_store: metadata.is_file(),
        unchanged,
    }
}

fn search(registry: &Registry, directory: &Path, is_unchanged: &IsUnchanged<'_>) -> Discovered {
    let mut entries = WalkDir::new(directory)
        .follow_links(false)
        .sort_by_file_name()
        .into_iter();
    let root = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let (mut found, mut links_out, mut roots) = (Vec::new(), Vec::new(), HashMap::new());
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.extend(refused(error).map(Err));
                continue;
            }
        };
        let is_directory = entry.file_type().is_dir();
        if is_inside_store(&entry, &roots) {
            if is_directory {
                entries.skip_current_dir();
            }
        } else if entry.path_is_symlink() && entry.depth() > 0 {
            match linked(&root, &entry) {
                Err(error) => found.push(Err(error)),
                // A directory inside is found where it is.
                Ok(Linked::File) => found.extend(candidate(registry, entry, is_unchanged)),
                Ok(Linked::Outside) => links_out.push(entry.into_path()),
                Ok(Linked::Nothing) => {}
            }
        } else if !is_directory {
            found.extend(candidate(registry, entry, is_unchanged));
        } else if let Some(registration) = store_at_root(registry, entry.path()) {
            let path = entry.path().to_owned();
            let unchanged = is_unchanged(&path);
            found.push(Ok(Candidate {
                path,
                named: entry.depth() == 0,
                bytes: 0,
                may_be_store: true,
                unchanged,
            }));
            roots.insert(entry.into_path(), registration);
        }
    }
    Discovered {
        candidates: found,
        links_out,
    }
}

/// What a link leads to.
enum Linked {
    /// A regular file inside of the searched directory.
    File,
    /// Something outside that may be a session or have sessions in it.
    Outside,
    /// Anything else.
    Nothing,
}

/// Fails for a link that cannot be looked at, such as a loop.
fn linked(root: &Path, link: &DirEntry) -> Result<Linked, AdapterError> {
    let found = link
        .path()
        .canonicalize()
        .and_then(|target| Ok((target.metadata()?, target)));
    let (metadata, target) = match found {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Linked::Nothing),
        Err(error) => return Err(AdapterError::from(error).path(link.path().to_string_lossy())),
    };
    Ok(match target.starts_with(root) {
        true if metadata.is_file() => Linked::File,
        false if metadata.is_dir() || metadata.is_file() && has_ending(link) => Linked::Outside,
        _ => Linked::Nothing,
    })
}

/// True for what is read as a part of the store whose root contains it.
fn is_inside_store(entry: &DirEntry, roots: &HashMap<PathBuf, &'static Registration>) -> bool {
    let registration = entry
        .path()
        .parent()
        .and_then(|directory| roots.get(directory));
    registration.is_some_and(|registration| {
        (registration.store_opener().is_inside)(&entry.file_name().to_string_lossy())
    })
}

fn candidate(
    registry: &Registry,
    entry: DirEntry,
    is_unchanged: &IsUnchanged<'_>,
) -> Option<Result<Candidate, AdapterError>> {
    if !has_ending(&entry) {
        return None;
    }
    let metadata = match entry.path().metadata() {
        // Opening a named pipe would wait for its other end, and a device may never end.
        Ok(metadata) => Some(metadata).filter(Metadata::is_file)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            return Some(Err(
                AdapterError::from(error).path(entry.path().to_string_lossy())
            ));
        }
    };
    if is_unchanged(entry.path()) {
        return Some(Ok(Candidate {
            bytes: 0,
            named: false,
            may_be_store: false,
            unchanged: true,
            path: entry.into_path(),
        }));
    }
    let ends = |endings| ends_with(&entry, endings);
    let may_be_store = (ends(DATABASE_ENDINGS) && may_be_database(entry.path()))
        || (ends(TEXT_ENDINGS) && is_store(registry, entry.path()))
        || (ends(LINES_ENDINGS) && begins_lines(registry, entry.path()));
    let may_be = may_be_store
        || ends(ENDINGS)
        || (ends(PACKED_TEXT_ENDINGS) && begins_as_text(registry, entry.path()));
    may_be.then(|| {
        Ok(Candidate {
            bytes: metadata.len(),
            named: false,
            may_be_store,
            unchanged: false,
            path: entry.into_path(),
        })
    })
}

fn has_ending(entry: &DirEntry) -> bool {
    [ENDINGS, DATABASE_ENDINGS, TEXT_ENDINGS, PACKED_TEXT_ENDINGS]
        .into_iter()
        .any(|endings| ends_with(entry, endings))
}

fn ends_with(entry: &DirEntry, endings: &[&str]) -> bool {
    let name = entry.file_name().to_string_lossy();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// True if the content of a compressed file begins as a text that some adapter knows.
fn begins_as_text(registry: &Registry, path: &Path) -> bool {
    let Ok(mut content) = open::found(path).and_then(open::content) else {
        return false;
    };
    let (first, _) = beginning_of(&mut content);
    let mut forms = registry
        .adapters()
        .filter_map(|registration| registration.store_opener().text_form);
    forms.any(|form| (form.begins)(&first))
}

/// True if a file of lines begins as a store of some adapter.
fn begins_lines(registry: &Registry, path: &Path) -> bool {
    let mut first = Vec::new();
    let read = open::found(path).and_then(|file| file.take(LINES_HEAD).read_to_end(&mut first));
    let mut adapters = registry.adapters();
    read.is_ok() && adapters.any(|adapter| (adapter.store_opener().begins_lines)(&first))
}

/// True also if the content is that of a store and opening it fails: then the error is reported later.
fn is_store(registry: &Registry, path: &Path) -> bool {
    open::found(path).is_ok()
        && !open_store(registry, path, Limits::default()).is_ok_and(|opened| opened.is_none())
}

fn refused(error: walkdir::Error) -> Option<AdapterError> {
    let path = error.path().map(|path| path.to_string_lossy().into_owned());
    let cause = error
        .into_io_error()
        .filter(|cause| cause.kind() != ErrorKind::NotFound)?;
    let mut refusal = AdapterError::from(cause);
    refusal.path = path;
    Some(refusal)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(directory: &Path) -> Vec<String> {
        let name = |path: PathBuf| {
            path.strip_prefix(directory)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/")
        };
        discover(&Registry::builtin(), directory, &|_| false)
            .candidates
            .into_iter()
            .map(|candidate| name(candidate.unwrap().path))
            .collect()
    }

    #[test]
    fn a_directory_is_searched_by_name_and_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("b/.hidden")).unwrap();
        for name in [
            "b/.hidden/2.jsonl",
            "b/1.json",
            "a.jsonl.zst",
            "notes.txt",
            "c.JSONL",
            "d.ndjson",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        assert_eq!(
            found(root),
            ["a.jsonl.zst", "b/.hidden/2.jsonl", "b/1.json", "d.ndjson"]
        );
    }

    /// Each opener is found by a search as it is found by the path of its store.
    #[cfg(all(feature = "pi", feature = "acp", feature = "sqlite"))]
    #[test]
    fn a_store_is_found_by_its_name_and_by_its_first_line() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            fs::write(directory.path().join(name), content).unwrap();
        };
        write("openclaw-agent.sqlite", b"SQLite format 3\0");
        write("acp.jsonl", b"{\"log\":\"engram-acp\",\"version\":1}\n");
        write("other.jsonl", b"{\"type\":\"user\"}\n");
        let found = discover(&Registry::builtin(), directory.path(), &|_| false).candidates;
        let stores: Vec<bool> = found
            .into_iter()
            .map(|one| one.unwrap().may_be_store)
            .collect();
        assert_eq!(stores, [true, true, false]);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_back_or_nowhere_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("1.jsonl"), "").unwrap();
        std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("latest.jsonl")).unwrap();
        std::os::unix::fs::symlink("1.jsonl", root.join("2.jsonl")).unwrap();
        assert_eq!(found(root), ["1.jsonl", "2.jsonl"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_are_listed_and_not_followed() {
        use std::os::unix::fs::symlink;
        let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = directory.path();
        fs::write(root.join("1.jsonl"), "").unwrap();
        fs::write(outside.path().join("2.jsonl"), "").unwrap();
        symlink(outside.path(), root.join("folder")).unwrap();
        symlink(outside.path().join("2.jsonl"), root.join("file.jsonl")).unwrap();
        symlink(outside.path().join("2.jsonl"), root.join("program")).unwrap();
        assert_eq!(found(root), ["1.jsonl"]);
        let links_out = discover(&Registry::builtin(), root, &|_| false).links_out;
        assert_eq!(links_out, [root.join("file.jsonl"), root.join("folder")]);
        let link = directory.path().join("link");
        symlink(outside.path(), &link).unwrap();
        assert_eq!(
            discover(&Registry::builtin(), &link, &|_| false)
                .candidates
                .len(),
            1,
            "a link that the caller names is followed"
        );
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::os::unix::fs::symlink("/dev/zero", root.join("zero.jsonl")).unwrap();
        for name in ["pipe.db", "pipe.txt", "pipe.jsonl"] {
            let made = std::process::Command::new("mkfifo")
                .arg(root.join(name))
                .status()
                .unwrap();
            assert!(made.success());
        }
        assert_eq!(found(root), Vec::<String>::new());
    }

    #[test]
    fn a_named_file_is_a_candidate_whatever_its_name_and_a_missing_one_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("log.txt");
        fs::write(&file, "x").unwrap();
        let candidate = Candidate {
            path: file.clone(),
            named: true,
            bytes: 1,
            may_be_store: true,
            unchanged: false,
        };
        assert_eq!(
            discover(&Registry::builtin(), &file, &|_| false).candidates,
            [Ok(candidate)]
        );
        let missing = discover(
            &Registry::builtin(),
            &directory.path().join("missing"),
            &|_| false,
        )
        .candidates;
        assert!(
            missing[0]
                .as_ref()
                .is_err_and(|error| error.code.as_str() == "not_found" && error.path.is_some())
        );
    }

    /// A session of OpenCode's global layout, and a database of another product beside it.
    #[test]
    fn a_root_is_one_candidate_and_what_belongs_to_it_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let write = |name: &str, content: &[u8]| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("share/opencode/storage/session/p/ses_1.json", b"{}");
        write("share/opencode/storage/message/ses_1/msg_1.json", b"{}");
        write("share/opencode/auth.json", b"{}");
        write("share/other.db", b"SQLite format 3\0");
        write("share/empty.db", b"");
        write("share/notes.txt", b"user:\nhello\n");
        write(
            "share/talk.txt",
            b"user:\n<user_query>\nhello\n</user_query>\n",
        );
        assert_eq!(
            found(root),
            [
                "share/opencode",
                "share/opencode/auth.json",
                "share/other.db",
                "share/talk.txt"
            ]
        );
        assert_eq!(found(&root.join("share/opencode")), ["", "auth.json"]);
    }
}
