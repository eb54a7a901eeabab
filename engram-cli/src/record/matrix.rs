//! `engram matrix`: the outcomes of all published versions, and the change that recordings earn.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness::HARNESSES;
use engram_recorder::matrix::{Matrix as Lines, Outcome, Row};
use engram_recorder::shape::Shape;
use engram_recorder::sweep::judged_row;
use engram_recorder::{lists, propose};

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
    /// Print the change that the matrix and recordings earn, as a patch
    ///
    /// Each adapter has a list of the versions whose checks all hold. Recordings are judged first: `earned`, `additive` or `broken` goes to
    /// standard error, and their lines are part of the patch.
    Propose {
        /// Also judge the versions in this tree of recordings
        #[arg(long, value_name = "DIR")]
        recordings: Option<PathBuf>,
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
        } => proposed(recordings.as_deref(), known, repository, report),
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
    recordings: Option<&Path>,
    known: &Path,
    repository: &Path,
    report: &Reporter,
) -> Result<(String, Exit), RecorderError> {
    let (mut text, mut exit) = (String::new(), Exit::Success);
    let tree = recordings.unwrap_or(Path::new(""));
    let versions = recordings.map(versions_of).transpose()?.unwrap_or_default();
    for harness in HARNESSES.iter().map(|harness| harness.family()) {
        let file = Path::new("matrix").join(format!("{harness}.tsv"));
        let mut matrix = Lines::read(&repository.join(&file))?;
        let recorded = versions.get(harness).map(Vec::as_slice).unwrap_or_default();
        let shape = match recorded {
            [] => Shape::default(),
            _ => Shape::of_harness(harness, known)?,
        };
        for version in recorded {
            let row = judged(tree, harness, version, &shape, report)?;
            if row.outcome == Outcome::Broken {
                exit = Exit::PartialFailure;
            }
            let version = version
                .parse()
                .map_err(|error| RecorderError::new(Fault::Misconfigured, error))?;
            let line = matrix.0.entry(version).or_default();
            *line = Row {
                published: std::mem::take(&mut line.published),
                ..row
            };
        }
        text.push_str(&propose::patch(repository, &file, &matrix.to_string())?);
        let source = propose::source(harness);
        if repository.join(&source).is_file() {
            let swept = propose::swept(harness, &matrix);
            text.push_str(&propose::patch(repository, &source, &swept)?);
        }
    }
    Ok((text, exit))
}

/// The line of a recorded version; what came of it goes to standard error.
fn judged(
    tree: &Path,
    harness: &str,
    version: &str,
    known: &Shape,
    report: &Reporter,
) -> Result<Row, RecorderError> {
    let scenarios = names(&tree.join(harness).join(version))?;
    let scenarios: Vec<String> = scenarios
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let row = Row {
        scenarios: scenarios.join(" "),
        ..judged_row(tree, harness, version, known, &[])?
    };
    let line = format!("{harness}@{version}: {} {}", row.outcome.as_str(), row.why);
    report.note(&printable(line.trim_end()));
    Ok(row)
}

/// The recorded versions of each harness.
fn versions_of(recordings: &Path) -> Result<BTreeMap<String, Vec<String>>, RecorderError> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mut versions = BTreeMap::new();
    for family in names(recordings)?.iter().filter(|path| path.is_dir()) {
        let found = names(family)?;
        let found = found.iter().filter(|path| path.is_dir());
        versions.insert(name(family), found.map(|path| name(path)).collect());
    }
    if !versions
        .keys()
        .any(|found| HARNESSES.iter().any(|harness| harness.family() == found))
    {
        return Err(RecorderError::new(
            Fault::Misconfigured,
            format!("{} has no recordings", recordings.display()),
        ));
    }
    Ok(versions)
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
