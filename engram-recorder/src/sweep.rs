//! Records every published version of a harness, and keeps what came of it in the matrix.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;
use semver::Version;

use crate::error::{Fault, RecorderError};
use crate::facts::{Set, Shown};
use crate::harness::Harness;
use crate::inside::Ran;
use crate::install::{DRIVERS, Installer};
use crate::isolation::Isolation;
use crate::judge::{self, Judged};
use crate::kept::Kept;
use crate::lists;
use crate::matrix::{Matrix, Outcome, Row, digest};
use crate::process::End;
use crate::record::Job;
use crate::scenario::Scenario;
use crate::shape::Shape;

/// How much of one reason stands in the matrix.
const WHY_CHARS: usize = 240;

/// What is swept.
pub struct Sweep<'s> {
    /// The harness.
    pub harness: &'static dyn Harness,
    /// The scenarios of every version.
    pub core: Vec<&'s Scenario>,
    /// The scenarios of the newest version.
    pub wide: Vec<&'s Scenario>,
    /// The directory of the scenarios.
    pub directory: &'s Path,
    /// The script that lists and installs versions.
    pub installer: Installer<'s>,
    /// The directory of the matrix.
    pub matrix: &'s Path,
    /// The tree of recordings. Those of versions that earned their line are deleted.
    pub out: &'s Path,
    /// How recordings are kept apart.
    pub isolation: &'s Isolation,
    /// Which part of the versions: this one of so many, from 1.
    pub shard: (usize, usize),
    /// The most versions that are run now; 0: all.
    pub most: usize,
    /// Only versions that are newer than every one that was run.
    pub only_new: bool,
    /// Keep what was installed.
    pub keep: bool,
    /// Run those again that have this outcome.
    pub again: Option<Outcome>,
}

