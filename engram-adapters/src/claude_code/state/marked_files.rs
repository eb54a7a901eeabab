//! Files that an edit showed to begin with a byte order mark. The harness leaves the mark out of what it logs of a read.

use engram_core::text::Text;

use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Field, text};

/// The mark.
const MARK: char = '\u{feff}';

/// The files, by their paths.
#[derive(Default)]
pub struct MarkedFiles {
    files: SeenSet,
}

impl MarkedFiles {
    /// Notes the text of a file before an edit, or as it was written.
    #[inline]
    pub fn note(&mut self, file: Text<'_>, before: Field<'_>, written: Field<'_>) {
        let has_mark = |content: Field<'_>| text(content).is_some_and(|content| content.decode_lossy().starts_with(MARK));
        let may_have = |content: Field<'_>| content.is_some_and(|content| may_begin_with_mark(content.raw()));
        match written.or(before) {
            content if may_have(content) && has_mark(content) => drop(self.files.insert(file.decode_lossy())),
            Some(_) => self.files.remove(file.decode_lossy()),
            None => {}
        }
    }

    /// True if the file began with a mark when an edit showed it last.
    pub fn has(&self, file: Text<'_>) -> bool {
        self.files.contains(file.decode_lossy())
    }

    /// The record is converted: its files stay.
    pub(super) fn commit(&mut self) {
        self.files.commit();
    }

    /// The record is malformed: its files are forgotten.
    pub(super) fn roll_back(&mut self) {
        self.files.roll_back();
    }
}

/// True for a JSON string that begins with the mark, as a character or as an escape.
fn may_begin_with_mark(token: &str) -> bool {
    token.strip_prefix('"').is_some_and(|content| content.starts_with([MARK, '\\']))
}
