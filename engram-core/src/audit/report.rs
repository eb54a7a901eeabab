//! The report of an audit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::tokens::Tokens;
use crate::error::excerpt;

/// An amount of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Amount {
    /// The number of string values.
    pub strings: u64,
    /// Their size in the source, in bytes.
    pub bytes: u64,
}

impl Amount {
    pub(super) fn add(&mut self, bytes: usize) {
        self.strings += 1;
        self.bytes += bytes as u64;
    }
}

/// The leaf values of the source (strings, numbers, booleans) by what became of them. Each is in exactly one of the counts. All are 0 if
/// the adapter has no member table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Leaves {
    /// All leaf values.
    pub total: u64,
    /// Those in the tape as they are.
    pub in_tape: u64,
    /// Those in the tape in another form, as the member table says.
    pub converted: u64,
    /// Those that rules omit, by the name of the rule.
    pub omitted: BTreeMap<String, u64>,
    /// Those that are opaque, by the name of the rule.
    pub opaque: BTreeMap<String, u64>,
    /// Those that the ledger counts as unknown members: not in the tape, but not lost without a word.
    pub unknown: u64,
    /// Those that were lost.
    pub left_over: u64,
}

impl Leaves {
    /// The sum of all counts but `total`. Equals it.
    pub fn accounted(&self) -> u64 {
        let by_rule = self
            .omitted
            .values()
            .chain(self.opaque.values())
            .sum::<u64>();
        self.in_tape + self.converted + by_rule + self.unknown + self.left_over
    }
}

/// A value of the source that is neither in the tape nor omitted by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOver {
    /// The 1-based physical line; 0 in a document.
    pub line: u64,
    /// The type of the record.
    #[serde(rename = "type")]
    pub record: String,
    /// The JSON pointer (RFC 6901) in the record, or in the document.
    pub pointer: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its beginning.
    pub excerpt: String,
}

/// A member that the ledger counts as unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnknownMember {
    /// The type of the record. What stands as JSON in a string of a record has a type of its own.
    #[serde(rename = "type")]
    pub record: String,
    /// The pointer in the record, with `*` for items of lists and keys of maps.
    pub pointer: String,
    /// How often the log has the member.
    pub count: u64,
    /// True if the audit's own walk has met the member. The walk does not enter JSON in a string.
    #[serde(skip)]
    pub(super) is_walked: bool,
}

impl UnknownMember {
    /// True if it is the row of this member.
    pub(super) fn is(&self, record: &str, pattern: &str) -> bool {
        self.record == excerpt(record) && self.pointer == excerpt(pattern)
    }
}

/// The report of an audit. Each content string of the source is in exactly one of the amounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// The number of source records.
    pub records: u64,
    /// Text that is in the tape.
    pub in_tape: Amount,
    /// Text that is in the tape in another form, as the member table says.
    pub converted: Amount,
    /// Text that rules omit, by the name of the rule. `limit_exceeded` means records of which the tape has only size and hash,
    /// `terminal_controls` what a terminal got before a record.
    pub omitted: BTreeMap<String, Amount>,
    /// Text that rules declare as opaque, by the name of the rule.
    pub opaque: BTreeMap<String, Amount>,
    /// The truncated record at the end of an artifact, if the tape has `complete: false`.
    pub cut: Amount,
    /// Text in values that the ledger counts as unknown members.
    pub unknown: Amount,
    /// The members that the ledger counts as unknown, at most as many as it lists.
    pub unknown_members: Vec<UnknownMember>,
    /// Text that was lost.
    pub left_over: Amount,
    /// The leaf values of the source.
    pub leaves: Leaves,
    /// What the source calls tokens, beside the tokens of the tape.
    pub tokens: Tokens,
    /// The first lost values, at most 50.
    pub examples: Vec<LeftOver>,
    /// Differences between the ledger and the source, at most 50.
    pub disagreements: Vec<String>,
}

impl AuditReport {
    /// Notes that the walk has met an unknown member.
    pub(super) fn meet(&mut self, record: &str, pattern: &str) {
        let met = self.unknown_members.iter_mut();
        met.filter(|row| row.is(record, pattern))
            .for_each(|row| row.is_walked = true);
    }

    /// Counts the unknown members that the walk has not met: the adapter found them in JSON that is in a string.
    pub(super) fn add_unmet(&mut self) {
        let unmet = self.unknown_members.iter().filter(|row| !row.is_walked);
        let count: u64 = unmet.map(|row| row.count).sum();
        self.leaves.total += count;
        self.leaves.unknown += count;
    }

    /// True if nothing is left over or unknown, and the ledger is correct.
    pub fn holds(&self) -> bool {
        let missing = self.left_over.strings
            + self.unknown.strings
            + self.leaves.left_over
            + self.leaves.unknown;
        missing == 0 && self.disagreements.is_empty()
    }
}
