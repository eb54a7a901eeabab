//! The adapter's self-description: omission rules and gaps, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, OmissionRule, UnknownVersionPolicy};
use engram_core::members::MemberSource;

use super::revisions::{MATRIX, WEAKEST};

/// Rules that a record handler applies.
pub(super) mod rule {
    /// A record that the log has twice.
    pub const REPEATED: &str = "record.repeated";
    /// A message whose own record states no new fact.
    pub const ENVELOPE: &str = "message.envelope";
    /// The start of a request.
    pub const STEP_START: &str = "step.start";
    /// The end of a turn.
    pub const IDLE: &str = "turn.idle";
}

const TITLE: &str = "a label for display, made from the call's arguments or the number of results";
const SHOWN: &str = "part of the output, for display; the result has the output itself";
const DIFF: &str = "a diff for display, with altered indentation; the changed lines are `code.edit`";
const IMAGE: &str = "the content of an attachment as base64; the tape has its hash";
const STEP_START: &str = "the start of a model request; the hash names a tree of the private snapshot repository";
const FILE_BEFORE: &str = "the whole file before the edit; the tape has its hash, `file_before_hash`";
const FILE_AFTER: &str = "the whole file after the edit; the tape has its hash, `file_after_hash`";
const SYSTEM: &str = "system prompts; the tape has their hashes, and the text of instruction files";
const CHILD: &str = "the calls of the child session, which is a log of its own";
const HEADERS: &str = "HTTP headers of the provider's response";
const PROVIDER: &str = "the provider's item ids, signatures and encrypted reasoning";

const REPEATED: &str = "a record that the log has twice: its id was there before, or, if it has none, all of it";

const RULES: &[OmissionRule] = &[
    OmissionRule::duplicate(rule::REPEATED, "*", REPEATED),
    OmissionRule::bookkeeping(rule::ENVELOPE, "message/user", "role, time, agent and model of a prompt, all stated before"),
    OmissionRule::bookkeeping(rule::ENVELOPE, "message/assistant", "role, time, agent and model of an answer, all stated before"),
    OmissionRule::bookkeeping(rule::STEP_START, "part/step-start", STEP_START),
    OmissionRule::bookkeeping(rule::STEP_START, "step_start", STEP_START),
    OmissionRule::field("result.title", "*", "/messages/*/parts/*/state/title", TITLE),
    OmissionRule::field("result.title", "*", "/part/state/title", TITLE),
    OmissionRule::field("result.shown", "*", "/messages/*/parts/*/state/metadata/output", SHOWN),
    OmissionRule::field("result.shown", "*", "/part/state/metadata/output", SHOWN),
    OmissionRule::field("read.shown", "*", "/messages/*/parts/*/state/metadata/preview", SHOWN),
    OmissionRule::field("read.shown", "*", "/part/state/metadata/preview", SHOWN),
    OmissionRule::field("read.shown", "*", "/messages/*/parts/*/state/metadata/display/**", SHOWN),
    OmissionRule::field("read.shown", "*", "/part/state/metadata/display/**", SHOWN),
    OmissionRule::field("edit.file", "*", "/messages/*/parts/*/state/metadata/filediff/before", FILE_BEFORE),
    OmissionRule::field("edit.file", "*", "/messages/*/parts/*/state/metadata/filediff/after", FILE_AFTER),
    OmissionRule::field("edit.file", "*", "/part/state/metadata/filediff/before", FILE_BEFORE),
    OmissionRule::field("edit.file", "*", "/part/state/metadata/filediff/after", FILE_AFTER),
    OmissionRule::field("edit.diff", "*", "/messages/*/parts/*/state/metadata/diff", DIFF),
    OmissionRule::field("edit.diff", "*", "/part/state/metadata/diff", DIFF),
    OmissionRule::field("edit.diff", "*", "/messages/*/parts/*/state/metadata/filediff/patch", DIFF),
    OmissionRule::field("edit.diff", "*", "/part/state/metadata/filediff/patch", DIFF),
    OmissionRule::field("edit.diff", "*", "/messages/*/parts/*/state/metadata/files/*/**", DIFF),
    OmissionRule::field("edit.diff", "*", "/part/state/metadata/files/*/**", DIFF),
    OmissionRule::field("task.child", "*", "/messages/*/parts/*/state/metadata/summary/**", CHILD),
    OmissionRule::field("task.child", "*", "/part/state/metadata/summary/**", CHILD),
    OmissionRule::field(
        "turn.diffs",
        "*",
        "/messages/*/info/summary/diffs/**",
        "the net change of the turn; edits are `code.edit`, files changed by commands are `files_changed`",
    ),
    OmissionRule::field("turn.diffs", "*", "/info/summary/diffs/**", "the net change of the session; the edits are `code.edit`"),
    OmissionRule::bookkeeping(rule::IDLE, "step/idle", "the end of a turn; the end of the last answer shows how it ended"),
    OmissionRule::field("message.system", "*", "/messages/*/info/system/*", SYSTEM),
    OmissionRule::field("message.system", "*", "/messages/*/info/metadata/assistant/system/*", SYSTEM),
    OmissionRule::field("error.headers", "*", "/messages/*/info/error/data/responseHeaders/**", HEADERS),
    OmissionRule::field("error.headers", "*", "/error/data/responseHeaders/**", HEADERS),
    OmissionRule::field("result.title", "*", "/messages/*/info/metadata/tool/*/title", TITLE),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/message", "the error, which the result has too"),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/stdout", "the output, which the result has too"),
    OmissionRule::field("result.shown", "*", "/messages/*/info/metadata/tool/*/stderr", "the error output, which the result has too"),
    OmissionRule::field(
        "result.shown",
        "*",
        "/messages/*/info/metadata/tool/*/description",
        "the description, which is one of the call's arguments",
    ),
    OmissionRule::field("read.shown", "*", "/messages/*/info/metadata/tool/*/preview", SHOWN),
    OmissionRule::field("edit.diff", "*", "/messages/*/info/metadata/tool/*/diff", DIFF),
    OmissionRule::opaque("attachment.base64", "*", "/messages/*/parts/*/state/attachments/*/url", IMAGE),
    OmissionRule::opaque("attachment.base64", "*", "/part/state/attachments/*/url", IMAGE),
    OmissionRule::opaque("attachment.base64", "*", "/messages/*/parts/*/url", IMAGE),
    OmissionRule::opaque("provider.metadata", "*", "/messages/*/parts/*/metadata/**", PROVIDER),
    OmissionRule::opaque("provider.metadata", "*", "/part/metadata/**", PROVIDER),
];

