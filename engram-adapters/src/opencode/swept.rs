//! The versions whose recordings pass every check. Generated from `matrix/opencode.tsv` (`engram matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "1.18.25",
    "1.18.26",
    "1.18.27",
    "1.18.28",
    "1.18.29",
    "1.18.30",
    "1.18.31",
    "1.18.32",
    "1.18.33",
];
