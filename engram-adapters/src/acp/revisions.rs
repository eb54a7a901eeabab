//! The versions of the protocol. A log has the agent's version too, but what a log says goes by the protocol, and by what single agents leave
//! out.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

/// The version of the protocol that is known.
pub(super) const PROTOCOL: u64 = 1;
/// Its name on a tape.
pub(super) const ACP: &str = "acp-1";

/// The claims for it.
pub(super) const CLAIMS: Coverage = Coverage {
    meta: Grade::Partial(&["usage.last_response", "usage.none"]),
    msg_in: Grade::Full,
    msg_out: Grade::Partial(&["answer.notice"]),
    tool_call: Grade::Partial(&["call.as_executed"]),
    tool_result: Grade::Partial(&["result.no_exit"]),
    code_read: Grade::Partial(&["read.no_lines", "read.no_total", "read.not_utf8"]),
    code_edit: Grade::Partial(&["edit.shell", "edit.region"]),
    span_link: Grade::None,
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[Revision {
        schema: ACP,
        versions: None,
        tested: &["1"],
        coverage: CLAIMS,
    }],
    swept: &[],
    known_bad: &[],
};
