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
#[non_exhaustive]
pub struct Harness<'a> {
    /// The family.
    pub family: &'a str,
    /// The version, if the artifact records one.
    pub version: Option<Text<'a>>,
    /// The schema of the log, if it is known.
    pub schema: Option<&'a str>,
}

/// The support level of a version, and the claims for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Claims<'a> {
    /// How well the version is known.
    pub support: Support,
    /// The grade of each kind, in the order of [`Kind::ALL`].
    pub coverage: [ClaimGrade; Kind::ALL.len()],
    /// Reason codes for lowered claims; empty if they were not lowered.
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

/// The value of [`TapeStart::unicode`] on a tape without halves of surrogate pairs.
pub const UNICODE_REPLACED: &str = "replace";

/// The value of [`TapeStart::spans`] on a tape with the texts of reads and edits.
pub const SPANS_TEXT: &str = "text";

/// The first event of a tape.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TapeStart<'a> {
    /// The format of the tape, [`TAPE_SCHEMA`](crate::tape::TAPE_SCHEMA).
    pub schema: &'a str,
    /// The adapter's id.
    pub adapter_id: &'a str,
    /// The adapter's version. As long as it does not change, the same input gives the same tape.
    pub adapter_version: &'a str,
    /// The harness.
    pub harness: Harness<'a>,
    /// The policy of the conversion.
    pub policy: Policy,
    /// The scheme of the fingerprints.
    pub anchors: &'a str,
    /// The rules by which secrets were replaced, if any were searched for.
    pub redaction: Option<&'a str>,
    /// `replace` if U+FFFD stands for each half of a surrogate pair, [`UNICODE_REPLACED`].
    pub unicode: Option<&'a str>,
    /// `text` if reads and edits have the texts that were hashed, [`SPANS_TEXT`].
    pub spans: Option<&'a str>,
    /// The claims for the artifact.
    pub claims: Claims<'a>,
}

/// A change of the harness version inside an artifact.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RevisionChange<'a> {
    /// The harness from here on.
    pub harness: Harness<'a>,
    /// The claims from here on.
    pub claims: Claims<'a>,
}

/// A record or block that the adapter does not know or cannot read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Unrecognized<'a> {
    /// Its type, or `malformed`, or `limit_exceeded`.
    pub name: Text<'a>,
    /// The JSON value, or a JSON string if the record is not JSON. Absent if the record exceeds a limit.
    pub raw: Option<&'a str>,
    /// The text of a record that is not JSON. A tape has it as the JSON string `raw`, and a tape that is read gives `raw`.
    pub text: Option<Text<'a>>,
    /// Size in bytes of a record that exceeds a limit.
    pub bytes: Option<u64>,
    /// Hash of a record that exceeds a limit.
    pub hash: Option<Hash>,
    /// True if invalid bytes in `raw` were replaced by U+FFFD.
    pub lossy: bool,
}

/// Hash and size of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputDigest {
    /// Hash of all bytes.
    pub hash: Hash,
    /// Number of bytes.
    pub bytes: u64,
    /// The files beside the artifact whose content is in the tape too, sorted by name.
    pub beside: Vec<BesideFile>,
}

/// A file beside an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BesideFile {
    /// The path from the artifact's directory, with `/` between its parts.
    pub name: String,
    /// Hash of all bytes; left out of a redacted tape.
    pub hash: Option<Hash>,
    /// Number of bytes.
    pub bytes: u64,
}

/// The last event of a tape.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TapeStop {
    /// Events per kind, including this one.
    pub counts: KindCounts,
    /// The outcomes of all source records.
    pub ledger: Ledger,
    /// The input.
    pub input: InputDigest,
    /// False if the artifact ends inside a record.
    pub complete: bool,
}
