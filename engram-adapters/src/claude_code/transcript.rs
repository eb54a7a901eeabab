//! The conversion of one transcript: a line waits for what later ones show, and is converted then.

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::ledger::Outcome;

use super::records::agent_lines::{unwrapped, wrapped_lines};
use super::records::dispatch;
use super::schema::{Line, Progress};
use super::state::history_copies::CopyProof;
use super::state::rewinds::{Rewinds, Shown, Undecided};
use super::state::session_state::SessionState;
use super::state::waiting_lines::{Conversion, Next, WaitingLines};
use crate::shared::value::{StructuralIndex, Value, is_true, parse, raw_str, text};

/// The conversion of one transcript.
pub(super) struct Transcript {
    lines: Lines,
    /// The structure of the current line. Reused from line to line.
    index: StructuralIndex,
}

impl Transcript {
    /// The converter of a transcript.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let [proving, undecided, waiting] = [(); 3].map(|()| WaitingLines::default());
        let lines = Lines { state: SessionState::new(init), proving, undecided, waiting };
        Transcript { lines, index: StructuralIndex::default() }
    }
}

impl Session for Transcript {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        match parse(source, &mut self.index) {
            Ok(line) => self.lines.record(line, out),
            Err(fault) => {
                self.lines.settle_before_unreadable(out)?;
                Err(fault)
            }
        }
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.lines.settle(out)?;
        emit_due(&mut self.lines.state, true, out)?;
        self.lines.state.finish(out)
    }
}

/// The state, and the lines that are not converted yet.
struct Lines {
    state: SessionState,
    /// Lines that may belong to a copy of the history.
    proving: WaitingLines,
    /// A prompt that may follow a rewind, and the lines behind it. They are older.
    undecided: WaitingLines,
    /// Lines that wait for the end of a response. They are the oldest.
    waiting: WaitingLines,
}

impl Lines {
    fn record(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if self.state.copies.concerns(line, *self.state.dialect) && self.waits_for_proof(line, out)? {
            return Ok(Outcome::Pending);
        }
        self.proved(line, out)
    }

    /// Goes on with a line that belongs to no copy, or to one that is known.
    fn proved(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if self.state.rewinds.undecided() != Undecided::None
            && let Some(outcome) = self.behind_undecided(line, out)?
        {
            return Ok(outcome);
        }
        if raw_str(line.member("type")) == "user" && self.waits_for_rewind(line, out) {
            return Ok(Outcome::Pending);
        }
        self.waiting.step(line, &mut self.state, out)
    }

    /// Lets a prompt wait that may follow a rewind. Returns whether it waits.
    fn waits_for_rewind(&mut self, line: Value<'_>, out: &Emitter) -> bool {
        let view = Line::lenient(line);
        let Some(to) = self.state.rewinds.target(&view, &self.state.lines).filter(|_| !self.state.lines.is_repeat(&view)) else {
            return false;
        };
        let waits = self.undecided.push(line, out);
        self.state.rewinds.set_undecided(if waits { Undecided::Waits(to) } else { Undecided::TooLarge });
        waits
    }

