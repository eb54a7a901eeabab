//! Exact repeats: records that a log has a second time, byte by byte.

use std::collections::HashSet;

use crate::hash::Hash;

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
    pub(crate) fn contains(&self, record: &str) -> bool {
        !self.records.is_empty() && key(record).is_some_and(|key| self.records.contains(&key))
    }

    /// Remembers a record, unless there are too many already. The first ones stay: what a harness repeats begins with them.
    pub(crate) fn insert(&mut self, record: &str) {
        if self.records.len() < self.limit {
            self.records.extend(key(record));
        }
    }
}

/// The beginning of the hash of a record, without the white space around it.
fn key(record: &str) -> Option<[u8; KEY]> {
    Hash::of_bytes(record.trim_ascii().as_bytes()).bytes().first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_equal_by_their_bytes_without_the_space_around_them() {
        let mut repeats = Repeats::default();
        assert!(!repeats.contains("{\"id\":1}"));
        repeats.insert("{\"id\":1}\r");
        assert!(repeats.contains(" {\"id\":1}"));
        assert!(!repeats.contains("{\"id\": 1}"));
    }

    #[test]
    fn at_the_limit_the_first_records_stay() {
        let mut repeats = Repeats { limit: 2, ..Repeats::default() };
        ["a", "b", "c"].into_iter().for_each(|record| repeats.insert(record));
        assert_eq!(["a", "b", "c"].map(|record| repeats.contains(record)), [true, true, false]);
    }
}
