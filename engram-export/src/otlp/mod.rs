//! OpenTelemetry traces in the JSON form of OTLP: one line for each session, with its sub-agents. Collectors read such files
//! (`otlpjsonfile`), and each line can be sent to an endpoint.

mod content;
mod conventions;
mod events;
mod facts;
mod ids;
mod options;
mod rules;
mod spans;
mod wire;

use std::io::{self, Write};

pub use self::conventions::Semconv;
use self::conventions::{REPO_BRANCH, REPO_REVISION, REPO_URL, SERVICE_NAME, SERVICE_VERSION};
use self::ids::trace_id;
pub use self::options::{Content, Options, Part};
use self::rules::NO_TIME;
pub use self::rules::RULES;
use self::spans::Spans;
use self::wire::{Attributes, Resource, Scope};
use crate::Wrote;
use crate::losses::Losses;
use crate::scratch::{Piece, Scratch};
use crate::session::Source;

/// Writes traces, and counts what is lost.
#[derive(Debug)]
pub struct Otlp {
    options: Options,
    losses: Losses,
}

impl Otlp {
    /// Traces with these options.
    pub fn new(options: Options) -> Otlp {
        Otlp {
            options,
            losses: Losses::new("otlp", &[RULES]),
        }
    }

    /// What was lost so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Writes the line of a session with its sub-agents, unless none of them has a time. One part is asked for after the other, so that only
    /// one of them is open. Spans are kept in an unnamed temporary file, so memory does not grow with them.
    ///
    /// # Errors
    /// Those of reading the tapes and of writing.
    pub fn line<'s, 't>(
        &mut self,
        parts: impl IntoIterator<Item = io::Result<Part<'s, 't>>>,
        out: &mut dyn Write,
    ) -> io::Result<Wrote> {
        let (mut scratch, mut pieces, mut written) = (Scratch::default(), Vec::new(), Vec::new());
        let mut trace = None;
        for part in parts {
            let part = part?;
            let trace = trace.get_or_insert_with(|| trace_of(&part));
            self.losses.tape();
            let parent = part.parent.and_then(|(at, call)| {
                let spans: &Option<Spans> = written.get(at)?;
                spans.as_ref().map(|spans| spans.parent_for(call))
            });
            let from = scratch.bytes();
            let spans = Spans::of(
                &part,
                trace,
                parent,
                self.options,
                &mut self.losses,
                &mut scratch,
            )?;
            match &spans {
                Some(spans) => self.resource_spans(spans, scratch.since(from), &mut pieces)?,
                None => self.losses.count(&NO_TIME),
            }
            written.push(spans);
        }
        if pieces.is_empty() {
            return Ok(Wrote::Nothing);
        }
        pieces.push(Piece::Text("]}\n".to_owned()));
        scratch.copy(&pieces, out)?;
        Ok(Wrote::Session)
    }

    /// The JSON of the spans of one tape: those of the session and its turns, and then the others, which are kept already.
    fn resource_spans(
        &self,
        spans: &Spans,
        others: Piece,
        pieces: &mut Vec<Piece>,
    ) -> io::Result<()> {
        let facts = &spans.facts;
        let mut resource = Attributes::default();
        let harness = Some(spans.harness.as_str()).filter(|harness| !harness.is_empty());
        resource.set(SERVICE_NAME, harness.unwrap_or("unknown"));
        resource.maybe(SERVICE_VERSION, facts.version.clone());
        let names = [REPO_URL, REPO_BRANCH, REPO_REVISION];
        names
            .into_iter()
            .zip(&facts.repository)
            .for_each(|(name, value)| resource.maybe(name, value.clone()));
        let mut attributes = Attributes::default();
        attributes.set("engram.semconv", self.options.semconv.as_str());
        let scope = Scope {
            name: "engram",
            version: env!("CARGO_PKG_VERSION"),
            attributes: attributes.0,
        };
        let resource = Resource {
            attributes: resource.0,
        };
        let schema = match self.options.semconv.schema_url() {
            "" => String::new(),
            url => format!(",\"schemaUrl\":{}", serde_json::to_string(url)?),
        };
        let before = if pieces.is_empty() {
            "{\"resourceSpans\":["
        } else {
            ","
        };
        let (resource, scope) = (
            serde_json::to_string(&resource)?,
            serde_json::to_string(&scope)?,
        );
        let own = serde_json::to_string(&spans.own)?;
        let own = own.strip_suffix(']').unwrap_or(&own);
        let comma = match &others {
            Piece::Kept { bytes: 0, .. } => "",
            _ => ",",
        };
        pieces.push(Piece::Text(format!(
            "{before}{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{scope},\"spans\":{own}{comma}"
        )));
        pieces.push(others);
        pieces.push(Piece::Text(format!("]{schema}}}]{schema}}}")));
        Ok(())
    }
}

/// The trace of a session with its sub-agents: that of its first part.
fn trace_of(part: &Part<'_, '_>) -> String {
    let Source {
        harness,
        session_id,
        ..
    } = &part.session.source;
    trace_id(harness, session_id.as_deref().unwrap_or(part.name))
}
