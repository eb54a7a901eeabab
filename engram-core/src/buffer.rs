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

/// The bytes that a [`Piece`] takes. It never uses the last one.
const PIECE: usize = 32;

/// A short text that the compiler knows. It is copied whole with what pads it: moves of a fixed size, and no call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    bytes: [u8; PIECE],
    len: usize,
}

impl Piece {
    /// The piece of these texts, one behind the other. As a constant it does not compile where they are too long.
    pub const fn of(texts: &[&str]) -> Piece {
        let mut piece = Piece { bytes: [0; PIECE], len: 0 };
        let mut number = 0;
        while number < texts.len() {
            let (text, mut at) = (texts[number].as_bytes(), 0);
            while at < text.len() {
                piece.bytes[piece.len] = text[at];
                piece.len += 1;
                at += 1;
            }
            number += 1;
        }
        assert!(piece.len < PIECE, "a piece is too long");
        piece
    }
}

/// Text that grows at its end. Behind it lie bytes that may be written over.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    len: usize,
}

impl Buffer {
    /// An empty buffer with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Buffer {
        Buffer { bytes: vec![0; bytes], len: 0 }
    }

    /// Makes room for so many bytes and a piece.
    #[inline(always)]
    pub fn reserve(&mut self, bytes: usize) {
        if self.bytes.len() - self.len < bytes + PIECE {
            self.grow(bytes + PIECE);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: usize) {
        let wanted = (self.len + bytes).max(2 * self.bytes.len());
        self.bytes.resize(wanted, 0);
    }

    /// Appends a piece, but for its first bytes.
    #[inline(always)]
    pub fn piece(&mut self, piece: &Piece, from: usize) {
        self.reserve(0);
        self.bytes[self.len..][..PIECE - 1].copy_from_slice(&piece.bytes[from..][..PIECE - 1]);
        self.len += piece.len - from;
    }

    /// Appends one byte of ASCII.
    #[inline(always)]
    pub fn byte(&mut self, byte: u8) {
        self.reserve(0);
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Appends what another buffer holds.
    pub fn append(&mut self, other: &Buffer) {
        self.push_bytes(other.as_bytes());
    }

    #[inline(always)]
    fn push_bytes(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Forgets what stands behind the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// What has been written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// What has been written, as text: nothing but text can be.
    pub fn to_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl Push for Buffer {
    #[inline]
    fn push_str(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_texts_stand_behind_each_other() {
        let mut buffer = Buffer::default();
        let mut expected = String::new();
        for n in 0..200 {
            let text = "é".repeat(n);
            buffer.push_str(&text);
            buffer.piece(&Piece::of(&[",\"na", "me\":"]), n % 2);
            buffer.byte(b'x');
            buffer.push('😀');
            expected += &format!("{text}{}x😀", &",\"name\":"[n % 2..]);
        }
        assert_eq!(buffer.to_str(), expected);
        buffer.truncate(1);
        assert_eq!((buffer.len(), buffer.to_str()), (1, ","));
    }
}
