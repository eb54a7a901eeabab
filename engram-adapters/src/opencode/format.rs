//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

#![allow(dead_code, reason = "an adapter need not use each name of its format")]

use engram_core::descriptor::OmissionRule;
use engram_core::ledger::Outcome;

/// The record types `in content`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    Text, Reasoning, Tool,
}

impl ContentKind {
    /// The type `content/` and this name.
    pub(super) fn named(name: &str) -> Option<ContentKind> {
        Some(match name {
            "text" => ContentKind::Text,
            "reasoning" => ContentKind::Reasoning,
            "tool" => ContentKind::Tool,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ContentKind::Text => "content/text",
            ContentKind::Reasoning => "content/reasoning",
            ContentKind::Tool => "content/tool",
        }
    }
}

/// The record types `in info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InfoKind {
    Session, StepSession,
}

impl InfoKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<InfoKind> {
        Some(match name {
            "session" => InfoKind::Session,
            "step/session" => InfoKind::StepSession,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            InfoKind::Session => "session",
            InfoKind::StepSession => "step/session",
        }
    }
}

/// The record types `in line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Text, ToolUse, StepFinish, Reasoning, Error,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl LineKind {
    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<LineKind> {
        Some(match name {
            "text" => LineKind::Text,
            "tool_use" => LineKind::ToolUse,
            "step_start" => LineKind::Omitted(Outcome::Bookkeeping { record: "step_start", rule: "step.start" }),
            "step_finish" => LineKind::StepFinish,
            "reasoning" => LineKind::Reasoning,
            "error" => LineKind::Error,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            LineKind::Text => "text",
            LineKind::ToolUse => "tool_use",
            LineKind::StepFinish => "step_finish",
            LineKind::Reasoning => "reasoning",
            LineKind::Error => "error",
            LineKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    User, Assistant,
}

impl MessageKind {
    /// The type `message/` and this name.
    pub(super) fn named(name: &str) -> Option<MessageKind> {
        Some(match name {
            "user" => MessageKind::User,
            "assistant" => MessageKind::Assistant,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            MessageKind::User => "message/user",
            MessageKind::Assistant => "message/assistant",
        }
    }
}

/// The record types `in part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Text, Reasoning, Tool, ToolInvocation, StepFinish, Patch, Snapshot, File, Compaction, Retry, Agent, Subtask, SourceUrl,
    /// A type whose records give no event, and what becomes of them.
    Omitted(Outcome),
}

impl PartKind {
    /// The type `part/` and this name.
    pub(super) fn named(name: &str) -> Option<PartKind> {
        Some(match name {
            "text" => PartKind::Text,
            "reasoning" => PartKind::Reasoning,
            "tool" => PartKind::Tool,
            "tool-invocation" => PartKind::ToolInvocation,
            "step-start" => PartKind::Omitted(Outcome::Bookkeeping { record: "part/step-start", rule: "step.start" }),
            "step-finish" => PartKind::StepFinish,
            "patch" => PartKind::Patch,
            "snapshot" => PartKind::Snapshot,
            "file" => PartKind::File,
            "compaction" => PartKind::Compaction,
            "retry" => PartKind::Retry,
            "agent" => PartKind::Agent,
            "subtask" => PartKind::Subtask,
            "source-url" => PartKind::SourceUrl,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            PartKind::Text => "part/text",
            PartKind::Reasoning => "part/reasoning",
            PartKind::Tool => "part/tool",
            PartKind::ToolInvocation => "part/tool-invocation",
            PartKind::StepFinish => "part/step-finish",
            PartKind::Patch => "part/patch",
            PartKind::Snapshot => "part/snapshot",
            PartKind::File => "part/file",
            PartKind::Compaction => "part/compaction",
            PartKind::Retry => "part/retry",
            PartKind::Agent => "part/agent",
            PartKind::Subtask => "part/subtask",
            PartKind::SourceUrl => "part/source-url",
            PartKind::Omitted(outcome) => outcome.record(),
        }
    }
}

/// The record types `in step`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Assistant, User, Synthetic, System, Skill, Shell, Compaction, AgentSwitched, ModelSwitched, LocationSwitched, Idle,
}

impl StepKind {
    /// The type `step/` and this name.
    pub(super) fn named(name: &str) -> Option<StepKind> {
        Some(match name {
            "assistant" => StepKind::Assistant,
            "user" => StepKind::User,
            "synthetic" => StepKind::Synthetic,
            "system" => StepKind::System,
            "skill" => StepKind::Skill,
            "shell" => StepKind::Shell,
            "compaction" => StepKind::Compaction,
            "agent-switched" => StepKind::AgentSwitched,
            "model-switched" => StepKind::ModelSwitched,
            "location-switched" => StepKind::LocationSwitched,
            "idle" => StepKind::Idle,
            _ => return None,
        })
    }

    /// The name of the type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            StepKind::Assistant => "step/assistant",
            StepKind::User => "step/user",
            StepKind::Synthetic => "step/synthetic",
            StepKind::System => "step/system",
            StepKind::Skill => "step/skill",
            StepKind::Shell => "step/shell",
            StepKind::Compaction => "step/compaction",
            StepKind::AgentSwitched => "step/agent-switched",
            StepKind::ModelSwitched => "step/model-switched",
            StepKind::LocationSwitched => "step/location-switched",
            StepKind::Idle => "step/idle",
        }
    }
}

