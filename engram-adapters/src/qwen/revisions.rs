//! The versions of Qwen Code, and the claims for them.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

use super::swept::SWEPT;

/// The name of the format on a tape.
pub(super) const LINES: &str = "chat-lines";

/// The claims for it.
pub(super) const CLAIMS: Coverage = Coverage {
    meta: Grade::Partial(&["usage.cache_write"]),
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Partial(&["result.no_denial"]),
    code_read: Grade::Partial(&[
        "read.trimmed",
        "read.not_utf8",
        "read.shell",
        "read.no_lines",
        "read.no_total",
    ]),
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.big_file",
        "edit.agent_snippet",
        "edit.bom",
        "edit.not_utf8",
    ]),
    span_link: Grade::None,
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[Revision {
        schema: LINES,
        versions: Some(">=0.21.10, <=0.24.4"),
        tested: &["0.21.10", "0.24.4"],
        coverage: CLAIMS,
    }],
    swept: SWEPT,
    known_bad: &[],
};
