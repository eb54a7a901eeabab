//! `engram export hf`: session traces, or conversations for training.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use engram_core::error::AdapterError;
use engram_export::hf::{MESSAGES_FILE, TRACES_DIRECTORY, Traces, card};
use engram_export::session::Session;

use super::args;
use super::documents::Documents;
use super::place::{NewDirectory, write_losses};
use crate::exit::{Exit, Tally};
use crate::report::{Reporter, shown};

/// Runs the command.
///
/// # Errors
/// Never; as the other commands.
pub fn run(args: &args::Hf, report: &Reporter) -> io::Result<Exit> {
    let out = &args.common.out;
    let directory = match NewDirectory::beside(out) {
        Ok(directory) => directory,
        Err(error) => return Ok(report.failure(&error)),
    };
    let mut tally = Tally::default();
    let documents = Documents::read(&args.common, report, &mut tally);
    if documents.tapes.is_empty() {
        return Ok(tally.exit());
    }
    if args.keys.no_redact {
        report.note("warning: --no-redact: keys and tokens of the logs are in what is written");
    }
    let mut traces = Traces::default();
    let written = match write(args, &documents, directory.path(), &mut traces) {
        Ok(written) => written,
        Err(error) => return Ok(report.failure(&error)),
    };
    documents.tapes.iter().for_each(|_| tally.success());
    let done = directory
        .complete()
        .and_then(|()| write_losses(args.common.losses.as_deref(), traces.losses()));
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    report.note(&format!("tapes       {}", documents.tapes.len()));
    report.note(&format!("sessions    {written}"));
    report.note(&format!("written to  {}", shown(out)));
    Ok(tally.exit())
}

fn write(
    args: &args::Hf,
    documents: &Documents,
    directory: &Path,
    traces: &mut Traces,
) -> Result<u64, AdapterError> {
    let at_out =
        |error: io::Error| AdapterError::from(error).path(args.common.out.to_string_lossy());
    let mut rows = if args.messages {
        Some(BufWriter::new(
            File::create_new(directory.join(MESSAGES_FILE)).map_err(at_out)?,
        ))
    } else {
        None
    };
    let mut written = 0;
    for (index, tape) in documents.tapes.iter().enumerate() {
        let text = documents.text(index, !args.keys.no_redact)?;
        let session = Session::read(&text)
            .map_err(|error| AdapterError::from(error).path(tape.path.to_string_lossy()))?;
        let lines = if args.messages {
            traces.messages(&tape.name, &session)
        } else {
            traces.trace(&tape.name, &session)
        };
        let Some(lines) = lines else { continue };
        written += 1;
        let done = match &mut rows {
            Some(rows) => rows.write_all(lines.as_bytes()),
            None => write_trace(
                &directory
                    .join(TRACES_DIRECTORY)
                    .join(format!("{}.jsonl", tape.name)),
                &lines,
            ),
        };
        done.map_err(at_out)?;
    }
    rows.map_or(Ok(()), |mut rows| rows.flush())
        .map_err(at_out)?;
    fs::write(
        directory.join("README.md"),
        card(args.messages, written, !args.keys.no_redact),
    )
    .map_err(at_out)?;
    Ok(written)
}

fn write_trace(path: &Path, lines: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, lines)
}
