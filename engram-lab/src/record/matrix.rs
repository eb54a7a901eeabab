//! `engram-lab matrix`: the outcomes of all published versions, and the change that recordings earn.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engram_command::exit::Exit;
use engram_command::output;
use engram_command::report::{Reporter, printable};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::harness::HARNESSES;
use engram_recorder::kept::Kept;
use engram_recorder::matrix::{Matrix as Lines, Outcome, Row, Version};
use engram_recorder::scenario::Scenario;
use engram_recorder::sweep::{judged_row, now, put, shown};
use engram_recorder::{lists, propose};

/// Arguments of `engram-lab matrix`.
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
    /// Join what shards of a sweep have found
    ///
    /// Lines, facts and lists of these directories are added to those of the matrix. Of two lines for one version the one that was run later
    /// counts, so the order of the directories does not matter.
    Join {
        /// Directories that shards have written
        #[arg(value_name = "DIR", required = true)]
        directories: Vec<PathBuf>,
        /// The directory of the matrix
        #[arg(long, value_name = "DIR", default_value = "matrix")]
        matrix: PathBuf,
    },
    /// Print the change that the matrix and recordings earn, as a patch
    ///
    /// Each adapter has a list of the versions whose checks all hold. Recordings are judged first: `earned`, `additive` or `broken` goes to
    /// standard error, and their lines are part of the patch.
    Propose {
        /// Also judge the versions in this tree of recordings
        #[arg(long, value_name = "DIR")]
        recordings: Option<PathBuf>,
        /// The directory of the scenarios
        #[arg(long, value_name = "DIR", default_value = "scenarios")]
        scenarios: PathBuf,
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
            scenarios,
            repository,
        } => proposed(recordings.as_deref(), scenarios, repository, report),
        Command::Join {
            directories,
            matrix,
        } => joined(directories, matrix),
    };
    match done {
        Ok((text, exit)) => output::print(&text).map(|_| exit),
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
    scenarios: &Path,
    repository: &Path,
    report: &Reporter,
) -> Result<(String, Exit), RecorderError> {
    let (mut text, mut exit) = (String::new(), Exit::Success);
    let tree = recordings.unwrap_or(Path::new(""));
    let versions = recordings.map(versions_of).transpose()?.unwrap_or_default();
    let all = match recordings {
        Some(_) => Scenario::read_all(scenarios)?,
        None => BTreeMap::new(),
    };
    let directory = Path::new("matrix");
    for harness in HARNESSES.iter().map(|harness| harness.family()) {
        let mut kept = Kept::read(&repository.join(directory), harness)?;
        let recorded = versions.get(harness).map(Vec::as_slice).unwrap_or_default();
        for version in recorded {
            let number = version
                .parse()
                .map_err(|error| RecorderError::new(Fault::Misconfigured, error))?;
            judge(&mut kept, &number, tree, &all)?;
            kept.compare()?;
            let row = &kept.matrix.0[&number];
            if row.outcome == Outcome::Broken {
                exit = Exit::PartialFailure;
            }
            let line = [row.outcome.as_str(), &row.why, &row.new].join(" ");
            report.note(&printable(&format!(
                "{harness}@{version}: {}",
                line.trim_end()
            )));
        }
        let mut add = |file: &Path, content: &str| -> Result<(), RecorderError> {
            text.push_str(&propose::patch(repository, file, content)?);
            Ok(())
        };
        add(
            &directory.join(kept.matrix_file()),
            &kept.matrix.to_string(),
        )?;
        if !kept.facts.0.is_empty() {
            add(&directory.join(kept.facts_file()), &kept.facts.to_string())?;
        }
        let source = propose::source(harness);
        if repository.join(&source).is_file() {
            add(&source, &propose::swept(harness, &kept.matrix))?;
        }
    }
    Ok((text, exit))
}

/// Gives a recorded version its line and its facts.
fn judge(
    kept: &mut Kept,
    version: &Version,
    tree: &Path,
    all: &BTreeMap<String, Scenario>,
) -> Result<(), RecorderError> {
    let harness = kept.harness().to_owned();
    let recordings = tree.join(&harness).join(version.to_string());
    let ids = names(&recordings)?;
    let ids: Vec<String> = ids
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let known: Vec<(&Scenario, String)> = ids
        .iter()
        .filter_map(|id| Some((all.get(id)?, id.clone())))
        .collect();
    let row = Row {
        scenarios: ids.join(" "),
        run: now(),
        ..judged_row(tree, &harness, &version.to_string())?
    };
    put(kept, version, row, shown(&harness, &recordings, &known));
    Ok(())
}

/// Joins what shards have found.
fn joined(directories: &[PathBuf], matrix: &Path) -> Result<(String, Exit), RecorderError> {
    let mut text = String::new();
    for harness in HARNESSES.iter().map(|harness| harness.family()) {
        let others = directories.iter().map(|other| Kept::read(other, harness));
        let others = others.collect::<Result<Vec<Kept>, RecorderError>>()?;
        if others.iter().all(|other| other.matrix.0.is_empty()) {
            continue;
        }
        let kept = Kept::change(matrix, harness, |kept| {
            others.into_iter().try_for_each(|other| kept.join(other))
        })?;
        let run = kept
            .matrix
            .0
            .values()
            .filter(|row| row.outcome != Outcome::Unrun);
        text.push_str(&format!(
            "{harness}\t{} versions, {} run\n",
            kept.matrix.0.len(),
            run.count()
        ));
    }
    Ok((text, Exit::Success))
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
