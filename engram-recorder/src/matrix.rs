//! `matrix/<harness>.tsv`: one line for every published version, with what its recording has shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use engram_adapters::sessions::{SessionOptions, sessions};
use engram_core::tape::JsonLines;
use regex::Regex;
pub use semver::Version;
use serde_json::Value;

use crate::error::{Fault, RecorderError};
use crate::table_file;

/// The first line of a file.
const HEAD: &str = "version\tpublished\toutcome\twhy\tnew\tas\tshape\tdigest\tscenarios\tfeatures\tchecks\tseconds\tadapter\trun";

/// What has come of a version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every check holds, and its logs have nothing that those of the version before have not.
    Earned,
    /// Every check holds, and its logs have members or records that those of the version before have not.
    Additive,
    /// A check fails.
    Broken,
    /// It cannot be installed, started, or brought to leave a log.
    Unrecordable,
    /// It was not run yet.
    #[default]
    Unrun,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 5] = [
        Outcome::Earned,
        Outcome::Additive,
        Outcome::Broken,
        Outcome::Unrecordable,
        Outcome::Unrun,
    ];

    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Earned => "earned",
            Outcome::Additive => "additive",
            Outcome::Broken => "broken",
            Outcome::Unrecordable => "unrecordable",
            Outcome::Unrun => "unrun",
        }
    }
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// When it was published.
    pub published: String,
    /// What has come of it.
    pub outcome: Outcome,
    /// Why: the checks that fail, and why a scenario or all of it was not recorded.
    pub why: String,
    /// What its logs and its lists have that those of the version before have not, whole.
    pub new: String,
    /// The version as which it was judged, if no adapter has a row for it.
    pub as_version: String,
    /// The hash of the shape of its logs.
    pub shape: String,
    /// The hash of its tapes, without ids, times and texts of the vendor.
    pub digest: String,
    /// The scenarios that were recorded.
    pub scenarios: String,
    /// What the recordings show, in words of the kit.
    pub features: String,
    /// Checks that hold and checks that fail.
    pub checks: String,
    /// How long it took, with its installation.
    pub seconds: String,
    /// The adapter that was judged, with its version.
    pub adapter: String,
    /// When it was run, in UTC to the minute.
    pub run: String,
}

impl Row {
    /// The row of two shards: the one that was run later. Of two that were run at once any will do, as long as it is always the same.
    fn joined(self, other: Row) -> Row {
        let published = self.published.clone().max(other.published.clone());
        let order = |row: &Row| (row.outcome != Outcome::Unrun, row.run.clone(), row.cells());
        let later = if order(&self) < order(&other) {
            other
        } else {
            self
        };
        Row { published, ..later }
    }

    /// The cells of its line, behind the version.
    fn cells(&self) -> [String; 13] {
        let cells = [
            &self.published,
            self.outcome.as_str(),
            &self.why,
            &self.new,
            &self.as_version,
            &self.shape,
            &self.digest,
            &self.scenarios,
            &self.features,
            &self.checks,
            &self.seconds,
            &self.adapter,
            &self.run,
        ];
        cells.map(|cell| cell.replace(['\t', '\n', '\r'], " "))
    }
}

/// The lines of a file, by version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix(pub BTreeMap<Version, Row>);

impl Matrix {
    /// Reads a file; no file is an empty matrix.
    ///
    /// # Errors
    /// If a line is wrong.
    pub fn read(path: &Path) -> Result<Matrix, RecorderError> {
        let Some(text) = table_file::read(path)? else {
            return Ok(Matrix::default());
        };
        Matrix::parse(&text).map_err(|what| {
            RecorderError::new(Fault::BadScenario, format!("{}: {what}", path.display()))
        })
    }

    fn parse(text: &str) -> Result<Matrix, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err("its first line does not name the columns of this version".to_owned());
        }
        let mut rows = BTreeMap::new();
        for (at, line) in lines.enumerate() {
            let wrong = |what: &str| format!("line {}: {what}", at + 2);
            let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
            let [
                version,
                published,
                outcome,
                why,
                new,
                as_version,
                shape,
                digest,
                scenarios,
                features,
                checks,
                seconds,
                adapter,
                run,
            ] = <[String; 14]>::try_from(cells).map_err(|_| wrong("14 cells are expected"))?;
            let version =
                Version::parse(&version).map_err(|_| wrong("the version is no number"))?;
            let outcome = Outcome::ALL
                .into_iter()
                .find(|known| known.as_str() == outcome)
                .ok_or_else(|| wrong("unknown outcome"))?;
            let row = Row {
                published,
                outcome,
                why,
                new,
                as_version,
                shape,
                digest,
                scenarios,
                features,
                checks,
                seconds,
                adapter,
                run,
            };
            if rows.insert(version, row).is_some() {
                return Err(wrong("the version is listed twice"));
            }
        }
        Ok(Matrix(rows))
    }

    /// Writes a file, newest version first.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, path: &Path) -> Result<(), RecorderError> {
        table_file::replace(path, &self.to_string())
    }

    /// Adds what another shard has found. The order of joins does not matter.
    pub fn join(&mut self, other: Matrix) {
        for (version, row) in other.0 {
            let own = self.0.remove(&version).unwrap_or_default();
            self.0.insert(version, own.joined(row));
        }
    }

    /// How many lines have each outcome.
    pub fn counts(&self) -> BTreeMap<Outcome, usize> {
        let mut counts = BTreeMap::new();
        self.0
            .values()
            .for_each(|row| *counts.entry(row.outcome).or_default() += 1);
        counts
    }
}

