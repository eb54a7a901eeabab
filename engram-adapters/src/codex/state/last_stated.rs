//! Last stated session facts (header, settings, model): an event is emitted only when one changes.

use std::hash::Hash;

use crate::shared::restorable::Restorable;
use engram_core::keys::hash64;
use engram_core::text::Text;

/// The last values of facts that many records repeat.
#[derive(Debug, Default)]
pub struct LastStated {
    header: Restorable<Option<u64>>,
    settings: Restorable<Option<u64>>,
    /// The estimated size of the context.
    context: Restorable<Option<u64>>,
    /// The model, as a JSON token.
    model: Restorable<String>,
    /// The directory, decoded.
    cwd: Restorable<String>,
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

    /// Records the estimated size of the context. True when it changed.
    pub fn context_changed(&mut self, tokens: u64) -> bool {
        set(&mut self.context, tokens)
    }

    /// Records the model of the requests from now on (a JSON token).
    pub fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| **self.model != **model) {
            self.model.set(model.to_owned());
        }
    }

    /// The model of the current request, if a record stated it.
    pub fn model(&self) -> Option<Text<'_>> {
        Some(Text::Token(self.model.as_str())).filter(|model| !model.raw().is_empty())
    }

    /// Records the directory of the turn.
    pub fn set_cwd(&mut self, cwd: Option<Text<'_>>) {
        if let Some(cwd) = cwd.filter(|cwd| !cwd.eq_str(&self.cwd)) {
            self.cwd.set(cwd.decode_lossy().into_owned());
        }
    }

    /// The directory of the turn; empty if no record stated it.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// The record is converted: what it stated stays.
    pub fn commit(&mut self) {
        self.header.commit();
        self.settings.commit();
        self.context.commit();
        self.model.commit();
        self.cwd.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub fn roll_back(&mut self) {
        self.header.roll_back();
        self.settings.roll_back();
        self.context.roll_back();
        self.model.roll_back();
        self.cwd.roll_back();
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
