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
        `mode` and `messages` (older transcripts), `tool_call` with `call_id`, `timestamp_ms`, \
        `request_id` (stream-json). No artifact but hook payloads records a version.",
    coverage: revisions::WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/role", "/hook_event_name", "/store"],
    gaps: GAPS,
    omission_rules: RULES,
};

const GAPS: &[Gap] = &[
    Gap {
        code: "evidence.made_up",
        reason: "No real session could be recorded: the fixtures are written by the SDK from made-up conversations, or by hand in the shapes of real logs. Real sessions may hold what they do not show.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "session.not_recorded",
        reason: "No model is recorded; transcripts record no directory and no time either, but for the minute at which newer prompts begin.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap {
        code: "usage.not_recorded",
        reason: "Tokens are counted in captures from March 2026 (once for the whole run), in hook payloads and in rows of the editor only.",
        fixture: "2026.02/stream_shell",
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
        code: "call.args_as_text",
        reason: "The oldest transcripts are text that escapes nothing: arguments stay one text, and a message that holds a line such as `assistant:` cannot be told from two.",
        fixture: "sdk-1.0.32/legacy_text",
    },
    Gap { code: "call.no_id", reason: "Transcripts give calls no id.", fixture: "sdk-1.0.32/transcript" },
    Gap { code: "result.name_only", reason: "Older transcripts record that a tool returned, not what.", fixture: "sdk-1.0.32/legacy_json" },
    Gap {
        code: "result.as_told",
        reason: "Results that the turn graph does not hold are as the model was told them: no exit code, no outcome.",
        fixture: "sdk-1.0.32/store",
    },
    Gap {
        code: "result.stub",
        reason: "The editor keeps some results as a stub, such as the number of lines of a file that was read.",
        fixture: "2026.06/editor",
    },
    Gap { code: "read.no_lines", reason: "Numbered or cut content does not show which lines it is.", fixture: "2026.09/stream_read" },
    Gap {
        code: "read.no_total",
        reason: "Cursor counts the nothing after a final line end as a line, so the number of lines is sure only where the end was read.",
        fixture: "2026.09/stream_read",
    },
    Gap {
        code: "edit.request_only",
        reason: "Transcripts hold what an edit asked for, not whether it was made: snippets with `confirmed: false`.",
        fixture: "sdk-1.0.32/transcript",
    },
    Gap { code: "edit.shell", reason: "Files that a shell command changed are not recorded.", fixture: "2026.09/stream_shell" },
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
        rule: "store_root",
        omission: Omission::Bookkeeping,
        record: "root",
        pointer: None,
        reason: "The ids of the messages and turns, which follow.",
    },
    OmissionRule {
        rule: "system_prompt",
        omission: Omission::Field,
        record: "system/message",
        pointer: Some("/message/content/**"),
        reason: "The harness's own boilerplate: its hash is in `meta context`.",
    },
    OmissionRule {
        rule: "rendered_result",
        omission: Omission::Field,
        record: "tool/message",
        pointer: Some("/message/content/*/result"),
        reason: "What the model was told of an outcome that the turn graph holds; where it holds none, it is the result.",
    },
    OmissionRule {
        rule: "result_parts",
        omission: Omission::Field,
        record: "tool/message",
        pointer: Some("/message/content/*/experimental_content/**"),
        reason: "The result again, as parts.",
    },
    OmissionRule {
        rule: "provider_options",
        omission: Omission::Field,
        record: "*/message",
        pointer: Some("/message/providerOptions/**"),
        reason: "What the harness keeps beside a message: request ids, and results in another form.",
    },
    OmissionRule {
        rule: "image_bytes",
        omission: Omission::Opaque,
        record: "*/message",
        pointer: Some("/message/content/*/image/**"),
        reason: "The bytes of an image: their hash is in the tape.",
    },
    OmissionRule {
        rule: "signature",
        omission: Omission::Opaque,
        record: "*/message",
        pointer: Some("/message/content/*/signature"),
        reason: "The provider's signature of a thought.",
    },
    OmissionRule {
        rule: "joined_steps",
        omission: Omission::Field,
        record: "*/message",
        pointer: Some("/steps/**"),
        reason: "The steps of the turn graph that say what the message says; what they add is in the tape.",
    },
    OmissionRule {
        rule: "empty_bubble",
        omission: Omission::Bookkeeping,
        record: "bubble",
        pointer: None,
        reason: "A message without text and call.",
    },
    OmissionRule {
        rule: "window_state",
        omission: Omission::Field,
        record: "bubble",
        pointer: Some("/bubble/**"),
        reason: "State of the window around a message, and renderings of it; text, thought, code blocks, call and result are in the tape.",
    },
    OmissionRule {
        rule: "edited_contents",
        omission: Omission::Field,
        record: "bubble",
        pointer: Some("/*"),
        reason: "The whole file before and after an edit: its hashes and its changed lines are in `code.edit`.",
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
        rule: "hook_file_content",
        omission: Omission::Field,
        record: "before*",
        pointer: Some("/content"),
        reason: "The whole file that is about to be read: its hash is in `meta context`.",
    },
];
