//! From replaced bytes to changed lines: which spans of a file an edit touched, before and after.

use std::borrow::Cow;
use std::mem;
use std::ops::Range as Bytes;

use engram_core::anchor::anchors;
use engram_core::event::{CodeEdit, Range};
use engram_core::hash::Hash;
use memchr::memmem;

use super::search::find;

/// A file's text while replacements are applied to it, and where it differs from what it was.
#[derive(Debug)]
pub struct Rewrite<'b> {
    before: &'b str,
    after: Cow<'b, str>,
    /// Where the next text is made.
    room: String,
    /// Changed regions, in order and apart from each other.
    regions: Vec<Region>,
}

/// Bytes of the text before, and the bytes that stand for them after.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    before: Bytes<usize>,
    after: Bytes<usize>,
}

impl<'b> Rewrite<'b> {
    /// A text to which nothing has been done yet.
    pub fn new(before: &'b str) -> Self {
        Self::in_room(before, String::new())
    }

    /// As [`Rewrite::new`], with room for the text that replacements make.
    pub fn in_room(before: &'b str, room: String) -> Self {
        Rewrite { before, after: Cow::Borrowed(before), room, regions: Vec::new() }
    }

    /// Takes all replacements back.
    pub fn restart(&mut self) {
        self.put(Cow::Borrowed(self.before));
        self.regions.clear();
    }

    /// Puts a text in place of the present one, which is room for the next.
    fn put(&mut self, after: Cow<'b, str>) {
        if let Cow::Owned(text) = mem::replace(&mut self.after, after) {
            self.room = text;
        }
    }

    /// The text as it is now.
    pub fn after(&self) -> &str {
        &self.after
    }

    /// The text as it is now, and nothing of what it was.
    pub fn into_after(self) -> String {
        self.after.into_owned()
    }

    /// How many lines longer the text is than it was.
    pub fn growth(&self) -> i64 {
        let more = |region: &Region| line_ends(&self.after, &region.after) as i64 - line_ends(self.before, &region.before) as i64;
        let last = |text: &str| i64::from(has_open_line(text));
        self.regions.iter().map(more).sum::<i64>() + last(&self.after) - last(self.before)
    }

    /// Replaces the first occurrence of `old`, or every one. False when there is none.
    pub fn replace(&mut self, old: &str, new: &str, all: bool) -> bool {
        if old.is_empty() {
            return false;
        }
        let found: Vec<usize> = if all {
            memmem::find_iter(self.after.as_bytes(), old.as_bytes()).collect()
        } else {
            find(&self.after, old).into_iter().collect()
        };
        if found.is_empty() {
            return false;
        }
        // From the end, so that earlier places stay where they were found.
        for at in found.iter().rev() {
            self.record(*at..*at + old.len(), new.len());
        }
        let mut after = mem::take(&mut self.room);
        after.clear();
        after.reserve(self.after.len() - found.len() * old.len() + found.len() * new.len());
        let mut kept = 0;
        for at in found {
            after.push_str(&self.after[kept..at]);
            after.push_str(new);
            kept = at + old.len();
        }
        after.push_str(&self.after[kept..]);
        self.put(Cow::Owned(after));
        true
    }

    /// Puts `new` before everything.
    pub fn insert_first(&mut self, new: &str) {
        self.record(0..0, new.len());
        self.after.to_mut().insert_str(0, new);
    }

    /// Records that `cut` of the present text becomes `len` bytes.
    fn record(&mut self, cut: Bytes<usize>, len: usize) {
        let first = self.regions.partition_point(|region| region.after.end < cut.start);
        let last = self.regions.partition_point(|region| region.after.start <= cut.end);
        let touched = &self.regions[first..last];
        let start = touched.first().map_or(cut.start, |region| region.after.start.min(cut.start));
        let end = touched.last().map_or(cut.end, |region| region.after.end.max(cut.end));
        let merged = Region { before: self.origin(start)..self.origin_end(end), after: start..end - cut.len() + len };
        self.regions.splice(first..last, [merged]);
        for region in &mut self.regions[first + 1..] {
            region.after = region.after.start - cut.len() + len..region.after.end - cut.len() + len;
        }
    }

    /// Where a place outside all regions, or at the start of one, was before.
    fn origin(&self, at: usize) -> usize {
        let passed = self.regions.partition_point(|region| region.after.start < at);
        match self.regions.get(passed) {
            Some(region) if region.after.start == at => region.before.start,
            _ => self.shifted(passed, at),
        }
    }

    /// As [`Rewrite::origin`], for a place at the end of a region.
    fn origin_end(&self, at: usize) -> usize {
        let passed = self.regions.partition_point(|region| region.after.end <= at);
        self.shifted(passed, at)
    }

