//! The self-description of the Cursor adapter: gaps and omission rules.

use engram_core::descriptor::{AdapterDescriptor, Gap, OmissionRule, UnknownVersionPolicy};
use engram_core::emit::Fault;
use engram_core::ledger::Outcome;

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
    OmissionRule::bookkeeping("turn_end", "turn_ended", "Says that a turn ended well, and nothing else."),
    OmissionRule::bookkeeping(
        "thinking_end",
        "thinking/completed",
        "Ends reasoning: its text, where the capture holds it, stands at its first piece.",
    ),
    OmissionRule::duplicate(
        "thinking_pieces",
        "thinking/delta",
        "A piece of reasoning: all pieces stand joined where the first one stands.",
    ),
    OmissionRule::duplicate(
        "message_pieces",
        "assistant",
        "A piece of a message that the capture says again as a whole, or that stands joined with the other pieces.",
    ),
    OmissionRule::duplicate("result_text", "result/success", "All messages of the run again, joined without a separator."),
    OmissionRule::field(
        "result_text_field",
        "result/success",
        "/result",
        "All messages of the run again, joined without a separator; a text that is not becomes a message.",
    ),
    OmissionRule::field(
        "interleaved_output",
        "tool_call/completed",
        "/tool_call/shellToolCall/result/*/interleavedOutput",
        "Output and error output again, in the order of arrival.",
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
    OmissionRule::bookkeeping("store_root", "root", "The ids of the messages and turns, which follow."),
    OmissionRule::field(
        "system_prompt",
        "system/message",
        "/message/content/**",
        "The harness's own boilerplate: its hash is in `meta context`.",
    ),
    OmissionRule::field(
        "rendered_result",
        "tool/message",
        "/message/content/*/result",
        "What the model was told of an outcome that the turn graph holds; where it holds none, it is the result.",
    ),
    OmissionRule::field("result_parts", "tool/message", "/message/content/*/experimental_content/**", "The result again, as parts."),
    OmissionRule::field(
        "provider_options",
        "*/message",
        "/message/providerOptions/**",
        "What the harness keeps beside a message: request ids, and results in another form.",
    ),
    OmissionRule::opaque("image_bytes", "*/message", "/message/content/*/image/**", "The bytes of an image: their hash is in the tape."),
    OmissionRule::opaque("signature", "*/message", "/message/content/*/signature", "The provider's signature of a thought."),
    OmissionRule::field(
        "joined_steps",
        "*/message",
        "/steps/**",
        "The steps of the turn graph that say what the message says; what they add is in the tape.",
    ),
    OmissionRule::bookkeeping("empty_bubble", "bubble", "A message without text and call."),
    OmissionRule::field("window_state", "bubble", "/bubble/richText", "The text again, as the window's document."),
    OmissionRule::field("window_state", "bubble", "/bubble/context/**", "What the window had selected or open beside a prompt."),
    OmissionRule::field("selection_rendered", "bubble", "/bubble/selections/*/text", "The selected lines again, in a fence."),
    OmissionRule::field("selection_address", "bubble", "/bubble/*/*/uri/**", "The address of a selected file, whose path is in the tape."),
    OmissionRule::opaque("signature", "bubble", "/bubble/thinking/signature", "The provider's signature of a thought."),
    OmissionRule::field(
        "rendered_diff",
        "bubble",
        "/bubble/toolFormerData/additionalData/precomputedDiff/lines/*/content",
        "A diff for display; its spans are `code.edit`.",
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
    OmissionRule::bookkeeping("hook_workspace", "workspaceOpen", "Says that a workspace was opened, and nothing else."),
    OmissionRule::bookkeeping("hook_session", "session*", "Says that a session began or ended well, and nothing else that is new."),
    OmissionRule::bookkeeping("hook_stop", "stop", "Says that a turn ended well, and nothing else."),
    OmissionRule::field(
        "hook_file_content",
        "before*",
        "/content",
        "The whole file that is about to be read: its hash is in `meta context`.",
    ),
];
