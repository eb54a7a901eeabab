//! Claude Code: JSON Lines transcripts under `~/.claude/projects` (0.2.109 and later), the SQLite database of 0.2.96 to 0.2.100, and what
//! `--output-format stream-json` prints.
//!
//! A line goes from `records` (by its type) to `results` (if it returns from a tool) and to `state` (what later lines need).

use engram_core::adapter::{Evidence, Identity, Session, SessionInit, StreamAdapter};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::head::Head;
use engram_core::ledger::Outcome;

use crate::home_directory::{Base, HomeDirectory};
use crate::registration::Registration;
use crate::session_file::SessionFile;
use crate::shared::value::{StructuralIndex, Value, parse};
use records::stream::Stream;
use state::history_copies::CopyProof;
use state::session_state::SessionState;
use state::waiting_lines::{Next, WaitingLines};

mod blocks;
#[cfg(feature = "conformance")]
mod certification;
mod context_events;
mod descriptor;
mod members;
mod omission_rules;
mod record;
mod records;
mod results;
mod revisions;
mod schema;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod tools;

/// Where sessions are kept.
const HOMES: &[HomeDirectory] = &[
    HomeDirectory::new(Base::Home, ".claude").unless_set("CLAUDE_CONFIG_DIR", ""),
    HomeDirectory::new(Base::XdgConfig, "claude").unless_set("CLAUDE_CONFIG_DIR", ""),
];

/// The files of sessions and of sub-agents.
const SESSION_FILES: &[SessionFile] = &[
    SessionFile::new(("projects", 2), "", ".jsonl"),
    SessionFile::new(("projects", 2), "agent-", ".jsonl"),
    SessionFile::new(("subagents", 1), "agent-", ".jsonl"),
];

/// The adapter and everything that belongs to it.
pub(crate) static REGISTRATION: Registration = registration();

const fn registration() -> Registration {
    let registration = Registration::new(&ClaudeCode)
        .with_tools(&tools::TOOLS)
        .with_homes(HOMES)
        .with_session_files(SESSION_FILES)
        .with_side_info(source::side_info::side_info);
    #[cfg(feature = "sqlite")]
    let registration = registration.with_store_opener(&source::legacy_db::OPENER).with_forms(source::session_forms::FORMS);
    #[cfg(feature = "conformance")]
    let registration = registration.with_certification(certification::CERTIFICATION);
    registration
}

struct ClaudeCode;

impl StreamAdapter for ClaudeCode {
    fn describe(&self) -> &'static AdapterDescriptor {
        &descriptor::DESCRIPTOR
    }

    fn probe(&self, head: &Head<'_>) -> Option<Evidence> {
        source::detect::probe(head)
    }

    fn marks(&self) -> Vec<&'static str> {
        source::detect::marks()
    }

    fn identify(&self, head: &Head<'_>) -> Identity {
        source::detect::identify(head)
    }

    fn session(&self, init: &SessionInit<'_>) -> Box<dyn Session> {
        if init.identity.schema == Some(revisions::STREAM) {
            return Box::new(Stream::new(init));
        }
        Box::new(Transcript { state: SessionState::new(init), waiting: WaitingLines::default(), index: StructuralIndex::default() })
    }
}

/// The conversion of one transcript.
struct Transcript {
    state: SessionState,
    /// Lines that wait for a later one.
    waiting: WaitingLines,
    /// The structure of the current line. Reused from line to line.
    index: StructuralIndex,
}

