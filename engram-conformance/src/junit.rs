//! The report as JUnit XML, which continuous integration shows.

use std::fmt::Write;

use crate::check::Check;
use crate::outcome::{Outcome, Verdict};
use crate::report::{Column, Report, tier_name};

impl Report {
    /// The report as JUnit XML: a suite an adapter, a case a check.
    pub fn junit(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for column in &self.adapters {
            suite(&mut out, column);
        }
        out.push_str("</testsuites>\n");
        out
    }
}

fn suite(out: &mut String, column: &Column) {
    let count = |verdict: Verdict| column.outcomes.iter().filter(|(_, outcome)| outcome.verdict == verdict).count();
    let (tests, failures, skipped) = (column.outcomes.len(), count(Verdict::Fail), count(Verdict::Skip));
    let name = escaped(column.adapter);
    let _ = writeln!(out, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">");
    for (id, outcome) in &column.outcomes {
        let tier = Check::named(id).map_or("", |check| tier_name(check.tier));
        case(out, id, &format!("{}.{tier}", column.adapter), outcome);
    }
    out.push_str("  </testsuite>\n");
}

fn case(out: &mut String, id: &str, class: &str, outcome: &Outcome) {
    let (id, class) = (escaped(id), escaped(class));
    let _ = write!(out, "    <testcase name=\"{id}\" classname=\"{class}\" assertions=\"{}\"", outcome.examined);
    match outcome.verdict {
        Verdict::Pass | Verdict::Gap => out.push_str("/>\n"),
        Verdict::Skip => {
            let reason = escaped(outcome.reason.as_deref().unwrap_or_default());
            let _ = writeln!(out, "><skipped message=\"{reason}\"/></testcase>");
        }
        Verdict::Fail => {
            let _ = write!(out, "><failure message=\"{} counter-examples\">", outcome.failures);
            for example in &outcome.examples {
                let _ = writeln!(out, "{}: {}", escaped(&example.place), escaped(&example.what));
            }
            out.push_str("</failure></testcase>\n");
        }
    }
}

/// Text as XML holds it. Characters that XML 1.0 does not have become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            control if control < ' ' || matches!(control, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_logs_hold_does_not_break_the_xml() {
        assert_eq!(escaped("a<b>&\"\u{1}\u{ffff}\n"), "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}\n");
    }
}
