//! The adapter's self-description: members, gaps and tools, one row each.

use engram_core::descriptor::{AdapterDescriptor, Gap, UnknownVersionPolicy};
use engram_core::tool_kind::ToolKind;

use super::format::RULES;
use super::revisions::{MATRIX, WEAKEST};
use super::table::MEMBERS;
use crate::shared::tool_table::ToolTable;

const GAPS: &[Gap] = &[
    Gap {
        code: "edit.shell",
        reason: "a shell command that changes files leaves no record of the change",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "edit.snippet",
        reason: "up to 0.24.5 the log has only the arguments of the call, so an edit has no lines and no file hashes. `replace` also finds \
                 text that differs from its arguments, so its edits have no hashes at all",
        fixture: "0.24.5/b_edit",
    },
    Gap {
        code: "edit.parallel_lost",
        reason: "from 0.35.3 to 0.47.0 the calls of a turn ran in parallel: one of two edits of a file was overwritten, and both report \
                 success. Both are unconfirmed, without file hashes",
        fixture: "0.39.0/b_edit",
    },
    Gap {
        code: "edit.hook",
        reason: "a hook may change the file after the call: where the log shows that one ran, an edit has no hash of the file after it, else that of \
                 the text that the call wrote",
        fixture: "0.61.0/g_hooks",
    },
    Gap {
        code: "prompt.after_hook",
        reason: "without a terminal, the reason of an `AfterAgent` hook to go on is logged like a prompt, unless a `BeforeAgent` hook adds to it: it is by \
                 `person`, although nobody sent it",
        fixture: "0.61.0/p_turns",
    },
    Gap {
        code: "call.rewritten",
        reason: "a hook may change the arguments of a call before it runs: the log has the changed ones alone, but where the history is written again after a compression: \
                 those of the model are a context there",
        fixture: "0.61.0/g_hooks",
    },
    Gap {
        code: "call.no_response",
        reason: "over ACP one message of the log collects the calls of all responses: a call behind another response names no response",
        fixture: "0.61.0/g_acp",
    },
    Gap {
        code: "edit.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD: such an edit has lines, but no hashes",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "read.no_total",
        reason: "a partial read may count an empty line after the last one, so the number of lines is known only if the read reaches the end of the file",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "read.shell",
        reason: "a file that a shell command prints is not a recorded read",
        fixture: "0.16.0/g_rich",
    },
    Gap {
        code: "read.no_lines",
        reason: "an image or document is read as a whole, not by lines; nor are the lines known of an output that the harness has replaced by parts of it, \
                 or in which other text may be that of instructions behind the file",
        fixture: "0.16.0/g_rich",
    },
    Gap {
        code: "read.cut_line",
        reason: "the harness cuts a line of more than 2,000 characters: a read with such a line has no hash",
        fixture: "0.61.0/p_turns",
    },
    Gap {
        code: "read.bom",
        reason: "the log leaves out the byte order mark at the beginning of a file that is read, so the hash of its first line lacks it; edits have it",
        fixture: "0.61.0/n_files",
    },
    Gap {
        code: "read.not_utf8",
        reason: "text that is not UTF-8 is logged with U+FFFD, so the read has no hash (up to 0.38.2; later versions do not return such a file)",
        fixture: "0.28.2/b_edit",
    },
    Gap {
        code: "result.no_duration",
        reason: "a result has the time of its call, and the log does not state how long the call ran",
        fixture: "0.61.0/b_edit",
    },
    Gap {
        code: "result.display_only",
        reason: "`--output-format stream-json` prints what a call shows on the screen: nothing of a file that was read",
        fixture: "0.60.0/n_long",
    },
    Gap {
        code: "usage.run_total",
        reason: "`--output-format stream-json` prints the tokens of all requests of a run as one sum for each model",
        fixture: "0.60.0/n_long",
    },
    Gap {
        code: "stream.no_reasoning",
        reason: "`--output-format stream-json` prints no reasoning",
        fixture: "0.60.0/n_long",
    },
];

/// The descriptor.
pub(super) static DESCRIPTOR: AdapterDescriptor = AdapterDescriptor {
    adapter_id: "gemini",
    adapter_version: "0.9.5",
    harness_family: "gemini",
    matrix: MATRIX,
    schema_detection_strategy: "No log has a version. The schema follows from the structure: one record a line or one document, a known header, \
                                messages without unknown members, and for a document whether it has calls and whole files.",
    coverage: WEAKEST,
    unknown_version_policy: UnknownVersionPolicy::PermissiveDegrade,
    record_type: &["/type", "/role", "/kind", "/$set/#"],
    members: Some(&MEMBERS),
    gaps: GAPS,
    omission_rules: RULES,
};

/// Every built-in tool in logs of 0.4.1 to 0.61.0, and those that 0.61.0 has beside them.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read_file", ToolKind::Read),
        ("read_many_files", ToolKind::Read),
        ("replace", ToolKind::Edit),
        ("write_file", ToolKind::Write),
        ("run_shell_command", ToolKind::Execute),
        ("list_background_processes", ToolKind::List),
        ("read_background_output", ToolKind::Execute),
        ("grep_search", ToolKind::Search),
        ("search_file_content", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("list_directory", ToolKind::List),
        ("web_fetch", ToolKind::Fetch),
        ("google_web_search", ToolKind::WebSearch),
        ("save_memory", ToolKind::Other),
        ("write_todos", ToolKind::Plan),
        ("update_topic", ToolKind::Plan),
        ("enter_plan_mode", ToolKind::Plan),
        ("exit_plan_mode", ToolKind::Plan),
        ("ask_user", ToolKind::Ask),
        ("activate_skill", ToolKind::Skill),
        ("invoke_agent", ToolKind::Delegate),
        ("codebase_investigator", ToolKind::Delegate),
        ("delegate_to_agent", ToolKind::Delegate),
        ("generalist", ToolKind::Delegate),
        ("complete_task", ToolKind::Delegate),
        ("list_mcp_resources", ToolKind::Mcp),
        ("read_mcp_resource", ToolKind::Mcp),
        ("get_internal_docs", ToolKind::Read),
        ("tracker_create_task", ToolKind::Plan),
        ("tracker_update_task", ToolKind::Plan),
        ("tracker_get_task", ToolKind::Plan),
        ("tracker_list_tasks", ToolKind::Plan),
        ("tracker_add_dependency", ToolKind::Plan),
        ("tracker_visualize", ToolKind::Plan),
        // The MCP server of the fixtures. Versions before 0.31.0 log the tool without a prefix.
        ("echo", ToolKind::Mcp),
    ],
    prefixes: &[("mcp_", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
