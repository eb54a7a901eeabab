//! Files whose whole text is known to the byte, line ends apart. The harness removes the byte order mark of a file that it reads, decodes
//! Latin-1, and puts both back when it writes. So the logged text of a file is certain only if the harness created the file.

use engram_core::event::{CodeEdit, EditOp, Range};
use engram_core::hash::Hash;
use engram_core::keys::{KeyMap, hash64};

/// The most files that are remembered.
const MAX_FILES: usize = 4096;

/// The files that the harness created, with the hash of what it wrote last.
#[derive(Default)]
pub(in crate::cursor) struct WrittenFiles {
    texts: KeyMap<Hash>,
}

impl WrittenFiles {
    /// Keeps what is certain of one call's edits of one file. Hashes of the whole file stay if the call created it, or if the text before
    /// is what the harness wrote last. Else they go, with all that an edit of the first line says of texts, and the file is forgotten.
    pub(in crate::cursor) fn keep_certain(&mut self, edits: &mut [CodeEdit<'_>]) {
        let Some(first) = edits.first() else { return };
        let (key, op) = (hash64(&*first.file.decode_lossy()), first.op);
        let (before, after) = (first.file_before_hash, first.file_after_hash);
        let is_known =
            op == EditOp::Create || (before.is_some() && self.texts.get(&key).copied() == before);
        self.texts.remove(&key);
        if !is_known {
            for edit in edits {
                (edit.file_before_hash, edit.file_after_hash) = (None, None);
                forget_first_line(edit);
            }
        } else if let Some(after) = after.filter(|_| self.texts.len() < MAX_FILES) {
            self.texts.insert(key, after);
        }
    }
}

/// Leaves out the hashes of an edit of the first line of a file that the harness read: there may be a byte order mark before it.
pub(in crate::cursor) fn forget_first_line(edit: &mut CodeEdit<'_>) {
    let begins = |range: Option<Range>| range.is_some_and(|range| range.first <= 1);
    if begins(edit.before_range) || begins(edit.after_range) {
        (edit.before_hash, edit.after_hash) = (None, None);
        (edit.before_text, edit.after_text) = (None, None);
        edit.before_anchor_hashes.clear();
        edit.after_anchor_hashes.clear();
    }
}

#[cfg(test)]
mod tests {
    use engram_core::text::Text;

    use super::*;

    #[test]
    fn the_first_line_of_a_file_that_was_read_has_no_hash() {
        let edit = |first| CodeEdit {
            before_range: Some(Range { first, last: first }),
            after_range: Some(Range { first, last: first }),
            before_hash: Some(Hash::of_text("old")),
            after_hash: Some(Hash::of_text("new")),
            ..CodeEdit::new(EditOp::Update, Text::Plain("f"))
        };
        for (first, is_kept) in [(1, false), (2, true)] {
            let mut edits = [edit(first)];
            WrittenFiles::default().keep_certain(&mut edits);
            assert_eq!(edits[0].before_hash.is_some(), is_kept, "{first}");
            assert_eq!(edits[0].after_hash.is_some(), is_kept, "{first}");
        }
    }

    #[test]
    fn only_what_the_harness_wrote_itself_is_known() {
        let hash = |text: &str| Some(Hash::of_text(text));
        let edit = |op, file: &'static str, before: Option<Hash>, after: Option<Hash>| CodeEdit {
            file_before_hash: before,
            file_after_hash: after,
            ..CodeEdit::new(op, Text::Plain(file))
        };
        let mut files = WrittenFiles::default();
        let mut kept = |edit: CodeEdit<'static>| {
            let mut edits = [edit];
            files.keep_certain(&mut edits);
            edits[0].file_after_hash.is_some() || edits[0].file_before_hash.is_some()
        };
        assert!(!kept(edit(EditOp::Update, "old", hash("1"), hash("2"))));
        assert!(!kept(edit(EditOp::Update, "old", hash("2"), hash("3"))));
        assert!(kept(edit(EditOp::Create, "new", None, hash("1"))));
        assert!(kept(edit(EditOp::Update, "new", hash("1"), hash("2"))));
        // Something else changed it in between.
        assert!(!kept(edit(EditOp::Update, "new", hash("x"), hash("y"))));
    }
}
