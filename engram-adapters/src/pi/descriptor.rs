//! The adapter's self-description: members, gaps and tools, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::RULES;
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

const GAPS: &[Gap] = &[
    Gap {
        code: "edit.shell",
        reason: "a shell command that changes files leaves no record of the change",
        fixture: "1.6.0/main",
    },
    Gap {
        code: "edit.add_over_file",
        reason: "`write` does not log whether the file was there: it is a `create` where the session has not read or changed the file before",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "edit.fuzzy",
        reason: "`edit` also finds text with other quotes, dashes or white space. Before 0.79.10 it then rewrites the file in its simpler form, and the log \
                 has that form for the text before the edit. So edits whose result has no `durationMs` (before 1.3) have no hash of the text before",
        fixture: "0.73.1/main",
    },
    Gap {
        code: "edit.no_file_hash",
        reason: "the log has a diff of an edit and not the file, so there is no hash of the whole file",
        fixture: "1.6.0/main",
    },
    Gap {
        code: "edit.script",
        reason: "of an edit that a script of `codemode` made, the log has no diff: only the file is known",
        fixture: "1.6.0/codemode",
    },
    Gap {
        code: "edit.bom",
        reason: "the log leaves out the byte order mark at the beginning of a file, so the hash of an edit of its first line lacks it",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "edit.bare_cr",
        reason: "`edit` takes a CR without a line feed for a line end, and nothing in the log shows that: the lines and hashes of an edit of such a file \
                 are those of a text with line feeds in place of the CRs",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "edit.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD: such an edit has lines, but no hashes",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "result.blocked",
        reason: "a call that an extension blocked is logged as one that failed, with the words of the extension",
        fixture: "1.6.0/tree",
    },
    Gap {
        code: "result.script",
        reason: "of a call that a script of `codemode` made, the log has the error and not the output",
        fixture: "1.6.0/codemode",
    },
    Gap {
        code: "read.shell",
        reason: "a file that a shell command prints is not a recorded read",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "read.no_lines",
        reason: "an image is read as a whole, not by lines; a read that a script of `codemode` made has no output in the log; nor has the output lines if the first one is longer than 50 KiB",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "read.no_total",
        reason: "a read that does not reach the end of the file counts the empty text after the last line end as a line, so the number of lines may be \
                 one less",
        fixture: "1.6.0/main",
    },
    Gap {
        code: "read.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD, so the read has no hash",
        fixture: "1.6.0/files",
    },
    Gap {
        code: "prompt.command",
        reason: "a prompt template that the user typed is logged as the prompt that it gives, like a prompt that the user wrote",
        fixture: "1.6.0/tree",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "pi",
    adapter_version: "0.1.3",
    harness_family: "pi",
    matrix: MATRIX,
    schema_detection_strategy: "The header has the version of the format. No log has the version of Pi: what differs between versions is seen in the \
                                members of each record.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/message/role"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The built-in tools of Pi 1.6.0 and of OpenClaw 2026.9.6. Others are of extensions.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read", ToolKind::Read),
        ("write", ToolKind::Write),
        ("edit", ToolKind::Edit),
        ("bash", ToolKind::Execute),
        ("powershell", ToolKind::Execute),
        ("grep", ToolKind::Search),
        ("find", ToolKind::Search),
        ("ls", ToolKind::List),
        ("codemode", ToolKind::Execute),
        ("tool_search", ToolKind::Search),
        ("apply_patch", ToolKind::Edit),
        ("exec", ToolKind::Execute),
        ("process", ToolKind::Execute),
        ("terminal", ToolKind::Execute),
        ("tool_describe", ToolKind::Search),
        ("tool_call", ToolKind::Other),
        ("view_image", ToolKind::Media),
        ("web_search", ToolKind::WebSearch),
        ("web_fetch", ToolKind::Fetch),
        ("sessions_spawn", ToolKind::Delegate),
        ("sessions_yield", ToolKind::Other),
        ("openclaw", ToolKind::Other),
    ],
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
