//! A strict scanner over JSON text: where a value ends. Accepts exactly what `serde_json` skips over.
//!
//! Most bytes of a log lie in strings, and [`Quotes`] has passed over those already. What the scanner does not accept is
//! left to `serde_json`, which then says what is wrong.

use super::quotes::{Block, Quotes, next_quote};

/// The text is not JSON, or not the kind of JSON that the fast path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declined;

/// JSON text and its quotes. Takes places and gives places, so that a place stays in a register.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    quotes: &'t [Block],
}

impl<'t> Scanner<'t> {
    /// A scanner of `text`, whose quotes are noted.
    pub(super) fn new(text: &'t str, quotes: &'t Quotes) -> Self {
        Scanner { text: text.as_bytes(), quotes: quotes.blocks() }
    }

    /// The byte at `at`.
    #[inline(always)]
    pub(super) fn byte(&self, at: usize) -> Result<u8, Declined> {
        self.text.get(at).copied().ok_or(Declined)
    }

    /// The first place from `at` on that is no white space.
    #[inline(always)]
    pub(super) fn behind_spaces(&self, at: usize) -> usize {
        if self.text.get(at).is_some_and(|byte| *byte > b' ') { at } else { behind_spaces(self.text, at) }
    }

    /// As `behind_spaces`, where there must be some.
    pub(super) fn behind_some_spaces(&self, at: usize) -> Result<usize, Declined> {
        let behind = behind_spaces(self.text, at);
        if behind > at { Ok(behind) } else { Err(Declined) }
    }

    /// The place of `expected`, white space before it aside.
    #[inline(always)]
    pub(super) fn find(&self, expected: u8, at: usize) -> Result<usize, Declined> {
        if self.text.get(at) == Some(&expected) {
            return Ok(at);
        }
        let at = behind_spaces(self.text, at);
        if self.text.get(at) == Some(&expected) { Ok(at) } else { Err(Declined) }
    }

    /// The place behind a string that begins at `at`, and whether it may hold escapes.
    #[inline(always)]
    pub(super) fn behind_string(&self, at: usize) -> Result<(usize, bool), Declined> {
        let (end, may_hold_escapes) = next_quote(self.quotes, at + 1)?;
        Ok((end + 1, may_hold_escapes))
    }

    /// The place behind a number or a word at `at`. `byte` is its first.
    #[inline(always)]
    pub(super) fn behind_bare(&self, byte: u8, at: usize) -> Result<usize, Declined> {
        match byte {
            b't' => behind_word(self.text, at, b"true"),
            b'f' => behind_word(self.text, at, b"false"),
            b'n' => behind_word(self.text, at, b"null"),
            _ => behind_number(self.text, at),
        }
    }
}

#[cold]
#[inline(never)]
fn behind_spaces(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count()
}

fn behind_word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Declined> {
    if text[at..].starts_with(word) { Ok(at + word.len()) } else { Err(Declined) }
}

fn behind_number(text: &[u8], at: usize) -> Result<usize, Declined> {
    let digits = |mut at: usize| {
        let start = at;
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at > start { Ok(at) } else { Err(Declined) }
    };
    let mut at = at + usize::from(text.get(at) == Some(&b'-'));
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = digits(at)?;
    }
    Ok(at)
}
