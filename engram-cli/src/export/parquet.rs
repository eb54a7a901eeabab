//! `engram export parquet`: the tables of many tapes, in parallel.

use std::io;
use std::path::Path;

use engram_core::error::AdapterError;
use engram_core::tape::replay;
use engram_export::arrow::{RULES, Table, Tables};
use engram_export::losses::Losses;
use engram_export::parquet::{FILE_ROWS, ParquetFiles};

use super::args::{Common, Parquet};
use super::inputs::{TapeFile, check, tapes};
use super::place::{NewDirectory, temporary_beside, write_losses};
use crate::args::Ingest;
use crate::exit::{Exit, Output, Tally};
use crate::output::create_with;
use crate::pool::in_order;
use crate::report::{Reporter, shown};
use crate::tapes::{open_tape, tape_error, tapes_in};

/// Tapes of so many bytes are one job, whose rows are in files of its own. So the files do not depend on the number of jobs.
const CHUNK_BYTES: u64 = 64 << 20;
/// The views that are written beside the tables.
pub const SCHEMA_SQL: &str = engram_export::SCHEMA_SQL;

/// What one job has done.
struct Done {
    rows: [u64; Table::ALL.len()],
    losses: Losses,
    refused: Vec<AdapterError>,
    written: usize,
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
    let mut tally = Tally::default();
    let tapes = tapes(&args.common.tapes(), report, &mut tally);
    Ok(write(tapes, directory, args, Trust::None, tally, report))
}

/// `engram ingest --to parquet`.
///
/// # Errors
/// Never; as the other commands.
pub fn ingest(
    args: &Ingest,
    out: &Path,
    report: &Reporter,
    ingest: impl FnOnce(&Path, &Reporter) -> (Exit, Output),
) -> io::Result<Exit> {
    let at = |error: io::Error| AdapterError::from(error).path(out.to_string_lossy());
    let made = NewDirectory::beside(out)
        .and_then(|directory| Ok((directory, temporary_beside(out).map_err(at)?)));
    let (directory, (temporary, _claim)) = match made {
        Ok(made) => made,
        Err(error) => return Ok(report.failure(&error)),
    };
    let (exit, output) = ingest(temporary.path(), &report.silenced());
    // What could not be written is not the fault of a log: a dataset without it would look whole.
    if output == Output::Short || tapes_in(temporary.path()).is_empty() {
        return Ok(exit);
    }
    let mut tally = Tally::default();
    let paths = vec![temporary.path().to_owned()];
    let tapes = tapes(&paths, report, &mut tally);
    let common = Common {
        tapes: paths,
        out: out.to_owned(),
        losses: None,
    };
    let args = Parquet {
        common,
        rows_per_file: FILE_ROWS,
        jobs: args.conversion.jobs,
    };
    let written = write(tapes, directory, &args, Trust::Own, tally, report);
    Ok(if written == Exit::Success {
        exit
    } else {
        written
    })
}

/// Whether tapes are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Anybody may have written them.
    None,
    /// This command has written them just now.
    Own,
}

fn write(
    tapes: Vec<TapeFile>,
    directory: NewDirectory,
    args: &Parquet,
    trust: Trust,
    mut tally: Tally,
    report: &Reporter,
) -> Exit {
    let out = &args.common.out;
    let mut losses = Losses::new("parquet", &[RULES]);
    let (mut rows, mut written, mut failed) = ([0; Table::ALL.len()], 0, None);
    let work = |(number, chunk): &(usize, Vec<TapeFile>)| {
        export(chunk, directory.path(), *number, args.rows_per_file, trust)
    };
    let done = in_order(args.jobs, &chunks(tapes), work, |_, done| match done {
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

/// The tapes in parts of about equal size, with numbers.
fn chunks(tapes: Vec<TapeFile>) -> Vec<(usize, Vec<TapeFile>)> {
    let (mut chunks, mut bytes): (Vec<(usize, Vec<TapeFile>)>, u64) = (Vec::new(), CHUNK_BYTES);
    for tape in tapes {
        if bytes >= CHUNK_BYTES {
            chunks.push((chunks.len(), Vec::new()));
            bytes = 0;
        }
        bytes += tape.path.metadata().map_or(0, |metadata| metadata.len());
        if let Some((_, chunk)) = chunks.last_mut() {
            chunk.push(tape);
        }
    }
    chunks
}

fn export(
    tapes: &[TapeFile],
    directory: &Path,
    number: usize,
    rows_per_file: u64,
    trust: Trust,
) -> Result<Done, AdapterError> {
    let mut tables = Tables::new(
        ParquetFiles::new(directory, number, rows_per_file),
        &Table::ALL,
    );
    let (mut refused, mut written) = (Vec::new(), 0);
    for tape in tapes {
        if trust == Trust::None
            && let Err(error) = check(tape)
        {
            refused.push(error);
            continue;
        }
        tables.begin(&tape.name);
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
