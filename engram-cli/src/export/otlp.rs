//! `engram export otlp`: a line for each session with its sub-agents.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use engram_command::exit::{Exit, Tally};
use engram_command::report::{Reporter, shown};
use engram_core::error::AdapterError;
use engram_export::Wrote;
use engram_export::otlp::{Content, Options, Otlp, Part, Semconv};

use super::args;
use super::documents::Documents;
use super::place::{new_file, write_losses};

/// Runs the command.
///
/// # Errors
/// Never; as the other commands.
pub fn run(args: &args::Otlp, report: &Reporter) -> io::Result<Exit> {
    let mut tally = Tally::default();
    let documents = Documents::read(&args.common, report, &mut tally);
    if documents.tapes.is_empty() {
        return Ok(tally.exit());
    }
    let options = Options {
        semconv: args.semconv.into(),
        content: args.content.into(),
        max_attribute_bytes: args.max_attribute_bytes,
    };
    let mut otlp = Otlp::new(options);
    let mut lines = 0;
    let written = new_file(&args.common.out, |file| {
        let mut out = BufWriter::new(file);
        for root in documents.roots() {
            lines +=
                u64::from(line(&documents, root, &mut otlp, args, &mut out)? == Wrote::Session);
        }
        out.flush().map_err(|error| at_out(args, error))
    });
    if let Err(error) =
        written.and_then(|()| write_losses(args.common.losses.as_deref(), otlp.losses()))
    {
        return Ok(report.failure(&error));
    }
    documents.tapes.iter().for_each(|_| tally.success());
    report.note(&format!("tapes       {}", documents.tapes.len()));
    report.note(&format!("traces      {lines}"));
    report.note(&format!("written to  {}", shown(&args.common.out)));
    Ok(tally.exit())
}

/// Writes the line of a session with its sub-agents. One tape after the other is open.
fn line(
    documents: &Documents,
    root: usize,
    otlp: &mut Otlp,
    args: &args::Otlp,
    out: &mut dyn Write,
) -> Result<Wrote, AdapterError> {
    let family = documents.family(root);
    let places: HashMap<usize, usize> = (0..).zip(&family).map(|(at, tape)| (*tape, at)).collect();
    let mut failed = None;
    let parts = family.iter().map(|&tape| {
        let parent = documents.parents[tape].as_ref().filter(|_| tape != root);
        let parent =
            parent.and_then(|parent| Some((*places.get(&parent.tape)?, parent.call_id.as_deref())));
        failed = Some(tape);
        let session = documents.session(tape, args.redact)?;
        failed = None;
        Ok(Part {
            name: &documents.tapes[tape].name,
            session,
            parent,
        })
    });
    let wrote = otlp.line(parts, out);
    wrote.map_err(|error| match failed {
        Some(tape) => documents.error(tape, error),
        None => at_out(args, error),
    })
}

fn at_out(args: &args::Otlp, error: io::Error) -> AdapterError {
    AdapterError::from(error).path(args.common.out.to_string_lossy())
}

impl From<args::ContentArg> for Content {
    fn from(content: args::ContentArg) -> Content {
        match content {
            args::ContentArg::None => Content::None,
            args::ContentArg::Text => Content::Text,
            args::ContentArg::All => Content::All,
        }
    }
}

impl From<args::SemconvArg> for Semconv {
    fn from(semconv: args::SemconvArg) -> Semconv {
        match semconv {
            args::SemconvArg::Genai => Semconv::GenAi0_1,
            args::SemconvArg::V1_41 => Semconv::V1_41,
        }
    }
}
