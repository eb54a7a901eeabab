//! The schemas of Cursor's artifacts and the coverage claim of each. Only hook payloads record a version; structure proves the others.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

/// One JSON document with `mode` and `messages`.
pub(super) const TRANSCRIPT_JSON: &str = "transcript-json";
/// JSON Lines with `role` and `message.content`.
pub(super) const TRANSCRIPT: &str = "transcript-jsonl";
/// `--output-format stream-json`.
pub(super) const STREAM: &str = "stream-json";

/// The command line's and the SDK's `store.db`, opened.
pub(super) const CHAT: &str = "store-db";

/// The SDK's run store, opened: `index.db`, or a directory of text files.
pub(super) const RUNS: &str = "run-store";

/// The SDK's messages, as a program printed them.
pub(super) const MESSAGES: &str = "sdk-messages";

/// Conversations of the editor's `state.vscdb` whose messages are rows (composer `_v` 10 and later), opened.
pub(super) const EDITOR_ROWS: &str = "editor-rows";
/// Conversations of the editor's `state.vscdb` of 2024, whose messages are inline, opened.
pub(super) const EDITOR_INLINE: &str = "editor-inline";

/// Hook payloads of the command line.
pub(super) const HOOKS: &str = "hooks";
/// Hook payloads of the SDK.
pub(super) const SDK_HOOKS: &str = "hooks-sdk";

/// The versions of the SDK whose sessions were recorded.
const SDK: &[&str] = &["sdk-1.0.9", "sdk-1.0.18", "sdk-1.0.32"];

/// Every schema, oldest first.
pub(super) static MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision {
            schema: TRANSCRIPT_JSON,
            versions: None,
            tested: &["sdk-1.0.32"],
            coverage: TRANSCRIPT_JSON_COVERAGE,
        },
        Revision {
            schema: TRANSCRIPT,
            versions: None,
            tested: SDK,
            coverage: TRANSCRIPT_COVERAGE,
        },
        Revision {
            schema: STREAM,
            versions: None,
            tested: &["2026.02", "2026.09"],
            coverage: STREAM_COVERAGE,
        },
        Revision {
            schema: EDITOR_INLINE,
            versions: None,
            tested: &["2024.11"],
            coverage: EDITOR_INLINE_COVERAGE,
        },
        Revision {
            schema: EDITOR_ROWS,
            versions: None,
            tested: &["2026.06"],
            coverage: EDITOR_ROWS_COVERAGE,
        },
        Revision {
            schema: CHAT,
            versions: None,
            tested: &["2026.09", "sdk-1.0.9", "sdk-1.0.18", "sdk-1.0.32"],
            coverage: CHAT_COVERAGE,
        },
        Revision {
            schema: MESSAGES,
            versions: None,
            tested: SDK,
            coverage: MESSAGES_COVERAGE,
        },
        Revision {
            schema: RUNS,
            versions: None,
            tested: SDK,
            coverage: RUNS_COVERAGE,
        },
        // The SDK names no version of its own to hooks.
        Revision {
            schema: SDK_HOOKS,
            versions: Some("=1.0.0"),
            tested: &["1.0.0"],
            coverage: SDK_HOOKS_COVERAGE,
        },
        Revision {
            schema: HOOKS,
            versions: Some("=2026.10.01-e373342"),
            tested: &["2026.10.01-e373342"],
            coverage: HOOKS_COVERAGE,
        },
    ],
    swept: &[],
    known_bad: &[],
};

/// No claim at all, as a base: no schema has links, and most lack more.
const NO_CLAIM: Coverage = Coverage {
    meta: Grade::None,
    msg_in: Grade::None,
    msg_out: Grade::None,
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

/// The claim of kinds whose only gap is the evidence itself.
const MADE_UP: Grade = Grade::Partial(&["evidence.made_up"]);

/// The weakest claim over all schemas.
pub(super) const WEAKEST: Coverage = Coverage {
    meta: MADE_UP,
    msg_in: MADE_UP,
    msg_out: MADE_UP,
    ..NO_CLAIM
};

const TRANSCRIPT_JSON_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&[
        "evidence.made_up",
        "session.not_recorded",
        "usage.not_recorded",
    ]),
    msg_in: Grade::Partial(&["evidence.made_up", "message.placeholder"]),
    msg_out: Grade::Partial(&["evidence.made_up", "message.placeholder"]),
    tool_call: Grade::Partial(&["evidence.made_up", "call.no_id", "call.args_as_text"]),
    tool_result: Grade::Partial(&["evidence.made_up", "result.name_only"]),
    code_edit: Grade::Partial(&["evidence.made_up", "edit.request_only"]),
    ..NO_CLAIM
};

