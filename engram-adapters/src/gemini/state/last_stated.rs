//! The last stated model. `meta session` is emitted only when it changes.

use engram_core::text::Text;

use crate::shared::restorable::Restorable;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Field, non_empty_text};

/// The last stated value of each fact that messages repeat.
#[derive(Default)]
pub struct LastStated {
    /// The raw JSON text of the model.
    model: Restorable<Option<String>>,
    /// Turns with an id, each with its model: a history that is written again changes no model.
    turns: SeenSet,
}

impl LastStated {
    /// The model of a turn, if it changed.
    #[inline]
    pub fn changed_model<'a>(&mut self, turn: Field<'_>, model: Field<'a>) -> Option<Text<'a>> {
        let mut is_again = |model: &str| non_empty_text(turn).is_some_and(|id| !self.turns.insert((id.raw(), model)));
        let model = model.filter(|model| !is_again(model.raw()) && self.model.as_deref() != Some(model.raw()))?;
        let text = non_empty_text(Some(model))?;
        self.model.set(Some(model.raw().to_owned()));
        Some(text)
    }

    /// The record is converted: what it stated stays.
    pub fn commit(&mut self) {
        self.model.commit();
        self.turns.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub fn roll_back(&mut self) {
        self.model.roll_back();
        self.turns.roll_back();
    }
}
