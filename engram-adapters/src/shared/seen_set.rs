//! The facts that a session has stated, to find repetitions.

use std::hash::Hash;

use engram_core::keys::{KeyMap, hash64, key_map};

/// A set of facts. Keeps a 64-bit hash of each, not the fact; it grows with the session.
///
/// ```
/// use engram_adapters::shared::seen_set::SeenSet;
///
/// let mut messages = SeenSet::default();
/// assert!(messages.insert(("msg_1", "text")));
/// assert!(!messages.insert(("msg_1", "text")));
/// ```
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
    /// Adds a fact. Returns true if it is new.
    pub fn insert(&mut self, fact: impl Hash) -> bool {
        self.facts.insert(hash64(fact), ()).is_none()
    }

    /// True if the set contains the fact.
    pub fn contains(&self, fact: impl Hash) -> bool {
        self.facts.contains_key(&hash64(fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fact_is_new_once() {
        let mut facts = SeenSet::default();
        assert!(!facts.contains("a"));
        assert!(facts.insert("a") && !facts.insert("a") && facts.insert("b"));
        assert!(facts.contains("a"));
    }
}