const GAPS: &[Gap] = &[
    Gap {
        code: "edit.shell",
        reason: "for changes by a command the log has only the names of the changed files (`meta system` `files_changed`)",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.formatter",
        reason: "a formatter may change a file after `write`, or after `edit` with an empty old text. The log does not record this, \
                 so such an edit has the hash of the written text, but no hash of the file",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.bom",
        reason: "the log leaves out the byte order mark at the beginning of a file, so the hash of an edit of its first line lacks it",
        fixture: "1.18.33/n_files",
    },
    Gap {
        code: "read.bom",
        reason: "the log leaves out the byte order mark at the beginning of a file, so the hash of a read of its first line lacks it",
        fixture: "1.18.33/n_files",
    },
    Gap {
        code: "edit.no_file_hash",
        reason: "these versions log a diff of the edit instead of the file, so there is no hash of the whole file",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.altered_diff",
        reason: "the logged diff lacks the indentation that all its lines share. Its lines have ranges, but hashes only if the call's \
                 arguments contain a line from its first column",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.after_error",
        reason: "a call that wrote the file and then failed because a formatter was missing is logged as failed, without a diff",
        fixture: "0.1.174/main",
    },
    Gap {
        code: "edit.patch_text",
        reason: "of a patch of 0.1.174 only the text is logged, and the tool also applies a hunk where the file has other text: the edit names \
                 its file alone",
        fixture: "0.1.174/main",
    },
    Gap { code: "link.no_range", reason: "a move of a whole file is logged as two names, without lines", fixture: "1.18.34/patchmodel" },
    Gap {
        code: "read.not_utf8",
        reason: "a file that is not UTF-8 is logged with U+FFFD, so the read has lines but no hash",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "read.no_lines",
        reason: "an image is returned as an attachment; the read names the file, but no lines",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "read.no_total",
        reason: "a truncated output of a version before 1.3.0 does not state how many lines the file has. The number is also omitted for files that \
                 1.1.65 to 1.2.27 read to their end: they count one line more than 1.3.0 does in the same layout",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "read.shell",
        reason: "a file that a command prints is not a recorded read: the log does not state which lines of which file the output shows",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "call.rewritten",
        reason: "a plugin may change the arguments of a call before it runs: the log has the changed ones alone",
        fixture: "1.18.34/plugin",
    },
    Gap {
        code: "prompt.command",
        reason: "a command that the user typed is logged as the prompt that its template gives, like a prompt that the user wrote",
        fixture: "1.18.33/o_perm",
    },
    Gap {
        code: "prompt.attached_text",
        reason: "2.x writes the text of a file that is attached with `run --file` behind the words of the prompt, and does not separate them",
        fixture: "2.0.0-pre.20260717/image",
    },
    Gap {
        code: "prompt.reverted",
        reason: "messages that the user reverted are deleted with the next prompt. Only a database with a table of events still has them: its tape has \
                 them with a `rewind`. An `opencode export` has them, and says where the user went back to, only until then",
        fixture: "1.18.33/o_undo",
    },
    Gap {
        code: "usage.last_request",
        reason: "the tokens of an answer of several requests are those of the last request",
        fixture: "0.1.174/main",
    },
    Gap {
        code: "usage.cached_input",
        reason: "before 1.0.98 the input tokens contain those from the cache with some providers, and not with others. If there are any, \
                 the number of input tokens is not known. A stream without a total does not show whether the output contains the reasoning",
        fixture: "1.0.0/qa",
    },
    Gap { code: "stream.no_reasoning", reason: "`run --format json` prints no reasoning", fixture: "1.18.34/main" },
];

/// Every member of every record.
pub(super) static MEMBERS: MemberSource = MemberSource::new(&[
    include_str!("members/session.members"),
    include_str!("members/parts.members"),
    include_str!("members/results.members"),
    include_str!("members/steps.members"),
]);

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "opencode",
    adapter_version: "0.8.0",
    harness_family: "opencode",
    matrix: MATRIX,
    schema_detection_strategy: "an export is recognized by its session record (`info.id`, `info.version`) before `messages`. That version, \
                                which created the session, selects the revision; records of later versions are recognized by their fields. An \
                                export of 2.x has no version and is recognized by the session's `location`. A `run --format json` stream has no version and is recognized by its lines (`sessionID`, `part.messageID`)",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};
