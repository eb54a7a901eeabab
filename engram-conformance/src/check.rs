//! A check: its tier, its preconditions, what it asserts, and the function that runs it.

use std::fmt;

use engram_core::event::Kind;

use crate::case::Case;
use crate::evidence::Evidence;
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tier::Tier;

/// Something that not every adapter, or not every tree of recordings, provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// The streaming adapter.
    Stream,
    /// The table of tools.
    Tools,
    /// Recordings that declare their scenarios: the adapter's own fixtures.
    Fixtures,
}

impl Capability {
    /// The reason that a report gives when a check is skipped because this is missing.
    pub const fn skip_reason(self) -> &'static str {
        match self {
            Capability::Stream => "the adapter does not provide its streaming form",
            Capability::Tools => "the adapter does not provide its table of tools",
            Capability::Fixtures => {
                "these recordings do not declare their scenarios (scenarios.tsv)"
            }
        }
    }
}

/// What a check needs; without it the check is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing beyond the contract.
    Nothing,
    /// The adapter claims events of this kind.
    Kind(Kind),
    /// A recording shows this scenario.
    Scenario(&'static str),
    /// The capability is provided.
    Capability(Capability),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Needs::Nothing => Ok(()),
            Needs::Kind(kind) => f.write_str(kind.as_str()),
            Needs::Scenario(name) => write!(f, "a recording of `{name}`"),
            Needs::Capability(Capability::Stream) => f.write_str("the streaming form"),
            Needs::Capability(Capability::Tools) => f.write_str("the table of tools"),
            Needs::Capability(Capability::Fixtures) => {
                f.write_str("recordings with declared scenarios")
            }
        }
    }
}

/// The function that runs a check.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// Runs on each recording with its tapes.
    Case(fn(&Case<'_>, &mut Findings)),
    /// Runs on each recording with its tapes, and also uses the adapter.
    Conversion(fn(&Subject<'_>, &Case<'_>, &mut Findings)),
    /// Runs once, on the adapter and the evidence of all its recordings.
    Claims(fn(&Subject<'_>, &Evidence, &mut Findings)),
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The id. It is part of the public interface and never changes.
    pub id: &'static str,
    /// The tier.
    pub tier: Tier,
    /// What it needs.
    pub needs: Needs,
    /// What it asserts, in one sentence.
    pub asserts: &'static str,
    /// The line of the specification that it comes from.
    pub seed: &'static str,
    pub(crate) run: Run,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}
