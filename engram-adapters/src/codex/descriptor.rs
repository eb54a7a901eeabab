//! The adapter's self-description and its known gaps.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};

use super::format::RULES;
use super::revisions::{COVERAGE, MATRIX};
use super::table::MEMBERS;

/// The adapter's self-description.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "codex",
    adapter_version: "0.10.4",
    harness_family: "codex",
    matrix: MATRIX,
    schema_detection_strategy: "cli_version of the first session_meta line; the TypeScript document and the bare lines, which record no version, and what `exec --json` prints, by their structure",
    coverage: COVERAGE,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &[
        "/type",
        "/payload/type",
        "/payload/item/type",
        "/record_type",
        "/item/type",
        "msg/msg/type",
    ],
    members: Some(&MEMBERS),
    gaps: &[
        Gap {
            code: "edit.shell",
            reason: "files that a shell command writes: no record says what changed",
            fixture: "0.169.0/main",
        },
        Gap {
            code: "edit.patch_text",
            reason: "up to 0.128 only the patch text is recorded, and up to 0.149 only the last of several changes of one file in a patch is listed: snippets of the patch text without line numbers, whose old text may differ from the file in white space, quotes and dashes",
            fixture: "0.128.0/main",
        },
        Gap {
            code: "edit.add_over_file",
            reason: "`Add File` or a move over an existing file replaces it and is logged as an addition or a move: nothing has the earlier content",
            fixture: "0.169.0/main",
        },
        Gap {
            code: "edit.after_error",
            reason: "a patch that fails while its files are written may have changed those before: no record says which",
            fixture: "0.171.0/x_partpatch",
        },
        Gap {
            code: "edit.hook",
            reason: "a hook may change a file after a patch, and no record says that one ran: lines and hashes are those of the patch",
            fixture: "0.171.0/x_formatter",
        },
        Gap {
            code: "call.nested_parent",
            reason: "if several scripts of code mode run at once, no record says which of them made a call: the call has no parent",
            fixture: "0.169.0/main-codemode",
        },
        Gap {
            code: "call.not_printed",
            reason: "`exec --json` up to 0.42 prints calls of commands, patches, searches and MCP servers only",
            fixture: "0.42.0/exec-events",
        },
        Gap {
            code: "edit.changed_twice",
            reason: "of a patch that changes a file twice, `exec --json` up to 0.42 prints one of the changes: the edit names its file alone",
            fixture: "0.42.0/exec-events",
        },
        Gap {
            code: "edit.bare_cr",
            reason: "a CR without a line feed ends a line for the harness, and is part of a line on the tape. Where a diff or an earlier patch shows one, an edit has no lines, unless the diff begins with the file; one that no record shows makes the lines behind it wrong",
            fixture: "0.169.0/bare-cr",
        },
        Gap {
            code: "usage.total",
            reason: "`exec --json` prints running totals of the thread, and no counts of a response",
            fixture: "0.169.0/exec-json",
        },
        Gap {
            code: "edit.path_only",
            reason: "`exec --json` prints which files a patch changed, and not how: a moved file is an update of its old path",
            fixture: "0.169.0/exec-json",
        },
        Gap {
            code: "prompt.detached_review",
            reason: "a review in a thread of its own begins with a text of the harness that is recorded as if a person had sent it",
            fixture: "0.149.1/rare",
        },
        Gap {
            code: "prompt.last_record",
            reason: "a prompt and a text of the harness differ by the record behind it alone. In a log that ends with such a message, after others that have this record, it is by the harness; 0.150 and later mostly state what it is",
            fixture: "0.135.0/cut-prompt",
        },
        Gap {
            code: "session.segments",
            reason: "a thread that the user reverted is in several files with one session id. A file names the one that it continues (`meta system` `thread_reverted`, in a fork `thread_base`) by the id of the thread, or by an id that only the names of files have",
            fixture: "0.169.0/appserver",
        },
        Gap {
            code: "link.no_range",
            reason: "a move names its files but no lines",
            fixture: "0.169.0/main",
        },
    ],
    omission_rules: RULES,
};
