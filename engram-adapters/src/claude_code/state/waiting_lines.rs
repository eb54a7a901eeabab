//! Lines that wait until a later one shows whether a response goes on.
//!
//! The usage of a response follows its last part. After a part that may not be the last one, a log may have lines of other agents, notices,
//! and results. These lines wait until a line shows whether the response goes on. Then they are converted in their order, and each of them
//! may be a part of a response for which the others wait again.
//!
//! What waits is bounded: 64 lines, and the memory for all that a conversion keeps. At the limit the usage is emitted with the counts of the
//! parts so far. If a later part has higher counts, another usage of the response follows that part, with the difference. So the sums are
//! right, and a part of them is only late.

use std::collections::VecDeque;

use engram_core::emit::{Emitter, Fault, RecordLocation};
use engram_core::ledger::Outcome;

use crate::claude_code::schema::Line;
use crate::shared::value::{KeptRecord, Value, raw_str};

/// The limit of waiting lines.
const MAX_LINES: usize = 64;

/// What a line shows about the response that may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing: the line has to wait.
    Unknown,
    /// It has another part of the response.
    GoesOn,
    /// The response is complete.
    Complete,
    /// The stream of the response broke, so it is not complete, and has no other part.
    Broken,
}

/// The conversion that the lines wait for.
pub trait Conversion {
    /// What a line shows about the response that may go on. `None` if there is no such response, or if the line gives no event.
    fn next(&mut self, line: Value<'_>) -> Option<Next>;

    /// Decides about the response what a line shows. If that is nothing, no line waits for the response any more, although it may go on.
    /// Returns false if there is no response that may go on.
    ///
    /// # Errors
    /// Those of the events of a response for which no line waits.
    fn decide(&mut self, next: Next, out: &mut Emitter) -> Result<bool, Fault>;

    /// Converts a line.
    ///
    /// # Errors
    /// Those of the line.
    fn convert(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault>;
}

/// Lines that wait, oldest first.
#[derive(Default)]
pub struct WaitingLines {
    lines: VecDeque<WaitingLine>,
}

/// A line, and where it is.
pub struct WaitingLine {
    pub record: KeptRecord,
    pub location: RecordLocation,
}

impl WaitingLines {
    /// True if no line waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Keeps a line. False if there is no room for it.
    pub fn push(&mut self, line: Value<'_>, out: &Emitter) -> bool {
        let has_room = self.lines.len() < MAX_LINES;
        let Some(record) = has_room.then(|| KeptRecord::of(line, out)).flatten() else { return false };
        self.lines.push_back(WaitingLine { record, location: out.location() });
        true
    }

    /// True if a line with the `uuid` of this one waits.
    pub fn has(&self, line: &Line<'_>) -> bool {
        let uuid = raw_str(line.uuid());
        !uuid.is_empty() && self.lines.iter().any(|waiting| raw_str(waiting.record.value().member("uuid")) == uuid)
    }

    /// Takes all lines.
    pub fn take(&mut self) -> VecDeque<WaitingLine> {
        std::mem::take(&mut self.lines)
    }

    /// Converts a line, or lets it wait. Lines that need not wait any more are converted before it.
    ///
    /// # Errors
    /// Those of the conversion.
    #[inline]
    pub fn step(&mut self, line: Value<'_>, to: &mut impl Conversion, out: &mut Emitter) -> Result<Outcome, Fault> {
        while let Some(next) = to.next(line) {
            if next == Next::Unknown && self.push(line, out) {
                return Ok(Outcome::Pending);
            }
            self.decide(next, to, out)?;
        }
        to.convert(line, out)
    }

    /// Converts all lines. The responses for which they wait count as complete.
    ///
    /// # Errors
    /// Those of the conversion.
    pub fn settle(&mut self, to: &mut impl Conversion, out: &mut Emitter) -> Result<(), Fault> {
        self.convert_all(Next::Complete, to, out)
    }

    /// The response that may go on is complete: converts the lines that waited for it.
    ///
    /// # Errors
    /// Those of the conversion.
    pub fn complete(&mut self, to: &mut impl Conversion, out: &mut Emitter) -> Result<(), Fault> {
        self.decide(Next::Complete, to, out)
    }

    /// Converts all lines before one that cannot be read, which shows nothing about the responses for which they wait.
    ///
    /// # Errors
    /// Those of the conversion.
    pub fn settle_before_unreadable(&mut self, to: &mut impl Conversion, out: &mut Emitter) -> Result<(), Fault> {
        self.convert_all(Next::Unknown, to, out)
    }

    fn convert_all(&mut self, next: Next, to: &mut impl Conversion, out: &mut Emitter) -> Result<(), Fault> {
        while !self.is_empty() {
            self.decide(next, to, out)?;
        }
        Ok(())
    }

    /// Decides about a response, and converts the lines that waited for it.
    #[inline(never)]
    fn decide(&mut self, next: Next, to: &mut impl Conversion, out: &mut Emitter) -> Result<(), Fault> {
        let here = out.location();
        to.decide(next, out)?;
        let mut lines = std::mem::take(&mut self.lines);
        while let Some(line) = lines.pop_front() {
            match to.next(line.record.value()) {
                None => self.convert(line, to, out)?,
                Some(Next::Unknown) => self.lines.push_back(line),
                Some(next) => {
                    to.decide(next, out)?;
                    lines.push_front(line);
                    self.lines.drain(..).rev().for_each(|line| lines.push_front(line));
                }
            }
        }
        out.resume(here);
        Ok(())
    }

    fn convert(&mut self, mut line: WaitingLine, to: &mut impl Conversion, out: &mut Emitter) -> Result<(), Fault> {
        line.record.release();
        out.resume(line.location);
        let converted = to.convert(line.record.value(), out);
        out.settle_result(converted, line.record.value().raw())
    }
}
