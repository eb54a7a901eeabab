//! Last stated session facts (header, settings, token counts): an event is emitted only when one changes.

use std::hash::Hash;

use crate::shared::restorable::Restorable;
use crate::shared::value::{Field, Value};
use engram_core::keys::hash64;

/// The last values of facts that many records repeat.
#[derive(Debug, Default)]
pub struct LastStated {
    header: Restorable<Option<u64>>,
    settings: Restorable<Option<u64>>,
    /// The JSON of the counts of the last request and of the thread.
    tokens: Restorable<[String; 2]>,
}

impl LastStated {
    /// Records the facts of the thread's header. True when they changed.
    pub fn header_changed(&mut self, facts: impl Hash) -> bool {
        set(&mut self.header, hash64(facts))
    }

    /// Records the settings of a turn. True when they changed.
    pub fn settings_changed(&mut self, facts: impl Hash) -> bool {
        set(&mut self.settings, hash64(facts))
    }

    /// Records the token counts of a request and of the thread. True when they changed.
    pub fn counts_changed(&mut self, request: Value<'_>, thread: Field<'_>) -> bool {
        let counts = [request.raw(), thread.map_or("", Value::raw)];
        let changed = *self.tokens != counts;
        if changed {
            self.tokens.set(counts.map(str::to_owned));
        }
        changed
    }

    /// The record is converted: what it stated stays.
    pub fn commit(&mut self) {
        self.header.commit();
        self.settings.commit();
        self.tokens.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub fn roll_back(&mut self) {
        self.header.roll_back();
        self.settings.roll_back();
        self.tokens.roll_back();
    }
}

/// Stores the hash of a fact. True if it changed.
fn set(stored: &mut Restorable<Option<u64>>, hash: u64) -> bool {
    let changed = **stored != Some(hash);
    if changed {
        stored.set(Some(hash));
    }
    changed
}
