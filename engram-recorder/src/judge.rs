//! Judges recordings with the Adapter Compatibility Kit.

use std::collections::BTreeMap;
use std::path::Path;

use engram_adapters::{Registry, conformance};
use engram_conformance::{Options, Recordings, Verdict};
use engram_core::version::Support;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, RecorderError};
use crate::sandbox::write;

/// What the kit says of the recordings of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The checks that fail, each with its first counter-examples: place and what is wrong.
    pub failing: BTreeMap<String, Vec<(String, String)>>,
    /// How many checks looked at something.
    pub held: usize,
    /// How many recordings show each scenario of the kit.
    pub shows: BTreeMap<String, u64>,
    /// How many sessions there were.
    pub sessions: u64,
    /// The version under which they were judged, if it is not their own: the nearest version that is recorded.
    pub as_version: Option<String>,
}

/// Counter-examples that are kept of a check.
const EXAMPLES: usize = 3;

/// Judges the recordings `<tree>/<harness>/<version>/`. If no adapter has a row for the version, a copy of the recordings is judged, in which
/// the number of the nearest version with a row stands in place of the version's own number.
///
/// # Errors
/// If there are none, or no adapter knows the harness.
pub fn version(tree: &Path, harness: &str, version: &str) -> Result<Judged, RecorderError> {
    let io = |error: std::io::Error| RecorderError::io(tree, &error);
    let source = tree
        .join(harness)
        .join(version)
        .canonicalize()
        .map_err(io)?;
    let alone = tempfile::tempdir().map_err(io)?;
    let family = alone.path().join(harness);
    std::fs::create_dir(&family).map_err(io)?;
    let as_version = nearest(harness, version);
    match &as_version {
        None => std::os::unix::fs::symlink(source, family.join(version)).map_err(io)?,
        Some(other) => copy_as(&source, &family.join(other), version, other)?,
    }
    Ok(Judged {
        as_version,
        ..tree_of_one(alone.path())?
    })
}

/// The adapters of a harness, each with its version: what judges.
pub fn adapter(harness: &str) -> String {
    let registry = Registry::builtin();
    let own = registry
        .adapters()
        .map(|entry| entry.descriptor())
        .filter(|descriptor| descriptor.harness_family == harness)
        .map(|descriptor| format!("{}@{}", descriptor.adapter_id, descriptor.adapter_version));
    own.collect::<Vec<_>>().join(" ")
}

/// The recorded version that is nearest to one that no adapter has a row for; `None` if one has.
pub fn nearest(harness: &str, version: &str) -> Option<String> {
    let registry = Registry::builtin();
    let entry = registry
        .adapters()
        .find(|entry| entry.descriptor().harness_family == harness)?;
    let matrix = &entry.descriptor().matrix;
    if matches!(
        matrix.resolve(Some(version)).1,
        Support::Tested | Support::Between
    ) {
        return None;
    }
    let near = matrix.nearest(Some(version));
    // A harness whose logs state no version has rows without a range.
    near.older
        .or(near.newer)
        .filter(|other| *other != version)
        .map(str::to_owned)
}

/// Copies recordings with another version number. A database keeps its layout, so it is changed only if both numbers are as long. What was not yet
/// written to it is written first: the log of a database has check sums.
fn copy_as(from: &Path, to: &Path, version: &str, other: &str) -> Result<(), RecorderError> {
    for path in engram_conformance::files(from) {
        let bytes = std::fs::read(&path).map_err(|error| RecorderError::io(&path, &error))?;
        write(&to.join(path.strip_prefix(from).unwrap_or(&path)), &bytes)?;
    }
    for path in engram_conformance::files(to) {
        let read = || std::fs::read(&path).map_err(|error| RecorderError::io(&path, &error));
        // A log that is gone with its database.
        if !path.exists() {
            continue;
        }
        if read()?.starts_with(DATABASE) {
            write_all(&path).map_err(|error| {
                RecorderError::new(Fault::Misconfigured, format!("{}: {error}", path.display()))
            })?;
        }
        let bytes = read()?;
        let is_text = std::str::from_utf8(&bytes).is_ok();
        let bytes = if is_text || version.len() == other.len() {
            replaced(&bytes, version.as_bytes(), other.as_bytes())
        } else {
            bytes
        };
        write(&path, &bytes)?;
    }
    Ok(())
}

/// How the file of a database begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// Writes what is in the log of a database to its file.
fn write_all(path: &Path) -> rusqlite::Result<()> {
    let database = rusqlite::Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "DELETE")
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn tree_of_one(root: &Path) -> Result<Judged, RecorderError> {
    let recordings = Recordings::undeclared(root)
        .map_err(|error| RecorderError::new(Fault::Misconfigured, error))?;
    let report = conformance::run(
        &Registry::builtin(),
        &recordings,
        &Options::default(),
        |_| true,
    );
    let mut judged = Judged::default();
    for column in &report.adapters {
        judged.sessions += column.sessions;
        for (name, count) in &column.scenarios {
            *judged.shows.entry((*name).to_owned()).or_default() += count;
        }
        for (id, outcome) in &column.outcomes {
            match outcome.verdict {
                Verdict::Fail => {
                    let examples = outcome
                        .examples
                        .iter()
                        .take(EXAMPLES)
                        .map(|example| (example.place.clone(), example.what.clone()));
                    judged.failing.insert((*id).to_owned(), examples.collect());
                }
                Verdict::Pass | Verdict::Gap => judged.held += 1,
                Verdict::Skip => {}
            }
        }
    }
    if report.is_empty() {
        return Err(RecorderError::new(
            Fault::UnknownHarness,
            "no adapter knows the harness of these recordings",
        ));
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_was_not_yet_written_to_a_database() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        std::fs::create_dir(&from).unwrap();
        let writer = rusqlite::Connection::open(from.join("a.db")).unwrap();
        let rows = "PRAGMA journal_mode=WAL; CREATE TABLE session (version TEXT); INSERT INTO session VALUES ('7.7.2');";
        writer.execute_batch(rows).unwrap();
        copy_as(&from, &to, "7.7.2", "7.7.7").unwrap();
        let copy = rusqlite::Connection::open(to.join("a.db")).unwrap();
        let version: String = copy
            .query_row("SELECT version FROM session", [], |row| row.get(0))
            .unwrap();
        assert_eq!(version, "7.7.7");
    }
}
