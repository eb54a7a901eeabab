//! The self-description of the Cursor adapter and its gaps.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};

use super::format::RULES;
use super::revisions;
use super::table::MEMBERS;

/// The self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "cursor",
    adapter_version: "0.7.4",
    harness_family: "cursor",
    matrix: revisions::MATRIX,
    schema_detection_strategy: "Structure of the first lines: `role` and `message.content` without a `type` (transcripts), \
        `mode` and `messages` (older transcripts), `tool_call` with `call_id`, `timestamp_ms`, \
        `request_id` (stream-json). No artifact but hook payloads records a version.",
    coverage: revisions::WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/role", "/hook_event_name", "/store"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

const GAPS: &[Gap] = &[
    Gap {
        code: "evidence.made_up",
        reason: "No real session could be recorded: the SDK wrote the fixtures from made-up conversations, or they were written by hand in the form of real logs. Real sessions may contain more.",
        fixture: "2026.09/stream_edit",
    },
    Gap {
        code: "evidence.played",
        reason: "The recorded sessions ran against a scripted backend: what the runtime writes is real, the contents of the messages were played.",
        fixture: "sdk-1.0.32/interrupt",
    },
    Gap {
        code: "session.not_recorded",
        reason: "No model is recorded, and no directory. Transcripts record no time either, except the minute of newer prompts.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "session.root_parent",
        reason: "The directory of a sub-agent's transcript names the session at the root. The parent is the session whose call has the first prompt; where no transcript has such a call, as after a cancelled one, or several have it, the session at the root stands in its place.",
        fixture: "sdk-1.0.32/nested",
    },
    Gap {
        code: "usage.not_recorded",
        reason: "Only captures from March 2026 on and runs of the SDK since 1.0.24 (both once for the whole run), some hook payloads, and rows of the editor record tokens.",
        fixture: "2026.02/stream_shell",
    },
    Gap {
        code: "message.placeholder",
        reason: "The harness puts `[Image]`, `[File: ..]` or `[Oversize transcript blob omitted: ..]` in place of content.",
        fixture: "sdk-1.0.32/placeholders",
    },
    Gap {
        code: "message.not_logged",
        reason: "Hooks get answers and reasoning only where the backend asks for it.",
        fixture: "sdk-1.0.32/hooks_edit",
    },
    Gap {
        code: "prompt.no_files",
        reason: "Images of a prompt are not recorded, only its text.",
        fixture: "sdk-1.0.9/image",
    },
    Gap {
        code: "reasoning.unmarked",
        reason: "Transcripts put reasoning and answer into one text, without a mark between them.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "call.args_as_text",
        reason: "The oldest transcripts are text without escapes: arguments stay one text, and a message with a line such as `assistant:` looks like two messages.",
        fixture: "sdk-1.0.32/legacy_text",
    },
    Gap {
        code: "call.as_executed",
        reason: "Calls as the runtime executes them, with its own names and arguments. In messages of the SDK an edit has its path only. In hooks it is a `Write` of the whole file, an edit that fails before it writes is the `Read` of its file, and a shell command has an id of its own.",
        fixture: "sdk-1.0.32/hooks_edit",
    },
    Gap {
        code: "call.no_id",
        reason: "Transcripts give calls no id.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "result.name_only",
        reason: "Older transcripts record that a tool returned, but not its result.",
        fixture: "sdk-1.0.32/legacy_json",
    },
    Gap {
        code: "result.as_told",
        reason: "Results that are not in the turn graph, or of a tool whose end is not read there, are the text that the model received, \
                 without outcome or lines that were read. Hooks have an empty \
                 object for a call of an MCP server that is not there.",
        fixture: "sdk-1.0.32/store",
    },
    Gap {
        code: "result.stub",
        reason: "The editor and hooks have some results as a stub, such as the number of lines or characters of a file that was read. Results of the editor's searches are mostly only in the message of the agent's protocol (`toolCallBinary`).",
        fixture: "2026.06/editor_results",
    },
    Gap {
        code: "result.no_denial",
        reason: "A call that was denied has the status of one that failed.",
        fixture: "sdk-1.0.32/denied",
    },
    Gap {
        code: "result.mcp_error",
        reason: "SDK 1.0.18 logs a call of an MCP server that failed like one that succeeded: only the text of the result may say so. Hooks state `isError` `false`.",
        fixture: "sdk-1.0.18/mcp",
    },
    Gap {
        code: "read.no_lines",
        reason: "Content with line numbers, truncated content, and content without its range do not show which lines it is. Hooks get no content of a read.",
        fixture: "2026.09/stream_read",
    },
    Gap {
        code: "read.shell",
        reason: "Files that a shell command printed are not recorded as reads.",
        fixture: "sdk-1.0.32/shell",
    },
    Gap {
        code: "read.no_total",
        reason: "Cursor counts the empty text after a final line end as a line, so the number of lines is certain only if the end was read.",
        fixture: "2026.09/stream_read",
    },
    Gap {
        code: "edit.request_only",
        reason: "Transcripts record the edit that was requested, not whether it was made: snippets with `confirmed: false`.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "edit.shell",
        reason: "Files that a shell command changed are not recorded.",
        fixture: "2026.09/stream_shell",
    },
    Gap {
        code: "edit.decoded_file",
        reason: "The harness removes the byte order mark of a file that it reads and decodes Latin-1, which the log does not show. So a whole file, and an edit of its first line, has a hash only if the harness itself created it.",
        fixture: "sdk-1.0.32/hooks_edit",
    },
    Gap {
        code: "edit.hook",
        reason: "A hook may change a file after an edit, and the payloads do not state it: lines and hashes are those of the text that the harness wrote.",
        fixture: "sdk-1.0.32/hooks_format",
    },
    Gap {
        code: "edit.diff_only",
        reason: "An edit has its diff, not the file: the hash of the whole file is not known, nor the text of a deleted one, nor whether a byte order mark is before the first line of an old one. A new file has the diff of an empty one: its `op` is `update`.",
        fixture: "sdk-1.0.32/interrupt",
    },
    Gap {
        code: "edit.no_content",
        reason: "The editor's store has lost the texts of the file, or the result of an older tool has a diff for display alone: such an edit has its file and its operation.",
        fixture: "2026.06/editor_results",
    },
    Gap {
        code: "edit.no_range",
        reason: "`afterFileEdit` gives old and new text, not the lines: snippets without the call's id.",
        fixture: "2026.10.01-e373342/hooks",
    },
];
