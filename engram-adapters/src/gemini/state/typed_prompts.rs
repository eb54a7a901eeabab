//! How often a file that repeats prompts has stated each of them.

use std::hash::Hash;

use engram_core::keys::hash64;

use crate::shared::restorable::RestorableMap;

/// A count for each prompt.
#[derive(Default)]
pub struct TypedPrompts {
    counts: RestorableMap<u32>,
}

impl TypedPrompts {
    /// Counts a prompt. Returns how often it was stated by now.
    pub fn add(&mut self, prompt: impl Hash) -> u32 {
        let key = hash64(prompt);
        let count = self.counts.get(key).unwrap_or_default().saturating_add(1);
        self.counts.insert(key, count);
        count
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.counts.commit();
    }

    /// The record is malformed: its prompt is forgotten.
    pub(super) fn roll_back(&mut self) {
        self.counts.roll_back();
    }
}
