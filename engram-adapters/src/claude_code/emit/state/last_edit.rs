//! The file text and the notebook cell that the last edits left.

use std::mem;

use engram_core::hash::Hash;

/// The text of a file after the last edit. The next edit usually begins with it, and need not hash it again.
#[derive(Default)]
pub struct LastEdit {
    /// The text and its hash; there is none if the original bytes are lost.
    left: Option<(String, Option<Hash>)>,
    /// The memory of an earlier text, to be reused.
    scratch: String,
}

impl LastEdit {
    /// An edit has left a file with this text.
    pub fn keep(&mut self, after: String, hash: Option<Hash>) {
        self.scratch = self.left.replace((after, hash)).unwrap_or_default().0;
    }

    /// The hash of a file's text.
    pub fn hash_of(&self, before: &str) -> Option<Hash> {
        match &self.left {
            Some((text, hash)) if text == before => *hash,
            _ => Hash::of_lossless_text(before),
        }
    }

    /// A buffer for the text of a file.
    pub fn take_scratch(&mut self) -> String {
        mem::take(&mut self.scratch)
    }
}

/// The last replacement of a notebook cell, as a hash of the call's arguments.
#[derive(Default)]
pub struct LastCell {
    replacement: Option<u64>,
}

impl LastCell {
    /// Returns whether the edit changes anything: to replace a cell by the same text again does not. `None` is any other edit.
    pub fn set(&mut self, replacement: Option<u64>) -> bool {
        let is_repeated = replacement.is_some() && self.replacement == replacement;
        self.replacement = replacement;
        !is_repeated
    }
}
