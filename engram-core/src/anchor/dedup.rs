//! Removal of repeated fingerprints, and the limit on their number per span.

use std::hash::BuildHasherDefault;

use super::scheme::MAX_ANCHORS;
use crate::keys::KeyMap;

/// Up to this number of fingerprints, a linear search for repetitions is faster than a set.
const LINEAR_SEARCH_MAX: usize = 256;

/// Keeps the first occurrence of each hash. If more than [`MAX_ANCHORS`] are left, keeps the smallest.
pub(super) fn dedup_and_bound(mut picked: Vec<u64>) -> Vec<u64> {
    if picked.len() <= LINEAR_SEARCH_MAX {
        keep_first(&mut picked);
    } else {
        let mut seen: KeyMap<()> =
            KeyMap::with_capacity_and_hasher(picked.len(), BuildHasherDefault::default());
        picked.retain(|hash| seen.insert(*hash, ()).is_none());
    }
    if picked.len() > MAX_ANCHORS {
        let mut ordered = picked.clone();
        let (_, largest, _) = ordered.select_nth_unstable(MAX_ANCHORS - 1);
        picked.retain(|hash| hash <= largest);
    }
    picked
}

/// Keeps the first occurrence of each hash. Twelve bits of a hash show in most cases that it is new; otherwise the search is linear, so
/// there must be few different hashes.
fn keep_first(hashes: &mut Vec<u64>) {
    let (mut marks, mut kept) = ([0u64; 64], 0);
    for at in 0..hashes.len() {
        let hash = hashes[at];
        let (marks, mark) = (&mut marks[hash as usize % 64], 1 << (hash >> 6 & 63));
        let is_known = *marks & mark != 0 && hashes[..kept].contains(&hash);
        *marks |= mark;
        hashes[kept] = hash;
        kept += usize::from(!is_known);
    }
    hashes.truncate(kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As `dedup_and_bound`, in the simplest way.
    fn reference_bounded(picked: &[u64]) -> Vec<u64> {
        let mut kept: Vec<u64> = Vec::new();
        for hash in picked {
            if !kept.contains(hash) {
                kept.push(*hash);
            }
        }
        let mut sorted = kept.clone();
        sorted.sort_unstable();
        let largest = sorted.get(MAX_ANCHORS - 1).copied().unwrap_or(u64::MAX);
        kept.retain(|hash| *hash <= largest);
        kept
    }

    proptest! {
        #[test]
        fn first_occurrences_of_the_smallest_hashes_are_kept(
            len in 0..4 * MAX_ANCHORS,
            different in 1..4 * MAX_ANCHORS as u64,
            seed in any::<u64>(),
        ) {
            // Many equal hashes, and hashes that differ in other bits than the twelve.
            for mask in [u64::MAX, !0xfff] {
                let hash = |at: usize| (at as u64).wrapping_mul(seed) % different;
                let picked: Vec<u64> = (0..len).map(|at| hash(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
                prop_assert_eq!(dedup_and_bound(picked.clone()), reference_bounded(&picked));
            }
        }
    }

    #[test]
    fn kept_hashes_stay_in_text_order() {
        let few_values: Vec<u64> = (0..5000).map(|n| n * 7919 % 100).collect();
        let many_repeats: Vec<u64> = (0..5000).map(|n| if n % 10 == 0 { n } else { 3 }).collect();
        for hashes in [few_values, many_repeats, (0..300).rev().collect(), vec![]] {
            let mut smallest = hashes.clone();
            smallest.sort_unstable();
            smallest.dedup();
            smallest.truncate(MAX_ANCHORS);
            let mut expected = Vec::new();
            for hash in &hashes {
                if smallest.contains(hash) && !expected.contains(hash) {
                    expected.push(*hash);
                }
            }
            assert_eq!(dedup_and_bound(hashes), expected);
        }
    }
}
