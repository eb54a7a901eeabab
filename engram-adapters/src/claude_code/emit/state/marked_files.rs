//! Files that an edit showed to begin with a byte order mark. The harness leaves the mark out of what it logs of a read.

use std::collections::HashSet;

use engram_core::keys::hash64;
use engram_core::text::Text;

use crate::shared::value::{Field, text};

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
