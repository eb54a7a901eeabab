//! The checker: finds violations of the tape format.
//!
//! `line` checks each line alone, `flow` checks all lines together. Memory grows only with the number of tool calls.

mod finding;
mod flow;
mod line;
mod rule;

use std::io::{self, BufRead};

use simdutf8::basic::from_utf8;

use self::finding::Finding;
pub use self::finding::Violation;
pub use self::rule::Rule;
use crate::json::StructuralIndex;
use crate::tape::read_line;

/// Checks a tape, and returns its violations. An empty list means that the tape is valid.
///
/// ```
/// use engram_core::check::{Rule, check};
///
/// assert!(check("not a tape").iter().any(|violation| violation.rule == Rule::Json));
/// ```
pub fn check(tape: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Reading from memory cannot fail.
    let _ = check_stream(tape.as_bytes(), &mut |violation| violations.push(violation));
    violations
}

/// The most violations of one tape that are found. A tape that breaks the rules more often is not read to its end.
pub const MAX_VIOLATIONS: u64 = 1000;

/// Checks a tape while it is read, and passes each violation to `report`, in the order of the lines, up to the line with the
/// [`MAX_VIOLATIONS`]th one. Memory is bounded by the longest line and the number of tool calls.
///
/// # Errors
/// If the reader fails.
pub fn check_stream(mut tape: impl BufRead, report: &mut dyn FnMut(Violation)) -> io::Result<()> {
    let (mut checker, mut line) = (Checker::default(), Vec::new());
    while !checker.is_full() && read_line(&mut tape, &mut line)? > 0 {
        checker.line(&line, report);
        line.clear();
    }
    checker.end(report);
    Ok(())
}

/// A check of a tape whose lines come one after the other. [`check_stream`] reads them itself.
#[derive(Debug)]
pub struct Checker {
    index: StructuralIndex,
    flow: flow::Flow,
    line: u64,
    violations: u64,
    found: Vec<Finding>,
}

impl Default for Checker {
    fn default() -> Self {
        Checker {
            index: StructuralIndex::of_tapes(),
            flow: flow::Flow::default(),
            line: 0,
            violations: 0,
            found: Vec::new(),
        }
    }
}

impl Checker {
    /// Checks the next line, which includes its line end, and passes each violation to `report`. After [`MAX_VIOLATIONS`], lines are ignored.
    pub fn line(&mut self, line: &[u8], report: &mut dyn FnMut(Violation)) {
        if !self.is_full() {
            self.line += 1;
            self.check_line(line);
            self.violations += self.found.len() as u64;
            self.report(report);
        }
    }

    /// Checks what can be seen only at the end of the tape.
    pub fn end(mut self, report: &mut dyn FnMut(Violation)) {
        if !self.is_full() {
            self.flow.end(&mut self.found);
            self.report(report);
        }
    }

    /// True after [`MAX_VIOLATIONS`]: the rest of the tape changes nothing.
    pub fn is_full(&self) -> bool {
        self.violations >= MAX_VIOLATIONS
    }

    fn check_line(&mut self, bytes: &[u8]) {
        let found = &mut self.found;
        let line = bytes.strip_suffix(b"\n").unwrap_or_else(|| {
            found.push(Finding::new(Rule::LineEnd, "the last line has no line end"));
            bytes
        });
        let Ok(mut line) = from_utf8(line) else {
            return found.push(Finding::new(Rule::Utf8, "bytes that are not UTF-8"));
        };
        if self.line == 1
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            found.push(Finding::new(
                Rule::Bom,
                "the tape begins with a byte order mark",
            ));
            line = rest;
        }
        if line.trim_ascii().is_empty() {
            return found.push(Finding::new(
                Rule::BlankLine,
                "a line with only white space",
            ));
        }
        if let Some(event) = line::check(line, &mut self.index, found) {
            self.flow.event(&event, found);
        }
    }

    fn report(&mut self, report: &mut dyn FnMut(Violation)) {
        for Finding { rule, what } in self.found.drain(..) {
            report(Violation {
                line: self.line,
                rule,
                what,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_tape_of_line_ends_alone_is_not_read_to_its_end() {
        let mut tape = io::repeat(b'\n').take(1 << 40);
        let mut found = 0;
        check_stream(io::BufReader::new(&mut tape), &mut |_| found += 1).unwrap();
        assert_eq!(found, MAX_VIOLATIONS);
    }
}
