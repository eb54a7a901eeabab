//! 64-bit hashes as compact keys for facts that a conversion has to remember. They never reach a tape.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher};

use foldhash::{fast, quality::FixedState};

/// The hash of a fact. It is the same in every run.
pub fn hash64(fact: impl Hash) -> u64 {
    FixedState::default().hash_one(fact)
}

/// A map with keys from [`hash64`], which are not hashed again.
pub type KeyMap<T> = HashMap<u64, T, BuildHasherDefault<IdentityHasher>>;

/// A set of keys from [`hash64`], which are not hashed again.
pub type KeySet = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

/// A map with keys that are places or numbers, or a few of them together.
pub type PlaceMap<K, T> = HashMap<K, T, fast::FixedState>;

/// An empty map with capacity for a short session: growing to that size would copy the map six times.
pub fn key_map<T>() -> KeyMap<T> {
    KeyMap::with_capacity_and_hasher(200, BuildHasherDefault::default())
}

/// A hasher that returns the key itself.
#[derive(Debug, Default)]
pub struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .fold(self.0, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte));
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
    fn equal_facts_have_equal_keys() {
        assert_eq!(hash64(("call", "a")), hash64(("call", String::from("a"))));
        assert_ne!(hash64(("call", "a")), hash64(("calla", "")));
        let map: KeyMap<u8> = (0..1000u64).map(|n| (hash64(n), 0)).collect();
        assert_eq!(map.len(), 1000);
    }
}
