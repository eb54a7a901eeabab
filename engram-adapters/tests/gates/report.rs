//! How a gate reports: findings fail it, and what it went over is counted and printed even when it passes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use crate::tree::Corpus;

/// The most findings of one gate that are printed in full.
const SHOWN: usize = 2000;

/// What a gate went over, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// Counts one.
    pub fn count(&mut self, what: &'static str) {
        self.count_many(what, 1);
    }

    /// Counts several.
    pub fn count_many(&mut self, what: &'static str, number: u64) {
        *self.0.entry(what).or_default() += number;
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        for (what, number) in &other.0 {
            self.count_many(what, *number);
        }
    }

    /// How many.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(what, number)| format!("{number} {what}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// Prints a line past the test runner's capture: a gate that passes says what it went over.
pub fn say(gate: &str, text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "gate {gate}: {text}");
}

/// Runs a gate over the fixtures, which there must be, and over the recordings where there are any.
///
/// # Panics
/// When it finds anything.
pub fn run(gate: &str, findings: impl Fn(&'static Corpus) -> (Tally, Vec<String>)) -> Tally {
    let mut total = Tally::default();
    let mut found = Vec::new();
    for (name, corpus) in [("fixtures", crate::tree::fixtures()), ("recordings", crate::tree::recordings())] {
        if corpus.cases.is_empty() && name == "recordings" {
            continue;
        }
        let (tally, findings) = findings(corpus);
        say(gate, format!("{} {name}, {} sessions: {tally}; {} findings", corpus.cases.len(), corpus.artifacts().count(), findings.len()));
        total.add(&tally);
        found.extend(findings);
    }
    none(gate, &found);
    total
}

/// Fails when there are findings.
///
/// # Panics
/// Then.
pub fn none(gate: &str, findings: &[String]) {
    let shown: Vec<&str> = findings.iter().take(SHOWN).map(String::as_str).collect();
    assert!(findings.is_empty(), "gate {gate}: {} findings\n{}", findings.len(), shown.join("\n"));
}
