//! A strict scanner over JSON text: where a value ends. Accepts exactly what `serde_json` skips over.
//!
//! `serde_json` looks at every byte of a string; most bytes of a log lie in strings, so this looks at eight or more at a
//! time. What it does not accept is left to `serde_json`, which then says what is wrong.

/// The text is not JSON, or not the kind of JSON that the fast path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declined;

/// A place in JSON text.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// Some byte below U+0020 is in the text: then strings are searched for it.
    has_controls: bool,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        // No early exit: so the compiler compares many bytes at once.
        let has_controls = text.bytes().fold(false, |found, byte| found | (byte < 0x20));
        Scanner { text, at: 0, has_controls }
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

    /// Takes a string and gives its token, quotes included, and whether it has escapes.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<(&'t str, bool), Declined> {
        self.expect(b'"')?;
        let start = self.at - 1;
        let has_escapes = self.string_rest()?;
        Ok((&self.text[start..self.at], has_escapes))
    }

    /// Goes to the end of a string whose opening quote is taken.
    #[inline(always)]
    pub(super) fn string_rest(&mut self) -> Result<bool, Declined> {
        let start = self.at;
        let mut has_escapes = false;
        loop {
            self.at += quote_or_escape(&self.text.as_bytes()[self.at..])?;
            if self.text.as_bytes()[self.at] == b'"' {
                break;
            }
            has_escapes = true;
            self.escape()?;
        }
        let inner = &self.text.as_bytes()[start..self.at];
        self.at += 1;
        if self.has_controls && inner.iter().any(|byte| *byte < 0x20) { Err(Declined) } else { Ok(has_escapes) }
    }

    #[inline(always)]
    fn escape(&mut self) -> Result<(), Declined> {
        let Some(byte) = self.text.as_bytes().get(self.at + 1) else { return Err(Declined) };
        if matches!(byte, b'n' | b'"' | b'\\' | b't' | b'r' | b'/' | b'b' | b'f') {
            self.at += 2;
            return Ok(());
        }
        self.unicode_escape()
    }

    #[cold]
    fn unicode_escape(&mut self) -> Result<(), Declined> {
        let escape = self.text.as_bytes().get(self.at + 1..self.at + 6).ok_or(Declined)?;
        let is_sound = escape[0] == b'u' && escape[1..].iter().all(u8::is_ascii_hexdigit);
        self.at += 6;
        if is_sound { Ok(()) } else { Err(Declined) }
    }

    /// Takes one value of any kind and gives its text. Never recurses.
    pub(super) fn value(&mut self) -> Result<&'t str, Declined> {
        self.peek()?;
        let start = self.at;
        let mut nest = Nest::default();
        loop {
            match self.peek()? {
                b'{' => {
                    self.take();
                    if self.peek()? == b'}' {
                        self.take();
                    } else {
                        self.key()?;
                        nest.push(true);
                        continue;
                    }
                }
                b'[' => {
                    self.take();
                    if self.peek()? == b']' {
                        self.take();
                    } else {
                        nest.push(false);
                        continue;
                    }
                }
                byte => self.scalar(byte)?,
            }
            while let Some(in_object) = nest.top() {
                match (self.peek()?, in_object) {
                    (b',', true) => {
                        self.take();
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.take();
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.take();
                        nest.pop();
                    }
                    _ => return Err(Declined),
                }
            }
            if nest.top().is_none() {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    #[inline(always)]
    fn key(&mut self) -> Result<(), Declined> {
        self.expect(b'"')?;
        self.string_rest()?;
        self.expect(b':')
    }

    /// Takes a value that is no object and no array. `byte` is its first, as `peek` has shown it.
    #[inline(always)]
    pub(super) fn scalar(&mut self, byte: u8) -> Result<(), Declined> {
        match byte {
            b'"' => {
                self.take();
                self.string_rest().map(drop)
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

/// Bytes that are looked at eight at a time before a search with wider registers is worth its call.
const SHORT: usize = 32;

/// How far it is to the first `"` or `\`.
#[inline(always)]
fn quote_or_escape(bytes: &[u8]) -> Result<usize, Declined> {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let hits = zero_bytes(word ^ spread(b'"')) | zero_bytes(word ^ spread(b'\\'));
        if hits != 0 {
            return Ok(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
        if at == SHORT {
            return memchr::memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found).ok_or(Declined);
        }
    }
    bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|found| at + found).ok_or(Declined)
}

const fn spread(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// A high bit for every byte that is zero; exact up to the lowest one.
#[inline(always)]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(spread(0x01)) & !word & spread(0x80)
}

/// Open objects and arrays: a bit each, 64 in registers, the rest on the heap.
#[derive(Default)]
struct Nest {
    bits: u64,
    depth: u32,
    full: Vec<u64>,
}

impl Nest {
    fn push(&mut self, is_object: bool) {
        if self.depth == 64 {
            self.full.push(self.bits);
            self.depth = 0;
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth == 0
            && let Some(bits) = self.full.pop()
        {
            self.bits = bits;
            self.depth = 64;
        }
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}
