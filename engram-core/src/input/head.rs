//! The beginning of an artifact, for detection and identification: content only, never a name.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::value::RawValue;
use simdutf8::compat::{Utf8Error, from_utf8};

/// The mark that may stand before the first record.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";
/// The same as a character.
const BOM_CHAR: char = '\u{feff}';

/// The head holds at least this many bytes, unless the artifact is shorter.
pub const HEAD_BYTES: usize = 1 << 20;
/// The head holds at least this many lines, unless the artifact is shorter or [`HEAD_MAX_BYTES`] is reached.
pub const HEAD_LINES: usize = 32;
/// The head stops growing here, unless not even one line has ended.
pub const HEAD_MAX_BYTES: usize = 32 << 20;

/// So many values of one line are taken apart: a head can hold millions.
const VALUES_APART: usize = 1 << 10;

/// The beginning of an artifact.
#[derive(Debug, Clone)]
pub struct Head<'h> {
    bytes: &'h [u8],
    /// The bytes up to the first that is not UTF-8.
    text: &'h str,
    whole: bool,
    /// The first lines, each value apart where one holds several: every adapter looks at them.
    first: Vec<&'h str>,
    /// The lines behind them.
    others: Lines<'h>,
}

impl<'h> Head<'h> {
    /// A head of these bytes; `whole` when the artifact ends with them.
    pub fn new(bytes: &'h [u8], whole: bool) -> Self {
        Head::of(bytes, from_utf8(bytes), whole)
    }

    /// A head of these bytes, of which `text` says whether they are UTF-8.
    pub(crate) fn of(bytes: &'h [u8], text: Result<&'h str, Utf8Error>, whole: bool) -> Self {
        let text = text.or_else(|error| from_utf8(&bytes[..error.valid_up_to()])).unwrap_or_default();
        let (bytes, text) = (bytes.strip_prefix(BOM).unwrap_or(bytes), text.strip_prefix(BOM_CHAR).unwrap_or(text));
        let mut others = Lines::complete(bytes, text, whole);
        let first = others.by_ref().take(HEAD_LINES).flat_map(values).collect();
        Head { bytes, text, whole, first, others }
    }

    /// True when the head is the whole artifact.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The bytes of the head.
    pub fn bytes(&self) -> &'h [u8] {
        self.bytes
    }

    /// The text of the head, up to the first byte that is not UTF-8.
    pub fn text(&self) -> &'h str {
        self.text
    }

    /// The complete lines of the head that are UTF-8 and not blank. Of a line that holds several values, each: where that is one of the
    /// first lines, for those tell what the artifact is.
    pub fn lines(&self) -> impl Iterator<Item = &'h str> {
        self.first.iter().copied().chain(self.others.clone())
    }

    /// True when the artifact has no content at all.
    pub fn is_blank(&self) -> bool {
        self.whole && is_blank(self.bytes)
    }
}

/// The lines of some bytes that are UTF-8 and not blank.
#[derive(Debug, Clone)]
struct Lines<'h> {
    bytes: &'h [u8],
    text: &'h str,
    /// Where the next line begins.
    start: usize,
}

impl<'h> Lines<'h> {
    /// The lines that have ended; the last one too, where the bytes are the whole artifact.
    fn complete(bytes: &'h [u8], text: &'h str, whole: bool) -> Self {
        let end = if whole { bytes.len() } else { memchr::memrchr(b'\n', bytes).unwrap_or_default() };
        Lines { bytes: &bytes[..end], text, start: 0 }
    }
}

impl<'h> Iterator for Lines<'h> {
    type Item = &'h str;

    fn next(&mut self) -> Option<&'h str> {
        loop {
            let from = self.start;
            let rest = self.bytes.get(from..).filter(|rest| !rest.is_empty())?;
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.start += len + 1;
            let line = self.text.get(from..from + len).or_else(|| from_utf8(&rest[..len]).ok());
            if let Some(line) = line.filter(|line| !is_blank(line.as_bytes())) {
                return Some(line);
            }
        }
    }
}

/// The values of a line that holds several, as far as they are whole and not too many, and what is behind them. Any other line as it is.
fn values(line: &str) -> Vec<&str> {
    static BETWEEN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("}{"));
    let (mut values, mut rest) = (Vec::new(), line);
    if BETWEEN.find(line.as_bytes()).is_some() {
        while values.len() < VALUES_APART
            && let Some(end) = first_value(rest).ok().filter(|end| *end < rest.len())
        {
            values.push(&rest[..end]);
            rest = &rest[end..];
        }
    }
    if values.is_empty() || !is_blank(rest.as_bytes()) {
        values.push(rest);
    }
    values
}

/// The length of the first JSON value in `text`, or whether `text` ends inside it.
pub(crate) fn first_value(text: &str) -> Result<usize, bool> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) => Err(error.is_eof()),
        None => Err(false),
    }
}

/// True where there is nothing but white space, which the first byte nearly always shows.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// What the head of an artifact says about it.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The harness version, as recorded.
    pub version: Option<String>,
    /// The schema, where structure proves it and no version is recorded.
    pub schema: Option<&'static str>,
    /// The session's id, as recorded.
    pub session_id: Option<String>,
    /// The sub-agent's id, as recorded.
    pub agent_id: Option<String>,
    /// The first time in the artifact, in the tape's form.
    pub start: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_holds_several_values_is_as_many_lines() {
        let lines = |text: &'static str| Head::new(text.as_bytes(), true).lines().collect::<Vec<_>>();
        assert_eq!(lines("{\"a\":\"}{\"}{\"b\":{}} {\"c\":1}\n\n{}\n"), ["{\"a\":\"}{\"}", "{\"b\":{}}", " {\"c\":1}", "{}"]);
        assert_eq!(lines("{\"a\":\"}{\"}\n"), ["{\"a\":\"}{\"}"]);
        let many: &'static str = "{}".repeat(VALUES_APART + 7).leak();
        assert_eq!(lines(many).len(), VALUES_APART + 1);
        assert_eq!(lines("{\"a\":1}{\"b\":\n{\"cut{\"a\":1}{}\n"), ["{\"a\":1}", "{\"b\":", "{\"cut{\"a\":1}{}"]);
    }
}
