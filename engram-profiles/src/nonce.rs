//! The nonce of an episode: what tells its frames from those that a text quotes.

use std::fmt;

use crate::hash;
use crate::limits::NONCE_DIGITS;

/// What a scripted nonce is derived for.
const CONTEXT: &str = "engram TI1 nonce v1";
/// The bytes of a nonce.
const BYTES: usize = 16;

/// The nonce of an episode, in hexadecimal digits. Only the agent's prompt and its frames have it.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// A nonce of these bytes, which must be random for an agent that is not scripted.
    pub fn of_bytes(bytes: [u8; BYTES]) -> Nonce {
        Nonce(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The nonce of a scripted episode: the same whenever it is repeated.
    pub fn scripted(seed: &str, episode_id: &str) -> Nonce {
        let mut material = Vec::new();
        for part in [seed, episode_id] {
            // With its length before it, no other pair of texts has these bytes.
            material.extend_from_slice(&(part.len() as u64).to_le_bytes());
            material.extend_from_slice(part.as_bytes());
        }
        let key = blake3::derive_key(CONTEXT, &material);
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&key[..BYTES]);
        Nonce::of_bytes(bytes)
    }

    /// A nonce that someone wrote down; `None` if it is not 16 to 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Nonce> {
        is_nonce(text).then(|| Nonce(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hash by which a log names the nonce.
    pub fn hash(&self) -> NonceHash {
        NonceHash::of(&self.0)
    }
}

impl fmt::Debug for Nonce {
    /// Only the hash: a message must not tell the nonce.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({})", self.hash().0)
    }
}

/// The hash of a nonce, as `blake3:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonceHash(String);

impl NonceHash {
    /// The hash of the nonce with these digits.
    pub fn of(digits: &str) -> NonceHash {
        NonceHash(hash::of_bytes(digits.as_bytes()))
    }

    /// A hash that a log has; `None` if it is no hash.
    pub fn parse(text: &str) -> Option<NonceHash> {
        hash::is_hash(text).then(|| NonceHash(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// True for 16 to 64 lower-case hexadecimal digits.
pub(crate) fn is_nonce(text: &str) -> bool {
    (NONCE_DIGITS.0..=NONCE_DIGITS.1).contains(&text.len()) && text.bytes().all(hash::is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripted_nonce_depends_on_each_text_alone() {
        let nonce = Nonce::scripted("seed", "e1");
        assert_eq!(nonce, Nonce::scripted("seed", "e1"));
        assert_eq!(nonce.as_str().len(), 32);
        for (seed, episode) in [
            ("seed", "e2"),
            ("seede", "1"),
            ("see", "de1"),
            ("", "seede1"),
        ] {
            assert_ne!(nonce, Nonce::scripted(seed, episode));
        }
    }

    #[test]
    fn debug_form_does_not_tell_the_nonce() {
        let nonce = Nonce::of_bytes([0xab; 16]);
        assert!(!format!("{nonce:?}").contains("abab"), "{nonce:?}");
        assert_eq!(Nonce::parse(nonce.as_str()).unwrap(), nonce);
        assert!(
            Nonce::parse("ABAB0000ABAB0000").is_none() && Nonce::parse("0123456789abcde").is_none()
        );
    }
}
