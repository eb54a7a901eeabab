//! `engram matrix`: the outcomes of all published versions, and the change that recordings earn.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::matrix::{Matrix as Lines, Outcome};
use engram_recorder::shape::Shape;
use engram_recorder::{judge, lists, propose};

use crate::exit::Exit;
use crate::report::{Reporter, printable};

/// Arguments of `engram matrix`.
#[derive(Debug, Args)]
pub struct Matrix {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with the matrix.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Count the lines by outcome
    Show {
        /// The directory of the matrix
        #[arg(long, value_name = "DIR", default_value = "matrix")]
        matrix: PathBuf,
    },
    /// Keep the lists that an installed version's own reader has
    ///
    /// Types of lines, variants of schemas, columns of tables. Prints the entries that the version before has not.
    Lists {
        /// The version, such as `codex@0.171.0`
        #[arg(value_name = "HARNESS@VERSION")]
        what: String,
        /// Where harnesses are installed
        #[arg(long, value_name = "DIR", default_value = "harnesses")]
        installed: PathBuf,
        /// The directory of the lists
        #[arg(long, value_name = "DIR", default_value = "matrix/lists")]
        lists: PathBuf,
    },
    /// Print the change to the adapters that recordings earn, as a patch
    ///
    /// Judges each version. Prints `earned`, `additive` or `broken` on standard error, and the patch for those whose checks hold.
    Propose {
        /// The tree of recordings
        #[arg(long, value_name = "DIR", default_value = "recordings")]
        recordings: PathBuf,
        /// The tree of recordings whose structure is known
        #[arg(long, value_name = "DIR", default_value = "fixtures")]
        known: PathBuf,
        /// The repository that the patch is for
        #[arg(long, value_name = "DIR", default_value = ".")]
        repository: PathBuf,
    },
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Matrix, report: &Reporter) -> io::Result<Exit> {
    let done = match &args.command {
        Command::Show { matrix } => show(matrix),
        Command::Lists {
            what,
            installed,
            lists,
        } => kept(what, installed, lists, report),
        Command::Propose {
            recordings,
            known,
            repository,
        } => proposed(recordings, known, repository, report),
    };
    match done {
        Ok((text, exit)) => crate::print(&text).map(|_| exit),
        Err(error) => Ok(super::failure(&error, report)),
    }
}

fn show(directory: &Path) -> Result<(String, Exit), RecorderError> {
    let mut text = String::from("harness");
    Outcome::ALL
        .iter()
        .for_each(|outcome| text.push_str(&format!("\t{}", outcome.as_str())));
    text.push('\n');
    for path in names(directory)? {
        if path.extension().is_some_and(|extension| extension == "tsv") {
            let counts: BTreeMap<Outcome, usize> = Lines::read(&path)?.counts();
            let cells = Outcome::ALL.map(|outcome| {
                counts
                    .get(&outcome)
                    .copied()
                    .unwrap_or_default()
                    .to_string()
            });
            text.push_str(&format!(
                "{}\t{}\n",
                path.file_stem().unwrap_or_default().to_string_lossy(),
                cells.join("\t")
            ));
        }
    }
    Ok((text, Exit::Success))
}

fn kept(
    what: &str,
    installed: &Path,
    directory: &Path,
    report: &Reporter,
) -> Result<(String, Exit), RecorderError> {
    let wrong = || {
        RecorderError::new(
            Fault::UnknownHarness,
            format!("`{what}` is not HARNESS@VERSION"),
        )
    };
    let (harness, version) = what.split_once('@').ok_or_else(wrong)?;
    let version = version.parse().map_err(|_| wrong())?;
    let found = lists::of_installed(
        harness,
        &installed
            .join(harness)
            .join(what.split_once('@').ok_or_else(wrong)?.1),
    )?;
    let entries = lists::new_entries(directory, harness, &version, &found)?;
    lists::keep(directory, harness, &version, &found)?;
    report.note(&format!(
        "{what}: {} entries, {} new",
        found.len(),
        entries.len()
    ));
    Ok((
        entries.iter().map(|entry| format!("{entry}\n")).collect(),
        Exit::Success,
    ))
}

fn proposed(
    recordings: &Path,
    known: &Path,
    repository: &Path,
    report: &Reporter,
) -> Result<(String, Exit), RecorderError> {
    let (mut text, mut exit, mut versions) = (String::new(), Exit::Success, 0);
    for family in names(recordings)?.iter().filter(|path| path.is_dir()) {
        let harness = family.file_name().unwrap_or_default().to_string_lossy();
        if harness.starts_with('.') {
            continue;
        }
        let shape = Shape::of_harness(&harness, known)?;
        for directory in names(family)?.iter().filter(|path| path.is_dir()) {
            versions += 1;
            let version = directory.file_name().unwrap_or_default().to_string_lossy();
            let judged = judge::version(recordings, &harness, &version)?;
            let found = Shape::of_version(&harness, directory)?;
            let new = found.beyond(&shape);
            if !judged.failing.is_empty() {
                let names: Vec<&str> = judged.failing.keys().map(String::as_str).collect();
                report.note(&format!("{harness}@{version}: broken: {}", names.join(" ")));
                for (place, what) in judged.failing.values().flatten() {
                    report.note(&printable(&format!("  {place}: {what}")));
                }
                exit = Exit::PartialFailure;
                continue;
            }
            let facts: Vec<String> = new
                .iter()
                .map(|entry| format!("{}{}", entry.0, entry.1))
                .collect();
            let word = if facts.is_empty() {
                "earned".to_owned()
            } else {
                format!("additive: {}", facts.join(" "))
            };
            report.note(&printable(&format!("{harness}@{version}: {word}")));
            match judged.as_version {
                Some(near) => {
                    text.push_str(&propose::patch(repository, &harness, &near, &version)?)
                }
                None => report.note(&format!(
                    "{harness}@{version}: an adapter has a row for it; nothing to change"
                )),
            }
        }
    }
    if versions == 0 {
        return Err(RecorderError::new(
            Fault::Misconfigured,
            format!("{} has no recordings", recordings.display()),
        ));
    }
    Ok((text, exit))
}

fn names(directory: &Path) -> Result<Vec<PathBuf>, RecorderError> {
    let listing =
        std::fs::read_dir(directory).map_err(|error| RecorderError::io(directory, &error))?;
    let mut found: Vec<PathBuf> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    found.sort();
    Ok(found)
}
