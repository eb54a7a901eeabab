//! A text as lines, and the hashes of runs of its lines.

use std::borrow::Cow;

use engram_core::hash::Hash;

use crate::rows::{Digest, digest};

/// A text with `\r\n` as `\n`, and where its lines begin.
pub struct Lines<'t> {
    text: Cow<'t, str>,
    /// The byte of each line, and of the end.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Splits a text. A final line end begins no other line.
    pub fn new(text: &'t str) -> Lines<'t> {
        let text = if text.contains("\r\n") {
            Cow::Owned(text.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(text)
        };
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Lines { text, starts }
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The hash of the whole text.
    pub fn hash(&self) -> Digest {
        digest(&Hash::of_bytes(self.text.as_bytes()))
    }

    /// `count` lines from line `first` (from 0), without the last line end.
    pub fn run(&self, first: usize, count: usize) -> &str {
        if count == 0 {
            return "";
        }
        let run = &self.text[self.starts[first]..self.starts[first + count]];
        run.strip_suffix('\n').unwrap_or(run)
    }

    /// As [`Lines::run`], with the last line end; `None` if the text ends without one.
    pub fn run_with_end(&self, first: usize, count: usize) -> Option<&str> {
        let run = &self.text[self.starts[first]..self.starts[first + count]];
        run.ends_with('\n').then_some(run)
    }
}

/// The hash of a run of lines.
pub fn hash_of(run: &str) -> Digest {
    digest(&Hash::of_bytes(run.as_bytes()))
}

/// The number of characters that are no white space.
pub fn letters(run: &str) -> usize {
    run.chars().filter(|c| !c.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_lines_have_no_final_line_end() {
        let lines = Lines::new("a\r\nb\n\nc");
        assert_eq!(
            (
                lines.len(),
                lines.run(0, 2),
                lines.run(1, 2),
                lines.run(3, 1)
            ),
            (4, "a\nb", "b\n", "c")
        );
        assert_eq!(
            (lines.run_with_end(0, 1), lines.run_with_end(3, 1)),
            (Some("a\n"), None)
        );
        assert_eq!(
            (
                Lines::new("").len(),
                Lines::new("\n").len(),
                Lines::new("a\n").len()
            ),
            (0, 1, 1)
        );
    }
}
