//! The name of a member in a form that is cheap to compare with a place in a text.

use std::borrow::Cow;

/// The bytes of a name that are compared at once.
const CHUNK: usize = 16;

/// A name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownName {
    /// The first bytes of the name and the quote after it.
    #[doc(hidden)]
    pub head: [u64; 2],
    /// The bytes of `head` that count.
    #[doc(hidden)]
    pub mask: [u64; 2],
    #[doc(hidden)]
    pub tail: Tail,
}

/// What does not fit into the head.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tail {
    Nothing,
    /// The last bytes of the name and the quote after it, and where they begin.
    Chunk([u8; CHUNK], u8),
    /// The whole name and the quote after it.
    Long(Cow<'static, str>),
}

impl KnownName {
    pub(super) fn new(name: &str) -> KnownName {
        let token = format!("{name}\"");
        let bytes = token.as_bytes();
        let (mut head, mut mask, head_len) = ([0; CHUNK], [0; CHUNK], bytes.len().min(CHUNK));
        head[..head_len].copy_from_slice(&bytes[..head_len]);
        mask[..head_len].fill(u8::MAX);
        let tail = match bytes.last_chunk() {
            Some(_) if bytes.len() > 2 * CHUNK => Tail::Long(Cow::Owned(token)),
            Some(tail) if bytes.len() > CHUNK => Tail::Chunk(*tail, (bytes.len() - CHUNK) as u8),
            _ => Tail::Nothing,
        };
        KnownName {
            head: halves(&head),
            mask: halves(&mask),
            tail,
        }
    }

    /// True if this name and a quote are at `at`.
    #[inline(always)]
    pub fn is_at(&self, text: &[u8], at: usize) -> bool {
        match chunk(text, at) {
            Some(chunk) => self.is_head(chunk) && self.has_tail_at(text, at),
            None => self.is_at_end(text, at),
        }
    }

    #[inline(always)]
    fn is_head(&self, chunk: &[u8; CHUNK]) -> bool {
        let [first, second] = halves(chunk);
        (first & self.mask[0] ^ self.head[0]) | (second & self.mask[1] ^ self.head[1]) == 0
    }

    #[inline(always)]
    fn has_tail_at(&self, text: &[u8], at: usize) -> bool {
        match &self.tail {
            Tail::Nothing => true,
            Tail::Chunk(tail, tail_at) => chunk(text, at + usize::from(*tail_at)) == Some(tail),
            Tail::Long(token) => text.get(at..at + token.len()) == Some(token.as_bytes()),
        }
    }

    /// As [`KnownName::is_at`], near the end of the text, where no long name fits.
    #[inline(never)]
    fn is_at_end(&self, text: &[u8], at: usize) -> bool {
        let (mut chunk, rest) = ([0; CHUNK], text.get(at..).unwrap_or_default());
        chunk
            .iter_mut()
            .zip(rest)
            .for_each(|(byte, other)| *byte = *other);
        self.is_head(&chunk) && matches!(self.tail, Tail::Nothing)
    }
}

#[inline(always)]
fn chunk(text: &[u8], at: usize) -> Option<&[u8; CHUNK]> {
    text.get(at..at + CHUNK)?.first_chunk()
}

#[inline(always)]
fn halves(chunk: &[u8; CHUNK]) -> [u64; 2] {
    let bytes = u128::from_le_bytes(*chunk);
    [bytes as u64, (bytes >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a_name_of_more_than_thirty_one_characters";

    #[test]
    fn the_whole_name_and_the_quote_after_it_are_compared() {
        for len in 0..=NAME.len() {
            let name = &NAME[..len];
            for after in ["", ":1", ":1,\"and some more text\":2"] {
                let text = format!("\"{name}\"{after}");
                let is_at = |known: &str| KnownName::new(known).is_at(text.as_bytes(), 1);
                assert!(is_at(name), "{text}");
                for at in 0..len {
                    let other = format!("{}-{}", &name[..at], &name[at + 1..]);
                    assert!(
                        !is_at(&other) && !is_at(&name[..at]) && !is_at(&name[at + 1..]),
                        "{text} {other}"
                    );
                }
                assert!(len == NAME.len() || !is_at(&format!("{name}x")), "{text}");
            }
        }
    }
}
