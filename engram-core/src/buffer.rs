//! The bytes of a tape on their way out, and the pieces that every event is put together from.

/// What text can be appended to.
pub trait Push {
    /// Appends text.
    fn push_str(&mut self, text: &str);

    /// Appends a character.
    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }
}

impl Push for String {
    fn push_str(&mut self, text: &str) {
        String::push_str(self, text);
    }

    fn push(&mut self, c: char) {
        String::push(self, c);
    }
}

/// The bytes that a [`Piece`] takes.
const PIECE: usize = 32;

/// A short text that the compiler knows. It is copied whole with what pads it: moves of a fixed size, and no call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    bytes: [u8; PIECE],
    padding: usize,
}

impl Piece {
    /// The piece of these texts, one behind the other. As a constant it does not compile where they are too long.
    pub const fn of(texts: &[&str]) -> Piece {
        let mut piece = Piece { bytes: [0; PIECE], padding: PIECE };
        let mut number = 0;
        while number < texts.len() {
            piece = piece.and(texts[number].as_bytes());
            number += 1;
        }
        piece
    }

    /// This piece with ASCII behind it.
    pub const fn and(mut self, ascii: &[u8]) -> Piece {
        let mut at = 0;
        while at < ascii.len() {
            self.bytes[PIECE - self.padding] = ascii[at];
            self.padding -= 1;
            at += 1;
        }
        self
    }

    /// The last byte of a piece that is not empty.
    #[inline(always)]
    pub fn last_mut(&mut self) -> &mut u8 {
        &mut self.bytes[PIECE - 1 - self.padding]
    }
}

/// Text that grows at its end.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// An empty buffer with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Buffer {
        Buffer { bytes: Vec::with_capacity(bytes) }
    }

    /// Appends a piece.
    #[inline(always)]
    pub fn piece(&mut self, piece: &Piece) {
        self.bytes.extend_from_slice(&piece.bytes);
        self.bytes.truncate(self.bytes.len() - piece.padding);
    }

    /// Appends ASCII.
    #[inline(always)]
    pub fn ascii(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends what another buffer holds.
    #[inline(always)]
    pub fn append(&mut self, other: &Buffer) {
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Puts braces around the members that stand behind the first `start` bytes, each behind a comma: the first comma gives way.
    pub fn brace(&mut self, start: usize) {
        match self.bytes.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => self.bytes.push(b'{'),
        }
        self.bytes.push(b'}');
    }

    /// Forgets what stands behind the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True when nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What has been written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What has been written, as text: nothing but text can be.
    pub fn to_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

impl Push for Buffer {
    #[inline(always)]
    fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_texts_stand_behind_each_other() {
        let (mut buffer, mut expected) = (Buffer::default(), String::new());
        for n in 0..200 {
            let text = "é".repeat(n);
            buffer.push_str(&text);
            buffer.piece(&Piece::of(&[",\"na", "me\":"]));
            buffer.ascii(b"xy");
            buffer.push('😀');
            expected += &format!("{text},\"name\":xy😀");
        }
        assert_eq!(buffer.to_str(), expected);
        buffer.truncate(1);
        assert_eq!((buffer.len(), buffer.to_str()), (1, ","));
    }

    #[test]
    fn a_piece_may_be_full() {
        let mut buffer = Buffer::default();
        buffer.piece(&Piece::of(&["0123456789abcdef", "0123456789abcdef"]));
        buffer.piece(&Piece::of(&[]));
        assert_eq!(buffer.to_str(), "0123456789abcdef0123456789abcdef");
    }

    #[test]
    fn braces_stand_around_members() {
        let mut buffer = Buffer::default();
        for members in ["", ",\"a\":1", ",\"a\":1,\"b\":2"] {
            let start = buffer.len();
            buffer.push_str(members);
            buffer.brace(start);
        }
        assert_eq!(buffer.to_str(), "{}{\"a\":1}{\"a\":1,\"b\":2}");
    }
}
