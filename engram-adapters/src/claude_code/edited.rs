//! The edit that all events of a result share, and the text that the last edit left.

use std::mem;

use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::Hash;
use engram_core::text::Text;

/// The edit that all events of one result share.
pub(super) struct Edit<'a> {
    pub call_id: Option<Text<'a>>,
    pub file: Text<'a>,
}

impl<'a> Edit<'a> {
    /// An event of this edit.
    pub fn event(&self, op: EditOp) -> CodeEdit<'a> {
        CodeEdit { call_id: self.call_id, ..CodeEdit::new(op, self.file) }
    }
}

/// The text of a file as the last edit left it: the next edit mostly begins with it, and need not hash it again.
#[derive(Default)]
pub(super) struct LastEdited {
    /// The text and its hash, which it has not where its real bytes are gone.
    left: Option<(String, Option<Hash>)>,
    /// The text before that one: room for the next.
    room: String,
}

impl LastEdited {
    /// An edit has left a file with this text.
    pub fn keep(&mut self, after: String, hash: Option<Hash>) {
        self.room = self.left.replace((after, hash)).unwrap_or_default().0;
    }

    /// The hash of the text of a file.
    pub fn hash_of(&self, before: &str) -> Option<Hash> {
        match &self.left {
            Some((text, hash)) if text == before => *hash,
            _ => Hash::of_lossless_text(before),
        }
    }

    /// DecodeBuffer for the text of a file.
    pub fn room(&mut self) -> String {
        mem::take(&mut self.room)
    }
}
