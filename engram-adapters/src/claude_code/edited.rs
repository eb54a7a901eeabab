//! The edit that all events of a result share, and the text that the last edit left.

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
pub(super) struct LastEdited(Option<(String, Option<Hash>)>);

impl LastEdited {
    /// An edit has left a file with this text.
    pub fn keep(&mut self, after: String, hash: Option<Hash>) {
        self.0 = Some((after, hash));
    }

    /// The hash of the text of a file.
    pub fn hash_of(&self, before: &str) -> Option<Hash> {
        match &self.0 {
            Some((text, hash)) if text == before => *hash,
            _ => Hash::of_pinned_text(before),
        }
    }
}
