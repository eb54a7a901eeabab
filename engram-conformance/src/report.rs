//! The report: the outcome of every check for every adapter, as a matrix, as lines, and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::catalogue::CHECKS;
use crate::check::Check;
use crate::checks::members;
use crate::outcome::{Outcome, Verdict};

/// The outcomes of the checks for one adapter.
#[derive(Debug, Clone, Serialize)]
pub struct AdapterReport {
    /// The adapter's id.
    pub adapter: &'static str,
    /// The harness.
    pub harness: &'static str,
    /// How many recordings of it there are.
    pub recordings: u64,
    /// How many sessions they contain.
    pub sessions: u64,
    /// How many recordings show each scenario.
    pub scenarios: BTreeMap<&'static str, u64>,
    /// The outcome of each check, in the order of [`CHECKS`].
    #[serde(serialize_with = "in_order")]
    pub outcomes: Vec<(&'static str, Outcome)>,
}

fn in_order<S: Serializer>(
    outcomes: &[(&'static str, Outcome)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(outcomes.len()))?;
    for (id, outcome) in outcomes {
        map.serialize_entry(id, outcome)?;
    }
    map.end()
}

impl AdapterReport {
    /// The outcome of a check, if it was selected.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.outcomes
            .iter()
            .find(|(check, _)| *check == id)
            .map(|(_, outcome)| outcome)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.outcomes
            .iter()
            .filter(|(_, outcome)| outcome.verdict == verdict)
            .count()
    }
}

/// The outcomes of the checks, for each adapter.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// One entry per adapter.
    pub adapters: Vec<AdapterReport>,
}

impl Report {
    pub(crate) fn of(column: AdapterReport) -> Report {
        Report {
            adapters: vec![column],
        }
    }

    /// Adds the adapters of another report.
    pub fn add(&mut self, other: Report) {
        self.adapters.extend(other.adapters);
    }

    /// True if no check fails.
    pub fn passes(&self) -> bool {
        self.failing().is_empty()
    }

    /// True if there were no recordings: then the report proves nothing.
    pub fn is_empty(&self) -> bool {
        self.adapters.iter().all(|column| column.recordings == 0)
    }

    /// The adapter and the id of every check that fails.
    pub fn failing(&self) -> Vec<(&'static str, &'static str)> {
        let failing = |column: &AdapterReport| {
            let ids = column
                .outcomes
                .iter()
                .filter(|(_, outcome)| outcome.verdict == Verdict::Fail)
                .map(|(id, _)| *id);
            ids.map(|id| (column.adapter, id)).collect::<Vec<_>>()
        };
        self.adapters.iter().flat_map(failing).collect()
    }

    /// Every check that was selected.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &'static Check> {
        CHECKS.iter().filter(|check| {
            self.adapters
                .iter()
                .any(|column| column.outcome(check.id).is_some())
        })
    }

    /// A table of verdicts: one row per check, one column per adapter. Failures have a number.
    pub fn matrix(&self) -> String {
        let mut rows: Vec<Vec<String>> = vec![["tier", "check"].map(str::to_owned).into()];
        rows[0].extend(self.adapters.iter().map(|column| column.adapter.to_owned()));
        for check in self.checks() {
            let mut row = vec![check.tier.to_string(), check.id.to_owned()];
            row.extend(
                self.adapters
                    .iter()
                    .map(|column| column.outcome(check.id).map_or_else(String::new, cell)),
            );
            rows.push(row);
        }
        for verdict in [Verdict::Pass, Verdict::Gap, Verdict::Skip, Verdict::Fail] {
            let mut row = vec![String::new(), verdict.as_str().to_lowercase()];
            row.extend(
                self.adapters
                    .iter()
                    .map(|column| column.count(verdict).to_string()),
            );
            rows.push(row);
        }
        aligned(&rows)
    }

    /// One line per outcome, with everything that does not depend on the machine: counts, gaps, and reasons for skipping.
    pub fn contract(&self) -> String {
        let mut out = String::new();
        for column in &self.adapters {
            let _ = writeln!(
                out,
                "{}: {} recordings, {} sessions",
                column.adapter, column.recordings, column.sessions
            );
            for (id, outcome) in &column.outcomes {
                let _ = writeln!(out, "{} {id}: {}", column.adapter, summary(outcome));
            }
        }
        out
    }
}

/// One cell of the matrix.
fn cell(outcome: &Outcome) -> String {
    match outcome.verdict {
        Verdict::Fail => format!("FAIL {}", outcome.failures),
        verdict => verdict.as_str().to_owned(),
    }
}

/// An outcome in one line: verdict, counts, gaps, and the reason for skipping.
fn summary(outcome: &Outcome) -> String {
    let mut parts: Vec<String> = outcome
        .notes
        .iter()
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    parts.extend(
        outcome
            .gaps
            .iter()
            .map(|(code, count)| format!("gap {code}: {count}")),
    );
    parts.extend(outcome.reason.clone());
    if outcome.failures > 0 {
        parts.push(format!("{} failures", outcome.failures));
    }
    let parts = parts.join(", ");
    format!(
        "{}{}{parts}",
        outcome.verdict.as_str(),
        if parts.is_empty() { "" } else { ": " }
    )
}

/// Pads the cells of a table so that columns align.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}

impl fmt::Display for Report {
    /// The matrix, one line per outcome, and the first counter-examples of every failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.matrix())?;
        for column in &self.adapters {
            writeln!(
                f,
                "{}: {} recordings, {} sessions",
                column.adapter, column.recordings, column.sessions
            )?;
            for (id, outcome) in &column.outcomes {
                writeln!(f, "  {id}: {}", summary(outcome))?;
                for example in outcome
                    .examples
                    .iter()
                    .take(if outcome.verdict == Verdict::Fail {
                        MAX_PRINTED_EXAMPLES
                    } else {
                        0
                    })
                {
                    writeln!(f, "    {}: {}", example.place, example.what)?;
                }
            }
        }
        self.adapters
            .iter()
            .filter_map(changes)
            .try_for_each(|line| writeln!(f, "{line}"))?;
        let failing = self.failing();
        let checks: usize = self
            .adapters
            .iter()
            .map(|column| column.outcomes.len())
            .sum();
        writeln!(f, "{checks} checks, {} fail", failing.len())
    }
}

/// How many changes of members the adapter notices, in one line.
fn changes(column: &AdapterReport) -> Option<String> {
    let notes = &column.outcome("member.known")?.notes;
    let count = |what: &str| notes.get(what).copied().unwrap_or_default();
    let [renames, types] =
        members::COUNTS.map(|(all, noticed)| format!("{} of {} {all}", count(noticed), count(all)));
    let altered = count(members::OTHER_TAPES);
    Some(format!(
        "{}: {renames} and {types} of members noticed, {altered} change a tape unnoticed",
        column.adapter
    ))
}

/// The most counter-examples of one check that are printed.
const MAX_PRINTED_EXAMPLES: usize = 5;
