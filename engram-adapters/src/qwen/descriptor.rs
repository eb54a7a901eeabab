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
        reason: "a shell command or a hook that changes files leaves no record of the change: the hash of a file after an edit is that of the text that \
                 the call wrote",
        fixture: "0.24.4/main",
    },
    Gap {
        code: "edit.big_file",
        reason: "the log cuts a file of more than 16,000 characters: its edit has the lines and hashes that the diff shows and no hash of the file. The \
                 diff leaves out lines in which only white space changed",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "edit.agent_snippet",
        reason: "lines of sub-agents have only the text of a result for the model: an edit is the text after it, if the result has this text; `edit` also \
                 finds text that differs from its arguments, so nothing is known of the text before",
        fixture: "0.24.4/sub",
    },
    Gap {
        code: "edit.bom",
        reason: "the log leaves out the byte order mark at the beginning of a file, so the hashes of the file and of its first line lack it",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "edit.not_utf8",
        reason: "text in another encoding is logged as the harness reads it, and nothing in the log shows that: the hashes are those of the same text in \
                 UTF-8",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "result.no_denial",
        reason: "a call that a person did not allow is logged like one that was stopped before it began: it is `cancelled`",
        fixture: "0.24.4/acp",
    },
    Gap {
        code: "read.trimmed",
        reason: "`read_file` returns lines without the white space at their ends, so a read has lines and no hash",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "read.not_utf8",
        reason: "text in another encoding is returned as the harness reads it; such a read has no hash either",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "read.shell",
        reason: "a file that a shell command prints is not a recorded read",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "read.no_lines",
        reason: "an empty file is returned as a notice, which the file itself may have: its read has no lines. Words of hooks and reminders stand behind a \
                 file without a mark, so a read whose text goes on behind an empty line and has no line end has none either",
        fixture: "0.24.4/files",
    },
    Gap {
        code: "read.no_total",
        reason: "a read that does not reach the end of the file counts the empty text after the last line end as a line, so the number of lines may be \
                 one less",
        fixture: "0.24.4/files",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "qwen",
    adapter_version: "0.1.1",
    harness_family: "qwen",
    matrix: MATRIX,
    schema_detection_strategy: "Each line has the version of Qwen Code.",
    coverage: CLAIMS,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/subtype", "/systemPayload/uiEvent/event.name"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// The built-in tools of 0.24.4 (`ToolNames`), and those of older versions in recordings.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read_file", ToolKind::Read),
        ("read_many_files", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("replace", ToolKind::Edit),
        ("notebook_edit", ToolKind::Edit),
        ("write_file", ToolKind::Write),
        ("run_shell_command", ToolKind::Execute),
        ("monitor", ToolKind::Execute),
        ("grep_search", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("list_directory", ToolKind::List),
        ("web_fetch", ToolKind::Fetch),
        ("web_search", ToolKind::WebSearch),
        ("todo_write", ToolKind::Plan),
        ("exit_plan_mode", ToolKind::Plan),
        ("enter_plan_mode", ToolKind::Plan),
        ("get_goal", ToolKind::Plan),
        ("update_goal", ToolKind::Plan),
        ("ask_user_question", ToolKind::Ask),
        ("agent", ToolKind::Delegate),
        ("task", ToolKind::Delegate),
        ("send_message", ToolKind::Delegate),
        ("task_stop", ToolKind::Delegate),
        ("list_agents", ToolKind::Delegate),
        ("skill", ToolKind::Skill),
        ("tool_search", ToolKind::Search),
        ("save_memory", ToolKind::Other),
        ("tool_call", ToolKind::Other),
        // It calls tools of MCP servers.
        ("tool_call", ToolKind::Mcp),
        ("lsp", ToolKind::Search),
    ],
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
