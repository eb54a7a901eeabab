//! What the adapter says about itself: its rules of omission and its gaps, each as one row.

use engram_core::descriptor::{AdapterDescriptor, Gap, Omission, OmissionRule, UnknownVersionPolicy};

use super::revisions::{MATRIX, WEAKEST};

/// Names of the rules by which records give no event.
pub(super) mod rule {
    /// The name of a rule.
    pub type Name = &'static str;
    /// A message that says nothing new of itself.
    pub const ENVELOPE: Name = "message.envelope";
    /// The beginning of a model request.
    pub const STEP_START: Name = "step.start";
}

const fn bookkeeping(rule: &'static str, record: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Bookkeeping, record, pointer: None, reason }
}

const fn field(rule: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Field, record: "*", pointer: Some(pointer), reason }
}

const fn opaque(rule: &'static str, pointer: &'static str, reason: &'static str) -> OmissionRule {
    OmissionRule { rule, omission: Omission::Opaque, record: "*", pointer: Some(pointer), reason }
}

const TITLE: &str = "a label for display, made from the call's arguments or the number of its results";
const SHOWN: &str = "the beginning or the end of the output for display; the output itself stands in the result";
const DIFF: &str = "a diff for display, its indentation altered; the changed lines are `code.edit`";
const IMAGE: &str = "the content of an attachment as base64: kept as a hash";
const PROVIDER: &str = "the provider's item ids, signatures and encrypted reasoning";

const RULES: &[OmissionRule] = &[
    bookkeeping(rule::ENVELOPE, "message/user", "who speaks, when and to which agent and model, all as stated before"),
    bookkeeping(rule::ENVELOPE, "message/assistant", "who speaks, when, as which agent and model, all as stated before"),
    bookkeeping(rule::STEP_START, "part/step-start", "a model request begins; the hash names a tree of the private snapshot repository"),
    bookkeeping(rule::STEP_START, "step_start", "a model request begins; the hash names a tree of the private snapshot repository"),
    field("result.title", "/messages/*/parts/*/state/title", TITLE),
    field("result.title", "/part/state/title", TITLE),
    field("result.shown", "/messages/*/parts/*/state/metadata/output", SHOWN),
    field("result.shown", "/part/state/metadata/output", SHOWN),
    field("read.shown", "/messages/*/parts/*/state/metadata/preview", SHOWN),
    field("read.shown", "/part/state/metadata/preview", SHOWN),
    field("read.shown", "/messages/*/parts/*/state/metadata/display/**", SHOWN),
    field("read.shown", "/part/state/metadata/display/**", SHOWN),
    field("edit.file", "/messages/*/parts/*/state/metadata/filediff/before", "the whole file before the edit: kept as `file_before_hash`"),
    field("edit.file", "/messages/*/parts/*/state/metadata/filediff/after", "the whole file after the edit: kept as `file_after_hash`"),
    field("edit.file", "/part/state/metadata/filediff/before", "the whole file before the edit: kept as `file_before_hash`"),
    field("edit.file", "/part/state/metadata/filediff/after", "the whole file after the edit: kept as `file_after_hash`"),
    field("edit.diff", "/messages/*/parts/*/state/metadata/diff", DIFF),
    field("edit.diff", "/part/state/metadata/diff", DIFF),
    field("edit.diff", "/messages/*/parts/*/state/metadata/filediff/patch", DIFF),
    field("edit.diff", "/part/state/metadata/filediff/patch", DIFF),
    field("edit.diff", "/messages/*/parts/*/state/metadata/files/*/**", DIFF),
    field("edit.diff", "/part/state/metadata/files/*/**", DIFF),
    field("task.child", "/messages/*/parts/*/state/metadata/summary/**", "the child's calls, which its own session holds"),
    field("task.child", "/part/state/metadata/summary/**", "the child's calls, which its own session holds"),
    field(
        "turn.diffs",
        "/messages/*/info/summary/diffs/**",
        "what the turn changed in all, by whatever means: the edits are `code.edit`, files changed by commands are `files_changed`",
    ),
    field("turn.diffs", "/info/summary/diffs/**", "what the session changed in all: the edits are `code.edit`"),
    field("message.system", "/messages/*/info/system/*", "system prompts: kept as hashes, instruction files as text"),
    field("message.system", "/messages/*/info/metadata/assistant/system/*", "system prompts: kept as hashes, instruction files as text"),
    field("error.headers", "/messages/*/info/error/data/responseHeaders/**", "transport headers of the provider's answer"),
    field("error.headers", "/error/data/responseHeaders/**", "transport headers of the provider's answer"),
    field("result.title", "/messages/*/info/metadata/tool/*/title", TITLE),
    field("result.shown", "/messages/*/info/metadata/tool/*/message", "the error, as the result says it"),
    field("result.shown", "/messages/*/info/metadata/tool/*/stdout", "the output, as the result says it"),
    field("result.shown", "/messages/*/info/metadata/tool/*/stderr", "the error output, as the result says it"),
    field("result.shown", "/messages/*/info/metadata/tool/*/description", "the description among the call's arguments"),
    field("read.shown", "/messages/*/info/metadata/tool/*/preview", SHOWN),
    field("edit.diff", "/messages/*/info/metadata/tool/*/diff", DIFF),
    opaque("attachment.base64", "/messages/*/parts/*/state/attachments/*/url", IMAGE),
    opaque("attachment.base64", "/part/state/attachments/*/url", IMAGE),
    opaque("attachment.base64", "/messages/*/parts/*/url", IMAGE),
    opaque("provider.metadata", "/messages/*/parts/*/metadata/**", PROVIDER),
    opaque("provider.metadata", "/part/metadata/**", PROVIDER),
];

