//! The catalogues as Markdown, for the generated parts of `docs/conformance.md`.

use std::fmt::Write;

use crate::catalogue::CHECKS;
use crate::check::Needs;
use crate::report::Report;
use crate::scenario::{SCENARIOS, SEED_MATRIX};

/// Every check, by tier: its id, what it asserts, and what it needs.
pub fn checks() -> String {
    let mut out = String::new();
    let mut tier = None;
    for check in CHECKS {
        if tier.replace(check.tier) != Some(check.tier) {
            let _ = write!(out, "\n**Tier {}**\n\n", check.tier.label());
        }
        let _ = write!(out, "- `{}`: {}", check.id, check.asserts);
        if check.needs != Needs::Nothing {
            let _ = write!(out, " (needs {})", check.needs);
        }
        out.push('\n');
    }
    out.trim_start().to_owned()
}

/// Every scenario, and when a recording shows it.
pub fn scenarios() -> String {
    SCENARIOS.iter().fold(String::new(), |mut out, scenario| {
        let _ = writeln!(out, "- `{}`: {}", scenario.name, scenario.facts);
        out
    })
}

/// The runtime contract tests, each with the scenarios that cover it.
pub fn seed_matrix() -> String {
    SEED_MATRIX
        .iter()
        .fold(String::new(), |mut out, (heading, names)| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(out, "- {heading}: {}", names.join(", "));
            out
        })
}

/// The verdicts of the checks that some adapter has a gap in or fails, and the sums of all.
pub fn matrix(report: &Report) -> String {
    let matrix = report.matrix();
    let rows: Vec<&str> = matrix
        .lines()
        .filter(|row| {
            row.split_whitespace()
                .skip(2)
                .any(|cell| !matches!(cell, "pass" | "skip"))
        })
        .collect();
    format!("```text\n{}\n```\n", rows.join("\n"))
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
