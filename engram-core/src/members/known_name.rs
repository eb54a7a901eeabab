//! The name of a member in a form that is cheap to compare with a place in a text.

/// The bytes of a name that are compared at once.
const CHUNK: usize = size_of::<u128>();
/// Longer names have no such form.
const MAX_NAME: usize = 2 * CHUNK - 1;

/// A name.
#[derive(Debug, Clone, Copy)]
pub struct KnownName {
    /// The first bytes of the name and the quote after it.
    head: u128,
    /// The bytes of `head` that count.
    mask: u128,
    /// The last bytes of the name and the quote after it, if they do not fit into `head`.
    tail: u128,
    /// Where the tail begins; 0 if there is none.
    tail_at: u8,
}

impl KnownName {
    /// None for a name that is too long.
    pub(super) fn new(name: &str) -> Option<KnownName> {
        let mut bytes = [0; 2 * CHUNK];
        let end = name.len();
        bytes.get_mut(..end)?.copy_from_slice(name.as_bytes());
        *bytes.get_mut(end)? = b'"';
        let chunk = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u128::from_le_bytes(*chunk));
        let tail_at = (end + 1).saturating_sub(CHUNK);
        let mask = u128::MAX >> (8 * (CHUNK - (end + 1).min(CHUNK)));
        debug_assert!(end <= MAX_NAME);
        Some(KnownName { head: chunk(0), mask, tail: chunk(tail_at), tail_at: tail_at as u8 })
    }

    /// True if this name and a quote are at `at`.
    #[inline(always)]
    pub fn is_at(&self, text: &[u8], at: usize) -> bool {
        match chunk(text, at) {
            Some(head) => {
                head & self.mask == self.head && (self.tail_at == 0 || chunk(text, at + usize::from(self.tail_at)) == Some(self.tail))
            }
            None => self.is_at_end(text, at),
        }
    }

    /// As [`KnownName::is_at`], near the end of the text, where no long name fits.
    #[inline(never)]
    fn is_at_end(&self, text: &[u8], at: usize) -> bool {
        let rest = text.get(at..).unwrap_or_default();
        let head = rest.iter().rev().fold(0, |head, byte| head << 8 | u128::from(*byte));
        head & self.mask == self.head && self.tail_at == 0
    }
}

#[inline(always)]
fn chunk(text: &[u8], at: usize) -> Option<u128> {
    text.get(at..at + CHUNK)?.first_chunk().map(|chunk| u128::from_le_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a_name_of_thirty_one_characters";

    #[test]
    fn the_whole_name_and_the_quote_after_it_are_compared() {
        for len in 0..=NAME.len() {
            let name = &NAME[..len];
            for after in ["", ":1", ":1,\"and some more text\":2"] {
                let text = format!("\"{name}\"{after}");
                let is_at = |known: &str| KnownName::new(known).unwrap().is_at(text.as_bytes(), 1);
                assert!(is_at(name), "{text}");
                for at in 0..len {
                    let other = format!("{}-{}", &name[..at], &name[at + 1..]);
                    assert!(!is_at(&other) && !is_at(&name[..at]) && !is_at(&name[at + 1..]), "{text} {other}");
                }
                assert!(len == NAME.len() || !is_at(&format!("{name}x")), "{text}");
            }
        }
        assert!(KnownName::new(&format!("{NAME}x")).is_none());
    }
}
