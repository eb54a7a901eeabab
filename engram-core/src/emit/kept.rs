//! Texts that a session keeps until a later record decides about them. Together they are bounded.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// The memory, in bytes, that all kept texts of one conversion may take. With it and the head of an artifact, a log of small records stays
/// below 64 MiB.
pub const MAX_KEPT_BYTES: usize = 16 << 20;

/// What a text counts besides its bytes: the facts that are kept with it.
const BYTES_OF_FACTS: usize = 256;

/// The memory that is left for kept texts.
#[derive(Debug, Clone)]
pub(super) struct KeptBytes(Rc<Cell<usize>>);

impl Default for KeptBytes {
    fn default() -> Self {
        KeptBytes(Rc::new(Cell::new(MAX_KEPT_BYTES)))
    }
}

impl KeptBytes {
    /// Reserves memory. `None` if there is not enough left.
    pub(super) fn reserve(&self, bytes: usize) -> Option<Reserved> {
        let mut reserved = Reserved { left: Rc::clone(&self.0), bytes: 0 };
        reserved.grow(bytes.saturating_add(BYTES_OF_FACTS)).then_some(reserved)
    }
}

/// Memory that is reserved for something kept. It is free again when this is dropped.
pub struct Reserved {
    left: Rc<Cell<usize>>,
    bytes: usize,
}

impl Reserved {
    /// Reserves more. False if there is not enough left.
    fn grow(&mut self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        if let Some(left) = left {
            self.left.set(left);
            self.bytes += bytes;
        }
        left.is_some()
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.left.set(self.left.get() + self.bytes);
    }
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reserved").field(&self.bytes).finish()
    }
}

/// A text that is kept until a later record. [`Emitter::keep`](super::Emitter::keep) makes it.
#[derive(Debug)]
pub struct KeptText {
    text: String,
    reserved: Reserved,
}

impl KeptText {
    pub(super) fn new(text: &str, kept: &KeptBytes) -> Option<KeptText> {
        Some(KeptText { reserved: kept.reserve(text.len())?, text: text.to_owned() })
    }

    /// The text, which does not count any more. For its event.
    pub fn into_string(self) -> String {
        self.text
    }

    /// Appends to the text. False, and nothing is appended, if there is no memory left for it.
    pub fn push_str(&mut self, text: &str) -> bool {
        let fits = self.reserved.grow(text.len());
        if fits {
            self.text.push_str(text);
        }
        fits
    }
}

impl Deref for KeptText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_texts_are_bounded_together() {
        let kept = KeptBytes::default();
        let half = "x".repeat(MAX_KEPT_BYTES / 2 - BYTES_OF_FACTS);
        let mut one = KeptText::new(&half, &kept).unwrap();
        let other = KeptText::new(&half[1..], &kept).unwrap();
        assert!(one.push_str("y") && !one.push_str("z") && KeptText::new("", &kept).is_none());
        assert!(one.ends_with("xy"));
        drop(one);
        assert!(KeptText::new(&half, &kept).is_some());
        drop(other);
        assert!(KeptText::new(&half.repeat(2), &kept).is_some());
        assert!(KeptText::new(&half.repeat(3), &kept).is_none());
    }
}
