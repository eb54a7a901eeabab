//! `engram-lab shape`: the structure of recorded logs, and what is new in it.

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use engram_command::exit::Exit;
use engram_command::report::{Reporter, printable};
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::shape::{Entry, Shape as Facts};

/// Arguments of `engram-lab shape`.
#[derive(Debug, Args)]
pub struct Shape {
    /// Recordings: `<harness>/<version>` or `<harness>/<version>/<scenario>` of a tree
    #[arg(required = true, value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Show only what these recordings do not have; a tree of recordings stands for all of the harness
    #[arg(long, value_name = "RECORDING")]
    pub against: Vec<PathBuf>,
}

/// Runs the command. The exit code is 1 if something is new.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Shape, report: &Reporter) -> io::Result<Exit> {
    let shapes = facts_of(&args.recordings, None)
        .and_then(|(harness, facts)| Ok((facts, facts_of(&args.against, Some(&harness))?.1)));
    let (facts, known) = match shapes {
        Ok(shapes) => shapes,
        Err(error) => return Ok(super::failure(&error, report)),
    };
    let mut out = stdout().lock();
    let shown = if args.against.is_empty() {
        facts.0.iter().collect()
    } else {
        facts.beyond(&known)
    };
    for Entry(kind, pointer, json) in &shown {
        writeln!(out, "{}\t{}\t{json}", printable(kind), printable(pointer))?;
    }
    out.flush()?;
    report.note(&format!("{} facts, shape {}", facts.0.len(), facts.hash()));
    Ok(if args.against.is_empty() || shown.is_empty() {
        Exit::Success
    } else {
        Exit::PartialFailure
    })
}

fn facts_of(paths: &[PathBuf], harness: Option<&str>) -> Result<(String, Facts), RecorderError> {
    let (mut family, mut facts) = (harness.unwrap_or_default().to_owned(), Facts::default());
    for path in paths {
        let path = path
            .canonicalize()
            .map_err(|error| RecorderError::io(path, &error))?;
        let above = |path: &Path, steps: usize| {
            path.ancestors()
                .nth(steps)
                .and_then(Path::file_name)
                .map(|name| name.to_string_lossy().into_owned())
        };
        if path.join("session").is_dir() {
            family = above(&path, 2).unwrap_or_default();
            facts.join(Facts::of_recording(&family, &path));
        } else if harness.is_some_and(|harness| path.join(harness).is_dir()) {
            facts.join(Facts::of_harness(&family, &path)?);
        } else {
            family = above(&path, 1).unwrap_or_default();
            facts.join(Facts::of_version(&family, &path)?);
        }
    }
    if !paths.is_empty() && facts.0.is_empty() {
        return Err(RecorderError::new(
            Fault::Misconfigured,
            "there are no sessions of a known harness",
        ));
    }
    Ok((family, facts))
}