const GAPS: &[Gap] = &[
    Gap {
        code: "edit.shell",
        reason: "what a command changed shows only as the names of the changed files (`meta system` `files_changed`)",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.formatter",
        reason: "a formatter may change a file after `write`, or after `edit` with an empty old text, wrote it; the log does not say, \
                 so such an edit has the hash of the written text and none of the file",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.no_file_hash",
        reason: "these versions keep a diff of the edit and not the file, so there is no hash of the whole file",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.altered_diff",
        reason: "the diff has lost the indentation that all its lines share; its lines have ranges, but hashes only where the call shows \
                 a line from its beginning",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.after_error",
        reason: "a call that wrote the file and failed afterwards, for want of a formatter, is logged as failed without a diff",
        fixture: "0.1.174/main",
    },
    Gap {
        code: "link.no_range",
        reason: "a move of a whole file is logged by its two names, without lines",
        fixture: "1.18.34/patchmodel",
    },
    Gap {
        code: "read.not_utf8",
        reason: "a file that is not UTF-8 is shown with U+FFFD, so what was read has lines but no hash",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "read.no_lines",
        reason: "an image is returned as an attachment; the read names the file and no lines",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "read.no_total",
        reason: "an output that is cut before 1.3.2 does not say how many lines the file has; nor is it told of files that 1.1.65 to 1.2.27 read \
                 to their end, which counted one line more than 1.3.2 does in the same layout",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "read.shell",
        reason: "a file that a command shows is no read: the log does not say which lines of which file the output is",
        fixture: "1.18.34/main",
    },
    Gap { code: "stream.no_reasoning", reason: "`run --format json` prints no reasoning", fixture: "1.18.34/main" },
];

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "opencode",
    adapter_version: env!("CARGO_PKG_VERSION"),
    harness_family: "opencode",
    matrix: MATRIX,
    schema_detection_strategy: "an export is told by its session record (`info.id`, `info.version`) before `messages`, and its revision by that \
                                version, which is the one that created the session; what changed later shows in the records themselves. A \
                                `run --format json` stream records no version and is told by its lines (`sessionID`, `part.messageID`)",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type"],
    gaps: GAPS,
    omission_rules: RULES,
};
