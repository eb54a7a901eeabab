//! How often each text occurred. Tells new texts from repeated ones in a history that the harness writes again.
//!
//! From 0.44.0 the harness writes its whole history again at resume, compression, cancellation and failure, with new ids for
//! some messages and without the details of calls. Texts have no ids there, so the n-th occurrence in a history is the n-th
//! occurrence in the log.

use std::hash::Hash;

use engram_core::text::{MAX_DECODED_BYTES, Text};

use engram_core::keys::hash64;

use crate::shared::restorable::RestorableMap;

/// How often each text occurred in the log. 12 bytes a text.
#[derive(Debug, Default)]
pub(super) struct OccurrenceCount {
    counts: RestorableMap<u32>,
}

/// How often each text occurred so far in one pass over a history.
#[derive(Debug, Default)]
pub struct HistoryPass {
    counts: RestorableMap<u32>,
}

impl HistoryPass {
    /// The record is converted: its texts count.
    pub(super) fn commit(&mut self) {
        self.counts.commit();
    }

    /// The record is malformed: its texts do not count.
    pub(super) fn roll_back(&mut self) {
        self.counts.roll_back();
    }
}

impl OccurrenceCount {
    /// Counts an occurrence outside of histories. Returns their number.
    pub(super) fn add(&mut self, text: u64) -> u32 {
        let count = self.counts.get(text).unwrap_or_default() + 1;
        self.counts.insert(text, count);
        count
    }

    /// Counts an occurrence in a history. True if the history has the text more often than the log so far.
    pub(super) fn add_in_history(&mut self, pass: &mut HistoryPass, text: u64) -> bool {
        self.count_in_history(pass, text).1
    }

    /// Counts an occurrence in a history. Returns their number in it, and whether this is more than the log has so far.
    pub(super) fn count_in_history(&mut self, pass: &mut HistoryPass, text: u64) -> (u32, bool) {
        let in_history = pass.counts.get(text).unwrap_or_default() + 1;
        pass.counts.insert(text, in_history);
        let is_new = in_history > self.counts.get(text).unwrap_or_default();
        if is_new {
            self.counts.insert(text, in_history);
        }
        (in_history, is_new)
    }

    /// The record is converted: its occurrences count.
    pub(super) fn commit(&mut self) {
        self.counts.commit();
    }

    /// The record is malformed: its occurrences do not count.
    pub(super) fn roll_back(&mut self) {
        self.counts.roll_back();
    }
}

/// The key of one speaker's text. The harness always escapes a text in the same way, so the raw JSON is compared.
pub fn text_key(speaker: impl Hash, text: Text<'_>) -> u64 {
    hash64((speaker, text.raw()))
}

/// The key of a thought without its white space and emphasis, which change when the harness splits thoughts and joins them again.
pub fn thought_key(text: Text<'_>) -> u64 {
    let mut bytes = text.raw().bytes().peekable();
    if text.raw().len() > MAX_DECODED_BYTES {
        return hash64(text.raw());
    }
    let mut plain = Vec::with_capacity(text.raw().len());
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'*' | b'\n' => {}
            // Escaped white space: `\n`, `\t`, `\r`. Other escapes are text.
            b'\\' => drop(bytes.next_if(|next| matches!(next, b'n' | b't' | b'r'))),
            other => plain.push(other),
        }
    }
    hash64(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_adds_only_additional_occurrences() {
        let mut counts = OccurrenceCount::default();
        counts.add(1);
        counts.add(1);
        let mut pass = HistoryPass::default();
        assert_eq!([1, 1, 1, 2].map(|text| counts.add_in_history(&mut pass, text)), [false, false, true, true]);
        let mut again = HistoryPass::default();
        assert_eq!([1, 1, 1, 2].map(|text| counts.add_in_history(&mut again, text)), [false; 4]);
    }

    #[test]
    fn thoughts_are_equal_without_white_space_and_emphasis() {
        let joined = thought_key(Text::Token(r#""**Plan** Look at it.""#));
        assert_eq!(joined, thought_key(Text::Token(r#""**Plan**\n\nLook at it.\n""#)));
        assert_ne!(joined, thought_key(Text::Token(r#""**Plan** Look at that.""#)));
    }
}
