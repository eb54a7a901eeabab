//! The self-description of the Cursor adapter: gaps and omission rules.

use engram_core::descriptor::{AdapterDescriptor, Gap, OmissionRule, UnknownVersionPolicy};
use engram_core::emit::Fault;
use engram_core::ledger::Outcome;

use super::members::MEMBERS;
use super::revisions;

/// The self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "cursor",
    adapter_version: "0.6.0",
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

/// The outcome of a record of this type that gives no event, by the rule that omits it.
///
/// # Errors
/// [`Fault::Unrecognized`] if no rule omits it.
pub(super) fn omitted(record: &str) -> Result<Outcome, Fault> {
    DESCRIPTOR.ignored_record(record).ok_or_else(|| Fault::unrecognized(record))
}

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
    Gap { code: "prompt.no_files", reason: "Images of a prompt are not recorded, only its text.", fixture: "sdk-1.0.9/image" },
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
    Gap { code: "call.no_id", reason: "Transcripts give calls no id.", fixture: "sdk-1.0.32/transcript" },
    Gap {
        code: "result.name_only",
        reason: "Older transcripts record that a tool returned, but not its result.",
        fixture: "sdk-1.0.32/legacy_json",
    },
    Gap {
        code: "result.as_told",
        reason: "Results that are not in the turn graph are the text that the model received, without exit code or outcome. Hooks have an empty \
                 object for a call of an MCP server that is not there.",
        fixture: "sdk-1.0.32/store",
    },
    Gap {
        code: "result.stub",
        reason: "The editor and hooks have some results as a stub, such as the number of lines or characters of a file that was read.",
        fixture: "2026.06/editor",
    },
    Gap { code: "result.no_denial", reason: "A call that was denied has the status of one that failed.", fixture: "sdk-1.0.32/denied" },
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
    Gap { code: "read.shell", reason: "Files that a shell command printed are not recorded as reads.", fixture: "sdk-1.0.32/shell" },
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
    Gap { code: "edit.shell", reason: "Files that a shell command changed are not recorded.", fixture: "2026.09/stream_shell" },
    Gap {
        code: "edit.decoded_file",
        reason: "The harness removes the byte order mark of a file that it reads and decodes Latin-1, which the log does not show. So a whole file has a hash only if the harness itself created it.",
        fixture: "sdk-1.0.32/hooks_edit",
    },
    Gap {
        code: "edit.diff_only",
        reason: "An edit has its diff, not the file: the hash of the whole file is not known, nor the text of a deleted one.",
        fixture: "sdk-1.0.32/interrupt",
    },
    Gap {
        code: "edit.no_range",
        reason: "`afterFileEdit` gives old and new text, not the lines: snippets without the call's id.",
        fixture: "2026.10.01-e373342/hooks",
    },
];

