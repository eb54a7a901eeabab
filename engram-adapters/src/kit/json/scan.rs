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
    text: &'t str,
    at: usize,
    quotes: &'t Quotes,
}

impl<'t> Scanner<'t> {
    /// A scanner at the beginning of `text`, whose quotes are noted.
    pub(super) fn new(text: &'t str, quotes: &'t Quotes) -> Self {
        Scanner { text, at: 0, quotes }
    }

    /// The next byte that is no white space, not taken.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Result<u8, Declined> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Ok(*byte);
            }
            self.at += 1;
        }
        Err(Declined)
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

    /// An error for text whose places do not fit 32 bits.
    pub(super) fn fits_u32(&self) -> Result<(), Declined> {
        u32::try_from(self.text.len()).map(drop).map_err(|_| Declined)
    }

    /// The place of the next byte, in a text that [`Scanner::fits_u32`].
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
        self.at = self.quotes.next(self.at)? + 1;
        Ok(())
    }

    /// Takes a value that is no object and no array. `byte` is its first, as `peek` has shown it.
    #[inline(always)]
    pub(super) fn scalar(&mut self, byte: u8) -> Result<(), Declined> {
        match byte {
            b'"' => {
                self.take();
                self.string_rest()
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Declined> {
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        if found { Ok(()) } else { Err(Declined) }
    }

    fn number(&mut self) -> Result<(), Declined> {
        let bytes = self.text.as_bytes();
        let digits = |mut at: usize| {
            let start = at;
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            if at > start { Ok(at) } else { Err(Declined) }
        };
        let mut at = self.at + usize::from(bytes.get(self.at) == Some(&b'-'));
        at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
        if bytes.get(at) == Some(&b'.') {
            at = digits(at + 1)?;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            at = digits(at)?;
        }
        self.at = at;
        Ok(())
    }

    /// True when nothing but white space is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_err()
    }
}