/// The marks by which a log is recognised.
pub(super) mod mark {
    /// An export: the session's own record, then its messages.
    pub(in super::super) const EXPORT: &str = "export.info.id=ses_+version,messages";
    /// An export of 2.x, whose session record has no version.
    pub(in super::super) const STEP_EXPORT: &str = "export.info.id=ses_+location,messages";
    /// A `run --format json` line with a part.
    pub(in super::super) const STREAM_PART: &str = "run.sessionID=ses_+part.messageID=msg_";
    /// A `run --format json` line with an error.
    pub(in super::super) const STREAM_ERROR: &str = "run.sessionID=ses_+error.name";
    /// A `run --format json` line of 2.x with a call.
    pub(in super::super) const STEP_STREAM_CALL: &str = "run.sessionID=ses_+part.state.metadata.providerCall";

    /// Every mark.
    pub(in super::super) const ALL: &[&str] = &[EXPORT, STEP_EXPORT, STREAM_PART, STREAM_ERROR, STEP_STREAM_CALL];
}

/// The rules that leave out whole records.
pub(super) mod rule {
    pub(in super::super) const RECORD_REPEATED: &str = "record.repeated";
    pub(in super::super) const MESSAGE_ENVELOPE: &str = "message.envelope";
    pub(in super::super) const STEP_START: &str = "step.start";
    pub(in super::super) const TURN_IDLE: &str = "turn.idle";
}

