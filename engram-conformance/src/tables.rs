//! The catalogues as Markdown tables, for the generated parts of `docs/conformance.md`.

use std::fmt::Write;

use crate::catalogue::CHECKS;
use crate::report::Report;
use crate::scenario::{SCENARIOS, SEED_MATRIX};

fn row<'c>(out: &mut String, cells: impl IntoIterator<Item = &'c str>) {
    out.push('|');
    for cell in cells {
        let _ = write!(out, " {} |", cell.replace('|', "\\|"));
    }
    out.push('\n');
}

fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = String::new();
    row(&mut out, headings.iter().copied());
    row(&mut out, headings.iter().map(|_| "---"));
    for cells in rows {
        row(&mut out, cells.iter().map(String::as_str));
    }
    out
}

/// Every check: tier, id, assertion, needs, specification.
pub fn checks() -> String {
    let cells = CHECKS.iter().map(|check| {
        vec![
            check.tier.label().to_owned(),
            format!("`{}`", check.id),
            check.asserts.to_owned(),
            check.needs.to_string(),
            check.seed.to_owned(),
        ]
    });
    table(&["tier", "check", "asserts", "needs", "comes from"], cells)
}

/// Every scenario, and how many recordings of each adapter show it.
pub fn scenarios(report: &Report) -> String {
    let mut headings = vec!["scenario", "a recording shows it when"];
    headings.extend(report.adapters.iter().map(|column| column.adapter));
    let cells = SCENARIOS.iter().map(|scenario| {
        let counts = report.adapters.iter().map(|column| {
            column
                .scenarios
                .get(scenario.name)
                .copied()
                .unwrap_or_default()
                .to_string()
        });
        [format!("`{}`", scenario.name), scenario.facts.to_owned()]
            .into_iter()
            .chain(counts)
            .collect()
    });
    table(&headings, cells)
}

/// The runtime contract tests, each with the scenarios that cover it.
pub fn seed_matrix() -> String {
    let cells = SEED_MATRIX.iter().map(|(heading, names)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        vec![(*heading).to_owned(), names.join(", ")]
    });
    table(&["contract test", "scenarios"], cells)
}

/// The verdict of every check for every adapter.
pub fn matrix(report: &Report) -> String {
    format!("```text\n{}```\n", report.matrix())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn seed_matrix_names_existing_scenarios() {
        for name in SEED_MATRIX.iter().flat_map(|(_, names)| names.iter()) {
            assert!(Scenario::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn ids_and_names_are_unique() {
        for (at, check) in CHECKS.iter().enumerate() {
            assert!(
                CHECKS[..at]
                    .iter()
                    .all(|earlier| earlier.id != check.id && earlier.tier <= check.tier),
                "{}",
                check.id
            );
        }
        for (at, scenario) in SCENARIOS.iter().enumerate() {
            assert!(
                SCENARIOS[..at]
                    .iter()
                    .all(|earlier| earlier.name != scenario.name),
                "{}",
                scenario.name
            );
        }
    }
}
