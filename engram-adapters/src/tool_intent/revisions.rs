//! The versions of the log of an episode.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

/// The schema of version 1.
pub(super) const V1: &str = "tool-intent";
/// What its header says.
pub(super) const V1_NAME: &str = "engram.episode/1";

/// A driver has results as texts under a hash, and not which lines of which file they are.
pub(super) const CLAIMS: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[Revision {
        schema: V1,
        versions: None,
        tested: &["1"],
        coverage: CLAIMS,
    }],
    swept: &[],
    known_bad: &[],
};