    /// The outcome of a line behind a prompt that may follow a rewind. `None` if the line shows that it does not, which is decided then.
    #[inline(never)]
    fn behind_undecided(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Option<Outcome>, Fault> {
        let waits = !self.undecided.is_empty();
        match self.shown(line) {
            Shown::Nothing if !waits => return Ok(None),
            Shown::Nothing if self.undecided.push(line, out) => return Ok(Some(Outcome::Pending)),
            Shown::Rewind => {
                // The prompt begins a turn, so the responses before it are complete.
                while self.state.usage.has_open() {
                    self.waiting.complete(&mut self.state, out)?;
                }
                let outcome = self.waiting.step(line, &mut self.state, out);
                out.settle_result(outcome, line.raw())?;
                self.decide(out)?;
                return Ok(Some(Outcome::Pending));
            }
            Shown::Nothing | Shown::Continuation => self.decide(out)?,
        }
        Ok(None)
    }

    /// What a line shows about the prompt that may follow a rewind. A repeat and a malformed line show nothing.
    fn shown(&mut self, line: Value<'_>) -> Shown {
        match Line::strict(line, "") {
            Ok(line) if !self.undecided.has(&line) && !self.state.lines.is_repeat(&line) => Rewinds::shown(&line),
            _ => Shown::Nothing,
        }
    }

    /// Converts the prompt that may have followed a rewind, and the lines behind it.
    fn decide(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.state.rewinds.set_undecided(Undecided::None);
        if self.undecided.is_empty() {
            return Ok(());
        }
        let here = out.location();
        for mut line in self.undecided.take() {
            line.record.release();
            out.resume(line.location);
            let outcome = self.waiting.step(line.record.value(), &mut self.state, out);
            out.settle_result(outcome, line.record.value().raw())?;
        }
        out.resume(here);
        Ok(())
    }

    /// Lets a line wait that may belong to a copy of the history, or releases those that have waited. Returns whether the line waits.
    fn waits_for_proof(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        let view = Line::lenient(line);
        // A repeat shows nothing.
        if self.state.lines.is_repeat(&view) {
            return Ok(false);
        }
        if self.proving.is_empty() && raw_str(view.kind()) == "user" && !is_true(view.is_sidechain()) {
            // A copy repeats the history, which includes the lines that wait.
            self.waiting.settle(&mut self.state, out)?;
        }
        match self.state.copies.proof(line) {
            CopyProof::None => Ok(false),
            CopyProof::Unknown if self.proving.push(line, out) => Ok(true),
            CopyProof::Unknown => {
                self.release(out)?;
                Ok(false)
            }
            CopyProof::Decided => {
                self.release(out)?;
                // The same line may begin another copy.
                Ok(self.state.copies.concerns(line, *self.state.dialect) && self.waits_for_proof(line, out)?)
            }
        }
    }

    /// Goes on with the lines that have waited for a proof.
    fn release(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.state.copies.stop_waiting();
        let here = out.location();
        for mut line in self.proving.take() {
            line.record.release();
            out.resume(line.location);
            let outcome = self.proved(line.record.value(), out);
            out.settle_result(outcome, line.record.value().raw())?;
        }
        out.resume(here);
        Ok(())
    }

    /// Converts all lines that wait.
    fn settle(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.release_any(out)?;
        self.decide(out)?;
        self.waiting.settle(&mut self.state, out)
    }

    /// Converts all lines that wait, before one that cannot be read.
    fn settle_before_unreadable(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.release_any(out)?;
        self.decide(out)?;
        self.waiting.settle_before_unreadable(&mut self.state, out)
    }

    fn release_any(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        if self.proving.is_empty() { Ok(()) } else { self.release(out) }
    }
}

impl Conversion for SessionState {
    #[inline]
    fn next(&mut self, line: Value<'_>) -> Option<Next> {
        if self.usage.has_open() { self.next_of_open(line) } else { None }
    }

    fn decide(&mut self, next: Next, out: &mut Emitter) -> Result<bool, Fault> {
        let is_any = self.usage.decide(next, out)?;
        if is_any && next != Next::GoesOn {
            // The event belongs to another line, perhaps of another session.
            self.last_stated.forget_session();
        }
        Ok(is_any)
    }

    fn convert(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        emit_due(self, false, out)?;
        let outcome = dispatch::line(self, line, out);
        self.end_record(outcome.is_ok(), out);
        outcome
    }
}

impl SessionState {
    #[inline(never)]
    fn next_of_open(&mut self, line: Value<'_>) -> Option<Next> {
        let Ok(line) = Line::strict(line, "") else { return Some(Next::Unknown) };
        // A repeat of a converted line shows nothing. A repeat of a line that waits, waits too.
        if self.lines.is_repeat(&line) {
            return None;
        }
        let dialect = self.dialect_of(&line);
        let agent = self.sidechains.agent(&line, dialect);
        let open = self.usage.open(dialect.results_may_be_between)?;
        if raw_str(line.kind()) != "progress" {
            return Some(open.next(&line, agent.as_deref()));
        }
        // The lines that it wraps show what they would show alone.
        let data = line.data().map(Progress::lenient)?;
        let Some(agent) = text(data.agent_id()).map(|agent| agent.decode_lossy()) else { return Some(Next::Unknown) };
        let wrapped = wrapped_lines(&data).filter_map(|(place, value)| unwrapped(&line, value, place).ok());
        let new = wrapped.filter(|line| raw_str(line.kind()) != "progress" && !self.dedup.has_wrapped_line(line));
        new.map(|line| open.next(&line, Some(&agent))).find(|next| *next != Next::Unknown).or(Some(Next::Unknown))
    }
}

/// Emits the results that were read before their calls, if these have come or `is_end`.
#[inline]
fn emit_due(state: &mut SessionState, is_end: bool, out: &mut Emitter) -> Result<(), Fault> {
    if state.early_results.is_empty() { Ok(()) } else { emit_early(state, is_end, out) }
}

#[cold]
fn emit_early(state: &mut SessionState, is_end: bool, out: &mut Emitter) -> Result<(), Fault> {
    let (here, mut index) = (out.location(), StructuralIndex::default());
    loop {
        let due = state.early_results.take_due(&state.lines);
        let Some(early) = due.or_else(|| is_end.then(|| state.early_results.take_oldest())?) else {
            out.attribute_to(here, RecordHeader::default());
            return Ok(());
        };
        let converted = dispatch::early_result(state, &early, &mut index, out);
        state.end_record(converted.is_ok(), out);
        // A malformed result must not count against the line that follows it.
        if let Err(fault @ Fault::Fatal(_)) = converted {
            return Err(fault);
        }
    }
}
