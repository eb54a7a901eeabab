//! State that goes back to what it was before a record, if the record turns out to be malformed.
//!
//! The emitter takes back the events of a malformed record. What a session remembers of them must go too: else the facts that the record
//! stated first count as emitted, and no later record gives them.

use std::collections::hash_map::Entry;
use std::mem;
use std::ops::Deref;

use engram_core::keys::{KeyMap, key_map};

/// A value. Its old content is kept until the record is converted.
///
/// ```
/// use engram_adapters::shared::restorable::Restorable;
///
/// let mut title = Restorable::new("first");
/// title.set("second");
/// title.set("third");
/// title.roll_back();
/// assert_eq!(*title, "first");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Restorable<T> {
    now: T,
    /// The value before the current record, if the record has changed it.
    before: Option<T>,
}

impl<T> Restorable<T> {
    /// A value that no record has changed.
    pub fn new(value: T) -> Self {
        Restorable { now: value, before: None }
    }

    /// Changes the value.
    pub fn set(&mut self, value: T) {
        let old = mem::replace(&mut self.now, value);
        self.before.get_or_insert(old);
    }

    /// The record is converted: its value stays.
    pub fn commit(&mut self) {
        if self.before.is_some() {
            self.before = None;
        }
    }

    /// The record is malformed: the value before it comes back.
    pub fn roll_back(&mut self) {
        if let Some(before) = self.before.take() {
            self.now = before;
        }
    }
}

impl<T> Deref for Restorable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.now
    }
}

/// A map from keys of [`hash64`](engram_core::keys::hash64). Its old entries are kept until the record is converted.
#[derive(Debug)]
pub struct RestorableMap<T> {
    entries: KeyMap<T>,
    /// What the current record has changed: each key with its old value, in order.
    changes: Vec<(u64, Option<T>)>,
}

impl<T> Default for RestorableMap<T> {
    fn default() -> Self {
        RestorableMap { entries: key_map(), changes: Vec::new() }
    }
}

impl<T: Copy> RestorableMap<T> {
    /// The value of a key.
    pub fn get(&self, key: u64) -> Option<T> {
        self.entries.get(&key).copied()
    }

    /// Sets the value of a key. Returns the old one.
    pub fn insert(&mut self, key: u64, value: T) -> Option<T> {
        let old = self.entries.insert(key, value);
        self.changes.push((key, old));
        old
    }

    /// Sets the value of a key that has none. Returns whether that is so.
    pub fn insert_new(&mut self, key: u64, value: T) -> bool {
        let Entry::Vacant(entry) = self.entries.entry(key) else { return false };
        entry.insert(value);
        self.changes.push((key, None));
        true
    }

    /// Removes a key. Returns its value.
    pub fn remove(&mut self, key: u64) -> Option<T> {
        let old = self.entries.remove(&key);
        self.changes.push((key, old));
        old
    }

    /// The record is converted: its changes stay.
    pub fn commit(&mut self) {
        self.changes.clear();
    }

    /// The record is malformed: the entries before it come back.
    pub fn roll_back(&mut self) {
        for (key, old) in self.changes.drain(..).rev() {
            match old {
                Some(value) => self.entries.insert(key, value),
                None => self.entries.remove(&key),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_converted_record_keeps_its_value() {
        let mut value = Restorable::new(1);
        value.set(2);
        value.commit();
        value.roll_back();
        assert_eq!(*value, 2);
    }

    #[test]
    fn all_changes_of_a_malformed_record_are_taken_back() {
        let mut map = RestorableMap::default();
        map.insert(1, "a");
        map.insert(2, "b");
        map.commit();
        map.insert(1, "c");
        map.insert(1, "d");
        map.insert(3, "e");
        map.remove(3);
        map.remove(2);
        map.roll_back();
        assert_eq!([map.get(1), map.get(2), map.get(3)], [Some("a"), Some("b"), None]);
    }
}
