//! What the checker reports: violations of rules.

use std::fmt;

use super::rule::Rule;
use crate::error::excerpt;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The 1-based line; the last line if something is missing at the end.
    pub line: u64,
    /// The rule.
    pub rule: Rule,
    /// What is wrong, with at most a short excerpt of the tape.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.line, self.rule, self.what)
    }
}

/// A violation without its line.
#[derive(Debug)]
pub(super) struct Finding {
    pub rule: Rule,
    pub what: String,
}

impl Finding {
    pub fn new(rule: Rule, what: impl AsRef<str>) -> Finding {
        Finding {
            rule,
            what: excerpt(what.as_ref()),
        }
    }

    pub fn quoting(rule: Rule, subject: &str, value: &str) -> Finding {
        Finding {
            rule,
            what: format!("{} is {}", excerpt(subject), excerpt(value)),
        }
    }
}