/// Every rule, with its reason.
pub(super) const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate("record.repeated", "*", "a record that the log has twice: its id was there before, or, if it has none, all of it"),
    OmissionRule::bookkeeping("message.envelope", "message/user", "role, time, agent and model of a prompt, all said before"),
    OmissionRule::bookkeeping("message.envelope", "message/assistant", "role, time, agent and model of an answer, all said before"),
    OmissionRule::bookkeeping("step.start", "part/step-start", "the start of a model request; the hash names a tree of the private snapshot repository"),
    OmissionRule::bookkeeping("step.start", "step_start", "the start of a model request; the hash names a tree of the private snapshot repository"),
    OmissionRule::field("result.title", "*", "/messages/*/parts/*/state/title", "a label for display, made from the call's arguments or the number of results"),
    OmissionRule::field("result.title", "*", "/part/state/title", "a label for display, made from the call's arguments or the number of results"),
    OmissionRule::field("result.shown", "*", "/messages/*/parts/*/state/metadata/output", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("result.shown", "*", "/part/state/metadata/output", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("read.shown", "*", "/messages/*/parts/*/state/metadata/preview", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("read.shown", "*", "/part/state/metadata/preview", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("read.shown", "*", "/messages/*/parts/*/state/metadata/display/**", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("read.shown", "*", "/part/state/metadata/display/**", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("edit.file", "*", "/messages/*/parts/*/state/metadata/filediff/before", "the whole file before the edit; the tape has its hash, `file_before_hash`"),
    OmissionRule::field("edit.file", "*", "/messages/*/parts/*/state/metadata/filediff/after", "the whole file after the edit; the tape has its hash, `file_after_hash`"),
    OmissionRule::field("edit.file", "*", "/part/state/metadata/filediff/before", "the whole file before the edit; the tape has its hash, `file_before_hash`"),
    OmissionRule::field("edit.file", "*", "/part/state/metadata/filediff/after", "the whole file after the edit; the tape has its hash, `file_after_hash`"),
    OmissionRule::field("edit.diff", "*", "/messages/*/parts/*/state/metadata/diff", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::field("edit.diff", "*", "/part/state/metadata/diff", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::field("edit.diff", "*", "/messages/*/parts/*/state/metadata/filediff/patch", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::field("edit.diff", "*", "/part/state/metadata/filediff/patch", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::field("edit.diff", "*", "/messages/*/parts/*/state/metadata/files/*/**", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::field("edit.diff", "*", "/part/state/metadata/files/*/**", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::field("task.child", "*", "/messages/*/parts/*/state/metadata/summary/**", "the calls of the child session, which is a log of its own"),
    OmissionRule::field("task.child", "*", "/part/state/metadata/summary/**", "the calls of the child session, which is a log of its own"),
    OmissionRule::field("turn.diffs", "*", "/messages/*/info/summary/diffs/**", "the net change of the turn; edits are `code.edit`, files changed by commands are `files_changed`"),
    OmissionRule::field("turn.diffs", "*", "/info/summary/diffs/**", "the net change of the session; the edits are `code.edit`"),
    OmissionRule::bookkeeping("turn.idle", "step/idle", "the end of a turn; the end of the last answer shows how it ended"),
    OmissionRule::field("message.system", "*", "/messages/*/info/system/*", "system prompts; the tape has their hashes, and the text of instruction files"),
    OmissionRule::field("message.system", "*", "/messages/*/info/metadata/assistant/system/*", "system prompts; the tape has their hashes, and the text of instruction files"),
    OmissionRule::field("error.headers", "*", "/messages/*/info/error/data/responseHeaders/**", "HTTP headers of the provider's response"),
    OmissionRule::field("error.headers", "*", "/error/data/responseHeaders/**", "HTTP headers of the provider's response"),
    OmissionRule::field("result.title", "*", "/messages/*/info/metadata/tool/*/title", "a label for display, made from the call's arguments or the number of results"),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/message", "the error, which the result has too"),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/stdout", "the output, which the result has too"),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/stderr", "the error output, which the result has too"),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/description", "the description, which is one of the call's arguments"),
    OmissionRule::field("read.shown", "*", "/messages/*/info/metadata/tool/*/preview", "part of the output, for display; the result has the output itself"),
    OmissionRule::field("edit.diff", "*", "/messages/*/info/metadata/tool/*/diff", "a diff for display, with altered indentation; the changed lines are `code.edit`"),
    OmissionRule::opaque("attachment.base64", "*", "/messages/*/parts/*/state/attachments/*/url", "the content of an attachment as base64; the tape has its hash"),
    OmissionRule::opaque("attachment.base64", "*", "/part/state/attachments/*/url", "the content of an attachment as base64; the tape has its hash"),
    OmissionRule::opaque("attachment.base64", "*", "/messages/*/parts/*/url", "the content of an attachment as base64; the tape has its hash"),
    OmissionRule::opaque("provider.metadata", "*", "/messages/*/parts/*/metadata/**", "the provider's item ids, signatures and encrypted reasoning"),
    OmissionRule::opaque("provider.metadata", "*", "/part/metadata/**", "the provider's item ids, signatures and encrypted reasoning"),
];
