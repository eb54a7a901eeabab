//! The schemas of Cursor's artifacts and what is claimed for each. Only hook payloads record a version; structure proves the others.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

/// Text under `user:` and `assistant:` lines.
pub(super) const TRANSCRIPT_TEXT: &str = "transcript-txt";
/// One JSON document with `mode` and `messages`.
pub(super) const TRANSCRIPT_JSON: &str = "transcript-json";
/// JSON Lines with `role` and `message.content`.
pub(super) const TRANSCRIPT: &str = "transcript-jsonl";
/// `--output-format stream-json`.
pub(super) const STREAM: &str = "stream-json";

/// The command line's and the SDK's `store.db`, opened.
pub(super) const CHAT: &str = "store-db";

/// Conversations of the editor's `state.vscdb` whose messages are rows (composer `_v` 10 and later), opened.
pub(super) const EDITOR_ROWS: &str = "editor-rows";
/// Conversations of the editor's `state.vscdb` of 2024, whose messages are inline, opened.
pub(super) const EDITOR_INLINE: &str = "editor-inline";

/// Every schema, oldest first.
pub(super) static MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision { schema: TRANSCRIPT_TEXT, versions: None, tested: &["sdk-1.0.32"], coverage: TRANSCRIPT_TEXT_COVERAGE },
        Revision { schema: TRANSCRIPT_JSON, versions: None, tested: &["sdk-1.0.32"], coverage: TRANSCRIPT_JSON_COVERAGE },
        Revision { schema: TRANSCRIPT, versions: None, tested: &["sdk-1.0.32"], coverage: TRANSCRIPT_COVERAGE },
        Revision { schema: STREAM, versions: None, tested: &["2026.02", "2026.09"], coverage: STREAM_COVERAGE },
        Revision { schema: EDITOR_INLINE, versions: None, tested: &["2024.11"], coverage: EDITOR_INLINE_COVERAGE },
        Revision { schema: EDITOR_ROWS, versions: None, tested: &["2026.06"], coverage: EDITOR_ROWS_COVERAGE },
        Revision { schema: CHAT, versions: None, tested: &["sdk-1.0.32"], coverage: CHAT_COVERAGE },
        Revision { schema: "hooks", versions: Some(">=2026.10.1, <=2026.10.1"), tested: &["2026.10.01-e373342"], coverage: HOOKS_COVERAGE },
    ],
    known_bad: &[],
};

/// The weakest claim over all schemas.
pub(super) const WEAKEST: Coverage = Coverage {
    meta: Grade::Partial(&["session.not_recorded"]),
    msg_in: Grade::Partial(&["message.placeholder", "text.unescaped"]),
    msg_out: Grade::Partial(&["message.placeholder", "reasoning.unmarked", "text.unescaped"]),
    tool_call: Grade::Partial(&["call.no_id", "call.args_as_text"]),
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

const TRANSCRIPT_TEXT_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["session.not_recorded"]),
    msg_in: Grade::Partial(&["message.placeholder", "text.unescaped"]),
    msg_out: Grade::Partial(&["message.placeholder", "text.unescaped"]),
    tool_call: Grade::Partial(&["call.no_id", "call.args_as_text"]),
    tool_result: Grade::Partial(&["result.name_only"]),
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

const TRANSCRIPT_JSON_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["session.not_recorded"]),
    msg_in: Grade::Partial(&["message.placeholder"]),
    msg_out: Grade::Partial(&["message.placeholder"]),
    tool_call: Grade::Partial(&["call.no_id"]),
    tool_result: Grade::Partial(&["result.name_only"]),
    code_read: Grade::None,
    code_edit: Grade::Partial(&["edit.request_only", "edit.shell"]),
    span_link: Grade::None,
};

const TRANSCRIPT_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["session.not_recorded"]),
    msg_in: Grade::Partial(&["message.placeholder"]),
    msg_out: Grade::Partial(&["message.placeholder", "reasoning.unmarked"]),
    tool_call: Grade::Partial(&["call.no_id"]),
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::Partial(&["edit.request_only", "edit.shell"]),
    span_link: Grade::None,
};

const STREAM_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["usage.whole_turn"]),
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::Partial(&["read.no_range"]),
    code_edit: Grade::Partial(&["edit.shell"]),
    span_link: Grade::None,
};

const HOOKS_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["hooks.as_configured"]),
    msg_in: Grade::Partial(&["hooks.as_configured"]),
    msg_out: Grade::Partial(&["hooks.as_configured"]),
    tool_call: Grade::Partial(&["hooks.as_configured"]),
    tool_result: Grade::Partial(&["hooks.as_configured"]),
    code_read: Grade::None,
    code_edit: Grade::Partial(&["edit.no_range", "edit.shell"]),
    span_link: Grade::None,
};

const CHAT_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["store.latest_root"]),
    msg_in: Grade::Partial(&["store.latest_root"]),
    msg_out: Grade::Partial(&["store.latest_root"]),
    tool_call: Grade::Partial(&["store.latest_root"]),
    tool_result: Grade::Partial(&["store.latest_root", "result.as_told"]),
    code_read: Grade::None,
    code_edit: Grade::Partial(&["edit.no_turn_graph"]),
    span_link: Grade::None,
};

const EDITOR_INLINE_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["editor.window_state"]),
    msg_in: Grade::Partial(&["editor.window_state"]),
    msg_out: Grade::Partial(&["editor.window_state"]),
    tool_call: Grade::None,
    tool_result: Grade::None,
    code_read: Grade::None,
    code_edit: Grade::None,
    span_link: Grade::None,
};

const EDITOR_ROWS_COVERAGE: Coverage = Coverage {
    meta: Grade::Partial(&["editor.window_state"]),
    msg_in: Grade::Partial(&["editor.window_state"]),
    msg_out: Grade::Partial(&["editor.window_state"]),
    tool_call: Grade::Partial(&["editor.window_state"]),
    tool_result: Grade::Partial(&["result.stub"]),
    code_read: Grade::None,
    code_edit: Grade::Partial(&["edit.no_contents"]),
    span_link: Grade::None,
};
