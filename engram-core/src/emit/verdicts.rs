//! What step 1 finds out about each record: where it is, and whether it is accepted.

use std::collections::BTreeMap;

use crate::error::Fault;
use crate::event::RecordLocation;
use crate::hash::Hash;

/// One record of an artifact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Where its text begins in the artifact. For an item of a document: its place in the list of items.
    pub offset: u64,
    /// The bytes of its text.
    pub bytes: u64,
    pub location: RecordLocation,
    pub verdict: Verdict,
    /// Where its nodes are kept, and how many they are.
    pub nodes: (u32, u32),
}

/// What becomes of a record in step 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The conversion emits it.
    Accepted,
    /// All its bytes were read before.
    Repeated,
    /// Its text alone shows that it is omitted.
    Omitted,
    /// It is kept as `meta unrecognized`, for the reason in [`Verdicts::rejected`].
    Rejected,
}

/// Why a record is not accepted.
#[derive(Debug)]
pub(crate) enum Rejected {
    /// The conversion refused it.
    Fault(Fault),
    /// The conversion does not know its type, and the harness's own types declare it.
    Declared(Fault),
    /// It is not JSON, or not UTF-8.
    Unreadable,
    /// It is the beginning of a record that a kill cut, which is kept as an error with this code.
    Cut(&'static str),
    /// It is a notice that the harness printed between its records.
    Notice,
    /// It is longer than the limit. Its text is not read again.
    Oversize { bytes: u64, hash: Hash },
}

/// The records of an artifact.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub entries: Vec<Entry>,
    pub rejected: BTreeMap<usize, Rejected>,
}

impl Verdicts {
    pub fn reject(&mut self, entry: Entry, why: Rejected) {
        self.rejected.insert(self.entries.len(), why);
        self.entries.push(Entry {
            verdict: Verdict::Rejected,
            ..entry
        });
    }
}
