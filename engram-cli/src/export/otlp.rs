//! `engram export otlp`: a line for each session with its sub-agents.

use std::io::{self, Write};

use engram_core::error::AdapterError;
use engram_export::otlp::{Content, Options, Otlp, Part, Semconv};
use engram_export::session::Session;

use super::args;
use super::documents::Documents;
use super::place::{new_file, write_losses};
use crate::exit::{Exit, Tally};
use crate::report::{Reporter, shown};

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
        for root in documents.roots() {
            if let Some(line) = line(&documents, root, &mut otlp, args.redact)? {
                file.write_all(line.as_bytes()).map_err(|error| {
                    AdapterError::from(error).path(args.common.out.to_string_lossy())
                })?;
                lines += 1;
            }
        }
        Ok(())
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

fn line(
    documents: &Documents,
    root: usize,
    otlp: &mut Otlp,
    redact: bool,
) -> Result<Option<String>, AdapterError> {
    let family = documents.family(root);
    let texts: Vec<String> = family
        .iter()
        .map(|tape| documents.text(*tape, redact))
        .collect::<Result<_, _>>()?;
    let mut sessions = Vec::new();
    for (text, tape) in texts.iter().zip(&family) {
        let at = |error: io::Error| {
            AdapterError::from(error).path(documents.tapes[*tape].path.to_string_lossy())
        };
        sessions.push(Session::read(text).map_err(at)?);
    }
    let part = |(tape, session): (&usize, _)| {
        let of = *tape;
        let parent = documents.parents[of].as_ref().filter(|_| of != root);
        let place = |tape: usize| family.iter().position(|other| *other == tape);
        let parent =
            parent.and_then(|parent| Some((place(parent.tape)?, parent.call_id.as_deref())));
        Part {
            name: &documents.tapes[of].name,
            session,
            parent,
        }
    };
    let parts: Vec<Part<'_, '_>> = family.iter().zip(&sessions).map(part).collect();
    Ok(otlp.line(&parts))
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
