//! The tiers of the kit: how much it demands of an adapter.

use std::fmt;

use serde::Serialize;

/// How much the kit demands of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Tier {
    /// The minimum: no text is lost, output is deterministic, versions are known, and errors are machine-readable.
    Viable = 1,
    /// Every event is well-formed and in its right place.
    Observable = 2,
    /// Reads and edits match the real files.
    Provenance = 3,
}

impl Tier {
    /// Every tier, lowest first.
    pub const ALL: [Tier; 3] = [Tier::Viable, Tier::Observable, Tier::Provenance];

    /// The tier with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| *tier as u8 == number)
    }

    /// The name that reports show: `1 viable`.
    pub const fn label(self) -> &'static str {
        match self {
            Tier::Viable => "1 viable",
            Tier::Observable => "2 observable",
            Tier::Provenance => "3 provenance",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", *self as u8)
    }
}
