//! A text with replacements, and the spans of lines that they changed.

use std::borrow::Cow;
use std::mem;
use std::ops::Range as Bytes;

use memchr::memmem;

use super::changed_span::ChangedSpan;
use super::lines::{has_open_line, line_ends};
use crate::shared::search::find;

/// A file's text to which replacements are applied. Records which regions differ from the original text.
///
/// ```
/// use engram_adapters::shared::spans::Rewrite;
///
/// let mut file = Rewrite::new("one\ntwo\nthree\n");
/// assert!(file.replace("two", "2", false));
/// let spans = file.spans();
/// assert_eq!((spans[0].before.first, spans[0].before_text, spans[0].after_text), (2, "two", "2"));
/// ```
#[derive(Debug)]
pub struct Rewrite<'b> {
    before: &'b str,
    after: Cow<'b, str>,
    /// Memory for the next text.
    scratch: String,
    /// Changed regions, in order and disjoint.
    regions: Vec<Region>,
}

/// A byte range of the original text, and the range that replaces it in the present text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    before: Bytes<usize>,
    after: Bytes<usize>,
}

impl<'b> Rewrite<'b> {
    /// The original text, without replacements.
    pub fn new(before: &'b str) -> Self {
        Self::with_scratch(before, String::new())
    }

    /// As [`Rewrite::new`]. Reuses the memory of `scratch` for the text that replacements make.
    pub fn with_scratch(before: &'b str, scratch: String) -> Self {
        Rewrite { before, after: Cow::Borrowed(before), scratch, regions: Vec::new() }
    }

    /// Undoes all replacements.
    pub fn restart(&mut self) {
        self.set_after(Cow::Borrowed(self.before));
        self.regions.clear();
    }

    /// Replaces the present text, and keeps its memory for the next one.
    fn set_after(&mut self, after: Cow<'b, str>) {
        if let Cow::Owned(text) = mem::replace(&mut self.after, after) {
            self.scratch = text;
        }
    }

    /// The present text.
    pub fn after(&self) -> &str {
        &self.after
    }

    /// The present text, owned.
    pub fn into_after(self) -> String {
        self.after.into_owned()
    }

    /// The number of lines that replacements added; negative if they removed some.
    pub fn growth(&self) -> i64 {
        let added = |region: &Region| line_ends(&self.after, &region.after) as i64 - line_ends(self.before, &region.before) as i64;
        let open_line = |text: &str| i64::from(has_open_line(text));
        self.regions.iter().map(added).sum::<i64>() + open_line(&self.after) - open_line(self.before)
    }

    /// Replaces the first occurrence of `old`, or all of them. Returns whether there is one.
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
        // From the end, so that the earlier positions stay valid.
        for at in found.iter().rev() {
            self.record(*at..*at + old.len(), new.len());
        }
        let mut after = mem::take(&mut self.scratch);
        after.clear();
        after.reserve(self.after.len() - found.len() * old.len() + found.len() * new.len());
        let mut copied = 0;
        for at in found {
            after.push_str(&self.after[copied..at]);
            after.push_str(new);
            copied = at + old.len();
        }
        after.push_str(&self.after[copied..]);
        self.set_after(Cow::Owned(after));
        true
    }

    /// Replaces this range of the present text.
    pub fn replace_at(&mut self, at: Bytes<usize>, new: &str) {
        self.record(at.clone(), new.len());
        self.after.to_mut().replace_range(at, new);
    }

    /// Inserts `new` at the start.
    pub fn insert_first(&mut self, new: &str) {
        self.record(0..0, new.len());
        self.after.to_mut().insert_str(0, new);
    }

    /// Records that `len` bytes replace the range `cut` of the present text.
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

    /// The original position of a position outside of all regions, or at the start of one.
    fn origin(&self, at: usize) -> usize {
        let passed = self.regions.partition_point(|region| region.after.start < at);
        match self.regions.get(passed) {
            Some(region) if region.after.start == at => region.before.start,
            _ => self.shifted(passed, at),
        }
    }

    /// As [`Rewrite::origin`], for a position at the end of a region.
    fn origin_end(&self, at: usize) -> usize {
        let passed = self.regions.partition_point(|region| region.after.end <= at);
        self.shifted(passed, at)
    }

    /// The original position of `at`, which `passed` regions precede.
    fn shifted(&self, passed: usize, at: usize) -> usize {
        passed.checked_sub(1).map_or(at, |n| at - self.regions[n].after.end + self.regions[n].before.end)
    }

    /// The changed spans in file order, each trimmed to the lines that differ.
    pub fn spans(&self) -> Vec<ChangedSpan<'_>> {
        let (mut before_line, mut after_line, mut unchanged) = (1, 1, 0..0);
        let span = |region: &Region| {
            let block = self.expand_to_lines(region);
            // The text between two blocks is the same before and after.
            unchanged.end = block.before.start;
            let same = line_ends(self.before, &unchanged);
            let (before_first, after_first) = (before_line + same, after_line + same);
            before_line = before_first + line_ends(self.before, &block.before);
            after_line = after_first + line_ends(&self.after, &block.after);
            unchanged.start = block.before.end;
            ChangedSpan::trimmed(before_first, &self.before[block.before], after_first, &self.after[block.after])
        };
        self.regions_by_line().iter().map(span).collect()
    }

    /// The regions. Those that share a line are joined.
    fn regions_by_line(&self) -> Vec<Region> {
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

    /// The region, expanded to complete lines by the same bytes before and after.
    fn expand_to_lines(&self, region: &Region) -> Region {
        let preceding = &self.before.as_bytes()[..region.before.start];
        let lead = preceding.len() - memchr::memrchr(b'\n', preceding).map_or(0, |at| at + 1);
        let tail_before = rest_of_line(self.before, &region.before);
        let tail_after = rest_of_line(&self.after, &region.after);
        // Both regions are followed by the same text, so the longer rest completes the lines of both.
        let tail = tail_before.max(tail_after);
        Region { before: region.before.start - lead..region.before.end + tail, after: region.after.start - lead..region.after.end + tail }
    }
}

