//! What a check is: a tier, what it needs to say anything, what it asserts, and what it goes over.

use std::fmt;

use engram_core::event::Kind;
use serde::Serialize;

use crate::convert::Subject;
use crate::evidence::Evidence;
use crate::outcome::Found;
use crate::scene::Scene;

/// How much an adapter is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Tier {
    /// The least: all text, deterministically, of a known version, with errors that machines can read.
    Viable = 1,
    /// Every event is what it should be, and stands where it should.
    Observable = 2,
    /// Reads and edits are those of the real files.
    Provenance = 3,
}

impl Tier {
    /// The tier of that number.
    pub fn numbered(number: u8) -> Option<Tier> {
        [Tier::Viable, Tier::Observable, Tier::Provenance].into_iter().find(|tier| *tier as u8 == number)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", *self as u8)
    }
}

/// A part that an adapter may offer beyond the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its streaming form.
    Stream,
    /// Its table of tools.
    Tools,
    /// Recordings that declare what they show: the adapter's own fixtures.
    Fixtures,
}

impl Part {
    /// What is said when it is not there.
    pub const fn missing(self) -> &'static str {
        match self {
            Part::Stream => "the adapter does not offer its streaming form",
            Part::Tools => "the adapter does not offer its table of tools",
            Part::Fixtures => "these recordings do not declare what they show (scenarios.tsv)",
        }
    }
}

/// What a check needs to say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing beyond the contract.
    Nothing,
    /// That the adapter claims events of a kind.
    Kind(Kind),
    /// A recording that shows a scenario.
    Scenario(&'static str),
    /// A part that the adapter may offer.
    Part(Part),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Needs::Nothing => Ok(()),
            Needs::Kind(kind) => f.write_str(kind.as_str()),
            Needs::Scenario(name) => write!(f, "a recording of `{name}`"),
            Needs::Part(Part::Stream) => f.write_str("the streaming form"),
            Needs::Part(Part::Tools) => f.write_str("the table of tools"),
            Needs::Part(Part::Fixtures) => f.write_str("recordings that declare what they show"),
        }
    }
}

/// What a check goes over.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    /// Each recording with its tapes.
    Recordings(fn(&Scene<'_>, &mut Found)),
    /// The adapter, with what all its recordings show.
    Adapter(fn(&Subject<'_>, &Evidence, &mut Found)),
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The stable id.
    pub id: &'static str,
    /// The tier.
    pub tier: Tier,
    /// What it needs.
    pub needs: Needs,
    /// What it asserts, in a sentence.
    pub asserts: &'static str,
    /// The line of a seed specification that it comes from.
    pub seed: &'static str,
    pub(crate) over: Over,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}
