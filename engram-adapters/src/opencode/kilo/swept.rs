//! The versions whose recordings pass every check. Generated from `matrix/kilo.tsv` (`engram-lab matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "7.7.2",
    "7.7.7",
];