/// The number of bytes after the region that complete its last line, with its line end. 0 if the region ends with a line end.
fn rest_of_line(text: &str, region: &Bytes<usize>) -> usize {
    let at_line_start = region.end == 0 || text.as_bytes()[region.end - 1] == b'\n';
    let rest = &text.as_bytes()[region.end..];
    if at_line_start { 0 } else { memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lines::line_count;
    use super::*;

    fn spans_of(before: &str, edits: &[(&str, &str, bool)]) -> Vec<(u64, u64, String, u64, u64, String)> {
        let mut rewrite = Rewrite::new(before);
        for (old, new, all) in edits {
            assert!(rewrite.replace(old, new, *all));
        }
        let to_owned = |span: &ChangedSpan<'_>| {
            let (before, after) = (span.before_text.to_owned(), span.after_text.to_owned());
            (span.before.first, span.before.last, before, span.after.first, span.after.last, after)
        };
        rewrite.spans().iter().map(to_owned).collect()
    }

    #[test]
    fn changed_word_gives_its_line() {
        assert_eq!(spans_of("a\nb c\nd\n", &[("b", "B", false)]), [(2, 2, "b c".into(), 2, 2, "B c".into())]);
    }

    #[test]
    fn unchanged_lines_are_trimmed() {
        let spans = spans_of("a\nb\nc\nd\n", &[("b\nc\n", "b\nnew\nc\n", false)]);
        assert_eq!(spans, [(3, 2, String::new(), 3, 3, "new".into())]);
    }

    #[test]
    fn removed_line_end_includes_the_next_line() {
        assert_eq!(spans_of("a\nb\nc\n", &[("b\n", "B", false)]), [(2, 3, "b\nc".into(), 2, 2, "Bc".into())]);
    }

    #[test]
    fn occurrences_on_one_line_share_a_span() {
        let spans = spans_of("x x\ny\nx\n", &[("x", "long", true)]);
        assert_eq!(spans, [(1, 1, "x x".into(), 1, 1, "long long".into()), (3, 3, "x".into(), 3, 3, "long".into())]);
    }

    #[test]
    fn edits_apply_to_the_result_of_earlier_edits() {
        let spans = spans_of("one\ntwo\nthree\n", &[("two", "2\n2", false), ("2\nthree", "3", false), ("one", "1", false)]);
        assert_eq!(spans, [(1, 1, "one".into(), 1, 1, "1".into()), (2, 3, "two\nthree".into(), 2, 3, "2\n3".into())]);
    }

    proptest! {
        /// Replacing the lines before by the lines after gives the present text.
        #[test]
        fn spans_contain_all_changes(
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
