//! Reports of a gate: findings fail it, and the number of things that it checked is printed even if it passes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use crate::tree::Corpus;

/// The most findings of one gate that are printed in full.
const SHOWN: usize = 2000;

/// The number of things that a gate checked, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// Adds one.
    pub fn count(&mut self, what: &'static str) {
        self.count_many(what, 1);
    }

    /// Adds several.
    pub fn count_many(&mut self, what: &'static str, number: u64) {
        *self.0.entry(what).or_default() += number;
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        for (what, number) in &other.0 {
            self.count_many(what, *number);
        }
    }

    /// The number with this name.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(what, number)| format!("{number} {what}"))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

/// Prints a line that the test runner does not capture.
pub fn print(gate: &str, text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "gate {gate}: {text}");
}

/// Runs a gate over the fixtures, and over the recordings if there are any.
///
/// # Panics
/// If there are findings.
pub fn run(gate: &str, findings: impl Fn(&'static Corpus) -> (Tally, Vec<String>)) -> Tally {
    let mut total = Tally::default();
    let mut found = Vec::new();
    for (name, corpus) in [
        ("fixtures", crate::tree::fixtures()),
        ("recordings", crate::tree::recordings()),
    ] {
        if corpus.cases.is_empty() && name == "recordings" {
            continue;
        }
        let (tally, findings) = findings(corpus);
        print(
            gate,
            format!(
                "{} {name}, {} sessions: {tally}; {} findings",
                corpus.cases.len(),
                corpus.artifacts().count(),
                findings.len()
            ),
        );
        total.add(&tally);
        found.extend(findings);
    }
    assert_none(gate, &found);
    total
}

/// Fails if there are findings.
///
/// # Panics
/// If there are findings.
pub fn assert_none(gate: &str, findings: &[String]) {
    let shown: Vec<&str> = findings.iter().take(SHOWN).map(String::as_str).collect();
    assert!(
        findings.is_empty(),
        "gate {gate}: {} findings\n{}",
        findings.len(),
        shown.join("\n")
    );
}