const RULES: &[OmissionRule] = &[
    OmissionRule::REPEATED,
    OmissionRule::bookkeeping("turn_end", "turn_ended", "Records only that a turn ended successfully."),
    OmissionRule::bookkeeping(
        "thinking_end",
        "thinking/completed",
        "The end of reasoning. Its text, if the capture has it, is at its first piece.",
    ),
    OmissionRule::piece("thinking_pieces", "thinking/delta", "A piece of reasoning. All pieces are joined at the first one."),
    OmissionRule::piece(
        "message_pieces",
        "assistant",
        "A piece of a message. The capture repeats the message as a whole, or its pieces are joined at the first one.",
    ),
    OmissionRule::piece("reasoning_pieces", "thinking", "A piece of reasoning, or its end. All pieces are joined at the first one."),
    OmissionRule::piece(
        "reasoning_pieces",
        "thinking/run_event",
        "A piece of reasoning, or its end. All pieces are joined at the first one.",
    ),
    OmissionRule::piece("message_pieces", "assistant/run_event", "A piece of a message. All pieces are joined at the first one."),
    OmissionRule::duplicate("repeated_event", "run_event", "An event of a run that the store has twice."),
    OmissionRule::bookkeeping("run_progress", "status", "Records only that a run is under way, or ended successfully."),
    OmissionRule::bookkeeping("run_progress", "status/run_event", "Records only that a run is under way, or ended successfully."),
    OmissionRule::bookkeeping("run_progress", "run_end", "The end of a run that its events state already."),
    OmissionRule::bookkeeping("run_progress", "request", "The id of the request of a run."),
    OmissionRule::bookkeeping("run_progress", "request/run_event", "The id of the request of a run."),
    OmissionRule::duplicate("result_text", "result/success", "All messages of the run again, joined without a separator."),
    OmissionRule::field(
        "result_text_field",
        "result/success",
        "/result",
        "All messages of the run again, joined without a separator. Any other text becomes a message.",
    ),
    OmissionRule::field(
        "interleaved_output",
        "tool_call/completed",
        "/tool_call/shellToolCall/result/*/interleavedOutput",
        "Standard output and standard error again, in the order of arrival.",
    ),
    OmissionRule::field(
        "edited_file",
        "tool_call/completed",
        "/tool_call/editToolCall/result/success/beforeFullFileContent",
        "The whole file before the edit: its hash and its changed lines are in `code.edit`.",
    ),
    OmissionRule::field(
        "edited_file_after",
        "tool_call/completed",
        "/tool_call/editToolCall/result/success/afterFullFileContent",
        "The whole file after the edit: its hash and its changed lines are in `code.edit`.",
    ),
    OmissionRule::field(
        "edit_diff",
        "tool_call/completed",
        "/tool_call/editToolCall/result/success/diffString",
        "A rendered diff whose spans are `code.edit` events.",
    ),
    OmissionRule::field(
        "deleted_file",
        "tool_call/completed",
        "/tool_call/deleteToolCall/result/success/prevContent",
        "The whole file that was deleted: its hash is in `code.edit`.",
    ),
    OmissionRule::bookkeeping("store_root", "root", "The ids of the messages and turns that follow."),
    OmissionRule::field(
        "system_prompt",
        "system/message",
        "/message/content/**",
        "The boilerplate of the harness. Its hash is in `meta context`.",
    ),
    OmissionRule::field(
        "rendered_result",
        "tool/message",
        "/message/content/*/result",
        "The result as the model received it. The turn graph has the outcome; without one, this text is the result.",
    ),
    OmissionRule::field("result_parts", "tool/message", "/message/content/*/experimental_content/**", "The result again, as parts."),
    OmissionRule::field(
        "provider_options",
        "*/message",
        "/message/providerOptions/**",
        "The harness's own data about a message: request ids, and results in another form.",
    ),
    OmissionRule::field(
        "prompt_tags",
        "user",
        "/text",
        "A prompt with the tags around a person's words. The words and the sections of the harness are on the tape.",
    ),
    OmissionRule::opaque("image_bytes", "*/message", "/message/content/*/image/**", "The bytes of an image. Their hash is in the tape."),
    OmissionRule::opaque("signature", "*/message", "/message/content/*/signature", "The provider's signature of reasoning."),
    OmissionRule::field(
        "joined_steps",
        "*/message",
        "/steps/**",
        "The steps of the turn graph with the same content as the message. What they add is in the tape.",
    ),
    OmissionRule::bookkeeping("empty_bubble", "bubble", "A message without text or call."),
    OmissionRule::field("window_state", "bubble", "/bubble/richText", "The text again, as the rich text of the window."),
    OmissionRule::field(
        "window_state",
        "bubble",
        "/bubble/context/**",
        "The files and selections that were open in the window during a prompt.",
    ),
    OmissionRule::field("selection_rendered", "bubble", "/bubble/selections/*/text", "The selected lines again, in a code fence."),
    OmissionRule::field("selection_address", "bubble", "/bubble/*/*/uri/**", "The address of a selected file. Its path is in the tape."),
    OmissionRule::opaque("signature", "bubble", "/bubble/thinking/signature", "The provider's signature of reasoning."),
    OmissionRule::field(
        "rendered_diff",
        "bubble",
        "/bubble/toolFormerData/additionalData/precomputedDiff/lines/*/content",
        "A diff for display. Its spans are `code.edit` events.",
    ),
    OmissionRule::field(
        "edited_contents",
        "bubble",
        "/before",
        "The whole file before an edit: its hash and its changed lines are in `code.edit`.",
    ),
    OmissionRule::field(
        "edited_contents",
        "bubble",
        "/after",
        "The whole file after an edit: its hash and its changed lines are in `code.edit`.",
    ),
    OmissionRule::duplicate("inner_read", "preToolUse", "The read that is the first half of an edit."),
    OmissionRule::duplicate("inner_read", "postToolUse", "The read that is the first half of an edit."),
    OmissionRule::duplicate("inner_read", "postToolUseFailure", "The read that is the first half of an edit: there is no such file yet."),
    OmissionRule::duplicate("inner_read", "beforeReadFile", "The read that is the first half of an edit."),
    OmissionRule::bookkeeping("hook_workspace", "workspaceOpen", "Records only that a workspace was opened."),
    OmissionRule::bookkeeping("hook_session", "session*", "Records only that a session began or ended, and repeats known facts."),
    OmissionRule::bookkeeping("hook_stop", "stop", "Records only that a turn ended successfully."),
    OmissionRule::field(
        "hook_file_content",
        "before*",
        "/content",
        "The whole file that is about to be read. Its hash is in `meta context`.",
    ),
];
