//! Large lines and documents whose escapes are not canonical. They are rewritten where they are, because adapters need the canonical form
//! and a copy would take as much memory again.

use std::ops::Range;

use memchr::memchr_iter;
use serde::de::IgnoredAny;

use super::byte_source::ByteSource;
use super::head::{BOM, has_early_escapes};
use super::{Input, Original};
use crate::hash::Hash;
use crate::text::canonical::{has_other_escapes, make_escapes_canonical};

/// Adapters copy what is not larger.
pub(super) const LARGE_BYTES: usize = 8 << 20;

impl<S: ByteSource> Input<S> {
    /// Rewrites the lines of a large head. The head would be copied otherwise.
    #[cold]
    pub(super) fn make_head_canonical(&mut self, len: usize) {
        if !has_early_escapes(&self.source.bytes()[..len]) {
            return;
        }
        let ends: Vec<usize> = memchr_iter(b'\n', &self.source.bytes()[..len]).chain(self.ended.then_some(len)).collect();
        let mut start = 0;
        for end in ends {
            let offset = self.offset(start);
            if let Some(original) = self.make_canonical(start..end) {
                self.originals.push_back((offset, original));
            }
            start = (end + 1).min(len);
        }
    }

    /// Rewrites a large line. Returns what it was, if it has been rewritten now or as part of the head.
    #[cold]
    pub(super) fn make_line_canonical(&mut self, range: Range<usize>) -> Option<Box<Original>> {
        let offset = self.offset(range.start);
        let original = if self.originals.front().is_some_and(|(at, _)| *at == offset) {
            self.originals.pop_front().map(|(_, original)| original)
        } else if range.len() > LARGE_BYTES {
            self.make_canonical(range)
        } else {
            None
        };
        original.map(Box::new)
    }

    /// Rewrites a range, if it is one JSON value with other escapes and may be changed.
    pub(super) fn make_canonical(&mut self, range: Range<usize>) -> Option<Original> {
        self.hash_read();
        let lead = if self.source.bytes()[range.clone()].starts_with(BOM) { BOM.len() } else { 0 };
        let range = range.start + lead..range.end;
        let text = self.source.text(range.clone()).ok().filter(|text| has_other_escapes(text.as_bytes()))?;
        // Other text is kept as it is.
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let original = Original { bytes: text.len() as u64, hash: Hash::of_bytes(text.as_bytes()) };
        make_escapes_canonical(self.source.bytes_mut()?.get_mut(range)?);
        Some(original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    /// A line, as it is written and in canonical form.
    fn line(escape: &str, bytes: usize) -> String {
        format!(r#"{{"text":"{escape}{}"}}"#, "x".repeat(bytes))
    }

    #[test]
    fn large_lines_are_rewritten_where_they_are() {
        for (first, next) in [(10, LARGE_BYTES), (LARGE_BYTES, 10), (LARGE_BYTES, LARGE_BYTES)] {
            let log = format!("{}\n{}\n[\"\\/\n{}", line(r"\u003c", first), line(r"\n", 10), line(r"\/", next));
            let mut input = Input::new(log.as_bytes(), Limits::default());
            let head = input.head().unwrap();
            assert!(head.lines().next().unwrap().trim_end() == line("<", first));
            let mut lines = Vec::new();
            while let Some(line) = input.next_line().unwrap() {
                lines.push((line.text.unwrap().trim_end().to_owned(), line.original.map(|original| (original.bytes, original.hash))));
            }
            let original = |line: String| Some((line.len() as u64, Hash::of_bytes(line.as_bytes())));
            let is_large = |bytes| bytes == LARGE_BYTES;
            assert!(!is_large(first) || lines[0] == (line("<", first), original(line(r"\u003c", first))));
            assert!(lines[1] == (line(r"\n", 10), None) && lines[2] == ("[\"\\/".to_owned(), None));
            assert!(!is_large(next) || lines[3] == (line("/", next), original(line(r"\/", next))));
            assert_eq!(input.consumed(), (Hash::of_bytes(log.as_bytes()), log.len() as u64));
        }
    }

    #[test]
    fn a_large_document_is_rewritten_where_it_is() {
        let document = line(r"\/", LARGE_BYTES);
        let mut input = Input::new(document.as_bytes(), Limits::default());
        input.head().unwrap();
        assert!(input.rest().unwrap().1.unwrap().trim_end() == line("/", LARGE_BYTES));
        assert_eq!(input.consumed().0, Hash::of_bytes(document.as_bytes()));
    }

    #[test]
    fn large_text_that_is_not_json_stays() {
        let text = line(r"\/", LARGE_BYTES).replace('}', "");
        let mut input = Input::new(text.as_bytes(), Limits::default());
        let line = input.next_line().unwrap().unwrap();
        assert!(line.text.unwrap() == text && line.original.is_none());
    }
}
