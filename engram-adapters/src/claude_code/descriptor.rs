//! What the adapter says about itself: its rules of omission and its gaps, each as one row.

use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule, UnknownVersionPolicy};
use engram_core::ledger::Outcome;

use super::revisions::{MATRIX, WEAKEST};

/// Names of the rules that convert.rs and its neighbours apply.
pub(super) mod rule {
    /// A message or result that was appended again.
    pub const APPENDED_AGAIN: &str = "history.appended_again";
    /// A queued prompt that the conversation also holds.
    pub const QUEUED: &str = "queue.said_in_conversation";
    /// Queue state without a prompt.
    pub const QUEUE_STATE: &str = "queue.state";
    /// A sub-agent's line, copied into its parent's file.
    pub const AGENT_PROGRESS: &str = "agent.own_file";
    /// A title or mode that has not changed.
    pub const UNCHANGED: &str = "state.unchanged";
}

/// A record that gives no event, and the rule that says why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Omitted {
    pub record: &'static str,
    pub rule: &'static str,
}

impl Omitted {
    /// The record says again what another record says.
    pub fn duplicate(self) -> Outcome {
        Outcome::Duplicate { record: self.record, rule: self.rule }
    }

    /// The record holds state without content.
    pub fn bookkeeping(self) -> Outcome {
        Outcome::Bookkeeping { record: self.record, rule: self.rule }
    }
}

/// The outcome of a record type that never gives an event.
pub(super) fn never_mapped(record: &str) -> Option<Outcome> {
    let found = RULES.iter().find(|rule| rule.record == record && rule.pointer.is_none())?;
    let omitted = Omitted { record: found.record, rule: found.rule };
    match found.omission {
        Omission::Duplicate => Some(omitted.duplicate()),
        Omission::Bookkeeping => Some(omitted.bookkeeping()),
        Omission::Field | Omission::Opaque => None,
    }
}

const fn duplicate(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Duplicate, record, pointer: None, reason }
}

const fn bookkeeping(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Bookkeeping, record, pointer: None, reason }
}

const fn field(rule: &'static str, record: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Field, record, pointer: Some(pointer), reason }
}

const fn opaque(rule: &'static str, record: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Opaque, record, pointer: Some(pointer), reason }
}

