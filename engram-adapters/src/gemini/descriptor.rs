//! What the adapter says about itself: claims, gaps and omission rules.

use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule, UnknownVersionPolicy};

use super::revisions::{MATRIX, WEAKEST};

/// The rules by which records are left out.
pub(super) mod rule {
    /// A message line that is written again with nothing new in it.
    pub const REWRITTEN: &str = "message.rewritten";
    /// A history that is written again, in a `$set` line.
    pub const RESTATED: &str = "history.restated";
    /// A history that is written again, as message lines.
    pub const RELOGGED: &str = "history.relogged";
    /// A message without content.
    pub const EMPTY: &str = "message.empty";
    /// The time of the last change.
    pub const CLOCK: &str = "session.clock";
    /// The session's own id again.
    pub const SAME_SESSION: &str = "session.same_id";
}

const fn duplicate(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Duplicate, record, pointer: None, reason }
}

const fn bookkeeping(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Bookkeeping, record, pointer: None, reason }
}

const fn field(rule: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Field, record: "gemini", pointer: Some(pointer), reason }
}

const fn opaque(rule: &'static str, record: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Opaque, record, pointer: Some(pointer), reason }
}

const RULES: &[OmissionRule] = &[
    duplicate(rule::REWRITTEN, "gemini", "a turn that is written again under the same id with nothing that was not said"),
    duplicate(rule::REWRITTEN, "user", "a result as the model gets it, which the call itself already had (0.44.0 and later)"),
    duplicate(rule::RESTATED, "messages", "the whole history again, every message of which was said (0.44.0 and later)"),
    duplicate(rule::RELOGGED, "gemini", "a turn of the history again, as a message under a new id (0.61.0, when the user cancels)"),
    duplicate(rule::RELOGGED, "user", "a prompt or result of the history again, as a message under a new id"),
    bookkeeping(rule::EMPTY, "*", "a message without text, thought, call, result or token count"),
    bookkeeping(rule::CLOCK, "lastUpdated", "the time of the last change of the file"),
    bookkeeping(rule::SAME_SESSION, "sessionId", "the session's own id, written again when it is resumed"),
    field("call.name", "/toolCalls/*/displayName", "the tool's name as the terminal shows it"),
    field("call.description", "/toolCalls/*/description", "the tool's own description, or the arguments as the terminal shows them"),
    field("result.shown", "/toolCalls/*/resultDisplay", "the result as the terminal shows it; the result itself is `tool.result`"),
    field("result.shown", "/toolCalls/*/resultDisplay/*/*/text", "a command's output as lines of terminal cells (0.38.2 to 0.43.0)"),
    field("result.shown", "/toolCalls/*/resultDisplay/summary", "the number of matches or files, as the terminal shows it"),
    field("result.shown", "/toolCalls/*/resultDisplay/matches/*/*", "the matches that the result lists"),
    field("result.shown", "/toolCalls/*/resultDisplay/files/*", "the files that the result lists"),
    field("result.shown", "/toolCalls/*/resultDisplay/todos/*/description", "the plan that the arguments give"),
    field("agent.progress", "/toolCalls/*/resultDisplay/recentActivity/*/*", "what the sub-agent did last; its own log has all of it"),
    field("agent.answer", "/toolCalls/*/resultDisplay/result", "the sub-agent's answer, which stands in the result"),
    field("edit.file", "/toolCalls/*/resultDisplay/originalContent", "the file before the edit: kept as `file_before_hash`"),
    field("edit.file", "/toolCalls/*/resultDisplay/newContent", "the file after the edit: kept as `file_after_hash`"),
    field("edit.diff", "/toolCalls/*/resultDisplay/fileDiff", "a diff for display; its spans are `code.edit`"),
    field("thought.half", "/thoughts/*/subject", "stands joined with its description, where the turn is written first"),
    field("thought.half", "/thoughts/*/description", "stands joined with its subject, where the turn is written first"),
    opaque("signature", "gemini", "/content/*/thoughtSignature", "a signature of the model's provider"),
    opaque("signature", "messages", "/$set/messages/*/content/*/thoughtSignature", "a signature of the model's provider"),
    opaque("signature", "model", "/parts/*/thoughtSignature", "a signature of the model's provider"),
    opaque("file", "user", "/content/*/inlineData/data", "a file in base64: its hash stands in the tape"),
    opaque("file", "user", "/parts/*/inlineData/data", "a file in base64: its hash stands in the tape"),
    opaque("file", "messages", "/$set/messages/*/content/*/inlineData/data", "a file in base64: its hash stands in the tape"),
    opaque("file", "gemini", "/toolCalls/*/result/*/inlineData/data", "a file in base64: its hash stands in the tape"),
];

const GAPS: &[Gap] = &[
    Gap { code: "edit.shell", reason: "a shell command that changes files leaves no record of the change", fixture: "0.61.0/b_edit" },
    Gap {
        code: "edit.snippet",
        reason: "up to 0.24.5 the log holds only the call's own texts, so an edit has no lines and no file hashes",
        fixture: "0.24.5/b_edit",
    },
    Gap {
        code: "edit.parallel_lost",
        reason: "from 0.35.3 to 0.47.0 the calls of a turn ran side by side: of two edits of one file one was overwritten, and both report \
                 success; they stand unconfirmed, without file hashes",
        fixture: "0.39.0/b_edit",
    },
    Gap {
        code: "edit.not_utf8",
        reason: "what is not UTF-8 is logged with U+FFFD in its place: such an edit has lines, but no hashes",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "read.no_total",
        reason: "a read of some lines counts what may be an empty line after the last: how many lines the file has is known only at its end",
        fixture: "0.61.0/b_edit",
    },
    Gap { code: "read.shell", reason: "a shell command that shows a file is no recorded read", fixture: "0.16.0/g_rich" },
    Gap { code: "read.no_lines", reason: "an image or document is read as a whole, not by lines", fixture: "0.16.0/g_rich" },
    Gap {
        code: "read.not_utf8",
        reason: "what is not UTF-8 is logged with U+FFFD in its place, so its text is not known (up to 0.38.2; later it is not shown)",
        fixture: "0.28.2/b_edit",
    },
    Gap {
        code: "prompt.delegated",
        reason: "before sub-agents had logs of their own (0.39.0), the prompt of a sub-agent is recorded like one of the user",
        fixture: "0.31.0/c_subagent",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "gemini",
    adapter_version: "0.1.0",
    harness_family: "gemini",
    matrix: MATRIX,
    schema_detection_strategy: "No log records a version. The schema follows from structure: a line a record or one document, a known header, \
                                messages without unknown fields, and for documents whether calls and whole files stand in them.",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/role", "/kind", "/$set/#"],
    gaps: GAPS,
    omission_rules: RULES,
};
