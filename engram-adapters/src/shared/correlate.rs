//! Open calls that wait for their results, and what has been said before.

use std::collections::VecDeque;
use std::hash::Hash;

pub use engram_core::keys::{KeyMap, hash64, key_map};

/// The most calls that are held open. Older ones are forgotten: their results then come without the call's facts.
const MAX_OPEN: usize = 4096;

/// What is kept of each open call, by call id.
#[derive(Debug)]
pub struct PendingCalls<T> {
    calls: KeyMap<T>,
    order: VecDeque<u64>,
}

impl<T> Default for PendingCalls<T> {
    fn default() -> Self {
        PendingCalls { calls: KeyMap::default(), order: VecDeque::new() }
    }
}

impl<T> PendingCalls<T> {
    /// Opens a call.
    pub fn open(&mut self, call_id: impl Hash, facts: T) {
        let call = hash64(call_id);
        if self.calls.insert(call, facts).is_none() {
            self.order.push_back(call);
        }
        // Closed calls stay in the order until there are as many of them as may be open.
        if self.order.len() > 2 * MAX_OPEN || self.calls.len() > MAX_OPEN {
            self.forget();
        }
    }

    /// Forgets the order of closed calls, and the oldest of too many open ones.
    #[cold]
    fn forget(&mut self) {
        if self.order.len() > 2 * MAX_OPEN {
            self.order.retain(|call| self.calls.contains_key(call));
        }
        while self.calls.len() > MAX_OPEN {
            let Some(oldest) = self.order.pop_front() else { break };
            self.calls.remove(&oldest);
        }
    }

    /// What is kept of an open call.
    pub fn get(&self, call_id: impl Hash) -> Option<&T> {
        self.calls.get(&hash64(call_id))
    }

    /// As [`PendingCalls::get`], to change it.
    pub fn get_mut(&mut self, call_id: impl Hash) -> Option<&mut T> {
        self.calls.get_mut(&hash64(call_id))
    }

    /// Closes a call.
    pub fn close(&mut self, call_id: impl Hash) -> Option<T> {
        self.calls.remove(&hash64(call_id))
    }

    /// What is kept of the open calls, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.order.iter().filter_map(|call| self.calls.get(call))
    }
}

/// What has been said before, at eight bytes a fact.
#[derive(Debug)]
pub struct SeenSet {
    facts: KeyMap<()>,
}

impl Default for SeenSet {
    fn default() -> Self {
        SeenSet { facts: key_map() }
    }
}

impl SeenSet {
    /// True when the fact is new.
    pub fn first(&mut self, fact: impl Hash) -> bool {
        self.facts.insert(hash64(fact), ()).is_none()
    }

    /// True when the fact was said before. Does not record it.
    pub fn contains(&self, fact: impl Hash) -> bool {
        self.facts.contains_key(&hash64(fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_calls_are_bounded_and_in_order() {
        let mut calls = PendingCalls::default();
        for n in 0..2 * MAX_OPEN {
            calls.open(format!("closed{n}"), n);
            assert_eq!(calls.close(format!("closed{n}")), Some(n));
            calls.open(format!("open{n}"), n);
        }
        assert_eq!(calls.close("closed1"), None);
        let open: Vec<usize> = calls.iter().copied().collect();
        assert!(open.is_sorted() && open.last() == Some(&(2 * MAX_OPEN - 1)));
        assert!((MAX_OPEN - 1..=MAX_OPEN).contains(&open.len()));
        assert!(calls.order.len() <= 2 * MAX_OPEN);
    }
}
