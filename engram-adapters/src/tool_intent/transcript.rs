//! What the texts of an episode say: requests, answers, and text between them. Step 1 and step 3 read them alike.

use std::collections::BTreeMap;

use engram_core::emit::Fault;
use engram_core::tool_kind::ToolKind;
use engram_profiles::grammar::{
    Limits, Line, LineKind, Request, Response, Scanner, Violation, response,
};
use engram_profiles::nonce::NonceHash;

use super::readers::{Capability, Header, ToolLimits};
use crate::shared::value::{Field, Value, count, elements, raw_str, text};

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Lines of text, also frames of other episodes.
    Text(String),
    /// A request of the agent.
    Request(Request),
    /// An answer of the driver, with the tool that was asked for.
    Response(Response, String),
    /// A line that breaks the grammar.
    Violation(String, Violation),
}

/// What is known of the episode so far.
pub(super) struct Transcript {
    nonce: NonceHash,
    scanner: Scanner,
    kinds: BTreeMap<String, ToolKind>,
    /// The tools of requests that have no answer yet, by id.
    open: BTreeMap<String, String>,
}

impl Transcript {
    /// An episode with this header.
    ///
    /// # Errors
    /// If the header has no nonce or no limits.
    pub fn new(header: &Header<'_>) -> Result<Transcript, Fault> {
        let nonce = NonceHash::parse(raw_str(header.nonce_hash()));
        let nonce = nonce.ok_or_else(|| {
            Fault::malformed("/nonce_hash", "a hash", raw_str(header.nonce_hash()))
        })?;
        let limits = ToolLimits::lenient_opt(header.tool_limits());
        let limits = Limits {
            max_args_bytes: limit(limits.max_args_bytes(), "/tool_limits/max_args_bytes")?,
            max_line_bytes: limit(limits.max_line_bytes(), "/tool_limits/max_line_bytes")?,
            max_requests: limit(limits.max_requests(), "/tool_limits/max_requests")?,
            ..Limits::default()
        };
        let kinds = elements(header.capability_map())
            .map(Capability::lenient)
            .map(|row| {
                let class = raw_str(row.tool_class());
                let kind = ToolKind::ALL
                    .into_iter()
                    .find(|kind| kind.as_str() == class)
                    .unwrap_or(ToolKind::Other);
                (decoded(row.intent()), kind)
            });
        let kinds = kinds.collect();
        Ok(Transcript {
            scanner: Scanner::new(nonce.clone(), limits),
            nonce,
            kinds,
            open: BTreeMap::new(),
        })
    }

    /// The kind of an intent, as the header says.
    pub fn kind(&self, tool: &str) -> ToolKind {
        self.kinds.get(tool).copied().unwrap_or(ToolKind::Other)
    }

    /// The tool of a request that has no answer yet.
    pub fn open_tool(&self, id: &str) -> Option<&str> {
        self.open.get(id).map(String::as_str)
    }

    /// The parts of a text of the agent.
    pub fn agent(&mut self, text: &str) -> Vec<Part> {
        let (mut lines, mut parts) = (Vec::new(), Vec::new());
        self.scanner.push(text.as_bytes(), &mut lines);
        self.scanner.end_block(&mut lines);
        for Line { text, kind } in lines {
            match kind {
                LineKind::Text | LineKind::Foreign => push_text(&mut parts, &text),
                LineKind::Violation(violation) => parts.push(Part::Violation(text, violation)),
                LineKind::Request(request) => {
                    self.open.insert(request.id.clone(), request.tool.clone());
                    parts.push(Part::Request(request));
                }
            }
        }
        parts
    }

    /// The parts of a text of the driver.
    pub fn driver(&mut self, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        for line in text.split_inclusive('\n') {
            match response(line.strip_suffix('\n').unwrap_or(line), &self.nonce) {
                None => push_text(&mut parts, line),
                Some(Err(violation)) => parts.push(Part::Violation(line.to_owned(), violation)),
                Some(Ok(response)) => parts.push(match self.open.remove(&response.id) {
                    Some(tool) => Part::Response(response, tool),
                    None => Part::Violation(line.to_owned(), Violation::Id),
                }),
            }
        }
        parts
    }
}

/// Adds a line to the run of text before it.
fn push_text(parts: &mut Vec<Part>, line: &str) {
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(line),
        _ => parts.push(Part::Text(line.to_owned())),
    }
}

fn limit(field: Field<'_>, pointer: &str) -> Result<usize, Fault> {
    let found = field.map_or("nothing", Value::raw);
    count(field)
        .and_then(|limit| usize::try_from(limit).ok())
        .ok_or_else(|| Fault::malformed(pointer, "a count", found))
}

/// The text of a field; empty if it has none.
pub(super) fn decoded(field: Field<'_>) -> String {
    text(field)
        .map(|text| text.decode_lossy().into_owned())
        .unwrap_or_default()
}
