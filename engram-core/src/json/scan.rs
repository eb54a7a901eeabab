//! A strict scanner that finds the end of a JSON value. Accepts exactly what `serde_json` accepts.
//!
//! Most bytes of a log are in strings, which [`Strings`] skips by their mask. A text that the scanner rejects is parsed by `serde_json`
//! for its error.

use crate::members::JsonTypes;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

use super::node::Escapes;
use super::string_mask::{OffFastPath, Strings};

/// A scanner over JSON text and its strings. Methods take and return positions, which then stay in registers. Text without white space is
/// the fastest.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    strings: Strings<'t>,
}

impl<'t> Scanner<'t> {
    /// A scanner of `text`, with its strings from the current position on.
    pub(super) fn new(text: &'t str, strings: Strings<'t>) -> Self {
        Scanner {
            text: text.as_bytes(),
            strings,
        }
    }

    /// The byte at position `at`.
    #[inline(always)]
    pub(super) fn byte(&self, at: u32) -> Result<u8, OffFastPath> {
        self.text.get(at as usize).copied().ok_or(OffFastPath)
    }

    /// True if these bytes are at `at`.
    #[inline(always)]
    fn has(&self, at: u32, bytes: &[u8]) -> bool {
        let at = at as usize;
        self.text.get(at..at + bytes.len()) == Some(bytes)
    }

    /// The first position from `at` on without white space, and the byte there. Usually there is no white space, or one space.
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
        let at = skip_long_whitespace(self.text, at);
        Ok((at, self.byte(at)?))
    }

    /// The first position from `at` on without white space, where some is required.
    #[inline(always)]
    pub(super) fn skip_required_whitespace(&self, at: u32) -> Result<u32, OffFastPath> {
        let end = skip_long_whitespace(self.text, at);
        if end > at { Ok(end) } else { Err(OffFastPath) }
    }

    /// True if only white space follows from `at` on.
    pub(super) fn is_blank_from(&self, at: u32) -> bool {
        at as usize == self.text.len()
            || skip_long_whitespace(self.text, at) as usize == self.text.len()
    }

    /// The position of the byte `expected`, which only white space may precede.
    #[inline(always)]
    pub(super) fn find(&self, expected: u8, at: u32) -> Result<u32, OffFastPath> {
        if self.byte(at)? == expected {
            return Ok(at);
        }
        let at = skip_long_whitespace(self.text, at);
        if self.byte(at)? == expected {
            Ok(at)
        } else {
            Err(OffFastPath)
        }
    }

    /// Where the value of a member begins, and its first byte, if the spacing is the usual one. `at` is the position after the name.
    #[inline(always)]
    pub(super) fn value_of_name(&self, at: u32) -> Option<(u32, u8)> {
        let first = self.byte(at + 1).ok()?;
        self.has(at, b":").then_some((at + 1, first))
    }

    /// Where the name of the next member begins, if one follows the value that ends at `at`, with the usual spacing.
    #[inline(always)]
    pub(super) fn next_name(&self, at: u32) -> Option<u32> {
        self.has(at, b",\"").then_some(at + 1)
    }

    /// The position after the next string, and the escapes that it may contain.
    #[inline(always)]
    pub(super) fn skip_string(&mut self) -> Result<(u32, Escapes), OffFastPath> {
        let (end, escapes) = self.strings.next_end()?;
        Ok((end + 1, escapes))
    }

    /// The position after a number, `true`, `false` or `null` at `at`, and its types. `byte` is its first byte.
    #[inline(always)]
    pub(super) fn skip_literal(&self, byte: u8, at: u32) -> Result<(u32, JsonTypes), OffFastPath> {
        skip_literal(self.text, byte, at as usize).map(|(end, types)| (end as u32, types))
    }
}

/// The first position from `at` on without white space. Not inlined: most texts have none.
#[inline(never)]
fn skip_long_whitespace(text: &[u8], mut at: u32) -> u32 {
    while matches!(text.get(at as usize), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at = skip_line_feed(text, at).unwrap_or(at + 1);
    }
    at
}

/// The position after a line feed at `at` and up to 16 spaces, the usual indentation.
#[inline(always)]
fn skip_line_feed(text: &[u8], at: u32) -> Option<u32> {
    let [b'\n', spaces @ ..] = text.get(at as usize..)?.first_chunk::<17>()? else {
        return None;
    };
    let spaces = dispatch!(Level::baseline(), simd => u8x16::load_array_ref(simd, spaces).simd_eq(b' ').to_bitmask());
    Some(at + 1 + spaces.trailing_ones())
}

/// Only rare cases are function calls, so that the scanner stays in registers.
#[inline(always)]
fn skip_literal(text: &[u8], byte: u8, at: usize) -> Result<(usize, JsonTypes), OffFastPath> {
    match byte {
        b'0'..=b'9' => match short_number(text, byte, at) {
            Some(digits) => Ok((at + digits, JsonTypes::NATURAL)),
            None => skip_long_number(text, at),
        },
        b't' => Ok((skip_keyword(text, at, b"true")?, JsonTypes::BOOL)),
        b'f' => Ok((skip_keyword(text, at, b"false")?, JsonTypes::BOOL)),
        b'n' => Ok((skip_keyword(text, at, b"null")?, JsonTypes::ANY)),
        _ => skip_long_number(text, at),
    }
}

/// A number that is not short, or is not a natural number.
#[inline(never)]
fn skip_long_number(text: &[u8], at: usize) -> Result<(usize, JsonTypes), OffFastPath> {
    let end = skip_number(text, at)?;
    let number = text
        .get(at..end)
        .and_then(|digits| str::from_utf8(digits).ok());
    Ok((end, number.map_or(JsonTypes::NUMBER, JsonTypes::of_number)))
}

#[inline(always)]
fn skip_keyword(text: &[u8], at: usize, keyword: &[u8]) -> Result<usize, OffFastPath> {
    if text.get(at..).is_some_and(|rest| rest.starts_with(keyword)) {
        Ok(at + keyword.len())
    } else {
        Err(OffFastPath)
    }
}

/// The number of digits at `at` of a short non-negative integer, the usual kind of number. `first` is the first digit.
#[inline(always)]
fn short_number(text: &[u8], first: u8, at: usize) -> Option<usize> {
    let digits = leading_digits(text.get(at..)?.first_chunk()?);
    let is_integer = !matches!(text.get(at + digits)?, b'.' | b'e' | b'E');
    (digits < DIGITS && is_integer && (digits == 1 || first != b'0')).then_some(digits)
}

#[inline(never)]
fn skip_number(text: &[u8], at: usize) -> Result<usize, OffFastPath> {
    let start = at + usize::from(text.get(at) == Some(&b'-'));
    let mut at = skip_digits(text, start)?;
    if at > start + 1 && text.get(start) == Some(&b'0') {
        return Err(OffFastPath);
    }
    if text.get(at) == Some(&b'.') {
        at = skip_digits(text, at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = skip_digits(text, at)?;
    }
    Ok(at)
}

/// The position after one or more digits.
#[inline(always)]
fn skip_digits(text: &[u8], start: usize) -> Result<usize, OffFastPath> {
    let mut at = start;
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let digits = leading_digits(bytes);
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

/// Bytes that are checked for digits at once.
const DIGITS: usize = 16;

/// The number of digits at the start of these bytes.
#[inline(always)]
fn leading_digits(bytes: &[u8; DIGITS]) -> usize {
    let digits = dispatch!(Level::baseline(), simd => (u8x16::load_array_ref(simd, bytes) - b'0').simd_le(9).to_bitmask());
    digits.trailing_ones() as usize
}