    fn shifted(&self, passed: usize, at: usize) -> usize {
        passed.checked_sub(1).map_or(at, |n| at - self.regions[n].after.end + self.regions[n].before.end)
    }

    /// The changed spans in file order, each trimmed to the lines that differ.
    pub fn spans(&self) -> Vec<ChangedSpan<'_>> {
        let (mut before_line, mut after_line, mut same_line) = (1, 1, 0..0);
        let span = |region: &Region| {
            let block = self.whole_lines(region);
            // What is between two blocks is the same in both texts.
            same_line.end = block.before.start;
            let same = line_ends(self.before, &same_line);
            let (before_first, after_first) = (before_line + same, after_line + same);
            before_line = before_first + line_ends(self.before, &block.before);
            after_line = after_first + line_ends(&self.after, &block.after);
            same_line.start = block.before.end;
            ChangedSpan::trimmed(before_first, &self.before[block.before], after_first, &self.after[block.after])
        };
        self.line_sharing().iter().map(span).collect()
    }

    /// The regions, those joined that lie on one line.
    fn line_sharing(&self) -> Vec<Region> {
        let mut joined: Vec<Region> = Vec::new();
        for region in &self.regions {
            match joined.last_mut() {
                Some(last) if !self.before[last.before.end..region.before.start].contains('\n') => {
                    last.before.end = region.before.end;
                    last.after.end = region.after.end;
                }
                _ => joined.push(region.clone()),
            }
        }
        joined
    }

    /// The region grown to whole lines, on both sides alike.
    fn whole_lines(&self, region: &Region) -> Region {
        let ahead = &self.before.as_bytes()[..region.before.start];
        let lead = ahead.len() - memchr::memrchr(b'\n', ahead).map_or(0, |at| at + 1);
        let tail_before = line_rest(self.before, &region.before);
        let tail_after = line_rest(&self.after, &region.after);
        // What follows is the same text on both sides up to a line end, so the longer rest serves both.
        let tail = tail_before.max(tail_after);
        Region { before: region.before.start - lead..region.before.end + tail, after: region.after.start - lead..region.after.end + tail }
    }
}

/// Bytes after the region until its last line is whole, its line end included. Nothing where it already ends a line.
fn line_rest(text: &str, region: &Bytes<usize>) -> usize {
    let at_line_start = region.end == 0 || text.as_bytes()[region.end - 1] == b'\n';
    let rest = &text.as_bytes()[region.end..];
    if at_line_start { 0 } else { memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1) }
}

/// The number of line ends in a part of a text.
fn line_ends(text: &str, part: &Bytes<usize>) -> u64 {
    memchr::memchr_iter(b'\n', &text.as_bytes()[part.clone()]).count() as u64
}

/// One changed span: its lines before and after. Texts are lines joined with `\n`, without a final one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSpan<'t> {
    /// The lines before.
    pub before: Range,
    /// Their text.
    pub before_text: &'t str,
    /// The lines after.
    pub after: Range,
    /// Their text.
    pub after_text: &'t str,
}

impl<'t> ChangedSpan<'t> {
    /// The span between two blocks of whole lines, without the lines that both begin or end with.
    pub fn trimmed(before_first: u64, before: &'t str, after_first: u64, after: &'t str) -> Self {
        let (mut old, mut new, mut lead) = (before, after, 0);
        while !old.is_empty() && first_line(old) == first_line(new) {
            let line = first_line(old).len();
            (old, new, lead) = (&old[line..], &new[line..], lead + 1);
        }
        while !old.is_empty() && last_line(old) == last_line(new) {
            let line = last_line(old).len();
            (old, new) = (&old[..old.len() - line], &new[..new.len() - line]);
        }
        let side = |first: u64, lines: &'t str| {
            let first = first + lead;
            (Range { first, last: first + line_count(lines) - 1 }, lines.strip_suffix('\n').unwrap_or(lines))
        };
        let ((before, before_text), (after, after_text)) = (side(before_first, old), side(after_first, new));
        ChangedSpan { before, before_text, after, after_text }
    }

    /// The span between two whole files.
    pub fn whole(before: &'t str, after: &'t str) -> Self {
        let side = |text: &'t str| (whole_range(text), text.strip_suffix('\n').unwrap_or(text));
        let ((before, before_text), (after, after_text)) = (side(before), side(after));
        ChangedSpan { before, before_text, after, after_text }
    }

    /// Puts ranges, hashes and anchors into an edit. Sides whose text is not pinned down get their range only.
    pub fn describe(&self, edit: &mut CodeEdit<'_>) {
        edit.before_range = Some(self.before);
        edit.after_range = Some(self.after);
        (edit.before_hash, edit.before_anchor_hashes) = hash_and_anchors(self.before_text);
        (edit.after_hash, edit.after_anchor_hashes) = hash_and_anchors(self.after_text);
    }
}

