//! The versions whose recordings pass every check. Generated from `matrix/qwen.tsv` (`engram-lab matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "0.21.2",
    "0.21.10",
    "0.23.0",
    "0.23.1",
    "0.23.3",
    "0.23.4",
    "0.24.0",
    "0.24.2",
    "0.24.3",
    "0.24.4",
];
