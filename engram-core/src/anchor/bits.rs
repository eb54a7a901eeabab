//! Iteration over the bits of a mask.

/// The positions of the bits that are set, lowest first.
pub(super) fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = bits.trailing_zeros() as usize;
        let is_set = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_set.then_some(position)
    })
}
