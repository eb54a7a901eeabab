//! Calls that have no result yet, with the facts that their results need.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

use engram_core::keys::{KeyMap, hash64};

/// The most open calls of an id that is used again, for all ids together.
const MAX_EARLIER: usize = 64;

/// The most open calls. Beyond it the oldest is forgotten; its result then lacks the facts of the call.
const MAX_OPEN: usize = 4096;

/// Where a call is: its record, and the number of its part in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlace {
    /// The number of the record.
    pub record: usize,
    /// The number of the part, from 0.
    pub part: usize,
}

/// Facts of each open call, by call id. Bounded: at most 4096 calls.
///
/// ```
/// use engram_adapters::shared::pending_calls::PendingCalls;
///
/// let mut calls = PendingCalls::default();
/// calls.open("call_1", "ls -l");
/// assert_eq!(calls.close("call_1"), Some("ls -l"));
/// assert_eq!(calls.close("call_1"), None);
/// ```
#[derive(Debug)]
pub struct PendingCalls<T> {
    calls: KeyMap<T>,
    /// The calls in the order in which they were opened, with some that are closed. An id that is used again may be there several times.
    order: VecDeque<u64>,
    /// Open calls that a later one of their id hides, oldest first.
    earlier: VecDeque<(u64, T)>,
}

impl<T> Default for PendingCalls<T> {
    fn default() -> Self {
        PendingCalls {
            calls: KeyMap::default(),
            order: VecDeque::new(),
            earlier: VecDeque::new(),
        }
    }
}

impl<T> PendingCalls<T> {
    /// Opens a call. If a call of its id is open, the new one is closed first.
    pub fn open(&mut self, call_id: impl Hash, facts: T) {
        let call = hash64(call_id);
        match self.calls.insert(call, facts) {
            None => self.order.push_back(call),
            Some(earlier) => self.hide(call, earlier),
        }
        if self.order.len() > 2 * MAX_OPEN || self.calls.len() > MAX_OPEN {
            self.shrink();
        }
    }

    /// Removes closed calls from the order, and the oldest open calls if there are too many.
    #[cold]
    fn shrink(&mut self) {
        if self.order.len() > 2 * MAX_OPEN {
            let mut kept = HashSet::new();
            self.order
                .retain(|call| self.calls.contains_key(call) && kept.insert(*call));
        }
        while self.calls.len() > MAX_OPEN {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.calls.remove(&oldest);
        }
    }

    /// Keeps a call that a later one of its id hides.
    #[cold]
    fn hide(&mut self, call: u64, facts: T) {
        if self.earlier.len() == MAX_EARLIER {
            self.earlier.pop_front();
        }
        self.earlier.push_back((call, facts));
    }

    /// The facts of an open call.
    pub fn get(&self, call_id: impl Hash) -> Option<&T> {
        self.calls.get(&hash64(call_id))
    }

    /// Closes a call and returns its facts. None if it is not open.
    pub fn close(&mut self, call_id: impl Hash) -> Option<T> {
        let call = hash64(call_id);
        let closed = self.calls.remove(&call);
        if !self.earlier.is_empty()
            && let Some(at) = self.earlier.iter().rposition(|(other, _)| *other == call)
            && let Some((_, facts)) = self.earlier.remove(at)
        {
            self.calls.insert(call, facts);
        }
        closed
    }

    /// The facts of all open calls, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mut seen = HashSet::new();
        self.order
            .iter()
            .filter(move |call| seen.insert(**call))
            .filter_map(|call| self.calls.get(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_one_id_are_closed_one_by_one() {
        let mut calls = PendingCalls::default();
        calls.open("a", 1);
        calls.open("a", 2);
        assert_eq!(
            [calls.close("a"), calls.close("a"), calls.close("a")],
            [Some(2), Some(1), None]
        );
        (0..=2 * MAX_EARLIER).for_each(|n| calls.open("a", n));
        assert_eq!(
            std::iter::from_fn(|| calls.close("a")).count(),
            MAX_EARLIER + 1
        );
    }

    #[test]
    fn an_id_that_is_used_again_and_again_is_one_call() {
        let mut calls = PendingCalls::default();
        for n in 0..3 * MAX_OPEN {
            calls.close("a");
            calls.open("a", n);
        }
        assert_eq!(calls.iter().count(), 1);
        assert!(
            calls.order.len() <= MAX_OPEN,
            "each further call would look at all of them again"
        );
    }

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
