//! The bound on the fingerprints of one span.

use super::MAX;

/// Of more than so many fingerprints, those that are too large are left out before they are compared.
const FEW: usize = 4 * MAX;

/// Keeps each hash once, at its first place, and of too many the `MAX` smallest.
#[inline(never)]
pub(super) fn dedup_and_bound(mut picked: Vec<u64>) -> Vec<u64> {
    if picked.len() > FEW {
        let mut different = picked.clone();
        different.sort_unstable();
        different.dedup();
        keep_smallest(&mut picked, &different);
    }
    keep_first(&mut picked);
    if picked.len() > MAX {
        let mut different = picked.clone();
        different.select_nth_unstable(MAX - 1);
        keep_smallest(&mut picked, &different);
    }
    picked
}

/// Keeps what is not above the last of the `MAX` smallest among `different` hashes, where there are so many.
fn keep_smallest(picked: &mut Vec<u64>, different: &[u64]) {
    if let Some(largest) = different.get(MAX - 1) {
        picked.retain(|hash| hash <= largest);
    }
}

/// Keeps each hash once, at its first place. Most are told from all others by twelve of their bits, and the rest is looked for: few
/// hashes may differ, or that takes long.
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

    /// As `dedup_and_bound`, without looking for speed.
    fn slowly_bounded(picked: &[u64]) -> Vec<u64> {
        let mut kept: Vec<u64> = Vec::new();
        for hash in picked {
            if !kept.contains(hash) {
                kept.push(*hash);
            }
        }
        let mut sorted = kept.clone();
        sorted.sort_unstable();
        let largest = sorted.get(MAX - 1).copied().unwrap_or(u64::MAX);
        kept.retain(|hash| *hash <= largest);
        kept
    }

    proptest! {
        #[test]
        fn each_hash_is_kept_once_and_the_smallest_of_many(len in 0..4 * FEW, different in 1..4 * FEW as u64, seed in any::<u64>()) {
            // Many of the same, and such as share the bits by which most are told apart.
            for mask in [u64::MAX, !0xfff] {
                let hash = |at: usize| (at as u64).wrapping_mul(seed) % different;
                let picked: Vec<u64> = (0..len).map(|at| hash(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
                prop_assert_eq!(dedup_and_bound(picked.clone()), slowly_bounded(&picked));
            }
        }
    }

    #[test]
    fn the_smallest_are_kept_where_they_stand_first() {
        let few_values: Vec<u64> = (0..5000).map(|n| n * 7919 % 100).collect();
        let many_repeats: Vec<u64> = (0..5000).map(|n| if n % 10 == 0 { n } else { 3 }).collect();
        for hashes in [few_values, many_repeats, (0..300).rev().collect(), vec![]] {
            let mut smallest = hashes.clone();
            smallest.sort_unstable();
            smallest.dedup();
            smallest.truncate(MAX);
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
