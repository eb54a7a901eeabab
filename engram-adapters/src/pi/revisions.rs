//! The versions of the format of sessions. No log has the version of Pi, so the claims are those that hold for all versions that write it.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

/// A version of the format, as a header has it, and its name on a tape.
pub(super) type Format = (u64, &'static str);
/// That of Pi, and of OpenClaw before 2026.9.3.
pub(super) const FORMAT: u64 = 3;
pub(super) const TREE: &str = "session-3";
/// That of OpenClaw since 2026.9.3.
pub(super) const CLAW_TREE: &str = "session-4";
/// All of OpenClaw, and those of Pi.
pub(super) const CLAW_FORMATS: &[Format] = &[(FORMAT, TREE), (4, CLAW_TREE)];
pub(super) const FORMATS: &[Format] = &[(FORMAT, TREE)];

/// The claims for it.
pub(super) const CLAIMS: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Partial(&["prompt.command"]),
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Partial(&["result.blocked", "result.script"]),
    code_read: Grade::Partial(&[
        "read.shell",
        "read.no_lines",
        "read.no_total",
        "read.not_utf8",
    ]),
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.add_over_file",
        "edit.fuzzy",
        "edit.no_file_hash",
        "edit.script",
        "edit.bom",
        "edit.bare_cr",
        "edit.not_utf8",
    ]),
    span_link: Grade::None,
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[Revision {
        schema: TREE,
        versions: None,
        tested: &["0.73.1", "0.85.0", "1.6.0"],
        coverage: CLAIMS,
    }],
    swept: &[],
    known_bad: &[],
};
