//! Records every published version of a harness, one after the other, and keeps what came of it in the matrix.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use semver::Version;

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::harness::Harness;
use crate::isolation::Isolation;
use crate::judge::{self, Judged};
use crate::lists;
use crate::matrix::{Matrix, Outcome, Row, digest};
use crate::process::{End, Running};
use crate::record::Job;
use crate::scenario::Scenario;
use crate::shape::{Entry, Shape};

/// How much of a reason stands in the matrix.
const WHY_CHARS: usize = 240;
/// The longest that the script may take: a registry that does not answer must not stop the sweep.
const SCRIPT_LIMIT: Duration = Duration::from_secs(600);
/// The longest list of versions, or text of errors, of the script.
const MAX_LISTED: u64 = 1 << 20;
/// How many new facts of a shape are named.
const NAMED_FACTS: usize = 6;

/// What is swept.
pub struct Sweep<'s> {
    /// The harness.
    pub harness: &'static dyn Harness,
    /// The scenarios.
    pub scenarios: Vec<&'s Scenario>,
    /// The directory of the scenarios.
    pub directory: &'s Path,
    /// The script that lists and installs versions.
    pub installer: &'s Path,
    /// Where it installs.
    pub installed: &'s Path,
    /// The file of the matrix.
    pub matrix: &'s Path,
    /// The tree of recordings. Those of versions that earned their line are deleted.
    pub out: &'s Path,
    /// How recordings are kept apart.
    pub isolation: &'s Isolation,
    /// The tree of recordings whose shapes are known.
    pub known: &'s Path,
    /// Which part of the versions: this one of so many.
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
        let mut matrix = Matrix::read(self.matrix)?;
        let listed = self.script(&["--list", self.harness.family()])?;
        for line in listed.lines() {
            let Some((version, published)) = line.split_once('\t') else {
                continue;
            };
            let Ok(version) = Version::parse(version) else {
                continue;
            };
            matrix.0.entry(version).or_default().published = published.to_owned();
        }
        if matrix.0.is_empty() {
            return Err(RecorderError::new(
                Fault::Misconfigured,
                format!("{} lists no version", self.installer.display()),
            ));
        }
        matrix.write(self.matrix)?;
        Ok(matrix)
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
        let (part, parts) = self.shard;
        let all = matrix
            .0
            .iter()
            .rev()
            .enumerate()
            .filter(|(at, _)| at % parts.max(1) == part);
        let due = all
            .filter(|(_, (version, row))| is_due(version, row))
            .map(|(_, (version, _))| version.clone());
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
    pub fn run(&self, version: &Version, known: &Shape) -> Result<Row, RecorderError> {
        let begun = Instant::now();
        let root = self
            .installed
            .join(self.harness.family())
            .join(version.to_string());
        let was_there = root.join("node_modules").is_dir();
        let outcome = self
            .install(version, was_there)
            .and_then(|()| self.record(version, &root, known));
        let mut row = outcome.unwrap_or_else(|error| Row {
            outcome: Outcome::Unrecordable,
            why: error.what,
            ..Row::default()
        });
        // A list that cannot be read is missing; the recording says what matters.
        let entries = self.keep_lists(version, &root).unwrap_or_default();
        if !entries.is_empty() {
            let lists = format!("lists have {} new: {}", entries.len(), entries.join(" "));
            let both = [row.why, lists];
            row.why = both.join("; ").trim_start_matches("; ").to_owned();
        }
        if !was_there && !self.keep {
            // What is left is only space.
            let _ = fs::remove_dir_all(&root);
        }
        if row.outcome == Outcome::Earned {
            let _ = fs::remove_dir_all(self.recordings(version));
        }
        row.why = row.why.chars().take(WHY_CHARS).collect();
        row.seconds = begun.elapsed().as_secs().to_string();
        // Another shard may have written meanwhile.
        let mut matrix = Matrix::read(self.matrix)?;
        row.published = matrix
            .0
            .get(version)
            .map(|row| row.published.clone())
            .unwrap_or_default();
        matrix.0.insert(version.clone(), row.clone());
        matrix.write(self.matrix)?;
        Ok(row)
    }

    /// Keeps the lists of the version's own reader, and returns what the version before has not.
    fn keep_lists(&self, version: &Version, root: &Path) -> Result<Vec<String>, RecorderError> {
        let directory = self.matrix.with_file_name("lists");
        let found = lists::of_installed(self.harness.family(), root)?;
        let entries = lists::new_entries(&directory, self.harness.family(), version, &found)?;
        lists::keep(&directory, self.harness.family(), version, &found)?;
        Ok(entries)
    }

    fn recordings(&self, version: &Version) -> PathBuf {
        self.out
            .join(self.harness.family())
            .join(version.to_string())
    }

    fn install(&self, version: &Version, is_there: bool) -> Result<(), RecorderError> {
        if is_there {
            return Ok(());
        }
        let (version, installed) = (version.to_string(), self.installed.to_string_lossy());
        self.script(&[self.harness.family(), &version, &installed])
            .map(drop)
    }

    fn script(&self, arguments: &[&str]) -> Result<String, RecorderError> {
        says(self.installer, arguments, SCRIPT_LIMIT)
    }

    fn record(&self, version: &Version, root: &Path, known: &Shape) -> Result<Row, RecorderError> {
        let (mut recorded, mut refused) = (Vec::new(), Vec::new());
        for scenario in &self.scenarios {
            let job = Job {
                harness: self.harness,
                version,
                installed: root,
                scenario,
                scenarios: self.directory,
                out: self.out,
                isolation: self.isolation,
                provider: None,
            };
            match job.record() {
                Ok(done) => {
                    let ran = done
                        .done
                        .runs
                        .iter()
                        .filter(|run| run.skipped.is_none())
                        .count();
                    let of = done.done.runs.len();
                    recorded.push(if ran == of {
                        scenario.id.clone()
                    } else {
                        format!("{}:{ran}/{of}", scenario.id)
                    });
                }
                // What cannot even answer a question is not tried further.
                Err(error) if recorded.is_empty() => return Err(error),
                Err(error) => refused.push(format!("{}: {}", scenario.id, error.what)),
            }
        }
        let row = judged_row(
            self.out,
            self.harness.family(),
            &version.to_string(),
            known,
            &refused,
        )?;
        Ok(Row {
            scenarios: recorded.join(" "),
            ..row
        })
    }
}

