//! Last stated session facts (header, settings, token counts): an event is emitted only when one changes.

use std::hash::Hash;

use crate::shared::value::{Field, Value};
use engram_core::keys::hash64;

/// The last values of facts that many records repeat.
#[derive(Debug, Default)]
pub struct LastStated {
    header: Option<u64>,
    settings: Option<u64>,
    /// The JSON of the counts of the last request and of the thread.
    tokens: [String; 2],
}

impl LastStated {
    /// Records the facts of the thread's header. True when they changed.
    pub fn header_changed(&mut self, facts: impl Hash) -> bool {
        let hash = hash64(facts);
        self.header.replace(hash) != Some(hash)
    }

    /// Records the settings of a turn. True when they changed.
    pub fn settings_changed(&mut self, facts: impl Hash) -> bool {
        let hash = hash64(facts);
        self.settings.replace(hash) != Some(hash)
    }

    /// Records the token counts of a request and of the thread. True when they changed.
    pub fn counts_changed(&mut self, request: Value<'_>, thread: Field<'_>) -> bool {
        let counts = [request.raw(), thread.map_or("", Value::raw)];
        let changed = self.tokens != counts;
        if changed {
            self.tokens.iter_mut().zip(counts).for_each(|(last, now)| now.clone_into(last));
        }
        changed
    }
}
