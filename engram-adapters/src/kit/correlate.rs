//! Open calls that wait for their results, and what has been said before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// The most calls that are held open. Older ones are forgotten: their results then come without the call's facts.
const MAX_OPEN: usize = 4096;

/// What is kept of each open call, by call id.
#[derive(Debug)]
pub struct OpenCalls<T> {
    calls: HashMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        OpenCalls { calls: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> OpenCalls<T> {
    /// Opens a call.
    pub fn open(&mut self, call_id: &str, facts: T) {
        if self.calls.insert(call_id.to_owned(), facts).is_none() {
            self.order.push_back(call_id.to_owned());
        }
        // Closed calls stay in the order until there are as many of them as may be open.
        if self.order.len() > 2 * MAX_OPEN {
            self.order.retain(|id| self.calls.contains_key(id));
        }
        while self.calls.len() > MAX_OPEN {
            let Some(oldest) = self.order.pop_front() else { break };
            self.calls.remove(&oldest);
        }
    }

    /// What is kept of an open call.
    pub fn get(&self, call_id: &str) -> Option<&T> {
        self.calls.get(call_id)
    }

    /// As [`OpenCalls::get`], to change it.
    pub fn get_mut(&mut self, call_id: &str) -> Option<&mut T> {
        self.calls.get_mut(call_id)
    }

    /// Closes a call.
    pub fn close(&mut self, call_id: &str) -> Option<T> {
        self.calls.remove(call_id)
    }

    /// The open calls, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.order.iter().filter_map(|id| self.calls.get(id).map(|facts| (id.as_str(), facts)))
    }
}

/// What has been said before, at eight bytes a fact.
#[derive(Debug, Default)]
pub struct Said {
    keys: HashSet<u64, BuildHasherDefault<AsItIs>>,
}

/// What is kept by [`key`].
pub type KeyMap<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// Keys are hashes already.
#[derive(Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Said {
    /// True when the fact is new.
    pub fn first(&mut self, fact: impl Hash) -> bool {
        self.keys.insert(key(fact))
    }

    /// True when the fact was said before. Does not record it.
    pub fn contains(&self, fact: impl Hash) -> bool {
        self.keys.contains(&key(fact))
    }
}

/// A fact as eight bytes. Not for the tape: only for telling facts of one run apart.
pub fn key(fact: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    fact.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_calls_are_bounded_and_in_order() {
        let mut calls = OpenCalls::default();
        for n in 0..2 * MAX_OPEN {
            calls.open(&format!("closed{n}"), n);
            assert_eq!(calls.close(&format!("closed{n}")), Some(n));
            calls.open(&format!("open{n}"), n);
        }
        assert_eq!(calls.close("closed1"), None);
        let open: Vec<usize> = calls.iter().map(|(_, n)| *n).collect();
        assert!(open.is_sorted() && open.last() == Some(&(2 * MAX_OPEN - 1)));
        assert!((MAX_OPEN - 1..=MAX_OPEN).contains(&open.len()));
        assert!(calls.order.len() <= 2 * MAX_OPEN);
    }
}
