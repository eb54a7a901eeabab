//! A strict scanner over JSON text: where a value ends. Accepts exactly what `serde_json` skips over.
//!
//! Most bytes of a log lie in strings, and [`Strings`] has passed over those already. What the scanner does not accept is
//! left to `serde_json`, which then says what is wrong.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

use super::string_mask::{Escapes, OffFastPath, Strings};

/// JSON text and its quotes. Takes places and gives places, so that a place stays in a register. It expects text that is `PRETTY`
/// over lines with a member each, or else text without white space, and is slower in the other.
#[derive(Debug)]
pub(super) struct Scanner<'t, const PRETTY: bool> {
    text: &'t [u8],
    strings: Strings<'t>,
}

impl<'t, const PRETTY: bool> Scanner<'t, PRETTY> {
    /// A scanner of `text` and the strings that lie ahead.
    pub(super) fn new(text: &'t str, strings: Strings<'t>) -> Self {
        Scanner { text: text.as_bytes(), strings }
    }

    /// The byte at `at`.
    #[inline(always)]
    pub(super) fn byte(&self, at: u32) -> Result<u8, OffFastPath> {
        self.text.get(at as usize).copied().ok_or(OffFastPath)
    }

    /// True when these bytes stand at `at`.
    #[inline(always)]
    fn has(&self, at: u32, bytes: &[u8]) -> bool {
        let at = at as usize;
        self.text.get(at..at + bytes.len()) == Some(bytes)
    }

    /// The first place from `at` on that is no white space, and the byte there. Mostly there is none before it, or one space.
    #[inline(always)]
    pub(super) fn skip_whitespace(&self, at: u32) -> Result<(u32, u8), OffFastPath> {
        let byte = self.byte(at)?;
        if byte > b' ' {
            return Ok((at, byte));
        }
        if byte == b' '
            && let Ok(next) = self.byte(at + 1)
            && next > b' '
        {
            return Ok((at + 1, next));
        }
        let at = self.behind_any_spaces(at);
        Ok((at, self.byte(at)?))
    }

    /// The first place from `at` on that is no white space, where a line mostly ends.
    #[inline(always)]
    fn behind_any_spaces(&self, at: u32) -> u32 {
        if PRETTY
            && let Some(start) = behind_line_end(self.text, at)
            && self.text.get(start as usize).is_some_and(|byte| *byte > b' ')
        {
            return start;
        }
        behind_spaces(self.text, at)
    }

    /// As `behind_any_spaces`, where there must be some.
    #[inline(always)]
    pub(super) fn behind_some_spaces(&self, at: u32) -> Result<u32, OffFastPath> {
        let behind = self.behind_any_spaces(at);
        if behind > at { Ok(behind) } else { Err(OffFastPath) }
    }

    /// True when nothing but white space is behind `at`.
    pub(super) fn ends_behind(&self, at: u32) -> bool {
        at as usize == self.text.len() || self.behind_any_spaces(at) as usize == self.text.len()
    }

    /// The place of `expected`, white space before it aside.
    #[inline(always)]
    pub(super) fn find(&self, expected: u8, at: u32) -> Result<u32, OffFastPath> {
        if self.byte(at)? == expected {
            return Ok(at);
        }
        let at = self.behind_any_spaces(at);
        if self.byte(at)? == expected { Ok(at) } else { Err(OffFastPath) }
    }

    /// Where the value begins that the name before `at` names, and its first byte, if all is spaced as usual.
    #[inline(always)]
    pub(super) fn value_of_name(&self, at: u32) -> Option<(u32, u8)> {
        let between: &[u8] = if PRETTY { b": " } else { b":" };
        let start = at as usize + between.len();
        let first = *self.text.get(start)?;
        (self.text[at as usize..start] == *between).then_some((start as u32, first))
    }

    /// Where the name of the next member begins, if one comes behind `at` and all is spaced as usual.
    #[inline(always)]
    pub(super) fn name_behind(&self, at: u32) -> Option<u32> {
        if !PRETTY {
            return self.has(at, b",\"").then_some(at + 1);
        }
        let start = behind_line_end(self.text, at + 1)?;
        let is_name = self.has(at, b",") && self.has(start, b"\"");
        is_name.then_some(start)
    }

