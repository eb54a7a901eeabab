//! Size, times and number of every file that a source is read from, without reading it.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use engram_core::hash::StreamHasher;
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::stores::store_at_root;
use crate::registry::Registry;

/// What SQLite keeps beside a database until it is part of it.
pub(super) const DATABASE_LOGS: [&str; 2] = ["-wal", "-journal"];
/// The most entries below a session's own directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The state of a source on disk. Two equal stamps mean that nothing has changed, as far as the file system knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Size in bytes; for a directory, of all its files.
    pub size: u64,
    /// When it was last modified: RFC 3339 in UTC.
    pub modified: String,
    /// Its number in the file system, and when anything about it last changed, where the system has both: a file that was put in the place
    /// of another one may have its size and its time of modification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// A hash of paths, sizes and times of all other files that it is read with; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

impl Stamp {
    /// The state of the file or store at `path`. `beside` has the neighbouring files that its tape was made from, as `tape.stop` names
    /// them.
    ///
    /// # Errors
    /// If `path` cannot be looked at.
    pub fn of(registry: &Registry, path: &Path, beside: &[String]) -> io::Result<Stamp> {
        // The same source has the same stamp, whatever path it is named by.
        let path = &*path.canonicalize()?;
        let metadata = path.metadata()?;
        if metadata.is_dir() {
            return Ok(Stamp::of_directory(registry, path));
        }
        let mut others = BTreeMap::new();
        let mut add = |other: PathBuf| {
            if let Ok(found) = other.metadata() {
                others.insert(other, state(&found));
            }
        };
        for log in DATABASE_LOGS {
            let mut name = path.as_os_str().to_owned();
            name.push(log);
            add(name.into());
        }
        registry
            .adapters()
            .flat_map(|adapter| (adapter.store_opener().read_with)(path))
            .for_each(&mut add);
        let directory = path.parent().unwrap_or(Path::new(""));
        beside
            .iter()
            .map(|name| directory.join(name))
            .for_each(&mut add);
        // A session's own directory. Its files count by their names and number: a new one changes the time of its directory.
        let own = path.with_extension("");
        if own != path {
            let directories = WalkDir::new(own)
                .follow_root_links(false)
                .max_depth(3)
                .into_iter()
                .take(MAX_ENTRIES)
                .filter_map(Result::ok);
            directories
                .filter(|entry| entry.file_type().is_dir())
                .for_each(|entry| add(entry.into_path()));
        }
        Ok(Stamp {
            size: metadata.len(),
            modified: modified(&metadata),
            changed: changed(&metadata),
            with: digest(&others),
        })
    }

    /// The state of a store that is a directory: of all files that belong to it.
    fn of_directory(registry: &Registry, root: &Path) -> Stamp {
        let is_inside = |name: &str| {
            store_at_root(registry, root)
                .is_some_and(|adapter| (adapter.store_opener().is_inside)(name))
        };
        let entries = fs::read_dir(root)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let of_store = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            DATABASE_LOGS
                .iter()
                .find_map(|log| name.strip_suffix(log))
                .map_or_else(|| is_inside(&name), is_inside)
        });
        let (mut others, mut size, mut last) = (BTreeMap::new(), 0, String::new());
        for entry in of_store
            .flat_map(|entry| WalkDir::new(entry.path()).follow_root_links(false))
            .filter_map(Result::ok)
        {
            if let Ok(found) = entry
                .metadata()
                .map_err(drop)
                .and_then(|found| if found.is_file() { Ok(found) } else { Err(()) })
            {
                size += found.len();
                last = last.max(modified(&found));
                others.insert(entry.into_path(), state(&found));
            }
        }
        Stamp {
            size,
            modified: last,
            changed: None,
            with: digest(&others),
        }
    }
}

fn state(metadata: &Metadata) -> String {
    // The size of a directory adds nothing to its time.
    let size = if metadata.is_dir() { 0 } else { metadata.len() };
    format!(
        "{size} {} {}",
        modified(metadata),
        changed(metadata).unwrap_or_default()
    )
}

/// The number of a file, and the time of its last change of any kind.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    Some(format!(
        "{} {}.{:09}",
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec()
    ))
}

/// Elsewhere there is none.
#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<String> {
    None
}

/// Always nine digits of a second, so that times compare as texts.
pub(super) fn modified(metadata: &Metadata) -> String {
    let time = metadata
        .modified()
        .ok()
        .and_then(|time| jiff::Timestamp::try_from(time).ok());
    time.map(|time| format!("{time:.9}")).unwrap_or_default()
}

fn digest(files: &BTreeMap<PathBuf, String>) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let mut hasher = StreamHasher::default();
    for (path, state) in files {
        hasher.update(path.to_string_lossy().as_bytes());
        hasher.update(&[0]);
        hasher.update(state.as_bytes());
        hasher.update(&[0]);
    }
    Some(hasher.finish().0.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(path: &Path) -> Stamp {
        Stamp::of(&Registry::builtin(), path, &["beside.txt".to_owned()]).unwrap()
    }

    #[test]
    fn what_a_session_is_read_from_changes_its_stamp_and_nothing_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "one").unwrap();
        let first = stamp(&path);
        assert_eq!((first.size, &first.with), (3, &None));
        fs::write(directory.path().join("b.jsonl"), "another session").unwrap();
        assert_eq!(stamp(&path), first);
        let mut last = first;
        let files = [
            "a.jsonl-wal",
            "beside.txt",
            "a/tool-results/1.txt",
            "a/subagents/agent-1.jsonl",
        ];
        for name in files {
            fs::create_dir_all(directory.path().join(name).parent().unwrap()).unwrap();
            fs::write(directory.path().join(name), "x").unwrap();
            let now = stamp(&path);
            assert_ne!(now, last, "{name}");
            last = now;
        }
        fs::write(&path, "one two").unwrap();
        assert_ne!(stamp(&path), last);
        assert!(Stamp::of(&Registry::builtin(), &directory.path().join("none"), &[]).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn another_file_with_the_same_size_and_time_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let [path, other] = ["a.jsonl", "b.jsonl"].map(|name| directory.path().join(name));
        fs::write(&path, "one").unwrap();
        let time = path.metadata().unwrap().modified().unwrap();
        let same_time = |path: &Path| {
            fs::File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_modified(time)
                .unwrap()
        };
        let first = stamp(&path);
        fs::write(&path, "two").unwrap();
        same_time(&path);
        let second = stamp(&path);
        assert_eq!(
            (&second.size, &second.modified),
            (&first.size, &first.modified)
        );
        assert_ne!(second, first, "written again");
        fs::write(&other, "six").unwrap();
        same_time(&other);
        fs::rename(&other, &path).unwrap();
        assert_ne!(stamp(&path), second, "another file");
    }

    #[cfg(feature = "opencode")]
    #[test]
    fn a_store_in_a_directory_has_the_state_of_its_own_files() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("storage/session/p/ses_1.json", "{}");
        let first = stamp(directory.path());
        write("log/today.log", "noise");
        assert_eq!(stamp(directory.path()), first);
        write("storage/message/ses_1/msg_1.json", "{}");
        assert_ne!(stamp(directory.path()), first);
    }
}
