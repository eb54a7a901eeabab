//! `engram units`: what can be converted alone, and the part of it that `engram ingest --units --shard` converts.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use engram_adapters::Registry;
use engram_adapters::sessions::{SessionLocation, SessionOptions, Unit, units};
use engram_core::bounds::BoundedLines;
use engram_core::error::{AdapterError, ErrorCode};

use crate::exit::{Exit, Tally};
use crate::homes::{self, in_short};
use crate::keys::Keys;
use crate::report::Reporter;
use crate::small_file;
use crate::summary::count;
use crate::table::{self, Column, Fit, Look, Output, Screen, number, short_number, text};

/// Digits of an id that a table shows.
const ID_DIGITS: usize = 8;

/// Arguments of `engram units`.
#[derive(Debug, Args)]
pub struct UnitsArgs {
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
pub fn run(args: &UnitsArgs, registry: &Registry, report: &Reporter) -> io::Result<Exit> {
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

/// One of several parts of some units: `I/N`, with I from 1 to N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let shard = numbers
            .filter(|(number, of)| (1..=*of).contains(number))
            .map(|(number, of)| Shard { number, of });
        shard.ok_or_else(|| {
            "a part is its number and how many there are, from `1/4` to `4/4`".to_owned()
        })
    }
}

/// What the units that `--units` and `--shard` choose are made from.
#[derive(Debug, Default)]
pub struct Chosen {
    paths: BTreeSet<PathBuf>,
    /// The sessions of stores, each with the path of its store.
    stored: HashSet<(PathBuf, String)>,
}

impl Chosen {
    /// The units of a part; of all without one.
    ///
    /// # Errors
    /// `io` if the file cannot be read, `malformed_record` with its line if it is not what `engram units --json` writes.
    pub fn read(file: &Path, shard: Option<Shard>) -> Result<Chosen, AdapterError> {
        let at_file = |error: io::Error| small_file::error(error, file);
        let reader: Box<dyn BufRead> = match file.as_os_str() == "-" {
            true => Box::new(stdin().lock()),
            false => Box::new(BufReader::new(BoundedLines::new(
                File::open(file).map_err(at_file)?,
            ))),
        };
        let mut chosen = Chosen::default();
        for (line, number) in reader.lines().zip(1..) {
            let unit: Unit = serde_json::from_str(&line.map_err(at_file)?).map_err(|error| {
                let fault = AdapterError::new(ErrorCode::MalformedRecord)
                    .expected("a line of `engram units --json`");
                fault
                    .found(&error.to_string())
                    .path(format!("{}:{number}", file.display()))
            })?;
            if shard.is_none_or(|shard| unit.shard(shard.of) + 1 == shard.number) {
                chosen.add(unit);
            }
        }
        Ok(chosen)
    }

    fn add(&mut self, unit: Unit) {
        let paths = unit.paths.into_iter().map(PathBuf::from);
        if let Some(session) = unit.session.filter(|_| unit.in_store) {
            self.stored
                .extend(paths.clone().map(|store| (store, session.clone())));
        }
        self.paths.extend(paths);
    }

    /// What is to be converted: logs and stores, each once.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.paths.iter().cloned().collect()
    }

    /// True for a log, and for a session of a store that is one of the units.
    pub fn wants(&self, location: &SessionLocation) -> bool {
        let stored = |id: &str| {
            self.stored
                .contains(&(location.container().to_owned(), id.to_owned()))
        };
        location.id_in_store().is_none_or(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        assert_eq!("4/4".parse(), Ok(Shard { number: 4, of: 4 }));
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "-1/2", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
