//! Copies of the history so far that the same file repeats with new ids (up to 2.0.10, one before each turn over stream-json).

use engram_core::keys::hash64;

use crate::claude_code::record::Record;
use crate::claude_code::revisions::Dialect;
use crate::claude_code::schema::Block;
use crate::shared::restorable::Restorable;
use crate::shared::value::{Value, is_true, raw_str, text};

/// A copy may leave out this many records of the history in a row.
const MAX_LEFT_OUT: usize = 256;

/// The history so far, and how far the current copy has repeated it. Keeps eight bytes for each record.
pub struct HistoryCopies {
    may_occur: bool,
    /// What each record states, as a hash.
    history: Vec<u64>,
    /// The number of converted records of the history.
    converted: usize,
    /// The position in the history that the copy has reached, and the last copied line.
    copied: Restorable<Option<(usize, u64)>>,
}

impl HistoryCopies {
    /// No history.
    pub fn new(dialect: Dialect) -> Self {
        HistoryCopies { may_occur: dialect.copies_are_restamped, history: Vec::new(), converted: 0, copied: Restorable::default() }
    }

    /// The record is converted.
    pub(super) fn commit(&mut self) {
        self.converted = self.history.len();
        self.copied.commit();
    }

    /// The record is malformed: it is no part of the history.
    pub(super) fn roll_back(&mut self) {
        self.history.truncate(self.converted);
        self.copied.roll_back();
    }

    /// True for a record that repeats the history: a copy begins with a line without a parent, and goes on in the order of the history.
    /// Other records become part of it.
    #[inline]
    pub fn is_copy(&mut self, record: &Record<'_>) -> bool {
        self.may_occur && record.is_conversation && self.continues_copy(record)
    }

    #[inline(never)]
    fn continues_copy(&mut self, record: &Record<'_>) -> bool {
        if is_true(record.line.is_sidechain()) {
            return false;
        }
        let key = content_key(record);
        let begin = match (text(record.line.parent_uuid()), *self.copied) {
            // Unlike an answer, its copy has no request id.
            (None, _) if record.kind != "assistant" || record.line.request_id().is_none() => Some(0),
            (Some(parent), Some((at, last))) if hash64(parent.raw()) == last => Some(at),
            _ => None,
        };
        let found = begin.and_then(|at| {
            let rest = self.history.get(at..)?;
            Some(at + rest.iter().take(MAX_LEFT_OUT).position(|known| *known == key)?)
        });
        match (found, text(record.line.uuid())) {
            (Some(at), Some(uuid)) => self.copied.set(Some((at + 1, hash64(uuid.raw())))),
            _ => {
                if self.copied.is_some() {
                    self.copied.set(None);
                }
                self.history.push(key);
            }
        }
        found.is_some()
    }
}

/// What a record states, without what a copy changes: ids, times, and whether a text is a string or a block.
fn content_key(record: &Record<'_>) -> u64 {
    let Some(content) = record.message.content() else {
        return hash64((record.kind, raw_str(record.line.subtype()), record.line.content().map(Value::raw)));
    };
    let mut blocks = content.elements();
    if let (Some(only), None) = (blocks.next(), blocks.next()) {
        let block = Block::lenient(only);
        if let Some(call) = block.tool_use_id() {
            return hash64((record.kind, "result", call.raw()));
        }
        if record.kind == "user"
            && let Some(text) = block.text()
        {
            return hash64((record.kind, record.message_key, text.raw()));
        }
    }
    hash64((record.kind, record.message_key, content.raw()))
}
