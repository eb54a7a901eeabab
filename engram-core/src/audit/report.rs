//! What an audit found.

use std::collections::BTreeMap;

use serde::Serialize;

/// How much text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// String values.
    pub strings: u64,
    /// Their bytes, as the source spells them.
    pub bytes: u64,
}

impl Amount {
    pub(super) fn add(&mut self, bytes: usize) {
        self.strings += 1;
        self.bytes += bytes as u64;
    }
}

/// A content string of the source that nothing accounts for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOver {
    /// The 1-based physical line; 0 in a document.
    pub line: u64,
    /// The type of the record.
    #[serde(rename = "type")]
    pub record: String,
    /// The place in the record, or in the document (RFC 6901).
    pub pointer: String,
    /// How long it is.
    pub bytes: u64,
    /// How it begins.
    pub excerpt: String,
}

/// What an audit found: every content string of the source in one of the amounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Source records.
    pub records: u64,
    /// Text that stands in the tape.
    pub in_tape: Amount,
    /// Text that a rule omits, by the name of the rule. `limit_exceeded` stands for records that are on the tape by size and hash.
    pub omitted: BTreeMap<String, Amount>,
    /// Text that is opaque by declaration, by the name of the rule.
    pub opaque: BTreeMap<String, Amount>,
    /// The record in which the artifact ends, where the tape says `complete: false`.
    pub cut: Amount,
    /// Text that nothing accounts for.
    pub left_over: Amount,
    /// The first pieces of it.
    pub examples: Vec<LeftOver>,
    /// Where the ledger and the source differ.
    pub disagreements: Vec<String>,
}

impl AuditReport {
    /// True when the law holds: nothing is left over, and the ledger is right.
    pub fn holds(&self) -> bool {
        self.left_over.strings == 0 && self.disagreements.is_empty()
    }
}
