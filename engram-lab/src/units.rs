//! `engram-lab units`: what can be converted alone. `engram ingest --units --shard` converts a part of it.

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use engram_adapters::Registry;
use engram_adapters::sessions::{SessionOptions, Unit, units};
use engram_command::exit::{Exit, Tally};
use engram_command::homes::{self, in_short};
use engram_command::keys::Keys;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_command::table::{self, Column, Fit, Look, Output, Screen, number, short_number, text};

/// Digits of an id that a table shows.
const ID_DIGITS: usize = 8;

/// Arguments of `engram-lab units`.
#[derive(Debug, Args)]
pub struct Units {
    /// Session logs, stores of sessions, or directories to search for both [default: the homes of all harnesses]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(args: &Units, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
    let paths = homes::paths(&args.paths, registry, report);
    let (units, errors) = units(
        &paths,
        &SessionOptions::default().with_registry(registry.clone()),
    );
    let mut tally = Tally::default();
    units.iter().for_each(|_| tally.success());
    errors
        .iter()
        .for_each(|error| tally.failure(report.failure(error)));
    if tally.is_empty() {
        return Ok(report.no_session(&paths));
    }
    print(&units, args.output, &mut stdout().lock())?;
    if !args.output.json && !args.output.csv {
        let bytes = units.iter().map(|unit| unit.bytes).sum();
        report.note(&format!(
            "{} with {} bytes",
            count(units.len() as u64, "unit"),
            short_number(bytes)
        ));
    }
    Ok(tally.exit())
}

const COLUMNS: [Column; 6] = [
    text("unit").look(Look::Dim),
    text("harness"),
    text("session").fit(Fit::Start(8)).look(Look::Name),
    number("logs").drops(1),
    number("bytes"),
    text("path").fit(Fit::End(24)),
];

fn print(units: &[Unit], output: Output, out: &mut impl Write) -> io::Result<()> {
    let path = |unit: &Unit| unit.paths.first().cloned().unwrap_or_default();
    if output.json {
        table::write_lines(units, Keys::SHOWN, out)?;
    } else if output.csv {
        let row = |unit: &Unit| {
            let session = unit.session.clone().unwrap_or_default();
            vec![
                unit.unit.clone(),
                unit.harness.clone(),
                session,
                unit.paths.len().to_string(),
                unit.bytes.to_string(),
                path(unit),
            ]
        };
        table::write_csv(
            &["unit", "harness", "session", "logs", "bytes", "path"],
            units.iter().map(row),
            Keys::SHOWN,
            out,
        )?;
    } else if !units.is_empty() {
        let row = |unit: &Unit| {
            let id = unit.unit.chars().take(ID_DIGITS).collect();
            let session = unit.session.clone().unwrap_or_default();
            let path = in_short(Path::new(&path(unit)));
            vec![
                id,
                unit.harness.clone(),
                session,
                unit.paths.len().to_string(),
                unit.bytes.to_string(),
                path,
            ]
        };
        let cells: Vec<Vec<String>> = units.iter().map(row).collect();
        table::write(
            &COLUMNS,
            &cells,
            Screen::stdout().with_keys(Keys::SHOWN),
            out,
        )?;
    }
    out.flush()
}
