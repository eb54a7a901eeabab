//! `engram export hf`: session traces, or conversations for training.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use engram_command::exit::{Exit, Tally};
use engram_command::output::{create, create_with};
use engram_command::report::{Reporter, shown};
use engram_core::error::AdapterError;
use engram_export::Wrote;
use engram_export::hf::{MESSAGES_FILE, TRACES_DIRECTORY, Traces, card};

use super::args;
use super::documents::Documents;
use super::place::{NewDirectory, write_losses};

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
    let mut rows = match args.messages {
        true => Some(BufWriter::new(
            create(&directory.join(MESSAGES_FILE)).map_err(at_out)?,
        )),
        false => None,
    };
    let mut written = 0;
    for (index, tape) in documents.tapes.iter().enumerate() {
        let session = documents
            .session(index, !args.keys.no_redact)
            .map_err(|error| documents.error(index, error))?;
        let wrote = match &mut rows {
            Some(rows) => traces.messages(&tape.name, &session, rows),
            None => {
                let path = directory.join(TRACES_DIRECTORY);
                write_trace(&path.join(format!("{}.jsonl", tape.name)), &mut |out| {
                    traces.trace(&tape.name, &session, out)
                })
            }
        };
        written += u64::from(wrote.map_err(at_out)? == Wrote::Session);
    }
    rows.map_or(Ok(()), |mut rows| rows.flush())
        .map_err(at_out)?;
    let card = card(args.messages, written, !args.keys.no_redact);
    create_with(&directory.join("README.md"), |out| {
        out.write_all(card.as_bytes())
    })
    .map_err(at_out)?;
    Ok(written)
}

/// Writes a trace. A session without one gets no file.
fn write_trace(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<Wrote>,
) -> io::Result<Wrote> {
    let wrote = create_with(path, write)?;
    if wrote == Wrote::Nothing {
        fs::remove_file(path)?;
    }
    Ok(wrote)
}
