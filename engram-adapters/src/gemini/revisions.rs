//! The schemas of Gemini CLI's logs. No log has a version, so the structure of the artifact selects the revision.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

/// `logs.json`: what was typed at the terminal.
pub(super) const TYPED_LOG: &str = "typed-log";
/// `checkpoint-<tag>.json`: the conversation in the form of the model's interface.
pub(super) const SAVED_CONVERSATION: &str = "saved-conversation";
/// A whole-file log in which no message has a tool call or a result.
pub(super) const DOCUMENT: &str = "document";
/// A whole-file log with tool calls and their results.
pub(super) const DOCUMENT_CALLS: &str = "document-calls";
/// A whole-file log whose edits have the file before and after.
pub(super) const DOCUMENT_EDITS: &str = "document-edits";
/// `--output-format stream-json`.
pub(super) const STREAM: &str = "stream-json";
/// A log with one record per line.
pub(super) const LINES: &str = "lines";

const SHELL: &str = "edit.shell";
const SNIPPET: &str = "edit.snippet";
const LOST: &str = "edit.parallel_lost";
const EDIT_NOT_UTF8: &str = "edit.not_utf8";
const NO_TOTAL: &str = "read.no_total";
const NO_LINES: &str = "read.no_lines";
const SHELL_READ: &str = "read.shell";
const NOT_UTF8: &str = "read.not_utf8";
const BOM: &str = "read.bom";

const AFTER_HOOK: &str = "prompt.after_hook";
const CUT_LINE: &str = "read.cut_line";
const REWRITTEN: &str = "call.rewritten";
const NO_RESPONSE: &str = "call.no_response";
const HOOK: &str = "edit.hook";
const NO_DURATION: &str = "result.no_duration";
const DISPLAY_ONLY: &str = "result.display_only";
/// The claim for results.
const RESULTS: Grade = Grade::Partial(&[NO_DURATION]);

const fn conversation(
    msg_in: Grade,
    tool_call: Grade,
    tool_result: Grade,
    code_read: Grade,
    code_edit: Grade,
) -> Coverage {
    Coverage {
        meta: Grade::Full,
        msg_in,
        msg_out: Grade::Full,
        tool_call,
        tool_result,
        code_read,
        code_edit,
        span_link: Grade::None,
    }
}

/// The claim for `logs.json`.
const PROMPTS: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::None,
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

/// The weakest claim of all revisions.
pub(super) const WEAKEST: Coverage = Coverage {
    meta: Grade::Partial(&["usage.run_total"]),
    msg_in: Grade::Partial(&[AFTER_HOOK]),
    ..PROMPTS
};

/// The matrix.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision {
            schema: TYPED_LOG,
            versions: None,
            tested: &["0.1.22", "0.2.2", "0.4.1", "0.8.2", "0.60.0", "0.61.0"],
            coverage: PROMPTS,
        },
        Revision {
            schema: SAVED_CONVERSATION,
            versions: None,
            tested: &["0.8.2", "0.61.0"],
            coverage: conversation(Grade::Full, Grade::Full, RESULTS, Grade::None, Grade::None),
        },
        Revision {
            schema: DOCUMENT,
            versions: None,
            tested: &["0.4.1", "0.8.2", "0.16.0", "0.26.0", "0.31.0"],
            coverage: conversation(
                Grade::Full,
                Grade::None,
                Grade::None,
                Grade::None,
                Grade::None,
            ),
        },
        Revision {
            schema: DOCUMENT_CALLS,
            versions: None,
            tested: &["0.10.0", "0.11.3", "0.16.0", "0.24.5", "0.26.0", "0.31.0"],
            coverage: conversation(
                Grade::Full,
                Grade::Full,
                RESULTS,
                Grade::Partial(&[NO_TOTAL, NO_LINES, NOT_UTF8, SHELL_READ]),
                Grade::Partial(&[SHELL, SNIPPET]),
            ),
        },
        Revision {
            schema: DOCUMENT_EDITS,
            versions: None,
            tested: &[
                "0.25.0", "0.26.0", "0.28.2", "0.30.1", "0.31.0", "0.32.1", "0.35.3", "0.36.0",
                "0.38.2",
            ],
            coverage: conversation(
                Grade::Full,
                Grade::Full,
                RESULTS,
                Grade::Partial(&[NO_TOTAL, NOT_UTF8]),
                Grade::Partial(&[SHELL, LOST, EDIT_NOT_UTF8]),
            ),
        },
        Revision {
            schema: STREAM,
            versions: None,
            tested: &["0.60.0", "0.61.0"],
            coverage: Coverage {
                meta: Grade::Partial(&["usage.run_total"]),
                msg_out: Grade::Partial(&["stream.no_reasoning"]),
                ..conversation(
                    Grade::Full,
                    Grade::Full,
                    Grade::Partial(&[DISPLAY_ONLY]),
                    Grade::None,
                    Grade::None,
                )
            },
        },
        Revision {
            schema: LINES,
            versions: None,
            tested: &[
                "0.39.0", "0.43.0", "0.44.0", "0.47.0", "0.55.1", "0.60.0", "0.61.0",
            ],
            coverage: conversation(
                Grade::Partial(&[AFTER_HOOK]),
                Grade::Partial(&[REWRITTEN, NO_RESPONSE]),
                RESULTS,
                Grade::Partial(&[NO_TOTAL, NO_LINES, SHELL_READ, BOM, CUT_LINE]),
                Grade::Partial(&[SHELL, LOST, EDIT_NOT_UTF8, HOOK]),
            ),
        },
    ],
    swept: &[],
    known_bad: &[],
};
