//! What the Cursor adapter says about itself: gaps and omission rules.

use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule, UnknownVersionPolicy};

use super::revisions;

/// The self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "cursor",
    adapter_version: "0.1.0",
    harness_family: "cursor",
    matrix: revisions::MATRIX,
    schema_detection_strategy: "Structure of the first lines: `role` and `message.content` without a `type` (transcripts), \
        `mode` and `messages` (older transcripts), `user:` lines (oldest), `tool_call` with `call_id`, `timestamp_ms`, \
        `request_id` (stream-json). No artifact but hook payloads records a version.",
    coverage: revisions::WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/role", "/hook_event_name"],
    gaps: GAPS,
    omission_rules: RULES,
};

const GAPS: &[Gap] = &[
    Gap {
        code: "session.not_recorded",
        reason: "Transcripts record no model, directory, version, token or time; only newer prompts begin with a time, to the minute.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "message.placeholder",
        reason: "The harness puts `[Image]`, `[File: ..]` or `[Oversize transcript blob omitted: ..]` in place of content.",
        fixture: "sdk-1.0.32/placeholders",
    },
    Gap {
        code: "reasoning.unmarked",
        reason: "Transcripts glue reasoning to the answer in one text; nothing marks where it begins.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "text.unescaped",
        reason: "Text transcripts escape nothing: a message that holds a line such as `assistant:` cannot be told from a new message.",
        fixture: "sdk-1.0.32/legacy_text",
    },
    Gap { code: "call.no_id", reason: "Transcripts give calls no id.", fixture: "sdk-1.0.32/transcript" },
    Gap {
        code: "call.args_as_text",
        reason: "Text transcripts spell arguments as unescaped text; `args` is that text as one JSON string.",
        fixture: "sdk-1.0.32/legacy_text",
    },
    Gap { code: "result.name_only", reason: "Older transcripts record that a tool returned, not what.", fixture: "sdk-1.0.32/legacy_json" },
    Gap {
        code: "edit.request_only",
        reason: "Transcripts hold what an edit asked for, not whether it was made: snippets with `confirmed: false`.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap { code: "edit.shell", reason: "Files that a shell command changed are not recorded.", fixture: "2026.09/stream_shell" },
    Gap {
        code: "usage.whole_turn",
        reason: "Captures count tokens once, for the whole run, and not at all before March 2026.",
        fixture: "2026.02/stream_shell",
    },
    Gap {
        code: "read.no_range",
        reason: "Numbered, cut or binary content does not show which lines it is.",
        fixture: "2026.09/stream_read",
    },
    Gap {
        code: "hooks.as_configured",
        reason: "A log of hook payloads holds the steps that the user configured, and no times.",
        fixture: "2026.10.01-e373342/hooks",
    },
    Gap {
        code: "edit.no_range",
        reason: "`afterFileEdit` gives old and new text, not the lines: snippets without the call's id.",
        fixture: "2026.10.01-e373342/hooks",
    },
];

const RULES: &[OmissionRule] = &[
    OmissionRule {
        rule: "turn_end",
        omission: Omission::Bookkeeping,
        record: "turn_ended",
        pointer: None,
        reason: "Says that a turn ended well, and nothing else.",
    },
    OmissionRule {
        rule: "empty_message",
        omission: Omission::Bookkeeping,
        record: "assistant",
        pointer: None,
        reason: "A message without text and calls.",
    },
    OmissionRule { rule: "empty_prompt", omission: Omission::Bookkeeping, record: "user", pointer: None, reason: "A prompt without text." },
    OmissionRule {
        rule: "empty_metadata",
        omission: Omission::Bookkeeping,
        record: "metadata",
        pointer: None,
        reason: "A metadata line without an overview.",
    },
    OmissionRule {
        rule: "thinking_end",
        omission: Omission::Bookkeeping,
        record: "thinking/completed",
        pointer: None,
        reason: "Ends reasoning: its text, where the capture holds it, stands at its first piece.",
    },
    OmissionRule {
        rule: "thinking_pieces",
        omission: Omission::Duplicate,
        record: "thinking/delta",
        pointer: None,
        reason: "A piece of reasoning: all pieces stand joined where the first one stands.",
    },
    OmissionRule {
        rule: "message_pieces",
        omission: Omission::Duplicate,
        record: "assistant",
        pointer: None,
        reason: "A piece of a message that the capture says again as a whole, or that stands joined with the other pieces.",
    },
    OmissionRule {
        rule: "call_repeated",
        omission: Omission::Duplicate,
        record: "tool_call/started",
        pointer: None,
        reason: "A call that an earlier line has given.",
    },
    OmissionRule {
        rule: "result_text",
        omission: Omission::Duplicate,
        record: "result/success",
        pointer: None,
        reason: "All messages of the run again, joined without a separator.",
    },
    OmissionRule {
        rule: "result_text_field",
        omission: Omission::Field,
        record: "result/success",
        pointer: Some("/result"),
        reason: "All messages of the run again, joined without a separator; a text that is not becomes a message.",
    },
    OmissionRule {
        rule: "args_repeated",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/*/args/**"),
        reason: "The arguments of the call again; where they differ, they are kept as a notice.",
    },
    OmissionRule {
        rule: "description_repeated",
        omission: Omission::Field,
        record: "tool_call/*",
        pointer: Some("/tool_call/*/description"),
        reason: "The label that the arguments hold too; where they do not, it is kept as a notice.",
    },
    OmissionRule {
        rule: "command_repeated",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/shellToolCall/result/*/command"),
        reason: "The command of the call again.",
    },
    OmissionRule {
        rule: "working_directory",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/shellToolCall/result/*/workingDirectory"),
        reason: "The directory of the call or of the session again.",
    },
    OmissionRule {
        rule: "interleaved_output",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/shellToolCall/result/*/interleavedOutput"),
        reason: "Output and error output again, in the order of arrival.",
    },
    OmissionRule {
        rule: "edited_file",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/editToolCall/result/success/beforeFullFileContent"),
        reason: "The whole file before the edit: its hash and its changed lines are in `code.edit`.",
    },
    OmissionRule {
        rule: "edited_file_after",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/editToolCall/result/success/afterFullFileContent"),
        reason: "The whole file after the edit: its hash and its changed lines are in `code.edit`.",
    },
    OmissionRule {
        rule: "edit_diff",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/editToolCall/result/success/diffString"),
        reason: "A rendered diff whose spans are `code.edit` events.",
    },
    OmissionRule {
        rule: "deleted_file",
        omission: Omission::Field,
        record: "tool_call/completed",
        pointer: Some("/tool_call/deleteToolCall/result/success/prevContent"),
        reason: "The whole file that was deleted: its hash is in `code.edit`.",
    },
    OmissionRule {
        rule: "query_args",
        omission: Omission::Field,
        record: "interaction_query/request",
        pointer: Some("/query/**"),
        reason: "The arguments of the call that the question is about; where no call follows, they are kept as a notice.",
    },
    OmissionRule {
        rule: "hook_workspace",
        omission: Omission::Bookkeeping,
        record: "workspaceOpen",
        pointer: None,
        reason: "Says that a workspace was opened, and nothing else.",
    },
    OmissionRule {
        rule: "hook_session",
        omission: Omission::Bookkeeping,
        record: "session*",
        pointer: None,
        reason: "Says that a session began or ended well, and nothing else that is new.",
    },
    OmissionRule {
        rule: "hook_stop",
        omission: Omission::Bookkeeping,
        record: "stop",
        pointer: None,
        reason: "Says that a turn ended well, and nothing else.",
    },
    OmissionRule {
        rule: "hook_input_repeated",
        omission: Omission::Field,
        record: "postToolUse*",
        pointer: Some("/tool_input/**"),
        reason: "The arguments of the call again.",
    },
    OmissionRule {
        rule: "hook_file_content",
        omission: Omission::Field,
        record: "before*",
        pointer: Some("/content"),
        reason: "The whole file that is about to be read: its hash is in `meta context`.",
    },
];
