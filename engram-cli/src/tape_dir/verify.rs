//! Compares a directory of tapes with its index, and makes the index again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::tapes::open_tape;
use engram_adapters::sessions::Stamp;

use super::directory::OutDir;
use super::entry::{Entry, Setup, State};
use super::file_hash::hash_of;
use super::index::{INDEX, Index, overview_of};
use super::names::is_tape_path;

/// The source of a tape whose log is not known: no path of a log is like this.
const UNKNOWN: &str = "unknown";
/// The most bytes of a tape's first line that are looked at.
const FIRST_LINE: u64 = 64 << 10;

/// What became of an index that was made again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Lines that were true, and stay.
    pub kept: usize,
    /// Lines for tapes that the index did not have.
    pub made: usize,
    /// Lines of tapes that are not there, or are not as they were written.
    pub dropped: usize,
}

/// Calls `found` with each tape that is missing, not as it was written, or in no line of the index. Also with each line of the index that
/// cannot be read.
///
/// # Errors
/// As the file system gives them.
pub fn verify(root: &Path, found: &mut dyn FnMut(&str, &str)) -> io::Result<()> {
    let index = Index::load_with(root, &mut |name, line| {
        found(&format!("{name}, line {line}"), "it is no line of an index")
    })?;
    for entry in index.entries() {
        let Some(tape) = &entry.tape else { continue };
        match hash_at(root, tape)? {
            None if entry.state == State::Writing => {}
            None => found(tape, "the index has it, and it is missing"),
            Some(hash) if is_hash_of(entry, &hash) => {}
            Some(_) => found(
                tape,
                "it is not as it was written: the index has another hash",
            ),
        }
    }
    let known = known(&index);
    for tape in tapes_in(root)?
        .into_iter()
        .filter(|tape| !known.contains(tape))
    {
        found(&tape, "it is foreign: the index does not have it");
    }
    Ok(())
}

/// Makes the index again: lines that are true stay, each other tape gets one of its own. The next run finds out which log it was made from.
///
/// # Errors
/// As the file system gives them.
pub fn repair(out: &OutDir) -> io::Result<Repaired> {
    let (root, mut repaired) = (out.root(), Repaired::default());
    let old = Index::load(root)?;
    let mut index = Index::default();
    for entry in old.entries() {
        let is_true = match &entry.tape {
            None => true,
            Some(tape) => hash_at(root, tape)?.is_some_and(|hash| is_hash_of(entry, &hash)),
        };
        if is_true {
            index.insert(entry.clone());
            repaired.kept += 1;
        } else {
            repaired.dropped += 1;
        }
    }
    let known = known(&index);
    for tape in tapes_in(root)?
        .into_iter()
        .filter(|tape| !known.contains(tape))
    {
        if let Some(entry) = entry_of(root, &tape)? {
            index.insert(entry);
            repaired.made += 1;
        }
    }
    index.save(root)?;
    Ok(repaired)
}

/// The line of a tape of an unknown log. `None` if it cannot be read.
fn entry_of(root: &Path, tape: &str) -> io::Result<Option<Entry>> {
    let path = root.join(tape);
    let Some(overview) = overview_of(&path) else {
        return Ok(None);
    };
    let stamp = Stamp {
        size: overview.input_bytes,
        modified: String::new(),
        changed: None,
        with: None,
    };
    let words = if is_redacted(&path)? {
        "redacted"
    } else {
        "whole"
    };
    let setup = Setup {
        adapters: String::new(),
        options: words.to_owned(),
    };
    let mut entry = Entry::new(
        &(UNKNOWN.to_owned(), Some(tape.to_owned())),
        State::Gone,
        stamp,
        &setup,
    );
    let (hash, bytes) = hash_of(&path)?;
    (entry.tape, entry.tape_hash, entry.tape_bytes) =
        (Some(tape.to_owned()), Some(hash), Some(bytes));
    entry.overview = Some(overview);
    Ok(Some(entry))
}

/// True if the first event of a tape names rules of redaction.
fn is_redacted(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    open_tape(path)?
        .take(FIRST_LINE)
        .read_until(b'\n', &mut first)?;
    let start: serde_json::Value = serde_json::from_slice(&first).unwrap_or_default();
    Ok(start.get("redaction").is_some())
}

/// True if the entry says this hash of its tape. A run that did not end may have left the one before.
fn is_hash_of(entry: &Entry, hash: &str) -> bool {
    let is_before = entry.state == State::Writing && entry.replaces_hash.as_deref() == Some(hash);
    entry.tape_hash.as_deref() == Some(hash) || is_before
}

/// The tapes that an index has: those of its entries, and the older ones that stayed.
fn known(index: &Index) -> BTreeSet<String> {
    index
        .entries()
        .filter_map(|entry| entry.tape.clone())
        .chain(index.superseded().map(str::to_owned))
        .collect()
}

/// The hash of a regular file in the directory; `None` if there is none.
fn hash_at(root: &Path, tape: &str) -> io::Result<Option<String>> {
    let path = root.join(tape);
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file {
        hash_of(&path).map(|(hash, _)| Some(hash))
    } else {
        Ok(None)
    }
}

/// The paths of all tapes, in order. Links are not followed.
fn tapes_in(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut tapes = BTreeSet::new();
    for directory in fs::read_dir(root)? {
        let directory = directory?;
        if !directory.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(directory.path())? {
            let file = file?;
            let path = format!(
                "{}/{}",
                directory.file_name().to_string_lossy(),
                file.file_name().to_string_lossy()
            );
            if file.file_type()?.is_file() && is_tape_path(&path) {
                tapes.insert(path);
            }
        }
    }
    Ok(tapes)
}

/// True for a directory that has an index of tapes.
pub fn has_index(root: &Path) -> bool {
    root.join(INDEX).is_file()
}
