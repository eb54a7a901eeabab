//! The adapter's self-description: members and gaps, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};

use super::format::RULES;
use super::revisions::{MATRIX, WEAKEST};
use super::table::MEMBERS;

const GAPS: &[Gap] = &[
    Gap {
        code: "edit.shell",
        reason: "for changes by a command the log has only the names of the changed files (`meta system` `files_changed`)",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.formatter",
        reason: "a formatter may change a file after `write`, `apply_patch`, or `edit` with an empty old text. The log does not record this, \
                 so such an edit has the hashes of the texts that were asked for, but no lines behind the change, and no hash of the file",
        fixture: "1.18.34/main",
    },
    Gap {
        code: "edit.add_over_file",
        reason: "`Add File` of `apply_patch` over an existing file replaces it and is logged as an addition: nothing has the earlier content",
        fixture: "1.18.33/o_patch",
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
        code: "read.bare_cr",
        reason: "`read` takes a CR without a line feed for a line end, and no field shows that: the lines of such a file are those that the \
                 harness counts, and their hash is that of a text with line feeds in place of the CRs",
        fixture: "1.18.33/n_barecr",
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
    Gap {
        code: "link.no_range",
        reason: "a move of a whole file is logged as two names, without lines",
        fixture: "1.18.34/patchmodel",
    },
    Gap {
        code: "read.not_utf8",
        reason: "a file that is not UTF-8 is logged with U+FFFD, so the read has lines but no hash. Kilo logs it as it decodes it, and nothing shows that: the hash is \
                 that of the same text in UTF-8",
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
        reason: "the next prompt deletes the messages that the user reverted. A database with a table of events still has them, so its tape has \
                 them, with a `rewind`. An `opencode export` that is made after that prompt does not have them",
        fixture: "1.18.33/o_undo",
    },
    Gap {
        code: "session.title",
        reason: "the session's own record has the last title and not when it was given, so it stands at the beginning. Of a session that was \
                 renamed, a database with a table of events has each title, and its tape has them at their places. An `opencode export` has the last",
        fixture: "1.18.34/main",
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
    Gap {
        code: "stream.no_reasoning",
        reason: "`run --format json` prints no reasoning",
        fixture: "1.18.34/main",
    },
];

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "opencode",
    adapter_version: "0.9.6",
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
