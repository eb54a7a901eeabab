//! Events that frame a tape: its start and stop, changes of version, and records that the adapter does not know.

use super::kind::{Kind, KindCounts};
use crate::coverage::{ClaimGrade, Coverage};
use crate::hash::Hash;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::text::Text;
use crate::version::Support;

/// The harness that wrote an artifact.
#[derive(Debug, Clone, Copy)]
pub struct Harness<'a> {
    /// The family.
    pub family: &'a str,
    /// The product version, where the artifact records one.
    pub version: Option<Text<'a>>,
    /// The revision of the log's schema, where it is known.
    pub schema: Option<&'a str>,
}

/// How well a version is known, and what is claimed for it.
#[derive(Debug, Clone)]
pub struct Claims<'a> {
    /// How well the version is known.
    pub support: Support,
    /// The grade of each kind, in the order of [`Kind::ALL`].
    pub coverage: [ClaimGrade; Kind::ALL.len()],
    /// Why the claims were lowered; empty if they were not.
    pub degraded: Vec<&'a str>,
}

impl Claims<'_> {
    /// The grade of one kind.
    pub fn grade(&self, kind: Kind) -> ClaimGrade {
        self.coverage[kind as usize]
    }
}

impl From<&Coverage> for [ClaimGrade; Kind::ALL.len()] {
    fn from(coverage: &Coverage) -> Self {
        Kind::ALL.map(|kind| coverage.grade(kind).claim())
    }
}

/// The first event of a tape.
#[derive(Debug, Clone)]
pub struct TapeStart<'a> {
    /// The format of the tape, [`TAPE_SCHEMA`](crate::tape::TAPE_SCHEMA).
    pub schema: &'a str,
    /// The adapter's id.
    pub adapter_id: &'a str,
    /// The adapter's version: the same input gives the same bytes as long as it does not change.
    pub adapter_version: &'a str,
    /// The harness.
    pub harness: Harness<'a>,
    /// The policy of the conversion.
    pub policy: Policy,
    /// The scheme of the fingerprints.
    pub anchors: &'a str,
    /// What is claimed for the artifact.
    pub claims: Claims<'a>,
}

/// The version changes inside the artifact.
#[derive(Debug, Clone)]
pub struct RevisionChange<'a> {
    /// The harness from here on.
    pub harness: Harness<'a>,
    /// What is claimed from here on.
    pub claims: Claims<'a>,
}

/// A record or block that the adapter does not know or cannot read.
#[derive(Debug, Clone, Default)]
pub struct Unrecognized<'a> {
    /// Its type, or `malformed`, or `limit_exceeded`.
    pub name: Text<'a>,
    /// The JSON value; a JSON string where the record is not JSON. Absent where it is over a limit.
    pub raw: Option<&'a str>,
    /// Size of what is over a limit.
    pub bytes: Option<u64>,
    /// Hash of what is over a limit.
    pub hash: Option<Hash>,
    /// True when invalid bytes in `raw` were replaced by U+FFFD.
    pub lossy: bool,
}

/// Hash and size of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputDigest {
    /// Hash of all bytes.
    pub hash: Hash,
    /// Number of bytes.
    pub bytes: u64,
}

/// The last event of a tape.
#[derive(Debug, Clone)]
pub struct TapeStop {
    /// Events per kind, this one included.
    pub counts: KindCounts,
    /// Where every source record went.
    pub ledger: Ledger,
    /// The input.
    pub input: InputDigest,
    /// False when the artifact ends inside a record.
    pub complete: bool,
}
