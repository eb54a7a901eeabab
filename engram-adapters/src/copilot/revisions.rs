//! The versions of Copilot CLI. All write the same format; what a log has more in later versions is seen in its members and in the files beside
//! it, so there is one revision, and it claims what all versions give.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

use super::swept::SWEPT;

/// The version of the format in the first line.
pub(super) const FORMAT: u64 = 1;
/// Its name on a tape.
const EVENTS: &str = "events-1";

/// The claims for it.
pub(super) const CLAIMS: Coverage = Coverage {
    meta: Grade::Partial(&["usage.run", "usage.cached_input", "rewind.cut"]),
    msg_in: Grade::Partial(&["rewind.cut"]),
    msg_out: Grade::Partial(&["rewind.cut"]),
    tool_call: Grade::Partial(&["rewind.cut"]),
    tool_result: Grade::Partial(&["rewind.cut"]),
    code_read: Grade::Partial(&[
        "rewind.cut",
        "read.shell",
        "read.no_lines",
        "read.no_total",
        "read.not_utf8",
    ]),
    code_edit: Grade::Partial(&[
        "rewind.cut",
        "edit.shell",
        "edit.names_only",
        "edit.no_file_hash",
        "edit.file_end",
        "edit.not_utf8",
    ]),
    span_link: Grade::Partial(&["link.no_range"]),
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[Revision {
        schema: EVENTS,
        versions: Some(">=1.0.12, <=1.0.102"),
        tested: &["1.0.12", "1.0.40", "1.0.66", "1.0.102"],
        coverage: CLAIMS,
    }],
    swept: SWEPT,
    known_bad: &[],
};