const TRANSCRIPT_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&[
        "session.not_recorded",
        "session.root_parent",
        "usage.not_recorded",
    ]),
    msg_in: Grade::Partial(&["message.placeholder"]),
    msg_out: Grade::Partial(&["message.placeholder", "reasoning.unmarked"]),
    tool_call: Grade::Partial(&["call.no_id"]),
    code_edit: Grade::Partial(&["edit.request_only"]),
    ..NO_CLAIM
};

const STREAM_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["evidence.made_up", "usage.not_recorded"]),
    msg_in: MADE_UP,
    msg_out: MADE_UP,
    tool_call: MADE_UP,
    tool_result: MADE_UP,
    code_read: Grade::Partial(&["evidence.made_up", "read.no_lines", "read.no_total"]),
    code_edit: Grade::Partial(&["evidence.made_up", "edit.shell", "edit.decoded_file"]),
    ..NO_CLAIM
};

const EDITOR_INLINE_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&[
        "evidence.made_up",
        "session.not_recorded",
        "usage.not_recorded",
    ]),
    msg_in: MADE_UP,
    msg_out: MADE_UP,
    ..NO_CLAIM
};

const EDITOR_ROWS_COVERAGE: Coverage = Coverage {
    meta: MADE_UP,
    msg_in: MADE_UP,
    msg_out: MADE_UP,
    tool_call: MADE_UP,
    tool_result: Grade::Partial(&["evidence.made_up", "result.stub"]),
    code_read: Grade::Partial(&["evidence.made_up", "read.no_lines", "read.no_total"]),
    code_edit: Grade::Partial(&["evidence.made_up", "edit.no_content"]),
    ..NO_CLAIM
};

const CHAT_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["usage.not_recorded"]),
    msg_in: Grade::Full,
    msg_out: Grade::Partial(&["evidence.played"]),
    tool_call: Grade::Full,
    tool_result: Grade::Partial(&["result.as_told", "result.mcp_error"]),
    code_edit: Grade::Partial(&["edit.shell", "edit.decoded_file"]),
    ..NO_CLAIM
};

const RUNS_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["usage.not_recorded"]),
    msg_in: Grade::Partial(&["prompt.no_files"]),
    msg_out: Grade::Full,
    tool_call: Grade::Partial(&["call.as_executed"]),
    tool_result: Grade::Partial(&["result.no_denial", "result.mcp_error"]),
    code_read: Grade::Partial(&["read.no_lines", "read.shell"]),
    code_edit: Grade::Partial(&["edit.shell", "edit.diff_only"]),
    ..NO_CLAIM
};

const MESSAGES_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["session.not_recorded", "usage.not_recorded"]),
    ..RUNS_COVERAGE
};

const SDK_HOOKS_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["usage.not_recorded"]),
    msg_in: Grade::Full,
    msg_out: Grade::Partial(&["message.not_logged"]),
    tool_call: Grade::Partial(&["call.as_executed"]),
    tool_result: Grade::Partial(&["result.as_told", "result.stub", "result.mcp_error"]),
    code_read: Grade::Partial(&["read.no_lines"]),
    code_edit: Grade::Partial(&["edit.shell", "edit.decoded_file", "edit.hook"]),
    ..NO_CLAIM
};

const HOOKS_COVERAGE: Coverage = Coverage {
    meta: MADE_UP,
    msg_in: MADE_UP,
    msg_out: MADE_UP,
    tool_call: MADE_UP,
    tool_result: MADE_UP,
    code_edit: Grade::Partial(&["evidence.made_up", "edit.no_range"]),
    ..NO_CLAIM
};
