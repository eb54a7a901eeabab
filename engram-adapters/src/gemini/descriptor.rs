//! What the adapter says about itself: claims, gaps and omission rules.

use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule, UnknownVersionPolicy};

use super::revisions::{MATRIX, WEAKEST};

/// The rules by which records are left out.
pub(super) mod rule {
    use engram_core::ledger::Outcome;

    /// A message line that is written again with nothing new in it.
    pub const REWRITTEN: &str = "message.rewritten";
    /// A history that is written again, in a `$set` line.
    pub const RESTATED: &str = "history.restated";
    /// A history that is written again, as message lines.
    pub const RELOGGED: &str = "history.relogged";
    /// A message without content.
    pub const EMPTY: &str = "message.empty";
    /// The time of the last change.
    pub const CLOCK: Outcome = Outcome::Bookkeeping { record: "lastUpdated", rule: "session.clock" };
    /// The session's own id again.
    pub const SESSION_ID: Outcome = Outcome::Bookkeeping { record: "sessionId", rule: "session.same_id" };
}

const fn record(rule: &'static str, omission: Omission, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission, record, pointer: None, reason }
}

const fn field(rule: &'static str, omission: Omission, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission, record: "*", pointer: Some(pointer), reason }
}

const RULES: &[OmissionRule] = &[
    record(
        rule::REWRITTEN,
        Omission::Duplicate,
        "*",
        "A message is written again under the same id, or a result again as a `functionResponse`, with nothing that was not said.",
    ),
    record(rule::RESTATED, Omission::Duplicate, "messages", "The whole history again, every message of which was said."),
    record(rule::RELOGGED, Omission::Duplicate, "*", "A message of the history again, under a new id."),
    record(rule::EMPTY, Omission::Bookkeeping, "*", "A message without text, thought, call, result or token count."),
    record("session.clock", Omission::Bookkeeping, "lastUpdated", "The time of the last change of the file."),
    record("session.same_id", Omission::Bookkeeping, "sessionId", "The session's own id, written again when it is resumed."),
    field(
        "call.display",
        Omission::Field,
        "/toolCalls/*/resultDisplay/**",
        "What the terminal shows of a result: a rendering of the result, or the file before and after, which stands as hashes, and its diff, which stands as edits.",
    ),
    field(
        "call.description",
        Omission::Field,
        "/toolCalls/*/description",
        "What the terminal shows of a call: the tool's own description, or the arguments.",
    ),
    field("signature", Omission::Opaque, "/content/*/thoughtSignature", "A signature of the model's provider."),
    field("signature.restated", Omission::Opaque, "/$set/messages/*/content/*/thoughtSignature", "A signature of the model's provider."),
    field("file", Omission::Opaque, "/content/*/inlineData/data", "A file in base64; its hash stands in the tape."),
    field("file.result", Omission::Opaque, "/toolCalls/*/result/*/inlineData/data", "A file in base64; its hash stands in the tape."),
];

const GAPS: &[Gap] = &[
    Gap { code: "edit.shell", reason: "A shell command that changes files leaves no record of the change.", fixture: "0.61.0/b_edit" },
    Gap {
        code: "edit.snippet",
        reason: "Up to 0.24.5 the log holds only the call's own texts, so an edit has no lines and no file hashes.",
        fixture: "0.24.5/b_edit",
    },
    Gap {
        code: "edit.parallel_lost",
        reason: "From 0.35.3 to 0.47.0 the calls of a turn ran side by side: of two edits of one file one was overwritten, and both report success. \
                 They stand unconfirmed, without file hashes.",
        fixture: "0.39.0/b_edit",
    },
    Gap {
        code: "prompt.delegated",
        reason: "0.31.0 records the prompt that it gives to a sub-agent like a prompt of the user.",
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
