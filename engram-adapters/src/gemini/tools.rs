//! Tool names of Gemini CLI, 0.4.1 to 0.61.0, and their kinds.

use engram_core::tool_kind::ToolKind;

use crate::shared::tool_table::ToolTable;

/// Every built-in tool in logs of these versions.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("read_file", ToolKind::Read),
        ("read_many_files", ToolKind::Read),
        ("replace", ToolKind::Edit),
        ("write_file", ToolKind::Write),
        ("run_shell_command", ToolKind::Execute),
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
        // The MCP server of the fixtures. Versions before 0.31.0 log the tool without a prefix.
        ("echo", ToolKind::Mcp),
    ],
    prefixes: &[("mcp_", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
