//! The report: a matrix of checks by adapters, for people, for programs, and for continuous integration.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::catalogue::CHECKS;
use crate::check::{Check, Tier};
use crate::outcome::{Outcome, Verdict};

/// What the checks came to for one adapter.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// The adapter's id.
    pub adapter: &'static str,
    /// The harness.
    pub harness: &'static str,
    /// How many recordings there were of it.
    pub recordings: u64,
    /// How many sessions.
    pub sessions: u64,
    /// How many recordings show each scenario.
    pub scenarios: BTreeMap<&'static str, u64>,
    /// What each check came to, in the order of the table of checks.
    #[serde(serialize_with = "in_order")]
    pub outcomes: Vec<(&'static str, Outcome)>,
}

fn in_order<S: Serializer>(outcomes: &[(&'static str, Outcome)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(outcomes.len()))?;
    for (id, outcome) in outcomes {
        map.serialize_entry(id, outcome)?;
    }
    map.end()
}

impl Column {
    /// What a check came to, if it was asked for.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|(check, _)| *check == id).map(|(_, outcome)| outcome)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| outcome.verdict == verdict).count()
    }
}

/// What the checks came to, a column an adapter.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The columns.
    pub adapters: Vec<Column>,
}

impl Report {
    pub(crate) fn of(column: Column) -> Report {
        Report { adapters: vec![column] }
    }

    /// Adds the columns of another report.
    pub fn add(&mut self, other: Report) {
        self.adapters.extend(other.adapters);
    }

    /// True when no check fails.
    pub fn holds(&self) -> bool {
        self.failing().is_empty()
    }

    /// True when nothing was looked at: then nothing is proven.
    pub fn is_empty(&self) -> bool {
        self.adapters.iter().all(|column| column.recordings == 0)
    }

    /// The checks that fail, each with its adapter.
    pub fn failing(&self) -> Vec<(&'static str, &'static str)> {
        let failing = |column: &Column| {
            let ids = column.outcomes.iter().filter(|(_, outcome)| outcome.verdict == Verdict::Fail).map(|(id, _)| *id);
            ids.map(|id| (column.adapter, id)).collect::<Vec<_>>()
        };
        self.adapters.iter().flat_map(failing).collect()
    }

    /// The rows: every check that was asked for.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &'static Check> {
        CHECKS.iter().filter(|check| self.adapters.iter().any(|column| column.outcome(check.id).is_some()))
    }

    /// The matrix alone: verdicts, and for failures how many.
    pub fn matrix(&self) -> String {
        let mut rows: Vec<Vec<String>> = vec![["tier", "check"].map(str::to_owned).into()];
        rows[0].extend(self.adapters.iter().map(|column| column.adapter.to_owned()));
        for check in self.checks() {
            let mut row = vec![check.tier.to_string(), check.id.to_owned()];
            row.extend(self.adapters.iter().map(|column| column.outcome(check.id).map_or_else(String::new, cell)));
            rows.push(row);
        }
        for verdict in [Verdict::Pass, Verdict::Gap, Verdict::Skip, Verdict::Fail] {
            let mut row = vec![String::new(), verdict.as_str().to_lowercase()];
            row.extend(self.adapters.iter().map(|column| column.count(verdict).to_string()));
            rows.push(row);
        }
        aligned(&rows)
    }

    /// The matrix with everything that is stable of its cells: how much was looked at, gaps, and why something was skipped.
    pub fn contract(&self) -> String {
        let mut out = String::new();
        for column in &self.adapters {
            let _ = writeln!(out, "{}: {} recordings, {} sessions", column.adapter, column.recordings, column.sessions);
            for (id, outcome) in &column.outcomes {
                let _ = writeln!(out, "{} {id}: {}", column.adapter, says(outcome));
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

/// An outcome in a line: verdict, counts, gaps or the reason.
fn says(outcome: &Outcome) -> String {
    let mut parts: Vec<String> = outcome.notes.iter().map(|(what, count)| format!("{count} {what}")).collect();
    parts.extend(outcome.gaps.iter().map(|(code, count)| format!("gap {code} {count} times")));
    parts.extend(outcome.reason.clone());
    if outcome.failures > 0 {
        parts.push(format!("{} failures", outcome.failures));
    }
    let parts = parts.join(", ");
    format!("{}{}{parts}", outcome.verdict.as_str(), if parts.is_empty() { "" } else { ": " })
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}

impl fmt::Display for Report {
    /// The matrix, the counts, the gaps, why things were skipped, and the first counter-example of every failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.matrix())?;
        for column in &self.adapters {
            writeln!(f, "{}: {} recordings, {} sessions", column.adapter, column.recordings, column.sessions)?;
            for (id, outcome) in &column.outcomes {
                writeln!(f, "  {id}: {}", says(outcome))?;
                for example in outcome.examples.iter().take(if outcome.verdict == Verdict::Fail { SHOWN } else { 0 }) {
                    writeln!(f, "    {}: {}", example.place, example.what)?;
                }
            }
        }
        let failing = self.failing();
        let checks: usize = self.adapters.iter().map(|column| column.outcomes.len()).sum();
        writeln!(f, "{checks} checks, {} fail", failing.len())
    }
}

/// How many counter-examples of a failing check are printed.
const SHOWN: usize = 5;

/// What a tier is called in reports.
pub(crate) fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Viable => "1 viable",
        Tier::Observable => "2 observable",
        Tier::Provenance => "3 provenance",
    }
}
