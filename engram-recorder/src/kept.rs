//! All that is kept of one harness in the directory of the matrix: lines, facts of logs, lists.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use semver::Version;

use crate::error::RecorderError;
use crate::facts::Facts;
use crate::lists;
use crate::matrix::{Matrix, Outcome};

/// What is kept of one harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    directory: PathBuf,
    harness: String,
    /// The lines.
    pub matrix: Matrix,
    /// The facts.
    pub facts: Facts,
}

impl Kept {
    /// Reads the files; those that are not there are empty.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub fn read(directory: &Path, harness: &str) -> Result<Kept, RecorderError> {
        let mut kept = Kept {
            directory: directory.to_owned(),
            harness: harness.to_owned(),
            matrix: Matrix::default(),
            facts: Facts::default(),
        };
        kept.matrix = Matrix::read(&directory.join(kept.matrix_file()))?;
        kept.facts = Facts::read(&directory.join(kept.facts_file()))?;
        Ok(kept)
    }

    /// Changes what is kept, while no other process does so.
    ///
    /// # Errors
    /// If the files cannot be read or written.
    pub fn change(
        directory: &Path,
        harness: &str,
        change: impl FnOnce(&mut Kept) -> Result<(), RecorderError>,
    ) -> Result<Kept, RecorderError> {
        let io = |error: std::io::Error| RecorderError::io(directory, &error);
        fs::create_dir_all(directory).map_err(io)?;
        let lock = File::open(directory).map_err(io)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| io(error.into()))?;
        let mut kept = Kept::read(directory, harness)?;
        change(&mut kept)?;
        kept.compare()?;
        kept.matrix.write(&directory.join(kept.matrix_file()))?;
        if !kept.facts.0.is_empty() {
            kept.facts.write(&directory.join(kept.facts_file()))?;
        }
        Ok(kept)
    }

    /// Adds what another directory has. The order of joins does not matter.
    ///
    /// # Errors
    /// If its files are wrong, or lists cannot be written.
    pub fn join(&mut self, other: Kept) -> Result<(), RecorderError> {
        for version in other.matrix.0.keys() {
            let found = other.lists(version)?;
            let mut own = self.lists(version)?;
            for (entry, value) in found {
                let kept = own.entry(entry).or_default();
                *kept = kept.clone().max(value);
            }
            lists::keep(&self.lists_directory(), &self.harness, version, &own)?;
        }
        self.matrix.join(other.matrix);
        self.facts.join(other.facts);
        Ok(())
    }

    /// Says of each version with facts what is new since the version before: a line changes when the version before it is recorded later.
    ///
    /// # Errors
    /// If lists cannot be read.
    pub fn compare(&mut self) -> Result<(), RecorderError> {
        let lists_directory = self.lists_directory();
        for (version, row) in &mut self.matrix.0 {
            if !self.facts.has(version) {
                continue;
            }
            let new = self.facts.new_in(version);
            let own = lists::kept(&lists_directory, &self.harness, version)?;
            let entries = lists::new_entries(&lists_directory, &self.harness, version, &own)?;
            row.outcome = match row.outcome {
                Outcome::Earned | Outcome::Additive if new.is_empty() => Outcome::Earned,
                Outcome::Earned | Outcome::Additive => Outcome::Additive,
                other => other,
            };
            let in_lists = format!("lists have {} new: {}", entries.len(), entries.join(" "));
            let parts = [
                new,
                if entries.is_empty() {
                    String::new()
                } else {
                    in_lists
                },
            ];
            let parts: Vec<&str> = parts
                .iter()
                .map(String::as_str)
                .filter(|part| !part.is_empty())
                .collect();
            row.new = parts.join("; ");
        }
        Ok(())
    }

    /// The harness.
    pub fn harness(&self) -> &str {
        &self.harness
    }

    /// The name of the file with its lines.
    pub fn matrix_file(&self) -> PathBuf {
        PathBuf::from(format!("{}.tsv", self.harness))
    }

    /// The name of the file with its facts.
    pub fn facts_file(&self) -> PathBuf {
        Path::new("facts").join(format!("{}.tsv", self.harness))
    }

    /// The directory with the lists of all harnesses.
    pub fn lists_directory(&self) -> PathBuf {
        self.directory.join("lists")
    }

    fn lists(&self, version: &Version) -> Result<lists::Lists, RecorderError> {
        lists::kept(&self.lists_directory(), &self.harness, version)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::facts::{Set, Shown};
    use crate::matrix::Row;
    use crate::shape::{Entry, Shape};

    fn put(directory: &Path, version: &str, pointers: &[&str], run: &str) {
        let version: Version = version.parse().unwrap();
        let entry =
            |pointer: &&str| Entry("user".into(), (*pointer).to_owned(), "string".to_owned());
        let shown = Shown {
            scenarios: BTreeSet::from(["a".to_owned()]),
            shape: Shape(pointers.iter().map(entry).collect()),
        };
        Kept::change(directory, "codex", |kept| {
            let row = Row {
                outcome: Outcome::Earned,
                run: run.to_owned(),
                ..Row::default()
            };
            kept.matrix.0.insert(version.clone(), row);
            kept.facts.0.insert((Set::Core, version), shown);
            Ok(())
        })
        .unwrap();
    }

    fn outcomes(kept: &Kept) -> Vec<(String, Outcome, String)> {
        let rows = kept.matrix.0.iter();
        rows.map(|(version, row)| (version.to_string(), row.outcome, row.new.clone()))
            .collect()
    }

    #[test]
    fn line_changes_when_the_version_before_is_recorded_later() {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), "1.2.0", &["/x", "/y"], "b");
        put(directory.path(), "1.0.0", &["/x"], "c");
        let kept = Kept::read(directory.path(), "codex").unwrap();
        let earned = |version: &str| (version.to_owned(), Outcome::Earned, String::new());
        let additive = |since: &str| {
            let new = format!("1 since {since}: user: /y");
            ("1.2.0".to_owned(), Outcome::Additive, new)
        };
        assert_eq!(outcomes(&kept), [earned("1.0.0"), additive("1.0.0")]);
        put(directory.path(), "1.1.0", &["/x", "/y"], "d");
        let kept = Kept::read(directory.path(), "codex").unwrap();
        assert_eq!(outcomes(&kept)[2], earned("1.2.0"));
    }

    #[test]
    fn shards_give_the_same_files_in_any_order() {
        let shard = |rows: &[(&str, &[&str])]| {
            let directory = tempfile::tempdir().unwrap();
            for (version, pointers) in rows {
                put(directory.path(), version, pointers, version);
            }
            let number = rows[0].0.parse().unwrap();
            let lists = [(("l".to_owned(), "a".to_owned()), rows[0].0.to_owned())];
            lists::keep(
                &directory.path().join("lists"),
                "codex",
                &number,
                &lists.into(),
            )
            .unwrap();
            directory
        };
        let one = shard(&[("1.0.0", &["/x"]), ("1.2.0", &["/x", "/y"])]);
        let two = shard(&[("1.1.0", &["/x"]), ("1.0.0", &["/x"])]);
        let joined = |order: [&Path; 2]| {
            let all = tempfile::tempdir().unwrap();
            for other in order {
                let other = Kept::read(other, "codex").unwrap();
                Kept::change(all.path(), "codex", |kept| kept.join(other)).unwrap();
            }
            let files = engram_conformance::files(all.path());
            let texts = files.iter().map(|path| {
                let name = path.strip_prefix(all.path()).unwrap().to_owned();
                (name, fs::read_to_string(path).unwrap())
            });
            texts.collect::<Vec<_>>()
        };
        let all = joined([one.path(), two.path()]);
        assert_eq!(all.len(), 4, "matrix, facts and two lists");
        assert_eq!(all, joined([two.path(), one.path()]));
        assert!(
            all.iter()
                .any(|(_, text)| text.contains("1 since 1.1.0: user: /y"))
        );
    }
}
