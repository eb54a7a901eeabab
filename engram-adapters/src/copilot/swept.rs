//! The versions whose recordings pass every check. Generated from `matrix/copilot.tsv` (`engram-lab matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "1.0.87",
    "1.0.88",
    "1.0.89",
    "1.0.92",
    "1.0.102",
];