/// The first line of a text, its line end included.
fn first_line(text: &str) -> &str {
    &text[..memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |at| at + 1)]
}

/// The last line of a text, its line end included.
fn last_line(text: &str) -> &str {
    let ahead = text.strip_suffix('\n').unwrap_or(text);
    &text[memchr::memrchr(b'\n', ahead.as_bytes()).map_or(0, |at| at + 1)..]
}

/// Hash and anchors of a text; neither where its real bytes are gone.
pub fn hash_and_anchors(text: &str) -> (Option<Hash>, Vec<u64>) {
    let hash = Hash::of_lossless_text(text);
    let anchors = if hash.is_some() { anchors(text) } else { Vec::new() };
    (hash, anchors)
}

/// The number of lines of a text. A final `\n` ends the last line and begins none.
pub fn line_count(text: &str) -> u64 {
    line_ends(text, &(0..text.len())) + u64::from(has_open_line(text))
}

/// True when the last line has no line end.
fn has_open_line(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// The range of all lines of a text.
pub fn whole_range(text: &str) -> Range {
    Range { first: 1, last: line_count(text) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans_of(before: &str, edits: &[(&str, &str, bool)]) -> Vec<(u64, u64, String, u64, u64, String)> {
        let mut rewrite = Rewrite::new(before);
        for (old, new, all) in edits {
            assert!(rewrite.replace(old, new, *all));
        }
        let own = |span: &ChangedSpan<'_>| {
            let (before, after) = (span.before_text.to_owned(), span.after_text.to_owned());
            (span.before.first, span.before.last, before, span.after.first, span.after.last, after)
        };
        rewrite.spans().iter().map(own).collect()
    }

    #[test]
    fn a_word_changes_its_line() {
        assert_eq!(spans_of("a\nb c\nd\n", &[("b", "B", false)]), [(2, 2, "b c".into(), 2, 2, "B c".into())]);
    }

    #[test]
    fn lines_that_stay_are_trimmed() {
        let spans = spans_of("a\nb\nc\nd\n", &[("b\nc\n", "b\nnew\nc\n", false)]);
        assert_eq!(spans, [(3, 2, String::new(), 3, 3, "new".into())]);
    }

    #[test]
    fn a_lost_line_end_joins_the_next_line() {
        assert_eq!(spans_of("a\nb\nc\n", &[("b\n", "B", false)]), [(2, 3, "b\nc".into(), 2, 2, "Bc".into())]);
    }

    #[test]
    fn every_occurrence_is_a_span_unless_they_share_lines() {
        let spans = spans_of("x x\ny\nx\n", &[("x", "long", true)]);
        assert_eq!(spans, [(1, 1, "x x".into(), 1, 1, "long long".into()), (3, 3, "x".into(), 3, 3, "long".into())]);
    }

    #[test]
    fn later_edits_build_on_earlier_ones() {
        let spans = spans_of("one\ntwo\nthree\n", &[("two", "2\n2", false), ("2\nthree", "3", false), ("one", "1", false)]);
        assert_eq!(spans, [(1, 1, "one".into(), 1, 1, "1".into()), (2, 3, "two\nthree".into(), 2, 3, "2\n3".into())]);
    }

    #[test]
    fn line_counts() {
        assert_eq!([line_count(""), line_count("a"), line_count("a\n"), line_count("a\n\n")], [0, 1, 1, 2]);
    }

    proptest! {
        /// Putting the after-lines in place of the before-lines gives the text after.
        #[test]
        fn spans_carry_the_whole_change(
            before in "[ab\n]{0,40}",
            edits in proptest::collection::vec(("[ab\n]{1,3}", "[abc\n]{0,4}", any::<bool>()), 1..5),
        ) {
            let mut rewrite = Rewrite::new(&before);
            for (old, new, all) in &edits {
                rewrite.replace(old, new, *all);
            }
            let lines: Vec<&str> = before.lines().collect();
            let (mut rebuilt, mut next) = (Vec::new(), 1);
            for span in rewrite.spans() {
                rebuilt.extend_from_slice(&lines[next as usize - 1..span.before.first as usize - 1]);
                prop_assert_eq!(span.after.first as usize, rebuilt.len() + 1);
                let expected = lines[span.before.first as usize - 1..span.before.last as usize].join("\n");
                prop_assert_eq!(span.before_text, expected);
                let count = (span.after.last + 1 - span.after.first) as usize;
                rebuilt.extend(span.after_text.split('\n').take(count));
                next = span.before.last + 1;
            }
            rebuilt.extend_from_slice(&lines[next as usize - 1..]);
            prop_assert_eq!(rebuilt, rewrite.after().lines().collect::<Vec<_>>());
            prop_assert_eq!(rewrite.growth(), line_count(rewrite.after()) as i64 - line_count(&before) as i64);
        }
    }
}
