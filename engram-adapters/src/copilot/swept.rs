//! The versions whose recordings pass every check. Generated from `matrix/copilot.tsv` (`engram-lab matrix propose`). Do not edit it.

/// Oldest first.
#[rustfmt::skip]
pub(super) const SWEPT: &[&str] = &[
    "1.0.60",
    "1.0.61",
    "1.0.62",
    "1.0.63",
    "1.0.64",
    "1.0.65",
    "1.0.67",
    "1.0.68",
    "1.0.69",
    "1.0.70",
    "1.0.71",
    "1.0.73",
    "1.0.75",
    "1.0.78",
    "1.0.79",
    "1.0.80",
    "1.0.81",
    "1.0.82",
    "1.0.83",
    "1.0.85",
    "1.0.86",
    "1.0.87",
    "1.0.88",
    "1.0.89",
    "1.0.92",
    "1.0.102",
];
