//! A text with replacements, and the spans of lines that they changed.

use std::borrow::Cow;
use std::mem;
use std::ops::Range as Bytes;

use memchr::memmem;

use super::changed_span::ChangedSpan;
use super::lines::{has_open_line, line_ends};
use crate::shared::search::find;

/// A text after replacements is at most this long, or as long as the text before them. One short replacement can occur in a text many
/// times.
const MAX_BYTES: usize = 16 << 20;
/// The most ranges that are replaced at once.
const MAX_CUTS: usize = 1 << 20;
/// Each edit copies the text, so the edits of one text may copy it so often, and [`MAX_BYTES`] more.
const COPIES: usize = 64;

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
    /// The bytes that further replacements may still copy.
    budget: usize,
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
        let budget = before
            .len()
            .saturating_mul(COPIES)
            .saturating_add(MAX_BYTES);
        Rewrite {
            before,
            after: Cow::Borrowed(before),
            scratch,
            regions: Vec::new(),
            budget,
        }
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
        let added = |region: &Region| {
            line_ends(&self.after, &region.after) as i64
                - line_ends(self.before, &region.before) as i64
        };
        let open_line = |text: &str| i64::from(has_open_line(text));
        self.regions.iter().map(added).sum::<i64>() + open_line(&self.after)
            - open_line(self.before)
    }

    /// Replaces the first occurrence of `old`, or all of them. Returns whether there is one, and the text after is not too long.
    pub fn replace(&mut self, old: &str, new: &str, all: bool) -> bool {
        if old.is_empty() {
            return false;
        }
        let found: Vec<usize> = if all {
            memmem::find_iter(self.after.as_bytes(), old.as_bytes())
                .take(MAX_CUTS)
                .collect()
        } else {
            find(&self.after, old).into_iter().collect()
        };
        !found.is_empty() && self.replace_each(found.iter().map(|at| (*at..*at + old.len(), new)))
    }

    /// Inserts `new` at the start. Returns whether the text after is not too long.
    pub fn insert_first(&mut self, new: &str) -> bool {
        self.replace_each([(0..0, new)].into_iter())
    }

    /// Replaces these ranges of the present text, which ascend and do not overlap. Changes nothing and returns false if the text after
    /// would be too long, or if the edits of this text have cost too much.
    pub fn replace_each<'n>(
        &mut self,
        cuts: impl Iterator<Item = (Bytes<usize>, &'n str)> + Clone,
    ) -> bool {
        let cut = cuts.clone().map(|(at, _)| at.len()).sum::<usize>();
        let Some(len) = cuts
            .clone()
            .try_fold(self.after.len() - cut, |len, (_, new)| {
                len.checked_add(new.len())
            })
        else {
            return false;
        };
        let cost = len.saturating_add(self.after.len());
        if len > MAX_BYTES.max(self.before.len())
            || cost > self.budget
            || cuts.clone().nth(MAX_CUTS - 1).is_some()
        {
            return false;
        }
        self.budget -= cost;
        self.record(cuts.clone());
        let mut after = mem::take(&mut self.scratch);
        after.clear();
        after.reserve(len);
        let mut copied = 0;
        for (at, new) in cuts {
            after.push_str(&self.after[copied..at.start]);
            after.push_str(new);
            copied = at.end;
        }
        after.push_str(&self.after[copied..]);
        self.set_after(Cow::Owned(after));
        true
    }

    /// Records that each range of the present text is replaced by a text. Regions and ranges that touch become one region.
    fn record<'n>(&mut self, cuts: impl Iterator<Item = (Bytes<usize>, &'n str)>) {
        let regions = mem::take(&mut self.regions);
        let (mut old, mut cuts) = (regions.iter().peekable(), cuts.peekable());
        // How far the cuts so far move what follows them, and how far the last region moved the original text.
        let (mut cut, mut added) = (0, 0);
        let (mut last_before, mut last_after) = (0, 0);
        loop {
            let next_cut = cuts.peek().map(|(at, _)| at.start);
            let next_old = old.peek().map(|region| region.after.start);
            let Some(start) = next_cut.into_iter().chain(next_old).min() else {
                break;
            };
            let (begin, mut end) = (start + added - cut, start);
            let before_start = start - last_after + last_before;
            loop {
                if let Some(region) = old.next_if(|region| region.after.start <= end) {
                    (last_before, last_after) = (region.before.end, region.after.end);
                    end = end.max(region.after.end);
                } else if let Some((at, new)) = cuts.next_if(|(at, _)| at.start <= end) {
                    cut += at.len();
                    added += new.len();
                    end = end.max(at.end);
                } else {
                    break;
                }
            }
            let before_end = end - last_after + last_before;
            self.regions.push(Region {
                before: before_start..before_end,
                after: begin..end + added - cut,
            });
        }
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
            ChangedSpan::trimmed(
                before_first,
                &self.before[block.before],
                after_first,
                &self.after[block.after],
            )
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
        Region {
            before: region.before.start - lead..region.before.end + tail,
            after: region.after.start - lead..region.after.end + tail,
        }
    }
}

