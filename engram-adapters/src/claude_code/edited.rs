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
    text: String,
    /// The hash of the text, which has none where its real bytes are gone.
    hash: Option<Option<Hash>>,
    /// What the text took the place of: room for the next one.
    room: String,
}

impl LastEdited {
    /// An edit has left a file with this text.
    pub fn keep(&mut self, after: String, hash: Option<Hash>) {
        self.room = mem::replace(&mut self.text, after);
        self.hash = Some(hash);
    }

    /// The hash of the text of a file.
    pub fn hash_of(&self, before: &str) -> Option<Hash> {
        match self.hash {
            Some(hash) if self.text == before => hash,
            _ => Hash::of_pinned_text(before),
        }
    }

    /// Room for the text of a file.
    pub fn room(&mut self) -> String {
        mem::take(&mut self.room)
    }
}
