//! Lines of the history so far that the file has again with new ids and their old times (2.0.30 to 2.1.12, when a session is resumed).
//!
//! A copy has one block of a line. So a line is a copy if earlier lines have all its blocks with its time, unless it goes on from them: a
//! copy follows a line before the original, another copy, or a line that is not in the file.

use engram_core::keys::hash64;

use super::read_lines::ReadLines;
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::{Block, Line};
use crate::shared::record_facts::fact_of;
use crate::shared::restorable::RestorableMap;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{Value, non_empty_text, raw_str, text};

/// The blocks of the history, and the copies. Keeps 16 bytes for each block, and for each copy.
#[derive(Default)]
pub struct RewrittenLines {
    /// The first line with each block, by the block and the time of the line.
    originals: RestorableMap<u64>,
    copies: SeenSet,
    /// The blocks of the current line. Reused from line to line.
    blocks: Vec<u64>,
}

impl RewrittenLines {
    /// True for a line that is a copy. The blocks of other lines become part of the history, also those of older versions: a newer one may
    /// resume their session.
    #[inline]
    pub fn is_copy(&mut self, line: &Line<'_>, dialect: Dialect, lines: &ReadLines) -> bool {
        dialect.messages_are_repeated && self.set_blocks(line) && self.has_all(line, dialect, lines)
    }

    /// The line is converted.
    pub(super) fn commit(&mut self) {
        self.originals.commit();
        self.copies.commit();
    }

    /// The line is malformed: it is no part of the history.
    pub(super) fn roll_back(&mut self) {
        self.originals.roll_back();
        self.copies.roll_back();
    }

    /// Replaces the blocks by those of the line. Returns whether it has any.
    fn set_blocks(&mut self, line: &Line<'_>) -> bool {
        self.blocks.clear();
        let kind = raw_str(line.kind());
        if !matches!(kind, "user" | "assistant") {
            return false;
        }
        let Some(content) = line.message().and_then(|message| message.first_member("content")) else { return false };
        let id = line.message().and_then(|message| message.first_member("id")).map(Value::raw);
        let time = raw_str(line.timestamp());
        let key = |fact: u64| hash64((kind, time, id, fact));
        // A text is a string in one form and a block in the other.
        let of_text = |value: Value<'_>| hash64(("text", value.raw()));
        if content.is_array() {
            let of_block = |block: Value<'_>| Block::lenient(block).text().map_or_else(|| fact_of(block), of_text);
            self.blocks.extend(content.elements().map(|block| key(of_block(block))));
        } else {
            self.blocks.push(key(of_text(content)));
        }
        !self.blocks.is_empty()
    }

    #[inline(never)]
    fn has_all(&mut self, line: &Line<'_>, dialect: Dialect, lines: &ReadLines) -> bool {
        let Some(uuid) = non_empty_text(line.uuid()) else { return false };
        let parent = text(line.parent_uuid()).filter(|parent| lines.has(*parent) && !self.copies.contains(parent.raw()));
        let is_before = |original| parent.is_none_or(|parent| lines.is_before(parent, original));
        let is_copied = |block: &u64| self.originals.get(*block).is_some_and(is_before);
        let is_copy = dialect.copies_keep_their_times && line.timestamp().is_some() && self.blocks.iter().all(is_copied);
        if is_copy {
            self.copies.insert(uuid.raw());
        } else {
            let line = ReadLines::key(uuid);
            for block in &self.blocks {
                self.originals.insert_new(*block, line);
            }
        }
        is_copy
    }
}
