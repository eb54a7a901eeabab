//! The versions whose recordings pass every check. Generated from `matrix/claude-code.tsv` (`engram matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "2.1.319",
    "2.1.321",
    "2.1.322",
    "2.1.323",
    "2.1.324",
    "2.1.325",
    "2.1.326",
    "2.1.327",
    "2.1.328",
    "2.1.329",
    "2.1.330",
    "2.1.331",
    "2.1.332",
];
