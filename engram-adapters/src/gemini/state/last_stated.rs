//! The last stated model. `meta session` is emitted only when it changes.

use engram_core::text::Text;

use crate::shared::restorable::Restorable;
use crate::shared::value::{Field, non_empty_text};

/// The last stated value of each fact that messages repeat.
#[derive(Default)]
pub struct LastStated {
    /// The raw JSON text of the model.
    model: Restorable<Option<String>>,
}

impl LastStated {
    /// The model, if it changed.
    #[inline]
    pub fn changed_model<'a>(&mut self, model: Field<'a>) -> Option<Text<'a>> {
        let model = model.filter(|model| self.model.as_deref() != Some(model.raw()))?;
        let text = non_empty_text(Some(model))?;
        self.model.set(Some(model.raw().to_owned()));
        Some(text)
    }

    /// The record is converted: what it stated stays.
    pub fn commit(&mut self) {
        self.model.commit();
    }

    /// The record is malformed: what it stated is forgotten.
    pub fn roll_back(&mut self) {
        self.model.roll_back();
    }
}
