//! The revisions of the log schema: the only place where versions are compared.

use engram_core::coverage::{Coverage, Grade};
use engram_core::version::{Revision, VersionMatrix};

use super::swept::SWEPT;

/// The schema of the TypeScript document.
pub(super) const TS_JSON: &str = "ts-json";
/// The schema of bare lines.
pub(super) const BARE_JSONL: &str = "bare-jsonl";
/// The schema of what `exec --json` prints.
pub(super) const EXEC_JSON: &str = "exec-json";

/// The schema of what `exec --json` prints up to 0.42.
pub(super) const EXEC_EVENTS: &str = "exec-events";

/// The claim where only the text of a patch is recorded.
const SNIPPETS: Coverage = Coverage {
    meta: Grade::Full,
    msg_in: Grade::Full,
    msg_out: Grade::Full,
    tool_call: Grade::Full,
    tool_result: Grade::Full,
    code_read: Grade::None,
    code_edit: Grade::Partial(&["edit.shell", "edit.patch_text", "edit.add_over_file"]),
    span_link: Grade::Partial(&["link.no_range"]),
};

/// As [`SNIPPETS`]. The only recorded session ends before an answer, so there is no claim for answers; no patch in it adds over a file.
const DOCUMENT: Coverage = Coverage {
    msg_out: Grade::None,
    code_edit: Grade::Partial(&["edit.patch_text"]),
    ..SNIPPETS
};

/// As [`SNIPPETS`], where a record behind a message says whether a person sent it.
const TWINS: Coverage = Coverage {
    msg_in: Grade::Partial(&["prompt.last_record"]),
    ..SNIPPETS
};

/// The claim where the harness lists the changes that it made.
const CHANGES: Coverage = Coverage {
    meta: Grade::Partial(&["session.segments"]),
    msg_in: Grade::Partial(&["prompt.detached_review", "prompt.last_record"]),
    tool_call: Grade::Partial(&["call.nested_parent"]),
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.patch_text",
        "edit.add_over_file",
        "edit.after_error",
        "edit.hook",
        "edit.bare_cr",
    ]),
    ..SNIPPETS
};

/// The claim for what `exec --json` prints: no prompts, no counts of responses, and of edits only the files.
const STREAM: Coverage = Coverage {
    meta: Grade::Partial(&["usage.total"]),
    msg_in: Grade::None,
    code_edit: Grade::Partial(&["edit.shell", "edit.path_only"]),
    span_link: Grade::None,
    ..SNIPPETS
};

/// The claim for the events that `exec --json` prints up to 0.42: calls of other tools than commands, patches, searches and MCP are not
/// printed.
const EVENTS: Coverage = Coverage {
    tool_call: Grade::Partial(&["call.not_printed"]),
    tool_result: Grade::Partial(&["call.not_printed"]),
    code_edit: Grade::Partial(&[
        "edit.shell",
        "edit.add_over_file",
        "edit.changed_twice",
        "edit.bare_cr",
    ]),
    ..SNIPPETS
};

/// The weakest claim of all revisions.
pub(super) const COVERAGE: Coverage = Coverage {
    meta: STREAM.meta,
    msg_in: STREAM.msg_in,
    tool_call: CHANGES.tool_call,
    tool_result: EVENTS.tool_result,
    msg_out: DOCUMENT.msg_out,
    span_link: STREAM.span_link,
    ..SNIPPETS
};

/// Every revision, oldest first.
pub(super) const MATRIX: VersionMatrix = VersionMatrix {
    revisions: &[
        Revision {
            schema: TS_JSON,
            versions: None,
            tested: &["0.1.2505172129"],
            coverage: DOCUMENT,
        },
        Revision {
            schema: BARE_JSONL,
            versions: None,
            tested: &["0.8.0", "0.20.0", "0.29.0"],
            coverage: SNIPPETS,
        },
        Revision {
            schema: EXEC_EVENTS,
            versions: None,
            tested: &["0.20.0", "0.34.0", "0.42.0"],
            coverage: EVENTS,
        },
        Revision {
            schema: EXEC_JSON,
            versions: None,
            tested: &["0.77.0", "0.169.0"],
            coverage: STREAM,
        },
        Revision {
            schema: "envelope",
            versions: Some(">=0.34.0, <=0.128.0"),
            tested: &[
                "0.34.0", "0.44.0", "0.63.0", "0.89.0", "0.98.0", "0.105.0", "0.117.0", "0.125.0",
                "0.128.0",
            ],
            coverage: TWINS,
        },
        Revision {
            schema: "envelope-changes",
            versions: Some(">=0.129.0, <=0.171.0"),
            tested: &[
                "0.129.0", "0.135.0", "0.141.0", "0.146.0", "0.149.1", "0.150.0", "0.159.2",
                "0.166.0", "0.169.0", "0.171.0",
            ],
            coverage: CHANGES,
        },
    ],
    swept: SWEPT,
    known_bad: &[],
};
