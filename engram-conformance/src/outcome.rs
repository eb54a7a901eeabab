//! What a check came to: what it looked at, what it found, and the verdict.

use std::collections::BTreeMap;

use serde::Serialize;

/// The most counter-examples of one check that a report holds.
const MOST_EXAMPLES: usize = 20;

/// One fact that refutes what a check asserts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Example {
    /// `recording/session:line`, as far as the fact has one.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// What a check finds while it runs.
#[derive(Debug, Clone, Default)]
pub struct Found {
    examined: u64,
    notes: BTreeMap<&'static str, u64>,
    gaps: BTreeMap<String, u64>,
    failures: u64,
    examples: Vec<Example>,
}

impl Found {
    /// Counts one fact that was looked at.
    pub fn count(&mut self, what: &'static str) {
        self.count_many(what, 1);
    }

    /// Counts several.
    pub fn count_many(&mut self, what: &'static str, number: u64) {
        self.examined += number;
        self.note_many(what, number);
    }

    /// Counts one fact that could not be looked at, and why.
    pub fn note(&mut self, what: &'static str) {
        self.note_many(what, 1);
    }

    fn note_many(&mut self, what: &'static str, number: u64) {
        if number > 0 {
            *self.notes.entry(what).or_default() += number;
        }
    }

    /// Something that the adapter says it cannot do, met.
    pub fn gap(&mut self, code: &str) {
        self.examined += 1;
        *self.gaps.entry(code.to_owned()).or_default() += 1;
    }

    /// Something wrong.
    pub fn fail(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.examined += 1;
        self.failures += 1;
        self.examples.push(Example { place: place.into(), what: what.into() });
        if self.examples.len() > 4 * MOST_EXAMPLES {
            self.keep_first();
        }
    }

    fn keep_first(&mut self) {
        self.examples.sort();
        self.examples.truncate(MOST_EXAMPLES);
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Found) {
        self.examined += other.examined;
        self.failures += other.failures;
        other.notes.into_iter().for_each(|(what, number)| self.note_many(what, number));
        for (code, number) in other.gaps {
            *self.gaps.entry(code).or_default() += number;
        }
        self.examples.extend(other.examples);
        self.keep_first();
    }

    /// The verdict. What looked at nothing has proven nothing.
    pub fn outcome(mut self) -> Outcome {
        self.keep_first();
        let verdict = match (self.examined, self.failures, self.gaps.is_empty()) {
            (0, ..) => return Outcome::skipped("no recording has anything to look at"),
            (_, 1.., _) => Verdict::Fail,
            (_, 0, false) => Verdict::Gap,
            (_, 0, true) => Verdict::Pass,
        };
        Outcome {
            verdict,
            examined: self.examined,
            failures: self.failures,
            gaps: self.gaps,
            notes: self.notes,
            reason: None,
            examples: self.examples,
        }
    }
}

/// What a check says of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What it asserts holds.
    Pass,
    /// It holds but for gaps that the adapter declares.
    Gap,
    /// It was not run, or had nothing to look at.
    Skip,
    /// It does not hold.
    Fail,
}

impl Verdict {
    /// The word that a report shows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Gap => "gap",
            Verdict::Skip => "skip",
            Verdict::Fail => "FAIL",
        }
    }
}

/// What one check came to for one adapter.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// How many facts were looked at.
    pub examined: u64,
    /// How many refute the check.
    pub failures: u64,
    /// Declared gaps that were met, with how often.
    pub gaps: BTreeMap<String, u64>,
    /// What was looked at, and what could not be, by name.
    pub notes: BTreeMap<&'static str, u64>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first counter-examples, in the order of their places.
    pub examples: Vec<Example>,
}

impl Outcome {
    /// A check that was not run.
    pub fn skipped(reason: impl Into<String>) -> Outcome {
        Outcome {
            verdict: Verdict::Skip,
            examined: 0,
            failures: 0,
            gaps: BTreeMap::new(),
            notes: BTreeMap::new(),
            reason: Some(reason.into()),
            examples: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_at_nothing_does_not_pass() {
        assert_eq!(Found::default().outcome().verdict, Verdict::Skip);
        let mut noted = Found::default();
        noted.note("not logged");
        assert_eq!(noted.outcome().verdict, Verdict::Skip);
    }

    #[test]
    fn a_failure_outweighs_a_gap_and_a_gap_a_pass() {
        let mut found = Found::default();
        found.count("facts");
        assert_eq!(found.clone().outcome().verdict, Verdict::Pass);
        found.gap("edit.shell");
        assert_eq!(found.clone().outcome().verdict, Verdict::Gap);
        found.fail("a:2", "wrong");
        found.fail("a:1", "wrong");
        let outcome = found.outcome();
        assert_eq!((outcome.verdict, outcome.failures, outcome.examples[0].place.as_str()), (Verdict::Fail, 2, "a:1"));
    }
}