impl Session for Transcript {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        self.emit_due(false, out)?;
        let value = match parse(source, &mut self.index) {
            Ok(value) => value,
            Err(fault) => {
                settle_waiting(&mut self.state, &mut self.waiting, Next::Complete, out)?;
                return Err(fault);
            }
        };
        if self.state.copies.concerns(value, *self.state.dialect) && waits_for_proof(&mut self.state, &mut self.waiting, value, out)? {
            return Ok(Outcome::Pending);
        }
        if self.state.dialect.results_may_be_between
            && let Some(message) = self.state.usage.open_message()
        {
            match self.waiting.next(value, message) {
                // It shows nothing about the response. A repeat of a line that waits, waits too.
                _ if self.state.lines.is_repeat(value) => {}
                Next::Unknown => {
                    self.waiting.push(value, out.location());
                    return Ok(Outcome::Pending);
                }
                next => settle_waiting(&mut self.state, &mut self.waiting, next, out)?,
            }
        }
        let outcome = records::dispatch::line(&mut self.state, value, out);
        self.state.end_record(outcome.is_ok(), out);
        outcome
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        settle_waiting(&mut self.state, &mut self.waiting, Next::Complete, out)?;
        self.emit_due(true, out)?;
        self.state.finish(out)
    }
}

/// Lets a line wait that may belong to a copy of the history, or converts those that have waited. Returns whether the line waits.
fn waits_for_proof(state: &mut SessionState, waiting: &mut WaitingLines, line: Value<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    // A repeat shows nothing.
    if state.lines.is_repeat(line) {
        return Ok(false);
    }
    match state.copies.proof(line) {
        CopyProof::None => Ok(false),
        CopyProof::Unknown if waiting.is_full(line) => {
            state.copies.stop_waiting();
            settle_waiting(state, waiting, Next::Complete, out)?;
            Ok(false)
        }
        CopyProof::Unknown => {
            waiting.push(line, out.location());
            Ok(true)
        }
        CopyProof::Decided => {
            settle_waiting(state, waiting, Next::Complete, out)?;
            // The same line may begin another copy.
            Ok(state.copies.concerns(line, *state.dialect) && waits_for_proof(state, waiting, line, out)?)
        }
    }
}

/// Converts the lines that waited.
#[inline]
fn settle_waiting(state: &mut SessionState, waiting: &mut WaitingLines, next: Next, out: &mut Emitter) -> Result<(), Fault> {
    if waiting.is_empty() { Ok(()) } else { convert_waiting(state, waiting, next, out) }
}

#[inline(never)]
fn convert_waiting(state: &mut SessionState, waiting: &mut WaitingLines, next: Next, out: &mut Emitter) -> Result<(), Fault> {
    state.copies.stop_waiting();
    let here = out.location();
    match (next, state.usage.open_message()) {
        (Next::GoesOn, message) => state.usage.set_going_on(message),
        (_, Some(message)) => {
            state.usage.complete(message, out)?;
            state.last_stated.forget_session();
        }
        _ => {}
    }
    for line in waiting.take() {
        out.resume(line.location);
        let outcome = records::dispatch::line(state, line.record.value(), out);
        state.end_record(outcome.is_ok(), out);
        match outcome {
            Ok(outcome) => out.settle(outcome),
            Err(fault) => out.settle_fault(fault, line.record.value().raw())?,
        }
    }
    state.usage.set_going_on(None);
    out.resume(here);
    Ok(())
}

impl Transcript {
    /// Emits the results that were read before their calls, if these have come or `is_end`.
    #[inline]
    fn emit_due(&mut self, is_end: bool, out: &mut Emitter) -> Result<(), Fault> {
        if self.state.early_results.is_empty() { Ok(()) } else { self.emit_early(is_end, out) }
    }

    #[cold]
    fn emit_early(&mut self, is_end: bool, out: &mut Emitter) -> Result<(), Fault> {
        let (state, here) = (&mut self.state, out.location());
        loop {
            let due = state.early_results.take_due(&state.lines);
            let Some(early) = due.or_else(|| is_end.then(|| state.early_results.take_oldest())?) else {
                out.attribute_to(here, RecordHeader::default());
                return Ok(());
            };
            let converted = records::dispatch::early_result(state, &early, &mut self.index, out);
            state.end_record(converted.is_ok(), out);
            // A malformed result must not count against the line that follows it.
            if let Err(fault @ Fault::Fatal(_)) = converted {
                return Err(fault);
            }
        }
    }
}
