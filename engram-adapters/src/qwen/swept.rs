//! The versions whose recordings pass every check. Generated from `matrix/qwen.tsv` (`engram-lab matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "0.23.4",
    "0.24.4",
];
