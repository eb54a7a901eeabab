//! Exact repeats: records that a log has a second time, byte by byte.

use std::collections::HashSet;

use crate::hash::Hash;
use crate::input::OriginalRecord;

/// The most records that are remembered. Repeats of later ones are converted again.
const MAX_RECORDS: usize = 1 << 20;

/// The size of the part of a hash that is kept: 128 bits.
const KEY: usize = 16;

/// The records of an artifact that have an id or a time of their own.
#[derive(Debug)]
pub(crate) struct Repeats {
    records: HashSet<[u8; KEY]>,
    limit: usize,
}

impl Default for Repeats {
    fn default() -> Self {
        Repeats { records: HashSet::new(), limit: MAX_RECORDS }
    }
}

impl Repeats {
    /// True if this record was remembered.
    pub(crate) fn contains(&self, record: &str, original: Option<&OriginalRecord>) -> bool {
        !self.records.is_empty() && key(record, original).is_some_and(|key| self.records.contains(&key))
    }

    /// Remembers a record, unless there are too many already. The first ones stay: what a harness repeats begins with them.
    pub(crate) fn insert(&mut self, record: &str, original: Option<&OriginalRecord>) {
        if self.records.len() < self.limit {
            self.records.extend(key(record, original));
        }
    }
}

/// The beginning of the hash of a record, without the white space around it.
fn key(record: &str, original: Option<&OriginalRecord>) -> Option<[u8; KEY]> {
    let hash = original.map_or_else(|| Hash::of_bytes(record.trim_ascii().as_bytes()), |original| original.trimmed_hash);
    hash.bytes().first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_equal_by_their_bytes_without_the_space_around_them() {
        let mut repeats = Repeats::default();
        assert!(!repeats.contains("{\"id\":1}", None));
        repeats.insert("{\"id\":1}\r", None);
        assert!(repeats.contains(" {\"id\":1}", None));
        assert!(!repeats.contains("{\"id\": 1}", None));
    }

    #[test]
    fn at_the_limit_the_first_records_stay() {
        let mut repeats = Repeats { limit: 2, ..Repeats::default() };
        ["a", "b", "c"].into_iter().for_each(|record| repeats.insert(record, None));
        assert_eq!(["a", "b", "c"].map(|record| repeats.contains(record, None)), [true, true, false]);
    }
}
