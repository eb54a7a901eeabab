//! UTF-16 text as UTF-8: PowerShell's `>` writes the output of a program so.

use std::io::{self, ErrorKind, Read};

use super::bounds::{SOURCE_BYTES, over};

/// What UTF-16 text begins with, by the order of the bytes in a unit.
const LITTLE_ENDIAN: [u8; 2] = [0xff, 0xfe];
const BIG_ENDIAN: [u8; 2] = [0xfe, 0xff];

/// Bytes that are decoded at once.
const CHUNK: usize = 32 << 10;

/// A byte that is no UTF-8, for a half unit at the end.
const NO_TEXT: u8 = 0xff;

/// True for the byte order mark of UTF-16.
pub(super) fn is_utf16(first: &[u8]) -> bool {
    first.starts_with(&LITTLE_ENDIAN) || first.starts_with(&BIG_ENDIAN)
}

/// UTF-16 text with its byte order mark, decoded as it is read.
///
/// What is no text stays no text, so that its record is reported as damaged: half a surrogate pair becomes the three bytes that UTF-8
/// forbids for it, and half a unit at the end becomes one such byte.
pub struct Utf16Stream<R> {
    reader: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes that were read and not decoded: half a unit, half a pair, or both.
    rest: Vec<u8>,
    decoded: Vec<u8>,
    /// The decoded bytes before this were given.
    given: usize,
    bytes: u64,
}

impl<R: Read> Utf16Stream<R> {
    /// A stream that has not been read yet.
    pub(super) fn new(first: &[u8], reader: R) -> Self {
        let is_big = first.starts_with(&BIG_ENDIAN);
        Utf16Stream {
            reader,
            unit: if is_big {
                u16::from_be_bytes
            } else {
                u16::from_le_bytes
            },
            rest: Vec::new(),
            decoded: Vec::new(),
            given: 0,
            bytes: 0,
        }
    }

    /// Decodes the next bytes. Nothing is decoded at the end.
    fn fill(&mut self) -> io::Result<()> {
        (self.given, self.bytes) = (0, self.bytes + self.decoded.len() as u64);
        self.decoded.clear();
        if self.bytes > SOURCE_BYTES {
            return Err(over("source_bytes", SOURCE_BYTES));
        }
        let mut chunk = [0; CHUNK];
        while self.decoded.is_empty() {
            match self.reader.read(&mut chunk) {
                Ok(0) => {
                    self.decode(true);
                    return Ok(());
                }
                Ok(read) => {
                    self.rest.extend(&chunk[..read]);
                    self.decode(false);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Decodes the bytes that were read. Half a pair waits for its other half, unless nothing follows.
    fn decode(&mut self, is_end: bool) {
        let (pairs, half) = self.rest.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().copied().map(self.unit).collect();
        let waits = !is_end && matches!(units.last(), Some(0xd800..0xdc00));
        let ready = units.len() - usize::from(waits);
        for c in char::decode_utf16(units[..ready].iter().copied()) {
            match c {
                Ok(c) => self.decoded.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(error) => self.decoded.extend(forbidden(error.unpaired_surrogate())),
            }
        }
        if is_end {
            self.decoded.extend(half.first().map(|_| NO_TEXT));
            self.rest.clear();
        } else {
            self.rest.drain(..2 * ready);
        }
    }
}

/// The bytes that UTF-8 would have for half a surrogate pair.
fn forbidden(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [
        0xe0 | high >> 4,
        0x80 | (high & 0x0f) << 2 | low >> 6,
        0x80 | low & 0x3f,
    ]
}

impl<R: Read> Read for Utf16Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.decoded.len() {
            self.fill()?;
        }
        let read = (&self.decoded[self.given..]).read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(units: impl Iterator<Item = u16>, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        std::iter::once(0xfeff)
            .chain(units)
            .flat_map(bytes_of)
            .collect()
    }

    /// Gives one byte a call, or all.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    fn decoded(bytes: &[u8], at_once: usize) -> Vec<u8> {
        let mut all = Vec::new();
        assert!(is_utf16(bytes));
        Utf16Stream::new(&bytes[..2], Slow(bytes, at_once))
            .read_to_end(&mut all)
            .unwrap();
        all
    }

    #[test]
    fn both_orders_are_decoded_however_the_bytes_come() {
        let text = "{\"a\":\"grün 🦀 \u{2028}\"}\r\n".repeat(3000);
        for bytes_of in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes = encoded(text.encode_utf16(), bytes_of);
            for at_once in [1, 3, 4096, usize::MAX] {
                let expected = format!("\u{feff}{text}");
                assert!(decoded(&bytes, at_once) == expected.as_bytes(), "{at_once}");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_no_utf_8() {
        let half = [u16::from(b'a'), 0xd83e, u16::from(b'b'), 0xdd80, 0xd83e];
        let bytes = encoded(half.into_iter(), u16::to_le_bytes);
        for at_once in [1, usize::MAX] {
            assert_eq!(
                decoded(&bytes, at_once),
                b"\xef\xbb\xbfa\xed\xa0\xbeb\xed\xb6\x80\xed\xa0\xbe"
            );
        }
        let cut = encoded(std::iter::once(u16::from(b'a')), u16::to_le_bytes);
        assert_eq!(decoded(&cut[..cut.len() - 1], 1), b"\xef\xbb\xbf\xff");
        assert!(
            str::from_utf8(&forbidden(0xd800)).is_err()
                && str::from_utf8(&forbidden(0xdfff)).is_err()
        );
    }
}
