//! The report as JUnit XML, for continuous integration.

use std::fmt::Write;

use crate::check::Check;
use crate::outcome::{Outcome, Verdict};
use crate::report::{AdapterReport, Report};

impl Report {
    /// The report as JUnit XML: one test suite per adapter, one test case per check.
    pub fn junit(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for report in &self.adapters {
            suite(&mut out, report);
        }
        out.push_str("</testsuites>\n");
        out
    }
}

fn suite(out: &mut String, report: &AdapterReport) {
    let count = |verdict: Verdict| {
        report
            .outcomes
            .iter()
            .filter(|(_, outcome)| outcome.verdict == verdict)
            .count()
    };
    let (tests, failures, skipped) = (
        report.outcomes.len(),
        count(Verdict::Fail),
        count(Verdict::Skip),
    );
    let name = escaped(report.adapter);
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    );
    for (id, outcome) in &report.outcomes {
        let tier = Check::named(id).map_or("", |check| check.tier.label());
        case(out, id, &format!("{}.{tier}", report.adapter), outcome);
    }
    out.push_str("  </testsuite>\n");
}

fn case(out: &mut String, id: &str, class: &str, outcome: &Outcome) {
    let (id, class) = (escaped(id), escaped(class));
    let _ = write!(
        out,
        "    <testcase name=\"{id}\" classname=\"{class}\" assertions=\"{}\"",
        outcome.examined
    );
    match outcome.verdict {
        Verdict::Pass | Verdict::Gap => out.push_str("/>\n"),
        Verdict::Skip => {
            let reason = escaped(outcome.reason.as_deref().unwrap_or_default());
            let _ = writeln!(out, "><skipped message=\"{reason}\"/></testcase>");
        }
        Verdict::Fail => {
            let _ = write!(
                out,
                "><failure message=\"{} counter-examples\">",
                outcome.failures
            );
            for example in &outcome.examples {
                let _ = writeln!(
                    out,
                    "{}: {}",
                    escaped(&example.place),
                    escaped(&example.what)
                );
            }
            out.push_str("</failure></testcase>\n");
        }
    }
}

/// Escapes text for XML. Characters that XML 1.0 does not allow become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            control if control < ' ' || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_markup_are_escaped() {
        assert_eq!(
            escaped("a<b>&\"\u{1}\u{ffff}\n"),
            "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}\n"
        );
    }
}
