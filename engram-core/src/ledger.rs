//! The ledger: counts of source records by outcome. Each record is counted exactly once.

use std::borrow::Cow;
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::members::UnknownMembers;

/// The name of records that cannot be read, in a tape and in its ledger.
pub(crate) const MALFORMED: &str = "malformed";
/// The name of records that exceed a limit.
pub(crate) const LIMIT_EXCEEDED: &str = "limit_exceeded";

/// The outcome of one source record. A conversion returns it for each record, so none can be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The record gave at least one event.
    Mapped,
    /// The record repeats another record.
    Duplicate {
        /// The record's type.
        record: &'static str,
        /// The rule of the descriptor that omits it.
        rule: &'static str,
    },
    /// The record is UI or cache state without content.
    Bookkeeping {
        /// The record's type.
        record: &'static str,
        /// The rule of the descriptor that omits it.
        rule: &'static str,
    },
}

impl Outcome {
    /// A record of this type that repeats another one, by this rule.
    pub const fn duplicate(record: &'static str, rule: &'static str) -> Self {
        Outcome::Duplicate { record, rule }
    }

    /// A record of this type that has no content, by this rule.
    pub const fn bookkeeping(record: &'static str, rule: &'static str) -> Self {
        Outcome::Bookkeeping { record, rule }
    }

    /// The type of a record that is omitted; empty for one that is mapped.
    pub const fn record(self) -> &'static str {
        match self {
            Outcome::Mapped => "",
            Outcome::Duplicate { record, .. } | Outcome::Bookkeeping { record, .. } => record,
        }
    }
}

/// One row of `omitted`: the records of one type that one rule omits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// The record type.
    #[serde(rename = "type")]
    pub record: Cow<'static, str>,
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The number of records.
    pub count: u64,
}

/// The counts of all records by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// All source records.
    pub records: u64,
    /// Records that gave at least one event.
    pub mapped: u64,
    /// Records that repeat another.
    pub duplicate: u64,
    /// Records without content.
    pub bookkeeping: u64,
    /// Records of a type, or with a block of a type, that the adapter does not know.
    pub unrecognized: u64,
    /// Records that could not be read.
    pub malformed: u64,
    /// Records that are not mapped, by type and rule, sorted by type, then rule.
    pub omitted: Vec<Omitted>,
    /// Members that the adapter's table does not name.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
    /// Secrets that were replaced, by rule, sorted by rule. Only redaction fills it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<Redactions>,
}

/// One row of `redactions`: the secrets that one rule replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redactions {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The number of secrets.
    pub count: u64,
}

/// The maximum number of rows of `omitted` with a type. Further types are counted as `*`.
const MAX_OMITTED_ROWS: usize = 512;

/// Rows that are searched linearly first, which is faster for that many.
const LINEAR_SEARCH_ROWS: usize = 16;

impl Ledger {
    /// Counts a record by its outcome.
    pub(crate) fn settle(&mut self, outcome: Outcome) {
        self.records += 1;
        match outcome {
            Outcome::Mapped => self.mapped += 1,
            Outcome::Duplicate { record, rule } => {
                self.duplicate += 1;
                self.omit(Cow::Borrowed(record), rule);
            }
            Outcome::Bookkeeping { record, rule } => {
                self.bookkeeping += 1;
                self.omit(Cow::Borrowed(record), rule);
            }
        }
    }

    /// Counts a record that the pipeline found to be an exact repeat.
    pub(crate) fn repeated(&mut self, record: String, rule: &'static str) {
        self.records += 1;
        self.duplicate += 1;
        self.omit(Cow::Owned(record), rule);
    }

    /// Counts a record of unknown type.
    pub(crate) fn unrecognized(&mut self, record: &str) {
        self.records += 1;
        self.unrecognized += 1;
        self.omit(Cow::Owned(record.to_owned()), "unrecognized");
    }

    /// Counts a record that could not be read.
    pub(crate) fn malformed(&mut self, record: &str) {
        self.records += 1;
        self.malformed += 1;
        self.omit(Cow::Owned(record.to_owned()), "malformed");
    }

    fn find(&self, record: &str, rule: &str) -> Result<usize, usize> {
        self.omitted
            .binary_search_by(|row| (&*row.record, &*row.rule).cmp(&(record, rule)))
    }

    fn omit(&mut self, record: Cow<'static, str>, rule: &'static str) {
        // Names in an adapter are literals, so equal addresses show equal names without comparing the texts.
        let mut first_rows = self.omitted.iter_mut().take(LINEAR_SEARCH_ROWS);
        if let Some(row) =
            first_rows.find(|row| ptr::eq(&*row.record, &*record) && ptr::eq(&*row.rule, rule))
        {
            row.count += 1;
            return;
        }
        let is_listed = self.omitted.len() < MAX_OMITTED_ROWS || self.find(&record, rule).is_ok();
        let record = if is_listed {
            record
        } else {
            Cow::Borrowed("*")
        };
        match self.find(&record, rule) {
            Ok(at) => self.omitted[at].count += 1,
            Err(at) => self.omitted.insert(
                at,
                Omitted {
                    record,
                    rule: Cow::Borrowed(rule),
                    count: 1,
                },
            ),
        }
    }

    /// True if the sums agree: every record is counted exactly once.
    pub fn balances(&self) -> bool {
        // In 128 bits, since a ledger that was read from a tape can contain any numbers.
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.map(u128::from).sum::<u128>();
        let omitted = sum(&mut self.omitted.iter().map(|row| row.count));
        let unmapped = sum(&mut [
            self.duplicate,
            self.bookkeeping,
            self.unrecognized,
            self.malformed,
        ]
        .into_iter());
        omitted == unmapped && u128::from(self.records) == u128::from(self.mapped) + unmapped
    }
}