/// The line of a version that is recorded below `tree`: what the checks say, and what its logs have that `known` has not. `refused` are
/// the scenarios that could not be recorded. The scenarios themselves, the date and the time that it took are missing.
///
/// # Errors
/// If there are no recordings of it, or no adapter knows the harness.
pub fn judged_row(
    tree: &Path,
    harness: &str,
    version: &str,
    known: &Shape,
    refused: &[String],
) -> Result<Row, RecorderError> {
    let recordings = tree.join(harness).join(version);
    let judged = judge::version(tree, harness, version)?;
    let shape = Shape::of_version(harness, &recordings)?;
    let beyond: Vec<String> = shape
        .beyond(known)
        .iter()
        .filter(|Entry(.., json)| json != "null")
        .map(|Entry(kind, pointer, _)| format!("{kind}{pointer}"))
        .collect();
    let (outcome, why) = outcome(&judged, &beyond, refused);
    Ok(Row {
        outcome,
        why,
        as_version: judged.as_version.clone().unwrap_or_default(),
        shape: shape.hash(),
        digest: digest(&recordings),
        features: judged.shows.keys().cloned().collect::<Vec<_>>().join(" "),
        checks: format!("{}/{}", judged.held, judged.failing.len()),
        ..Row::default()
    })
}

/// Runs the script and returns what it prints.
fn says(script: &Path, arguments: &[&str], limit: Duration) -> Result<String, RecorderError> {
    let io = |error: std::io::Error| RecorderError::io(script, &error);
    let directory = tempfile::tempdir().map_err(io)?;
    let (printed, errors) = (directory.path().join("out"), directory.path().join("err"));
    let program = script.to_string_lossy();
    let words = std::iter::once(program.as_ref()).chain(arguments.iter().copied());
    let argv: Vec<String> = words.map(str::to_owned).collect();
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let stdout = fs::File::create(&printed).map_err(io)?;
    let running =
        Running::start(&argv, Path::new("."), &env, stdout.into(), &errors).map_err(io)?;
    let end = running.wait(limit, &printed, || false).map_err(io)?;
    if end == End::Exit(0) {
        return bounded::read_text(&printed, MAX_LISTED).map_err(io);
    }
    let said = bounded::read_text(&errors, MAX_LISTED).unwrap_or_default();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let what = match end {
        End::Exit(_) => last.unwrap_or("no reason given").to_owned(),
        End::Timeout => format!("it took longer than {} s", limit.as_secs()),
        other => format!("it ended by {other:?}"),
    };
    Err(RecorderError::new(
        Fault::Misconfigured,
        format!("install: {what}"),
    ))
}

