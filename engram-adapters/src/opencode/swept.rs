//! The versions whose recordings pass every check. Generated from `matrix/opencode.tsv` (`engram matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "1.0.152",
    "1.1.53",
    "1.2.12",
    "1.15.0",
    "1.17.19",
    "1.18.15",
    "1.18.16",
    "1.18.17",
    "1.18.18",
    "1.18.19",
    "1.18.20",
    "1.18.21",
    "1.18.22",
    "1.18.23",
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