    /// The place behind the string whose first quote comes next, and the escapes that it may hold.
    #[inline(always)]
    pub(super) fn behind_string(&mut self) -> Result<(u32, Escapes), OffFastPath> {
        let (end, escapes) = self.strings.next_end()?;
        Ok((end + 1, escapes))
    }

    /// The place behind a number or a word at `at`. `byte` is its first.
    #[inline(always)]
    pub(super) fn skip_literal(&self, byte: u8, at: u32) -> Result<u32, OffFastPath> {
        skip_literal(self.text, byte, at as usize).map(|end| end as u32)
    }
}

/// The first place from `at` on that is no white space. Out of the way of what most texts are: records without white space, or
/// members each on a line of its own.
#[inline(never)]
fn behind_spaces(text: &[u8], mut at: u32) -> u32 {
    while matches!(text.get(at as usize), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at = behind_line_end(text, at).unwrap_or(at + 1);
    }
    at
}

/// The place behind a line end at `at` and the first spaces of the next line: behind all of them, if they are as few as mostly.
#[inline(always)]
fn behind_line_end(text: &[u8], at: u32) -> Option<u32> {
    let [b'\n', spaces @ ..] = text.get(at as usize..)?.first_chunk::<17>()? else { return None };
    let spaces = dispatch!(Level::baseline(), simd => u8x16::load_array_ref(simd, spaces).simd_eq(b' ').to_bitmask());
    Some(at + 1 + spaces.trailing_ones())
}

/// Only what is rare is called, so that the scanner stays in registers.
#[inline(always)]
fn skip_literal(text: &[u8], byte: u8, at: usize) -> Result<usize, OffFastPath> {
    match byte {
        b'0'..=b'9' if let Some(digits) = short_number(text, byte, at) => Ok(at + digits),
        b't' => behind_word(text, at, b"true"),
        b'f' => behind_word(text, at, b"false"),
        b'n' => behind_word(text, at, b"null"),
        _ => behind_any_number(text, at),
    }
}

#[inline(always)]
fn behind_word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, OffFastPath> {
    if text.get(at..).is_some_and(|rest| rest.starts_with(word)) { Ok(at + word.len()) } else { Err(OffFastPath) }
}

/// How many digits a number at `at` has, if it is of the most usual kind: whole, not negative, and short. `first` is the first of them.
#[inline(always)]
fn short_number(text: &[u8], first: u8, at: usize) -> Option<usize> {
    let digits = leading_digits(text.get(at..)?.first_chunk()?);
    let is_whole = !matches!(text.get(at + digits)?, b'.' | b'e' | b'E');
    (digits < DIGITS && is_whole && (digits == 1 || first != b'0')).then_some(digits)
}

#[inline(never)]
fn behind_any_number(text: &[u8], at: usize) -> Result<usize, OffFastPath> {
    let start = at + usize::from(text.get(at) == Some(&b'-'));
    let mut at = behind_digits(text, start)?;
    if at > start + 1 && text.get(start) == Some(&b'0') {
        return Err(OffFastPath);
    }
    if text.get(at) == Some(&b'.') {
        at = behind_digits(text, at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = behind_digits(text, at)?;
    }
    Ok(at)
}

/// The place behind some digits, of which there must be one.
#[inline(always)]
fn behind_digits(text: &[u8], start: usize) -> Result<usize, OffFastPath> {
    let mut at = start;
    while let Some(part) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let digits = leading_digits(part);
        at += digits;
        if digits < DIGITS {
            return if at > start { Ok(at) } else { Err(OffFastPath) };
        }
    }
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at > start { Ok(at) } else { Err(OffFastPath) }
}

/// Bytes that are looked at together for digits.
const DIGITS: usize = 16;

/// How many digits these bytes begin with.
#[inline(always)]
fn leading_digits(bytes: &[u8; DIGITS]) -> usize {
    let digits = dispatch!(Level::baseline(), simd => (u8x16::load_array_ref(simd, bytes) - b'0').simd_le(9).to_bitmask());
    digits.trailing_ones() as usize
}
