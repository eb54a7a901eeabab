//! The findings of a check while it runs, and its outcome: the verdict, counts and counter-examples.

use std::collections::BTreeMap;

use serde::Serialize;

/// The most counter-examples of one check in a report.
const MAX_EXAMPLES: usize = 20;

/// One fact that refutes what a check asserts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Example {
    /// `recording/session:line`; session and line only if the fact has them.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// What a check finds while it runs.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    examined: u64,
    notes: BTreeMap<&'static str, u64>,
    gaps: BTreeMap<String, u64>,
    failures: u64,
    examples: Vec<Example>,
}

impl Findings {
    /// Counts one examined fact.
    pub fn count(&mut self, what: &'static str) {
        self.count_many(what, 1);
    }

    /// Counts several examined facts.
    pub fn count_many(&mut self, what: &'static str, number: u64) {
        self.examined += number;
        self.note_many(what, number);
    }

    /// Counts one fact that cannot be examined; `what` gives the reason.
    pub fn note(&mut self, what: &'static str) {
        self.note_many(what, 1);
    }

    /// Counts several facts without examining them.
    pub fn note_many(&mut self, what: &'static str, number: u64) {
        if number > 0 {
            *self.notes.entry(what).or_default() += number;
        }
    }

    /// Counts one fact that a declared gap explains.
    pub fn gap(&mut self, code: &str) {
        self.examined += 1;
        *self.gaps.entry(code.to_owned()).or_default() += 1;
    }

    /// Reports one counter-example.
    pub fn fail(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.examined += 1;
        self.failures += 1;
        self.examples.push(Example {
            place: place.into(),
            what: what.into(),
        });
        if self.examples.len() > 4 * MAX_EXAMPLES {
            self.keep_first();
        }
    }

    fn keep_first(&mut self) {
        self.examples.sort();
        self.examples.truncate(MAX_EXAMPLES);
    }

    /// Adds the findings of other recordings.
    pub fn add(&mut self, other: Findings) {
        self.examined += other.examined;
        self.failures += other.failures;
        other
            .notes
            .into_iter()
            .for_each(|(what, number)| self.note_many(what, number));
        for (code, number) in other.gaps {
            *self.gaps.entry(code).or_default() += number;
        }
        self.examples.extend(other.examples);
        self.keep_first();
    }

    /// The outcome. A check that examined nothing is skipped: it has proved nothing.
    pub fn outcome(mut self) -> Outcome {
        self.keep_first();
        let verdict = match (self.examined, self.failures, self.gaps.is_empty()) {
            (0, ..) => {
                // What was seen and could not be examined is the reason.
                let notes: Vec<String> = self
                    .notes
                    .iter()
                    .map(|(what, number)| format!("{number} {what}"))
                    .collect();
                let seen = if notes.is_empty() {
                    String::new()
                } else {
                    format!(": {}", notes.join(", "))
                };
                return Outcome::skipped(format!("the recordings have nothing to examine{seen}"));
            }
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

/// The verdict of a check on an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The assertion is true.
    Pass,
    /// The assertion is true except for gaps that the adapter declares.
    Gap,
    /// The check did not run, or had nothing to examine.
    Skip,
    /// The assertion is false.
    Fail,
}

impl Verdict {
    /// The word that reports show.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Gap => "gap",
            Verdict::Skip => "skip",
            Verdict::Fail => "FAIL",
        }
    }
}

/// The outcome of one check for one adapter.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// How many facts were examined.
    pub examined: u64,
    /// How many of them refute the check.
    pub failures: u64,
    /// How many facts each declared gap explains.
    pub gaps: BTreeMap<String, u64>,
    /// How many facts of each kind were examined or could not be examined.
    pub notes: BTreeMap<&'static str, u64>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first counter-examples, sorted by place.
    pub examples: Vec<Example>,
}

impl Outcome {
    /// The outcome of a check that did not run.
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
    fn check_that_examines_nothing_is_skipped() {
        assert_eq!(Findings::default().outcome().verdict, Verdict::Skip);
        let mut noted = Findings::default();
        noted.note("not logged");
        let outcome = noted.outcome();
        assert_eq!(outcome.verdict, Verdict::Skip);
        assert_eq!(
            outcome.reason.as_deref(),
            Some("the recordings have nothing to examine: 1 not logged")
        );
    }

    #[test]
    fn failure_outranks_gap_and_gap_outranks_pass() {
        let mut findings = Findings::default();
        findings.count("facts");
        assert_eq!(findings.clone().outcome().verdict, Verdict::Pass);
        findings.gap("edit.shell");
        assert_eq!(findings.clone().outcome().verdict, Verdict::Gap);
        findings.fail("a:2", "wrong");
        findings.fail("a:1", "wrong");
        let outcome = findings.outcome();
        assert_eq!(
            (
                outcome.verdict,
                outcome.failures,
                outcome.examples[0].place.as_str()
            ),
            (Verdict::Fail, 2, "a:1")
        );
    }
}