impl std::fmt::Display for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{HEAD}")?;
        for (version, row) in self.0.iter().rev() {
            writeln!(f, "{version}\t{}", row.cells().join("\t"))?;
        }
        Ok(())
    }
}

/// A hash of the tapes of the recordings of one version: what happened, in order, without ids, times, sizes and texts of the vendor.
pub fn digest(version: &Path) -> String {
    let ids = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,}|[0-9a-f]{12,}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?|[0-9]{9,}").ok();
    let mut lines = Vec::new();
    let mut recordings: Vec<_> = fs::read_dir(version)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    recordings.sort();
    for recording in recordings {
        let mut tapes: Vec<String> =
            sessions(recording.join("session"), &SessionOptions::default())
                .flatten()
                .map(|session| {
                    let mut tape = Vec::new();
                    // What does not convert is seen by the kit.
                    let _ = session.convert(&mut JsonLines::new(&mut tape));
                    String::from_utf8_lossy(&tape)
                        .lines()
                        .filter_map(|line| essence(line, ids.as_ref()))
                        .collect()
                })
                .collect();
        // Names of files have ids.
        tapes.sort();
        lines.push(
            recording
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        );
        lines.extend(tapes);
    }
    blake3::hash(lines.join("\n").as_bytes()).to_hex().as_str()[..16].to_owned()
}

/// What one event says, without what differs from run to run.
fn essence(line: &str, ids: Option<&Regex>) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let word = |member: &str| {
        event
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut words: Vec<String> = [
        "k", "label", "by", "channel", "tool", "kind", "status", "decision", "file",
    ]
    .iter()
    .map(|member| word(member))
    .collect();
    if words[0].starts_with("msg.") {
        let text = word("text");
        words.push(ids.map_or_else(
            || text.clone(),
            |ids| ids.replace_all(&text, "_").into_owned(),
        ));
    }
    Some(words.join("\t") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_as_it_was_written() {
        let row = Row {
            published: "2026-01-01".to_owned(),
            outcome: Outcome::Broken,
            why: "a\tb\nc".to_owned(),
            ..Row::default()
        };
        let matrix = Matrix(BTreeMap::from([
            (Version::new(1, 9, 0), Row::default()),
            (Version::new(1, 10, 0), row),
        ]));
        let text = matrix.to_string();
        assert!(
            text.lines()
                .nth(1)
                .unwrap()
                .starts_with("1.10.0\t2026-01-01\tbroken\ta b c\t"),
            "{text}"
        );
        let again = Matrix::parse(&text).unwrap();
        assert_eq!(again.to_string(), text);
        assert_eq!(
            again.counts(),
            BTreeMap::from([(Outcome::Broken, 1), (Outcome::Unrun, 1)])
        );
    }

    #[test]
    fn shards_are_joined_in_any_order_and_the_later_run_counts() {
        let one = |version: u64, outcome, run: &str| {
            let row = Row {
                outcome,
                run: run.to_owned(),
                ..Row::default()
            };
            Matrix(BTreeMap::from([(Version::new(1, version, 0), row)]))
        };
        let shards = [
            one(1, Outcome::Broken, "2026-01-01T00:00Z"),
            one(1, Outcome::Earned, "2026-01-02T00:00Z"),
            one(1, Outcome::Unrun, ""),
            one(2, Outcome::Unrun, ""),
            one(2, Outcome::Additive, ""),
            one(2, Outcome::Earned, ""),
        ];
        let joined = |order: &[usize]| {
            let mut all = Matrix::default();
            order.iter().for_each(|at| all.join(shards[*at].clone()));
            all
        };
        let all = joined(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(all.0[&Version::new(1, 1, 0)].outcome, Outcome::Earned);
        assert_ne!(all.0[&Version::new(1, 2, 0)].outcome, Outcome::Unrun);
        for order in [[5, 4, 3, 2, 1, 0], [1, 3, 5, 0, 2, 4], [2, 0, 4, 1, 5, 3]] {
            assert_eq!(joined(&order), all);
        }
    }

    #[test]
    fn wrong_file_is_refused() {
        let text = Matrix(BTreeMap::from([(Version::new(1, 0, 0), Row::default())])).to_string();
        assert!(
            Matrix::parse(&text.replace("unrun", "maybe"))
                .unwrap_err()
                .contains("line 2")
        );
        assert!(
            Matrix::parse(&format!(
                "{text}1.0.0{}",
                text.split_once("1.0.0").unwrap().1
            ))
            .unwrap_err()
            .contains("twice")
        );
        assert!(Matrix::parse("version\n").is_err());
    }
}
