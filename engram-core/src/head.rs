//! The beginning of an artifact, for detection and identification: content only, never a name.

use std::str;

/// The head holds at least this many bytes, unless the artifact is shorter.
pub const HEAD_BYTES: usize = 1 << 20;
/// The head holds at least this many lines, unless the artifact is shorter or [`HEAD_MAX_BYTES`] is reached.
pub const HEAD_LINES: usize = 32;
/// The head stops growing here, unless not even one line has ended.
pub const HEAD_MAX_BYTES: usize = 32 << 20;

/// The beginning of an artifact.
#[derive(Debug, Clone, Copy)]
pub struct Head<'h> {
    bytes: &'h [u8],
    whole: bool,
}

impl<'h> Head<'h> {
    /// A head of these bytes; `whole` when the artifact ends with them.
    pub fn new(bytes: &'h [u8], whole: bool) -> Self {
        Head { bytes: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), whole }
    }

    /// True when the head is the whole artifact.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The text of the head, up to the first byte that is not UTF-8.
    pub fn text(&self) -> &'h str {
        match str::from_utf8(self.bytes) {
            Ok(text) => text,
            Err(error) => str::from_utf8(&self.bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// The complete lines of the head that are UTF-8 and not blank.
    pub fn lines(&self) -> impl Iterator<Item = &'h str> + use<'h> {
        let complete = match memchr::memrchr(b'\n', self.bytes) {
            _ if self.whole => self.bytes.len(),
            Some(last) => last,
            None => 0,
        };
        self.bytes[..complete]
            .split(|byte| *byte == b'\n')
            .filter_map(|line| str::from_utf8(line).ok())
            .filter(|line| !line.trim().is_empty())
    }

    /// True when the artifact has no content at all.
    pub fn is_blank(&self) -> bool {
        self.whole && self.bytes.iter().all(u8::is_ascii_whitespace)
    }
}