const RULES: &[OmissionRule] = &[
    duplicate(
        rule::APPENDED_AGAIN,
        "assistant",
        "a message that was appended again after a failed stream (1.0.128 to 2.1.0); its blocks stand at their first place",
    ),
    duplicate(rule::APPENDED_AGAIN, "user", "a tool result that was appended again with its message; it stands at its first place"),
    duplicate(
        rule::QUEUED,
        "queue-operation/enqueue",
        "the prompt follows as a `user` or `queued_command` record; one that never does is said at the end",
    ),
    duplicate(rule::QUEUED, "queue-operation/remove", "repeats the prompt that was queued"),
    bookkeeping(rule::QUEUE_STATE, "queue-operation/enqueue", "a queue entry without a prompt"),
    bookkeeping(rule::QUEUE_STATE, "queue-operation/dequeue", "a queued prompt goes on; the prompt itself is another record"),
    duplicate(rule::AGENT_PROGRESS, "progress/agent_progress", "copies a line of the sub-agent's own file (2.1.80)"),
    duplicate("prompt.last", "last-prompt", "the last prompt with its white space squeezed, for a list of sessions"),
    duplicate("request.blob", "api-request-blob", "a message of the conversation as it was sent, kept by hash"),
    bookkeeping("request.delta", "api-request", "which messages a request sent, by hash, and its parameters"),
    bookkeeping("state.latch", "atis-latch", "an opaque flag"),
    bookkeeping("state.tools_used", "tools-used", "names of tools whose calls are records"),
    bookkeeping("backup.snapshot", "file-history-snapshot", "names of backup files for undo; the files lie elsewhere"),
    bookkeeping("backup.delta", "file-history-delta", "the name of one more backup file"),
    bookkeeping("ui.turn_duration", "system/turn_duration", "how long a turn took, for display"),
    duplicate(rule::UNCHANGED, "ai-title", "the title again, unchanged"),
    bookkeeping(rule::UNCHANGED, "permission-mode", "the mode again, unchanged"),
    bookkeeping(rule::UNCHANGED, "mode", "the mode again, unchanged"),
    bookkeeping(rule::UNCHANGED, "cost-state", "the cost again, unchanged"),
    field(
        "result.file",
        "user",
        "/toolUseResult/file/**",
        "the file that was read: its lines stand in the result as the model saw them, its hash in `code.read`",
    ),
    field("edit.file", "user", "/toolUseResult/originalFile", "the whole file before the edit: kept as `file_before_hash`"),
    field("edit.file", "user", "/toolUseResult/originalFileContents", "as `originalFile`, for MultiEdit"),
    field("edit.file", "user", "/toolUseResult/original_file", "as `originalFile`, for notebooks"),
    field("edit.file", "user", "/toolUseResult/updated_file", "the whole notebook after the edit: kept as `file_after_hash`"),
    field("edit.arguments", "user", "/toolUseResult/oldString", "the text that the call replaced, as its arguments say"),
    field("edit.arguments", "user", "/toolUseResult/newString", "the text that the call put in its place"),
    field("edit.arguments", "user", "/toolUseResult/edits/**", "the replacements, as the call's arguments say"),
    field("edit.arguments", "user", "/toolUseResult/content", "the whole file that the call wrote, or the output as the model saw it"),
    field("edit.arguments", "user", "/toolUseResult/new_source", "the cell's new text, as the call's arguments say"),
    field("edit.arguments", "user", "/toolUseResult/old_source", "the cell's text before, part of `file_before_hash`"),
    field("edit.patch", "user", "/toolUseResult/structuredPatch/**", "a diff for display, its tabs altered; the spans are `code.edit`"),
    field("edit.shell_diff", "user", "/toolUseResult/bashEditDiff/**", "a diff of what a command changed; the spans are `code.edit`"),
    field(
        "result.rendered",
        "user",
        "/message/content/*/content",
        "the output as the model saw it, where it only repeats `stdout` and `stderr`",
    ),
    field("result.structured", "user", "/toolUseResult/**", "the result in the tool's own fields, which the text for the model renders"),
    field("result.error", "user", "/toolUseResult", "the text of the result again"),
    field("attachment.rendered", "attachment/*", "/rendered/**", "the text that the attachment's fields were rendered to"),
    field("attachment.rendered", "attachment/*", "/renderedInHumanTurn/**", "the same, for a turn with a person's prompt"),
    field("attachment.boilerplate", "attachment/*", "/attachment/**", "the harness's own listings and prompts, kept as hash and size"),
    field("request.shape", "api-request-shape", "/shape/**", "the system prompt and the tools, kept as hash and size"),
    field("cost.models", "cost-state", "/modelUsage/**", "counts by model, the sum of those of the messages"),
    opaque("thinking.signature", "assistant", "/message/content/*/signature", "a signature"),
    opaque("thinking.redacted", "assistant", "/message/content/*/data", "reasoning that only the model's provider can read"),
    opaque("image.base64", "user", "/message/content/*/source/data", "an image: hashed as an attachment"),
    opaque("image.base64", "user", "/message/content/*/content/*/source/data", "an image that a tool returned: hashed as an attachment"),
    opaque("image.base64", "user", "/toolUseResult/file/base64", "the same image again"),
];

const GAPS: &[Gap] = &[Gap {
    code: "edit.shell",
    reason: "files that a shell command changes leave no trace in the log before 2.1.300",
    fixture: "2.1.275/b_edit",
}];

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "claude-code",
    adapter_version: "0.1.0",
    harness_family: "claude-code",
    matrix: MATRIX,
    schema_detection_strategy: "a line with sessionId, uuid, parentUuid, isSidechain and version, or one of the lines that stand \
                                beside the conversation; the revision follows from the first recorded version",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/operation", "/attachment/type", "/data/type"],
    gaps: GAPS,
    omission_rules: RULES,
};
