//! The ledger: every source record is counted exactly once, and what is not mapped is named.

use std::borrow::Cow;
use std::ptr;

use serde::{Deserialize, Serialize};

/// Where one source record went. Returned for every record, so forgetting one does not compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// It gave at least one event.
    Mapped,
    /// It says again what another record says.
    Duplicate {
        /// The record's type.
        record: &'static str,
        /// The rule in the descriptor that names the pair.
        rule: &'static str,
    },
    /// It is UI or cache state without content.
    Bookkeeping {
        /// The record's type.
        record: &'static str,
        /// The rule in the descriptor that names the type.
        rule: &'static str,
    },
}

/// One row of `omitted`: records of one type that one rule left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// The record type.
    #[serde(rename = "type")]
    pub record: Cow<'static, str>,
    /// The rule.
    pub rule: Cow<'static, str>,
    /// How many records.
    pub count: u64,
}

/// Sums over all records (spec section 4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Source records seen.
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
    /// All that is not mapped, sorted by type, then rule.
    pub omitted: Vec<Omitted>,
}

/// The most different types that `omitted` lists by name; what comes after is listed as `*`.
const MAX_OMITTED_ROWS: usize = 512;

/// So many rows are faster looked at one by one.
const FEW_ROWS: usize = 16;

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

    /// Takes back that a record was a duplicate: what it repeats never came, and it gives an event after all.
    pub(crate) fn duplicate_was_mapped(&mut self, record: &'static str, rule: &'static str) {
        if let Ok(at) = self.find(record, rule) {
            self.duplicate -= 1;
            self.mapped += 1;
            self.omitted[at].count -= 1;
            if self.omitted[at].count == 0 {
                self.omitted.remove(at);
            }
        }
    }

    fn find(&self, record: &str, rule: &str) -> Result<usize, usize> {
        self.omitted.binary_search_by(|row| (&*row.record, &*row.rule).cmp(&(record, rule)))
    }

    fn omit(&mut self, record: Cow<'static, str>, rule: &'static str) {
        // An adapter's names are literals: where they lie tells rows apart without a look at the texts.
        let mut few = self.omitted.iter_mut().take(FEW_ROWS);
        if let Some(row) = few.find(|row| ptr::eq(&*row.record, &*record) && ptr::eq(&*row.rule, rule)) {
            row.count += 1;
            return;
        }
        let is_listed = self.omitted.len() < MAX_OMITTED_ROWS || self.find(&record, rule).is_ok();
        let record = if is_listed { record } else { Cow::Borrowed("*") };
        match self.find(&record, rule) {
            Ok(at) => self.omitted[at].count += 1,
            Err(at) => self.omitted.insert(at, Omitted { record, rule: Cow::Borrowed(rule), count: 1 }),
        }
    }

    /// True when every record is counted exactly once.
    pub fn balances(&self) -> bool {
        // In 128 bits, since a ledger that was read may say anything.
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.map(u128::from).sum::<u128>();
        let omitted = sum(&mut self.omitted.iter().map(|row| row.count));
        let unmapped = sum(&mut [self.duplicate, self.bookkeeping, self.unrecognized, self.malformed].into_iter());
        omitted == unmapped && u128::from(self.records) == u128::from(self.mapped) + unmapped
    }
}
