//! The versions whose recordings pass every check. Generated from `matrix/codex.tsv` (`engram matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "0.159.0",
    "0.159.3",
    "0.160.0",
    "0.160.1",
    "0.161.0",
    "0.162.0",
    "0.162.1",
    "0.163.0",
    "0.164.0",
    "0.165.0",
    "0.166.0",
    "0.167.2",
    "0.168.0",
    "0.169.0",
    "0.171.0",
];