/// What came of a version that was recorded.
fn outcome(judged: &Judged, beyond: &[String], refused: &[String]) -> (Outcome, String) {
    let refused = if refused.is_empty() {
        String::new()
    } else {
        format!("; not recorded: {}", refused.join(", "))
    };
    if !judged.failing.is_empty() {
        let first = |(check, examples): (&String, &Vec<(String, String)>)| {
            let example = examples
                .first()
                .map(|(place, what)| format!(" ({place}: {what})"))
                .unwrap_or_default();
            format!("{check}{example}")
        };
        let names: Vec<&str> = judged.failing.keys().map(String::as_str).collect();
        let example = judged.failing.iter().next().map(first).unwrap_or_default();
        return (
            Outcome::Broken,
            format!("{}: {example}{refused}", names.join(" ")),
        );
    }
    if !beyond.is_empty() {
        let named = beyond
            .iter()
            .take(NAMED_FACTS)
            .cloned()
            .collect::<Vec<_>>()
            .join(" ");
        return (
            Outcome::Additive,
            format!("{} new: {named}{refused}", beyond.len()),
        );
    }
    (Outcome::Earned, refused.trim_start_matches("; ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_that_does_not_end_or_fails_says_why() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        let text = "#!/bin/sh\ncase $1 in ok) echo 1.0.0 ;; no) echo none >&2; exit 1 ;; *) sleep 100 ;; esac\n";
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let says = |word: &str, limit| {
            says(&script, &[word], Duration::from_millis(limit)).map_err(|error| error.what)
        };
        assert_eq!(says("ok", 20_000), Ok("1.0.0\n".to_owned()));
        assert_eq!(says("no", 20_000), Err("install: none".to_owned()));
        assert_eq!(
            says("hang", 100),
            Err("install: it took longer than 0 s".to_owned())
        );
    }

    #[test]
    fn failing_check_outranks_what_is_new() {
        let mut judged = Judged::default();
        assert_eq!(outcome(&judged, &[], &[]).0, Outcome::Earned);
        let new = ["user/cwd2".to_owned()];
        assert_eq!(
            outcome(&judged, &new, &[]),
            (Outcome::Additive, "1 new: user/cwd2".to_owned())
        );
        judged.failing.insert(
            "a.check".to_owned(),
            vec![("x:1".to_owned(), "wrong".to_owned())],
        );
        let (found, why) = outcome(&judged, &new, &["n_hooks: no".to_owned()]);
        assert_eq!(
            (found, why.as_str()),
            (
                Outcome::Broken,
                "a.check: a.check (x:1: wrong); not recorded: n_hooks: no"
            )
        );
    }
}
