//! Facts of one run as eight bytes, by which they are told apart. Keys never reach a tape.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher};

use foldhash::quality::FixedState;

/// A fact as eight bytes. The same fact has the same key in every run.
pub fn hash64(fact: impl Hash) -> u64 {
    FixedState::default().hash_one(fact)
}

/// A map whose keys [`key`] made: they are hashes already, and are not hashed again.
pub type KeyMap<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// An empty map with room for the facts of a short session: a map that begins with none moves its facts six times until then.
pub fn key_map<T>() -> KeyMap<T> {
    KeyMap::with_capacity_and_hasher(200, BuildHasherDefault::default())
}

/// Takes a key as its own hash.
#[derive(Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_fact_has_the_same_key() {
        assert_eq!(hash64(("call", "a")), hash64(("call", String::from("a"))));
        assert_ne!(hash64(("call", "a")), hash64(("calla", "")));
        let map: KeyMap<u8> = (0..1000u64).map(|n| (hash64(n), 0)).collect();
        assert_eq!(map.len(), 1000);
    }
}
