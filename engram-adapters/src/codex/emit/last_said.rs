//! The session facts that were said last (header, settings, model): an event is emitted only when one changes.

use std::collections::HashSet;
use std::hash::Hash;

use engram_core::keys::hash64;
use engram_core::text::Text;

/// The last values of facts that many records repeat.
#[derive(Debug, Default)]
pub struct LastSaid {
    header: Option<u64>,
    settings: Option<u64>,
    /// The estimated size of the context.
    context: Option<u64>,
    /// The model, as a JSON token.
    model: String,
    /// The directory, decoded.
    cwd: String,
    instructions: HashSet<u64>,
}

impl LastSaid {
    /// Sets the facts of the thread's header. True when they changed.
    pub fn header_changed(&mut self, facts: impl Hash) -> bool {
        set(&mut self.header, hash64(facts))
    }

    /// Sets the settings of a turn. True when they changed.
    pub fn settings_changed(&mut self, facts: impl Hash) -> bool {
        set(&mut self.settings, hash64(facts))
    }

    /// Sets the estimated size of the context. True when it changed.
    pub fn context_changed(&mut self, tokens: u64) -> bool {
        set(&mut self.context, tokens)
    }

    /// Adds instructions. True when they are new.
    pub fn insert_instructions(&mut self, instructions: impl Hash) -> bool {
        self.instructions.insert(hash64(instructions))
    }

    /// Sets the model of the requests from now on (a JSON token).
    pub fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| *self.model != **model) {
            self.model = model.to_owned();
        }
    }

    /// The model of the current request, if a record said it.
    pub fn model(&self) -> Option<Text<'_>> {
        Some(Text::Token(self.model.as_str())).filter(|model| !model.raw().is_empty())
    }

    /// Sets the directory of the turn.
    pub fn set_cwd(&mut self, cwd: Option<Text<'_>>) {
        if let Some(cwd) = cwd.filter(|cwd| !cwd.eq_str(&self.cwd)) {
            self.cwd = cwd.decode_lossy().into_owned();
        }
    }

    /// The directory of the turn; empty if no record said it.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }
}

/// Stores the hash of a fact. True if it changed.
fn set(stored: &mut Option<u64>, hash: u64) -> bool {
    stored.replace(hash) != Some(hash)
}
