//! The file text and the notebook cell that the last edits left, and the files that an edit showed to begin with a byte order mark. The harness
//! leaves the mark out of what it logs of a read.

use std::collections::HashSet;
use std::mem;

use engram_core::hash::Hash;
use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::shared::value::{Field, text};

/// The text of a file after the last edit. The next edit usually begins with it, and need not hash it again.
#[derive(Default)]
pub struct LastEdit {
    /// The text and its hash; there is none if the original bytes are lost.
    left: Option<(String, Option<Hash>)>,
    /// The memory of an earlier text, to be reused.
    scratch: String,
    /// The files that are there without any text.
    pub empty: EmptyFiles,
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

/// Files that a read or an edit showed to be empty, by their paths. The log has a change of such a file like the creation of one.
#[derive(Default)]
pub struct EmptyFiles {
    files: HashSet<u64>,
}

impl EmptyFiles {
    /// A call has shown or left a file like this.
    pub fn note(&mut self, file: Text<'_>, is_empty: bool) {
        if is_empty {
            self.files.insert(hash64(file.decode_lossy()));
        } else if !self.files.is_empty() {
            self.files.remove(&hash64(file.decode_lossy()));
        }
    }

    /// True if the file was empty when a call showed it last.
    pub fn has(&self, file: Text<'_>) -> bool {
        !self.files.is_empty() && self.files.contains(&hash64(file.decode_lossy()))
    }

    /// A call may have deleted any file.
    pub fn forget(&mut self) {
        self.files.clear();
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

/// The mark.
const MARK: char = '\u{feff}';

/// The files, by their paths.
#[derive(Default)]
pub struct MarkedFiles {
    files: HashSet<u64>,
}

impl MarkedFiles {
    /// Notes the text of a file before an edit, or as it was written.
    #[inline]
    pub fn note(&mut self, file: Text<'_>, before: Field<'_>, written: Field<'_>) {
        let has_mark = |content: Field<'_>| {
            text(content).is_some_and(|content| content.decode_lossy().starts_with(MARK))
        };
        let may_have =
            |content: Field<'_>| content.is_some_and(|content| may_begin_with_mark(content.raw()));
        match written.or(before) {
            content if may_have(content) && has_mark(content) => {
                self.files.insert(hash64(file.decode_lossy()));
            }
            Some(_) if self.files.is_empty() => {}
            Some(_) => drop(self.files.remove(&hash64(file.decode_lossy()))),
            None => {}
        }
    }

    /// True if the file began with a mark when an edit showed it last.
    pub fn has(&self, file: Text<'_>) -> bool {
        !self.files.is_empty() && self.files.contains(&hash64(file.decode_lossy()))
    }
}

/// True for a JSON string that begins with the mark, as a character or as an escape.
fn may_begin_with_mark(token: &str) -> bool {
    token
        .strip_prefix('"')
        .is_some_and(|content| content.starts_with([MARK, '\\']))
}
