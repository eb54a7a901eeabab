//! The checker: one tape against every rule of the spec that a tape alone can show.
//!
//! `line` looks at each line by itself, `flow` at what the lines say together. Memory grows with the number of tool calls only.

mod flow;
mod line;
mod rule;

use std::fmt;
use std::io::{self, BufRead};

pub use rule::Rule;

use crate::error::excerpt;

/// A rule that is broken at a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The 1-based line; the last one where something is missing at the end.
    pub line: u64,
    /// The rule.
    pub rule: Rule,
    /// What breaks it, with at most a short excerpt of the tape.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.line, self.rule, self.what)
    }
}

/// A violation whose line is still to be said.
struct Finding {
    rule: Rule,
    what: String,
}

impl Finding {
    fn new(rule: Rule, what: impl AsRef<str>) -> Finding {
        Finding { rule, what: excerpt(what.as_ref()) }
    }

    fn quoting(rule: Rule, place: &str, value: &str) -> Finding {
        Finding { rule, what: format!("{} is {}", excerpt(place), excerpt(value)) }
    }
}

/// Checks a tape. An empty list means that it keeps every rule.
pub fn check(tape: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Reading from memory does not fail.
    let _ = check_stream(tape.as_bytes(), &mut |violation| violations.push(violation));
    violations
}

/// Checks a tape as it is read, and hands over each violation in the order of the lines.
///
/// # Errors
/// When the reader fails.
pub fn check_stream(mut tape: impl BufRead, report: &mut dyn FnMut(Violation)) -> io::Result<()> {
    let mut flow = flow::Flow::default();
    let (mut bytes, mut number, mut found) = (Vec::new(), 0, Vec::new());
    while tape.read_until(b'\n', &mut bytes)? > 0 {
        number += 1;
        check_line(&bytes, number, &mut flow, &mut found);
        found.drain(..).for_each(|Finding { rule, what }| report(Violation { line: number, rule, what }));
        bytes.clear();
    }
    flow.end(&mut found);
    found.drain(..).for_each(|Finding { rule, what }| report(Violation { line: number, rule, what }));
    Ok(())
}

fn check_line(bytes: &[u8], number: u64, flow: &mut flow::Flow, found: &mut Vec<Finding>) {
    let line = bytes.strip_suffix(b"\n").unwrap_or_else(|| {
        found.push(Finding::new(Rule::LineEnd, "the last line has no line end"));
        bytes
    });
    let Ok(mut line) = str::from_utf8(line) else {
        return found.push(Finding::new(Rule::Utf8, "bytes that are no UTF-8"));
    };
    if number == 1
        && let Some(rest) = line.strip_prefix('\u{feff}')
    {
        found.push(Finding::new(Rule::Bom, "the tape begins with a byte order mark"));
        line = rest;
    }
    if line.trim_ascii().is_empty() {
        return found.push(Finding::new(Rule::BlankLine, "nothing but white space"));
    }
    if let Some(event) = line::check(line, found) {
        flow.event(&event, found);
    }
}