impl Sweep<'_> {
    /// Asks for the published versions and adds their lines.
    ///
    /// # Errors
    /// If the script fails.
    pub fn refresh(&self) -> Result<Matrix, RecorderError> {
        let listed = self.installer.list(self.harness.family())?;
        let kept = Kept::change(self.matrix, self.harness.family(), |kept| {
            for (version, published) in listed {
                kept.matrix.0.entry(version).or_default().published = published;
            }
            if kept.matrix.0.is_empty() {
                let what = format!("{} lists no version", self.installer.script.display());
                return Err(RecorderError::new(Fault::Misconfigured, what));
            }
            Ok(())
        })?;
        Ok(kept.matrix)
    }

    /// The scenarios of a version.
    fn scenarios(&self, version: &Version, matrix: &Matrix) -> &[&Scenario] {
        let newest = matrix.0.keys().next_back();
        if newest == Some(version) {
            &self.wide
        } else {
            &self.core
        }
    }

    /// The versions that are to be run, newest first.
    pub fn due(&self, matrix: &Matrix) -> Vec<Version> {
        let newest_run = matrix
            .0
            .iter()
            .rev()
            .find(|(_, row)| row.outcome != Outcome::Unrun)
            .map(|(version, _)| version.clone());
        let is_due = |version: &Version, row: &Row| {
            let is_wanted = row.outcome == Outcome::Unrun || Some(row.outcome) == self.again;
            is_wanted
                && !(self.only_new && newest_run.as_ref().is_some_and(|newest| version < newest))
        };
        let due = matrix
            .0
            .iter()
            .rev()
            .filter(|(version, row)| is_in(version, self.shard) && is_due(version, row))
            .map(|(version, _)| version.clone());
        due.take(if self.most == 0 {
            usize::MAX
        } else {
            self.most
        })
        .collect()
    }

    /// Runs one version and writes its line.
    ///
    /// # Errors
    /// If the matrix cannot be written.
    pub fn run(&self, version: &Version, matrix: &Matrix) -> Result<Row, RecorderError> {
        let begun = Instant::now();
        let root = self.installer.place(self.harness.family(), version);
        let was_there = root.join("node_modules").is_dir();
        let scenarios = self.scenarios(version, matrix);
        let outcome = self
            .install(version, &root, scenarios)
            .and_then(|()| self.record(version, &root, scenarios));
        let (mut row, shown) = outcome.unwrap_or_else(|error| {
            let row = Row {
                outcome: Outcome::Unrecordable,
                why: short(&error.what),
                adapter: judge::adapter(self.harness.family()),
                ..Row::default()
            };
            (row, BTreeMap::new())
        });
        // Lists that cannot be read are missing; the recording says what matters.
        let lists = lists::of_installed(self.harness.family(), &root).unwrap_or_default();
        if !was_there && !self.keep {
            // What is left is only space.
            let _ = fs::remove_dir_all(&root);
        }
        if row.outcome != Outcome::Broken {
            let _ = fs::remove_dir_all(self.recordings(version));
        }
        row.seconds = begun.elapsed().as_secs().to_string();
        row.run = now();
        let kept = Kept::change(self.matrix, self.harness.family(), |kept| {
            lists::keep(
                &kept.lists_directory(),
                self.harness.family(),
                version,
                &lists,
            )?;
            put(kept, version, row, shown);
            Ok(())
        })?;
        Ok(kept.matrix.0.get(version).cloned().unwrap_or_default())
    }

    fn recordings(&self, version: &Version) -> PathBuf {
        self.out
            .join(self.harness.family())
            .join(version.to_string())
    }

    /// Installs the version with the packages that its scenarios need, unless they are there.
    fn install(
        &self,
        version: &Version,
        root: &Path,
        scenarios: &[&Scenario],
    ) -> Result<(), RecorderError> {
        let packages: BTreeSet<&str> = scenarios
            .iter()
            .flat_map(|scenario| scenario.packages())
            .collect();
        let has_packages = packages.is_empty() || root.join(DRIVERS).is_dir();
        if root.join("node_modules").is_dir() && has_packages {
            return Ok(());
        }
        self.installer
            .install(self.harness.family(), version, packages)
    }

    fn record(
        &self,
        version: &Version,
        root: &Path,
        scenarios: &[&Scenario],
    ) -> Result<(Row, BTreeMap<Set, Shown>), RecorderError> {
        let mut recorded = Vec::new();
        let mut reasons = Vec::new();
        for scenario in scenarios {
            let job = Job {
                harness: self.harness,
                version,
                installed: root,
                scenario,
                scenarios: self.directory,
                out: self.out,
                isolation: self.isolation,
                provider: None,
                named: None,
            };
            match job.record() {
                Ok(done) => {
                    let family = self.harness.family();
                    let runs = scenario.runs.iter().zip(&done.done.runs);
                    let own: Vec<&Ran> = runs
                        .filter(|(run, _)| run.is_for(family))
                        .map(|(_, ran)| ran)
                        .collect();
                    let skipped = not_run(&own);
                    let (of, ran) = (own.len(), own.len() - skipped.len());
                    let name = if ran == of {
                        scenario.id.clone()
                    } else {
                        format!("{}:{ran}/{of}", scenario.id)
                    };
                    let whys = skipped.into_iter().chain(ended(&own));
                    reasons.extend(whys.map(|why| format!("{} {why}", scenario.id)));
                    recorded.push((*scenario, name));
                }
                // What cannot even answer a question is not tried further.
                Err(error) if recorded.is_empty() => return Err(error),
                Err(error) => reasons.push(format!("{}: {}", scenario.id, short(&error.what))),
            }
        }
        let family = self.harness.family();
        let mut row = judged_row(self.out, family, &version.to_string())?;
        if !reasons.is_empty() {
            let not_recorded = format!("not recorded: {}", reasons.join(", "));
            row.why = format!("{}; {not_recorded}", row.why);
            row.why = row.why.trim_start_matches("; ").to_owned();
        }
        let names = recorded.iter().map(|(_, name)| name.as_str());
        row.scenarios = names.collect::<Vec<_>>().join(" ");
        let shown = shown(family, &self.recordings(version), &recorded);
        Ok((row, shown))
    }
}

/// Keeps the line of a version and its facts.
pub fn put(kept: &mut Kept, version: &Version, row: Row, shown: BTreeMap<Set, Shown>) {
    let line = kept.matrix.0.entry(version.clone()).or_default();
    *line = Row {
        published: std::mem::take(&mut line.published),
        ..row
    };
    kept.facts.0.retain(|(_, other), _| other != version);
    let shown = shown.into_iter();
    let shown = shown.map(|(set, shown)| ((set, version.clone()), shown));
    kept.facts.0.extend(shown);
}

/// The facts of recordings of a version, by the set of their scenarios; each scenario with its name in the matrix.
pub fn shown(
    harness: &str,
    recordings: &Path,
    scenarios: &[(&Scenario, String)],
) -> BTreeMap<Set, Shown> {
    let mut all: BTreeMap<Set, Shown> = BTreeMap::new();
    for (scenario, name) in scenarios {
        let set = if scenario.core { Set::Core } else { Set::Wide };
        let shown = all.entry(set).or_default();
        shown.scenarios.insert(name.clone());
        let recording = recordings.join(&scenario.id);
        shown.shape.join(Shape::of_recording(harness, &recording));
    }
    all
}

