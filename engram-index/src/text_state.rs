//! The text of a file as lines, of which some may not be known.

use std::rc::Rc;

use engram_core::hash::Hash;

use crate::line_key::{BYTE_ORDER_MARK, Key, key, lines};
use crate::rows::{Digest, digest};

/// Lines of a file that nobody has seen. A range beyond is not rebuilt.
pub(crate) const MAX_LINES: usize = 1 << 20;

/// A line, and its text if it is known.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) key: Key,
    pub(crate) text: Option<Rc<str>>,
}

/// A text of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) lines: Vec<Line>,
    /// False if there may be more lines at the end.
    pub(crate) whole: bool,
    /// True if a read ended with an empty line: it may be a line of the file, or what stands behind its last line end.
    pub(crate) blank_end: bool,
}

impl State {
    pub(crate) fn of(text: &str) -> State {
        State {
            lines: lines(text).map(line).collect(),
            whole: true,
            blank_end: false,
        }
    }

    /// The text before a change, which made `after` of it: with the empty line at its end that may have been there, if the change left one more.
    pub(crate) fn before(mut self, after: &State) -> State {
        let blank = line("");
        let blanks = |state: &State| {
            state
                .lines
                .iter()
                .filter(|line| line.key == blank.key)
                .count()
        };
        if self.blank_end && blanks(after) > blanks(&self) {
            self.lines.push(blank);
        }
        self
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        self.lines.iter().map(|line| line.key).collect()
    }

    /// The lines of a range (from 1), joined; `None` if one of them is not known.
    pub(crate) fn text(&self, (first, last): (i64, i64)) -> Option<String> {
        let (first, last) = bounds((first, last))?;
        let run = self.lines.get(first..last)?;
        let texts: Option<Vec<&str>> = run.iter().map(|line| line.text.as_deref()).collect();
        Some(texts?.join("\n"))
    }

    /// The whole text without the last line end; `None` if it is not known.
    pub(crate) fn whole_text(&self) -> Option<String> {
        let last = i64::try_from(self.lines.len()).ok()?;
        self.text((1, last)).filter(|_| self.whole)
    }

    /// The state, if it may be the text with this hash. A read does not tell an empty last line from a line end, so both are tried.
    pub(crate) fn fitting(mut self, hash: Option<&Digest>) -> Option<State> {
        if !self.may_be(hash) {
            self.lines.push(line(""));
        }
        self.blank_end &= hash.is_none();
        self.may_be(hash).then_some(self)
    }

    /// False if the text is known and another one than the hash says.
    pub(crate) fn may_be(&self, hash: Option<&Digest>) -> bool {
        match (hash, self.whole_text()) {
            (Some(hash), Some(text)) => {
                let ended = text.clone() + "\n";
                let marked = |text: &str| format!("{BYTE_ORDER_MARK}{text}");
                is_hash(&text, hash)
                    || is_hash(&ended, hash)
                    || is_hash(&marked(&text), hash)
                    || is_hash(&marked(&ended), hash)
            }
            _ => true,
        }
    }
}

pub(crate) fn line(text: &str) -> Line {
    Line {
        key: key(text),
        text: Some(text.into()),
    }
}

pub(crate) fn is_hash(text: &str, hash: &Digest) -> bool {
    digest(&Hash::of_text(text)) == *hash
}

/// A range of lines from 1 as a half-open range from 0.
pub(crate) fn bounds((first, last): (i64, i64)) -> Option<(usize, usize)> {
    let (first, last) = (
        usize::try_from(first.checked_sub(1)?).ok()?,
        usize::try_from(last).ok()?,
    );
    (first <= last && last <= MAX_LINES).then_some((first, last))
}
