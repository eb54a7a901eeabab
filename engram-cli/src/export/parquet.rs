//! `engram export parquet`: the tables of many tapes, in parallel.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use engram_command::exit::{Exit, Tally};
use engram_command::output::create_with;
use engram_command::pool::in_order;
use engram_command::report::{Reporter, shown};
use engram_core::error::AdapterError;
use engram_core::prices::Prices;
use engram_core::tape::replay;
use engram_export::arrow::{RULES, Table, Tables};
use engram_export::losses::Losses;
use engram_export::parquet::ParquetFiles;

use super::args::Parquet;
use super::inputs::{TapeFile, check, tapes};
use super::place::{NewDirectory, write_losses};
use super::repeats::repeats;
use crate::tapes::{open_tape, tape_error};
use engram_command::project::project_of;

/// Tapes of so many bytes are one job, whose rows are in files of its own. So the files do not depend on the number of jobs.
pub const CHUNK_BYTES: u64 = 64 << 20;
/// The views that are written beside the tables.
pub const SCHEMA_SQL: &str = engram_export::SCHEMA_SQL;

/// What one job has done.
pub struct Done {
    pub rows: [u64; Table::ALL.len()],
    pub losses: Losses,
    pub refused: Vec<AdapterError>,
    pub written: usize,
}

/// How tapes become rows.
#[derive(Clone, Copy)]
pub struct Work<'p> {
    /// For costs that no log states.
    pub prices: &'p Prices,
    /// The tapes that repeat another one, each with that one.
    pub repeats: &'p BTreeMap<String, String>,
    /// This command has written the tapes. Others are checked first.
    pub is_checked: bool,
}

/// Runs the command.
///
/// # Errors
/// Never; as the other commands.
pub fn run(args: &Parquet, report: &Reporter) -> io::Result<Exit> {
    let directory = match NewDirectory::beside(&args.common.out) {
        Ok(directory) => directory,
        Err(error) => return Ok(report.failure(&error)),
    };
    let prices = match args.prices.load() {
        Ok(prices) => prices,
        Err(error) => return Ok(report.failure(&error)),
    };
    let mut tally = Tally::default();
    let tapes = tapes(&args.common.tapes(), report, &mut tally);
    let is_whole = |tape: &TapeFile| check(tape).is_ok();
    let repeats = match repeats(&tapes, is_whole, args.jobs, report) {
        Ok(repeats) => repeats,
        Err(error) => return Ok(report.failure(&error)),
    };
    let work = Work {
        prices: &prices,
        repeats: &repeats,
        is_checked: false,
    };
    Ok(write(tapes, directory, args, work, tally, report))
}

fn write(
    tapes: Vec<TapeFile>,
    directory: NewDirectory,
    args: &Parquet,
    how: Work<'_>,
    mut tally: Tally,
    report: &Reporter,
) -> Exit {
    let out = &args.common.out;
    let mut losses = Losses::new("parquet", &[RULES]);
    let (mut rows, mut written, mut failed) = ([0; Table::ALL.len()], 0, None);
    let work = |(number, chunk): &(usize, Vec<TapeFile>)| {
        let files = ParquetFiles::new(directory.path(), *number, args.rows_per_file);
        export(chunk.iter(), files, directory.path(), how)
    };
    let chunks = chunks(tapes, |tape| tape.path.as_path());
    let numbered: Vec<_> = chunks.into_iter().enumerate().collect();
    let done = in_order(args.jobs, &numbered, work, |_, done| match done {
        Ok(done) => {
            losses.merge(&done.losses);
            rows.iter_mut()
                .zip(done.rows)
                .for_each(|(sum, more)| *sum += more);
            written += done.written;
            (0..done.written).for_each(|_| tally.success());
            done.refused
                .iter()
                .for_each(|error| tally.failure(report.failure(error)));
        }
        Err(error) => failed = Some(error),
    });
    if let Some(error) = done.err().or(failed) {
        return report.failure(&error);
    }
    if !tally.has_success() {
        return tally.exit();
    }
    let at = |error: io::Error| AdapterError::from(error).path(out.to_string_lossy());
    let finished = ParquetFiles::add_empty(directory.path(), &Table::ALL)
        .and_then(|()| {
            create_with(&directory.path().join("schema.sql"), |out| {
                out.write_all(SCHEMA_SQL.as_bytes())
            })
        })
        .map_err(at)
        .and_then(|()| directory.complete())
        .and_then(|()| write_losses(args.common.losses.as_deref(), &losses));
    if let Err(error) = finished {
        return report.failure(&error);
    }
    report.note(&format!("tapes       {written}"));
    for (table, rows) in Table::ALL.iter().zip(rows) {
        report.note(&format!("{:<11} {rows} rows", table.as_str()));
    }
    report.note(&format!("written to  {}", shown(out)));
    tally.exit()
}

/// The tapes in parts of about equal size.
pub fn chunks<T>(tapes: Vec<T>, path: impl Fn(&T) -> &Path) -> Vec<Vec<T>> {
    let (mut chunks, mut bytes): (Vec<Vec<T>>, u64) = (Vec::new(), CHUNK_BYTES);
    for tape in tapes {
        if bytes >= CHUNK_BYTES {
            chunks.push(Vec::new());
            bytes = 0;
        }
        bytes += path(&tape).metadata().map_or(0, |metadata| metadata.len());
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(tape);
        }
    }
    chunks
}

/// Writes the rows of these tapes to files below a directory.
///
/// # Errors
/// If a tape cannot be read, or a file cannot be written.
pub fn export<'t>(
    tapes: impl Iterator<Item = &'t TapeFile>,
    files: ParquetFiles,
    directory: &Path,
    work: Work<'_>,
) -> Result<Done, AdapterError> {
    let mut tables = Tables::new(files, &Table::ALL)
        .with_prices(work.prices.clone())
        .with_projects(|directory| project_of(directory).into_owned());
    let (mut refused, mut written) = (Vec::new(), 0);
    for tape in tapes {
        if !work.is_checked
            && let Err(error) = check(tape)
        {
            refused.push(error);
            continue;
        }
        match work.repeats.get(&tape.name) {
            Some(of) => tables.begin_repeat(&tape.name, of),
            None => tables.begin(&tape.name),
        }
        let at = |error: io::Error| tape_error(&tape.path, error);
        open_tape(&tape.path)
            .and_then(|reader| replay(reader, &mut tables))
            .map_err(at)?;
        written += 1;
    }
    let at = |error: io::Error| AdapterError::from(error).path(directory.to_string_lossy());
    let (files, losses) = tables.finish().map_err(at)?;
    Ok(Done {
        rows: files.finish().map_err(at)?,
        losses,
        refused,
        written,
    })
}