/// The time now, in UTC to the minute.
pub fn now() -> String {
    let text = Timestamp::now().to_string();
    format!("{}Z", text.get(..16).unwrap_or_default())
}

/// True if a version is in this shard of so many. It stays there when other versions are published.
fn is_in(version: &Version, (shard, of): (usize, usize)) -> bool {
    let hash = blake3::hash(version.to_string().as_bytes());
    let number = usize::from(hash.as_bytes()[0]) << 8 | usize::from(hash.as_bytes()[1]);
    number % of.max(1) + 1 == shard
}

/// Runs that the recorder had to end, by their numbers from 1: what they recorded may lack its end.
fn ended(runs: &[&Ran]) -> Vec<String> {
    let late = runs.iter().enumerate();
    let late = late.filter(|(_, run)| run.end == Some(End::Timeout));
    late.map(|(at, _)| format!("run {}: ended at its time limit", at + 1))
        .collect()
}

/// Runs that were skipped, by their numbers from 1, each with its reason.
fn not_run(runs: &[&Ran]) -> Vec<String> {
    let skipped = runs.iter().enumerate().filter_map(|(at, run)| {
        let why = run.skipped.as_deref()?;
        Some(format!("run {}: {}", at + 1, short(why)))
    });
    skipped.collect()
}

fn short(reason: &str) -> String {
    reason.chars().take(WHY_CHARS).collect()
}

/// The line of a version that is recorded below `tree`: what the checks say. What was recorded and when is missing.
///
/// # Errors
/// If there are no recordings of it, or no adapter knows the harness.
pub fn judged_row(tree: &Path, harness: &str, version: &str) -> Result<Row, RecorderError> {
    let recordings = tree.join(harness).join(version);
    let judged = judge::version(tree, harness, version)?;
    let (outcome, why) = outcome(&judged);
    Ok(Row {
        outcome,
        why,
        as_version: judged.as_version.clone().unwrap_or_default(),
        shape: Shape::of_version(harness, &recordings)?.hash(),
        digest: digest(&recordings),
        features: judged.shows.keys().cloned().collect::<Vec<_>>().join(" "),
        checks: format!("{}/{}", judged.held, judged.failing.len()),
        adapter: judge::adapter(harness),
        ..Row::default()
    })
}

/// What came of a version that was recorded, and the checks that fail: the first one with an example. Whether something is new is known when it is
/// compared.
fn outcome(judged: &Judged) -> (Outcome, String) {
    let Some((check, examples)) = judged.failing.iter().next() else {
        return (Outcome::Earned, String::new());
    };
    let names: Vec<&str> = judged.failing.keys().map(String::as_str).collect();
    let example = examples.first();
    let example = example.map_or_else(String::new, |(place, what)| format!(" ({place}: {what})"));
    let first = short(&format!("{check}{example}"));
    (Outcome::Broken, format!("{}: {first}", names.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_checks_are_named_and_the_first_has_an_example() {
        let mut judged = Judged::default();
        assert_eq!(outcome(&judged), (Outcome::Earned, String::new()));
        let wrong = vec![("x:1".to_owned(), "wrong".to_owned())];
        judged.failing.insert("a.check".to_owned(), wrong);
        judged.failing.insert("b.check".to_owned(), Vec::new());
        let why = "a.check b.check: a.check (x:1: wrong)".to_owned();
        assert_eq!(outcome(&judged), (Outcome::Broken, why));
    }

    #[test]
    fn every_version_is_in_one_shard_and_stays_there() {
        let versions: Vec<Version> = (0..400).map(|at| Version::new(2, 1, at)).collect();
        for version in &versions {
            let shards = (1..=4).filter(|shard| is_in(version, (*shard, 4)));
            assert_eq!(shards.count(), 1, "{version}");
            assert!(is_in(version, (1, 1)));
        }
        let second = versions.iter().filter(|version| is_in(version, (2, 4)));
        assert!((60..140).contains(&second.count()));
    }

    #[test]
    fn skipped_run_has_its_number_and_its_reason() {
        let skipped = Ran {
            skipped: Some("no exec fork".to_owned()),
            ..Ran::default()
        };
        assert_eq!(
            not_run(&[&Ran::default(), &skipped]),
            ["run 2: no exec fork"]
        );
        let late = Ran {
            end: Some(End::Timeout),
            ..Ran::default()
        };
        assert_eq!(
            ended(&[&skipped, &late, &Ran::default()]),
            ["run 2: ended at its time limit"]
        );
    }
}
