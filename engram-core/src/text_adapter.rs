//! Conversion by an adapter with only the three methods of the contract. Its tape is checked line by line.

use crate::adapter::HarnessAdapter;
use crate::check::check;
use crate::descriptor::AdapterDescriptor;
use crate::error::{AdapterError, ErrorCode, excerpt};
use crate::event::{Event, EventRecord, EventSource, Meta, TapeStart, TapeStop};
use crate::pipeline::Summary;
use crate::text::Text;
use crate::version::Support;

/// Converts a complete text and checks the tape. Returns the tape and what it amounts to.
///
/// The adapter applies its own policy and limits: the contract has no parameter for them.
///
/// # Errors
/// Those of the adapter. `adapter_defect`, with the tape's line, if the tape breaks a rule of the format or names another adapter.
pub fn convert_text(
    adapter: &dyn HarnessAdapter,
    text: &str,
) -> Result<(String, Summary), AdapterError> {
    let descriptor = adapter.descriptor();
    let of_adapter = |mut error: AdapterError| {
        error.adapter.get_or_insert(descriptor.adapter_id);
        error.harness.get_or_insert(descriptor.harness_family);
        error
    };
    let tape = adapter.convert_to_tape_jsonl(text).map_err(of_adapter)?;
    let summary = checked(&tape)
        .and_then(|()| summary(&tape, text.len() as u64, &descriptor))
        .map_err(of_adapter)?;
    Ok((tape, summary))
}

fn checked(tape: &str) -> Result<(), AdapterError> {
    match check(tape).into_iter().next() {
        None => Ok(()),
        Some(violation) => Err(defect(
            format!("a valid tape ({})", violation.rule),
            format!("line {} of the tape: {}", violation.line, violation.what),
        )),
    }
}

fn defect(expected: String, found: String) -> AdapterError {
    AdapterError::new(ErrorCode::AdapterDefect)
        .expected(expected)
        .found(&found)
}

/// What a valid tape amounts to.
fn summary(
    tape: &str,
    input_bytes: u64,
    descriptor: &AdapterDescriptor,
) -> Result<Summary, AdapterError> {
    let (source, start, stop) = frame(tape)
        .ok_or_else(|| defect("a start and a stop of the tape".to_owned(), String::new()))?;
    for (what, own, found) in [
        ("the adapter", descriptor.adapter_id, start.adapter_id),
        (
            "the harness",
            descriptor.harness_family,
            start.harness.family,
        ),
    ] {
        if own != found {
            return Err(defect(format!("{what} {own} in the tape"), excerpt(found)));
        }
    }
    let revisions = descriptor.matrix.revisions;
    let revision = match start.harness.schema {
        None => None,
        Some(name) => match revisions.iter().find(|revision| revision.schema == name) {
            None => {
                return Err(defect(
                    "a schema that the descriptor lists".to_owned(),
                    excerpt(name),
                ));
            }
            known => known,
        },
    };
    let claimed = revision.map_or(descriptor.coverage, |revision| revision.coverage);
    let (support, support_version) = lowest_support(tape, &start);
    let degraded: Vec<&'static str> = support.degradation().into_iter().collect();
    Ok(Summary {
        adapter_id: descriptor.adapter_id,
        harness: descriptor.harness_family,
        version: start.harness.version.map(decoded),
        schema: revision.map(|revision| revision.schema),
        support,
        support_version,
        coverage: if degraded.is_empty() {
            claimed
        } else {
            claimed.degraded()
        },
        degraded,
        session_id: source.session_id.map(decoded),
        agent_id: source.agent_id.map(decoded),
        counts: stop.counts,
        ledger: stop.ledger,
        input_bytes,
        complete: stop.complete,
    })
}

/// The lowest support level that a tape says, and the version that has it.
fn lowest_support(tape: &str, start: &TapeStart<'_>) -> (Support, Option<String>) {
    let changes = tape
        .lines()
        .filter(|line| line.contains(r#""label":"revision""#))
        .filter_map(|line| EventRecord::parse(line).ok());
    let mut lowest = (start.claims.support, start.harness.version.map(decoded));
    for change in changes {
        if let Event::Meta(Meta::Revision(change)) = change.event
            && change.claims.support > lowest.0
        {
            lowest = (change.claims.support, change.harness.version.map(decoded));
        }
    }
    lowest
}

/// The session of a tape, its first event and its last.
fn frame(tape: &str) -> Option<(EventSource<'_>, TapeStart<'_>, TapeStop)> {
    let mut lines = tape.lines();
    let first = EventRecord::parse(lines.next()?).ok()?;
    let last = EventRecord::parse(lines.next_back()?).ok()?;
    match (first.event, last.event) {
        (Event::Meta(Meta::TapeStart(start)), Event::Meta(Meta::TapeStop(stop))) => {
            Some((first.source, *start, *stop))
        }
        _ => None,
    }
}

fn decoded(text: Text<'_>) -> String {
    text.decode_lossy().into_owned()
}
