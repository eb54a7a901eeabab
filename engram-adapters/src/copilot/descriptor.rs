//! The adapter's self-description: members, gaps and tools, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::RULES;
use super::revisions::{CLAIMS, MATRIX};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

const GAPS: &[Gap] = &[
    Gap {
        code: "usage.run",
        reason: "versions before those with `session.usage_record` count tokens only at the end of a run, for each model, and not at all for a run \
                 that was killed",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "usage.cached_input",
        reason: "1.0.12 and 1.0.20 do not count the tokens that came from the cache of Anthropic's interface",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "edit.shell",
        reason: "before 1.0.82 a command that changes files leaves no record of the change. Later a snapshot names each file that changed after a \
                 prompt; of a file that edit tools changed too it does not tell what else did",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "edit.names_only",
        reason: "of what a command changed, the snapshot has the text before and the SHA-256 of the text after: the text after is known only if \
                 the file changes again later",
        fixture: "1.0.102/files",
    },
    Gap {
        code: "edit.no_file_hash",
        reason: "the result of an edit has a diff and not the file, so there is no hash of the whole file without a snapshot that proves it",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "edit.file_end",
        reason: "a diff shows the end of a file that ends with a line end as an empty line: an edit whose last changed line is empty has no lines \
                 without a snapshot that proves it",
        fixture: "1.0.12/end",
    },
    Gap {
        code: "edit.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD: such an edit has lines, but no hashes",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "link.no_range",
        reason: "a patch moves a whole file, and does not say how many lines it has",
        fixture: "1.0.102/patch",
    },
    Gap {
        code: "read.shell",
        reason: "a file that a shell command prints is not a recorded read",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "read.no_lines",
        reason: "an image is read as a whole, not by lines",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "read.no_total",
        reason: "a read of a part does not say how many lines the file has. An empty last line that it shows may be the end of the file and no line: the \
                 read leaves it out",
        fixture: "1.0.12/files",
    },
    Gap {
        code: "read.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD, so the read has no hash",
        fixture: "1.0.12/files",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "copilot",
    adapter_version: "0.1.1",
    harness_family: "copilot",
    matrix: MATRIX,
    schema_detection_strategy: "The first line has the version of the format and that of Copilot CLI.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The built-in tools of 1.0.12 to 1.0.102. Those of MCP servers have the name of their server beside them.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("view", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("create", ToolKind::Write),
        ("apply_patch", ToolKind::Edit),
        ("bash", ToolKind::Execute),
        ("powershell", ToolKind::Execute),
        ("read_bash", ToolKind::Other),
        ("write_bash", ToolKind::Other),
        ("stop_bash", ToolKind::Other),
        ("list_bash", ToolKind::Other),
        ("grep", ToolKind::Search),
        ("rg", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("task", ToolKind::Delegate),
        ("read_agent", ToolKind::Delegate),
        ("write_agent", ToolKind::Delegate),
        ("list_agents", ToolKind::Delegate),
        ("skill", ToolKind::Skill),
        ("sql", ToolKind::Other),
        ("session_store_sql", ToolKind::Other),
        ("report_intent", ToolKind::Think),
        ("fetch_copilot_cli_documentation", ToolKind::Fetch),
        ("web_fetch", ToolKind::Fetch),
        ("ask_user", ToolKind::Ask),
    ],
    ..ToolTable::EMPTY
};
