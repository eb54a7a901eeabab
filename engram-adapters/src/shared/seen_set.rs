//! The facts that a session has stated, to find repetitions.

use std::hash::Hash;

use engram_core::keys::hash64;

use super::restorable::RestorableMap;

/// A set of facts. Keeps a 64-bit hash of each, not the fact; it grows with the session. A session calls [`SeenSet::commit`] or
/// [`SeenSet::roll_back`] after each record.
///
/// ```
/// use engram_adapters::shared::seen_set::SeenSet;
///
/// let mut messages = SeenSet::default();
/// assert!(messages.insert(("msg_1", "text")));
/// assert!(!messages.insert(("msg_1", "text")));
/// ```
#[derive(Debug, Default)]
pub struct SeenSet {
    facts: RestorableMap<()>,
}

impl SeenSet {
    /// Adds a fact. Returns true if it is new.
    pub fn insert(&mut self, fact: impl Hash) -> bool {
        self.facts.insert_new(hash64(fact), ())
    }

    /// Removes a fact.
    pub fn remove(&mut self, fact: impl Hash) {
        let key = hash64(fact);
        if self.facts.get(key).is_some() {
            self.facts.remove(key);
        }
    }

    /// True if the set contains the fact.
    pub fn contains(&self, fact: impl Hash) -> bool {
        self.facts.get(hash64(fact)).is_some()
    }

    /// The record is converted: its facts stay.
    pub fn commit(&mut self) {
        self.facts.commit();
    }

    /// The record is malformed: its facts are forgotten.
    pub fn roll_back(&mut self) {
        self.facts.roll_back();
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
        facts.commit();
        assert!(facts.insert("c"));
        facts.roll_back();
        assert!(facts.contains("a") && facts.insert("c"));
    }
}
