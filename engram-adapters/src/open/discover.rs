//! Which files under a path may be sessions. What they are, their content says.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use engram_core::error::AdapterError;
use walkdir::{DirEntry, WalkDir};

/// How the names of files end that are looked into when a directory is searched.
const ENDINGS: &[&str] = &[".jsonl", ".json", ".jsonl.zst", ".json.zst"];

/// A file that may be a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it is.
    pub path: PathBuf,
    /// True when the caller named this very file, false when a search of a directory came upon it.
    pub named: bool,
    /// Its size on disk.
    pub bytes: u64,
}

/// The candidates at `path`: the file itself, or those that the directory holds, in the order of their names.
///
/// Links are followed. A link that leads nowhere or back to where it lies hides nothing and is passed over.
pub fn discover(path: &Path) -> Vec<Result<Candidate, AdapterError>> {
    match path.metadata() {
        Err(error) => vec![Err(AdapterError::from(error).path(path.to_string_lossy()))],
        Ok(metadata) if metadata.is_dir() => search(path),
        Ok(metadata) => vec![Ok(Candidate { path: path.to_owned(), named: true, bytes: metadata.len() })],
    }
}

fn search(directory: &Path) -> Vec<Result<Candidate, AdapterError>> {
    let entries = WalkDir::new(directory).follow_links(true).sort_by_file_name();
    entries.into_iter().filter_map(|entry| entry.map_or_else(refused, |entry| candidate(entry).map(Ok))).collect()
}

fn candidate(entry: DirEntry) -> Option<Candidate> {
    let name = entry.file_name().to_string_lossy();
    let may_be = entry.file_type().is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending));
    may_be.then(|| Candidate { bytes: entry.metadata().map_or(0, |metadata| metadata.len()), named: false, path: entry.into_path() })
}

fn refused(error: walkdir::Error) -> Option<Result<Candidate, AdapterError>> {
    let path = error.path().map(|path| path.to_string_lossy().into_owned());
    let cause = error.into_io_error().filter(|cause| cause.kind() != ErrorKind::NotFound)?;
    let mut refusal = AdapterError::from(cause);
    refusal.path = path;
    Some(Err(refusal))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(directory: &Path) -> Vec<String> {
        let name = |path: PathBuf| path.strip_prefix(directory).unwrap().to_string_lossy().replace('\\', "/");
        discover(directory).into_iter().map(|candidate| name(candidate.unwrap().path)).collect()
    }

    #[test]
    fn a_directory_is_searched_by_name_and_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("b/.hidden")).unwrap();
        for name in ["b/.hidden/2.jsonl", "b/1.json", "a.jsonl.zst", "notes.txt", "c.JSONL"] {
            fs::write(root.join(name), "").unwrap();
        }
        assert_eq!(found(root), ["a.jsonl.zst", "b/.hidden/2.jsonl", "b/1.json"]);
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

    #[test]
    fn a_named_file_is_a_candidate_whatever_its_name_and_a_missing_one_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("log.txt");
        fs::write(&file, "x").unwrap();
        assert_eq!(discover(&file), [Ok(Candidate { path: file, named: true, bytes: 1 })]);
        let missing = discover(&directory.path().join("missing"));
        assert!(missing[0].as_ref().is_err_and(|error| error.code.as_str() == "io" && error.path.is_some()));
    }
}
