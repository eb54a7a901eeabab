//! The versions of Qwen Code, and the claims for them.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

use super::swept::SWEPT;

/// The name of the format on a tape.
pub(super) const LINES: &str = "chat-lines";

/// `--output-format stream-json` and `json`.
pub(super) const PRINTED: &str = "stream-json";

/// The claims for sessions.
pub(super) const CLAIMS: Coverage = Coverage {
    meta: Grade::Partial(&["usage.cache_write"]),
    msg_in: Grade::Partial(&["prompt.command"]),
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

const AGENT: &str = "agent.not_printed";

/// The claims for what a run prints.
const PRINTED_CLAIMS: Coverage = Coverage {
    meta: Grade::Partial(&["usage.cached_input", "usage.cache_write", "usage.beside"]),
    msg_in: Grade::Partial(&["prompt.not_printed"]),
    msg_out: Grade::Partial(&[AGENT]),
    tool_call: Grade::Partial(&[AGENT]),
    tool_result: Grade::Partial(&[AGENT, "result.display_only"]),
    code_read: Grade::Partial(&[AGENT, "read.trimmed", "read.not_utf8", "read.no_total"]),
    code_edit: Grade::Partial(&[AGENT, "edit.shell", "edit.agent_snippet"]),
    span_link: Grade::None,
};

/// The weakest claims of both.
pub(super) const WEAKEST: Coverage = Coverage {
    meta: PRINTED_CLAIMS.meta,
    msg_in: PRINTED_CLAIMS.msg_in,
    msg_out: PRINTED_CLAIMS.msg_out,
    tool_call: PRINTED_CLAIMS.tool_call,
    tool_result: PRINTED_CLAIMS.tool_result,
    ..CLAIMS
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision {
            schema: LINES,
            versions: Some(">=0.21.2, <=0.24.4"),
            tested: &["0.21.2", "0.21.10", "0.24.4"],
            coverage: CLAIMS,
        },
        Revision {
            schema: PRINTED,
            versions: None,
            tested: &["0.21.10", "0.24.4"],
            coverage: PRINTED_CLAIMS,
        },
    ],
    swept: SWEPT,
    known_bad: &[],
};
