//! The memory for what a session keeps until a later record.

use super::Emitter;
use super::kept::{KeptText, Reserved};

impl Emitter<'_> {
    /// Keeps a text until a later record decides about it. `None` if all kept texts of the conversion would take more than
    /// [`MAX_KEPT_BYTES`](super::MAX_KEPT_BYTES): then decide now, as well as the log allows.
    pub fn keep(&self, text: &str) -> Option<KeptText> {
        KeptText::new(text, &self.kept)
    }

    /// Reserves memory for something that is kept until a later record, as [`Emitter::keep`] does for a text.
    pub fn reserve(&self, bytes: usize) -> Option<Reserved> {
        self.kept.reserve(bytes)
    }
}
