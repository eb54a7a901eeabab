//! The head of an artifact: its beginning, for detection and identification.

use serde_json::value::RawValue;
use simdutf8::compat::{Utf8Error, from_utf8};

use super::terminal::controls;
use crate::json::is_cut;
use crate::text::canonical::{has_other_escapes, with_canonical_escapes};

/// The byte order mark that may come before the first record.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";
/// The byte order mark as a character.
const BOM_CHAR: char = '\u{feff}';

/// The head has at least this many bytes, unless the artifact is shorter.
pub const HEAD_BYTES: usize = 1 << 20;
/// The head has at least this many lines, unless the artifact is shorter or [`HEAD_MAX_BYTES`] is reached.
pub const HEAD_LINES: usize = 32;
/// The head stops growing at this many bytes, unless not even one line has ended.
pub const HEAD_MAX_BYTES: usize = 32 << 20;

/// The maximum number of values that one line is split into: a head can contain millions.
const MAX_SPLIT_VALUES: usize = 1 << 10;

/// An encoder that escapes the letters of names does so within this many bytes.
const FIRST_ESCAPE_WITHIN: usize = 64 << 10;

/// The beginning of an artifact.
#[derive(Debug, Clone)]
pub struct Head<'h> {
    bytes: &'h [u8],
    /// The bytes before the first that is not UTF-8.
    text: &'h str,
    is_complete: bool,
    /// The first lines, split into values if a line contains several. Each adapter looks at them, so they are split once.
    first: Vec<&'h str>,
    /// The lines after them.
    others: Lines<'h>,
}

impl<'h> Head<'h> {
    /// A head of these bytes. `is_complete` if they are the complete artifact.
    pub fn new(bytes: &'h [u8], is_complete: bool) -> Self {
        Head::of(bytes, from_utf8(bytes), is_complete)
    }

    /// As [`Head::new`]; `text` is the result of decoding the bytes.
    pub(crate) fn of(bytes: &'h [u8], text: Result<&'h str, Utf8Error>, is_complete: bool) -> Self {
        let text = text
            .or_else(|error| from_utf8(&bytes[..error.valid_up_to()]))
            .unwrap_or_default();
        let (bytes, text) = (
            bytes.strip_prefix(BOM).unwrap_or(bytes),
            text.strip_prefix(BOM_CHAR).unwrap_or(text),
        );
        let mut others = Lines::complete(bytes, text, is_complete);
        let first = others.by_ref().take(HEAD_LINES).flat_map(values).collect();
        Head {
            bytes,
            text,
            is_complete,
            first,
            others,
        }
    }

    /// True if the head is the complete artifact.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The bytes of the head.
    pub fn bytes(&self) -> &'h [u8] {
        self.bytes
    }

    /// The text of the head, up to the first byte that is not UTF-8.
    pub fn text(&self) -> &'h str {
        self.text
    }

    /// The complete lines of the head that are UTF-8 and not blank, without the control sequences of a terminal before an object. If one of
    /// the first [`HEAD_LINES`] contains several JSON values, each value counts as a line.
    pub fn lines(&self) -> impl Iterator<Item = &'h str> {
        self.first.iter().copied().chain(self.others.clone())
    }

    /// True if the artifact has only white space.
    pub fn is_blank(&self) -> bool {
        self.is_complete && is_blank(self.bytes)
    }
}

/// An iterator over the lines that are UTF-8 and not blank.
#[derive(Debug, Clone)]
struct Lines<'h> {
    bytes: &'h [u8],
    text: &'h str,
    /// The offset of the next line.
    start: usize,
}

impl<'h> Lines<'h> {
    /// The lines that have ended, and the last one if the bytes are the complete artifact.
    fn complete(bytes: &'h [u8], text: &'h str, is_complete: bool) -> Self {
        let end = if is_complete {
            bytes.len()
        } else {
            memchr::memrchr(b'\n', bytes).unwrap_or_default()
        };
        Lines {
            bytes: &bytes[..end],
            text,
            start: 0,
        }
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
            let line = self
                .text
                .get(from..from + len)
                .or_else(|| from_utf8(&rest[..len]).ok());
            let line = line.map(|line| &line[controls(line.as_bytes())..]);
            if let Some(line) = line.filter(|line| !is_blank(line.as_bytes())) {
                return Some(line);
            }
        }
    }
}

/// The values of a line with several, at most [`MAX_SPLIT_VALUES`], and the rest of the line. Any other line is not split.
fn values(line: &str) -> Vec<&str> {
    let (mut values, mut rest) = (Vec::new(), line);
    if may_have_several(line.as_bytes()) {
        while values.len() < MAX_SPLIT_VALUES
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

/// True if one object may follow another: at each `{`, what precedes it is looked at.
fn may_have_several(line: &[u8]) -> bool {
    memchr::memchr_iter(b'{', line).any(|at| line[..at].trim_ascii_end().ends_with(b"}"))
}

/// The text of a head with all escapes in canonical form. `None` if the escapes in its beginning are canonical already. `None` also if the
/// head is one huge line, which is not copied.
pub(super) fn canonical_head(text: &str) -> Option<String> {
    let beginning = &text.as_bytes()[..text.len().min(FIRST_ESCAPE_WITHIN)];
    (text.len() <= HEAD_MAX_BYTES && has_other_escapes(beginning))
        .then(|| with_canonical_escapes(text).into_owned())
}

/// The length of the first JSON value in `text`, or whether `text` ends inside it.
pub(crate) fn first_value(text: &str) -> Result<usize, bool> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) => Err(is_cut(text, &error)),
        None => Err(false),
    }
}

/// True if there is only white space. In nearly all cases the first byte decides.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Facts about an artifact from its head.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The family of the harness, if the artifact states it and it is not that of the adapter.
    pub family: Option<&'static str>,
    /// The harness version, as recorded.
    pub version: Option<String>,
    /// The schema, if the structure proves it and no version is recorded.
    pub schema: Option<&'static str>,
    /// The session's id, as recorded.
    pub session_id: Option<String>,
    /// The sub-agent's id, as recorded.
    pub agent_id: Option<String>,
    /// The first time in the artifact (RFC 3339, UTC, `Z`).
    pub start: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_several_values_is_split() {
        let lines =
            |text: &'static str| Head::new(text.as_bytes(), true).lines().collect::<Vec<_>>();
        assert_eq!(
            lines("{\"a\":\"}{\"}{\"b\":{}} {\"c\":1}\n\n{}\n"),
            ["{\"a\":\"}{\"}", "{\"b\":{}}", " {\"c\":1}", "{}"]
        );
        assert_eq!(lines("{\"a\":\"}{\"}\n"), ["{\"a\":\"}{\"}"]);
        assert_eq!(
            lines("{\"a\":1} \t {\"b\":2} {\"c\":\"} {\"}\n"),
            ["{\"a\":1}", " \t {\"b\":2}", " {\"c\":\"} {\"}"]
        );
        let many: &'static str = "{}".repeat(MAX_SPLIT_VALUES + 7).leak();
        assert_eq!(lines(many).len(), MAX_SPLIT_VALUES + 1);
        assert_eq!(
            lines("{\"a\":1}{\"b\":\n{\"cut{\"a\":1}{}\n"),
            ["{\"a\":1}", "{\"b\":", "{\"cut{\"a\":1}{}"]
        );
    }
}