/// The spans of an update between two versions of a file. They are the spans of the replacement if it makes the text after of the text
/// before. Otherwise it is one span around all changes.
pub fn spans_between<'t>(
    before: &'t str,
    after: &'t str,
    replaced: Option<&'t Rewrite<'_>>,
) -> Vec<ChangedSpan<'t>> {
    match replaced.filter(|rewrite| rewrite.after() == after) {
        Some(rewrite) => rewrite.spans(),
        None => vec![ChangedSpan::trimmed(1, before, 1, after)],
    }
}

/// The number of bytes after the region that complete its last line, with its line end. 0 if the region ends with a line end.
fn rest_of_line(text: &str, region: &Bytes<usize>) -> usize {
    let at_line_start = region.end == 0 || text.as_bytes()[region.end - 1] == b'\n';
    let rest = &text.as_bytes()[region.end..];
    if at_line_start {
        0
    } else {
        memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lines::line_count;
    use super::*;

    fn spans_of(
        before: &str,
        edits: &[(&str, &str, bool)],
    ) -> Vec<(u64, u64, String, u64, u64, String)> {
        let mut rewrite = Rewrite::new(before);
        for (old, new, all) in edits {
            assert!(rewrite.replace(old, new, *all));
        }
        let to_owned = |span: &ChangedSpan<'_>| {
            let (before, after) = (span.before_text.to_owned(), span.after_text.to_owned());
            (
                span.before.first,
                span.before.last,
                before,
                span.after.first,
                span.after.last,
                after,
            )
        };
        rewrite.spans().iter().map(to_owned).collect()
    }

    #[test]
    fn changed_word_gives_its_line() {
        assert_eq!(
            spans_of("a\nb c\nd\n", &[("b", "B", false)]),
            [(2, 2, "b c".into(), 2, 2, "B c".into())]
        );
    }

    #[test]
    fn unchanged_lines_are_trimmed() {
        let spans = spans_of("a\nb\nc\nd\n", &[("b\nc\n", "b\nnew\nc\n", false)]);
        assert_eq!(spans, [(3, 2, String::new(), 3, 3, "new".into())]);
    }

    #[test]
    fn removed_line_end_includes_the_next_line() {
        assert_eq!(
            spans_of("a\nb\nc\n", &[("b\n", "B", false)]),
            [(2, 3, "b\nc".into(), 2, 2, "Bc".into())]
        );
    }

    #[test]
    fn occurrences_on_one_line_share_a_span() {
        let spans = spans_of("x x\ny\nx\n", &[("x", "long", true)]);
        assert_eq!(
            spans,
            [
                (1, 1, "x x".into(), 1, 1, "long long".into()),
                (3, 3, "x".into(), 3, 3, "long".into())
            ]
        );
    }

    #[test]
    fn edits_apply_to_the_result_of_earlier_edits() {
        let spans = spans_of(
            "one\ntwo\nthree\n",
            &[
                ("two", "2\n2", false),
                ("2\nthree", "3", false),
                ("one", "1", false),
            ],
        );
        assert_eq!(
            spans,
            [
                (1, 1, "one".into(), 1, 1, "1".into()),
                (2, 3, "two\nthree".into(), 2, 3, "2\n3".into())
            ]
        );
    }

    #[test]
    fn a_text_that_grows_too_long_is_not_made() {
        let before = "a ".repeat(1 << 16);
        let mut rewrite = Rewrite::new(&before);
        assert!(!rewrite.replace("a", &"b".repeat(1 << 10), true));
        assert_eq!(rewrite.after(), before);
        assert!(rewrite.spans().is_empty() && rewrite.replace("a", "b", true));
    }

    #[test]
    fn the_edits_of_one_text_have_a_bounded_cost() {
        let before = "a".repeat(MAX_BYTES);
        let mut rewrite = Rewrite::new(&before);
        let edits = (0..100)
            .take_while(|_| rewrite.replace("a", "b", false))
            .count();
        assert_eq!(edits, COPIES.div_ceil(2));
    }

    proptest! {
        /// Ranges that are replaced together give what they give one after the other, from the last on.
        #[test]
        fn ranges_are_replaced_together(before in "[ab\n]{0,40}", first in "[ab]{1,2}", cuts in proptest::collection::vec((0usize..4, 0usize..3, "[abc\n]{0,3}"), 0..8)) {
            let [mut together, mut apart] = [(); 2].map(|()| Rewrite::new(&before));
            for rewrite in [&mut together, &mut apart] {
                rewrite.replace(&first, "xy", true);
            }
            let (mut ranges, mut at) = (Vec::new(), 0);
            for (skipped, len, new) in &cuts {
                let start = at + skipped;
                if start + len <= together.after().len() {
                    ranges.push((start..start + len, new.as_str()));
                }
                at = start + len;
            }
            prop_assert!(together.replace_each(ranges.iter().cloned()));
            for range in ranges.into_iter().rev() {
                prop_assert!(apart.replace_each([range].into_iter()));
            }
            prop_assert_eq!(together.after(), apart.after());
            prop_assert_eq!(together.regions, apart.regions);
        }

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
