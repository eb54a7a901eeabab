//! A strict scanner over JSON text: where a value ends. Accepts exactly what `serde_json` skips over.
//!
//! Most bytes of a log lie in strings, and [`Quotes`] has passed over those already. What the scanner does not accept is
//! left to `serde_json`, which then says what is wrong.

use super::quotes::Quotes;

/// The text is not JSON, or not the kind of JSON that the fast path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declined;

/// A place in JSON text.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    /// Places of the text's quotes.
    quotes: &'t [u32],
    /// Quotes that have been passed.
    passed: usize,
}

impl<'t> Scanner<'t> {
    /// A scanner at the beginning of `text`, whose quotes are noted.
    pub(super) fn new(text: &'t str, quotes: &'t Quotes) -> Self {
        Scanner { text: text.as_bytes(), at: 0, quotes: quotes.places(), passed: 0 }
    }

    /// The next byte that is no white space, not taken.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Result<u8, Declined> {
        match self.text.get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => {
                self.at = behind_spaces(self.text, self.at)?;
                Ok(self.text[self.at])
            }
        }
    }

    /// Takes this byte, white space before it aside.
    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Declined> {
        if self.peek()? != byte {
            return Err(Declined);
        }
        self.at += 1;
        Ok(())
    }

    /// The place of the next byte, in a text whose places fit 32 bits.
    #[inline(always)]
    pub(super) fn offset(&self) -> u32 {
        self.at as u32
    }

    /// Takes one byte that `peek` has shown.
    #[inline(always)]
    pub(super) fn take(&mut self) {
        self.at += 1;
    }

    /// Goes to the end of a string whose opening quote is taken.
    #[inline(always)]
    pub(super) fn string_rest(&mut self) -> Result<(), Declined> {
        self.at = *self.quotes.get(self.passed + 1).ok_or(Declined)? as usize + 1;
        self.passed += 2;
        Ok(())
    }

    /// Takes a value that is no object and no array. `byte` is its first, as `peek` has shown it.
    #[inline(always)]
    pub(super) fn scalar(&mut self, byte: u8) -> Result<(), Declined> {
        if byte == b'"' {
            self.take();
            return self.string_rest();
        }
        self.at = match byte {
            b't' => word_end(self.text, self.at, b"true"),
            b'f' => word_end(self.text, self.at, b"false"),
            b'n' => word_end(self.text, self.at, b"null"),
            _ => number_end(self.text, self.at),
        }?;
        Ok(())
    }

    /// True when nothing but white space is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_err()
    }
}

// These take places and give places, so that the scanner itself stays in registers.

fn behind_spaces(text: &[u8], at: usize) -> Result<usize, Declined> {
    let spaces = text.get(at..).and_then(|rest| rest.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t')));
    spaces.map(|spaces| at + spaces).ok_or(Declined)
}

fn word_end(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Declined> {
    if text[at..].starts_with(word) { Ok(at + word.len()) } else { Err(Declined) }
}

fn number_end(text: &[u8], at: usize) -> Result<usize, Declined> {
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
