//! The names of the built-in tools, 0.2.109 to 2.1.329, and their kinds.

use engram_core::tool_kind::ToolKind;

use crate::shared::tool_table::ToolTable;

/// Every built-in tool that a log of these versions calls or offers to the model.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("Read", ToolKind::Read),
        ("Edit", ToolKind::Edit),
        ("MultiEdit", ToolKind::Edit),
        ("NotebookEdit", ToolKind::Edit),
        ("NotebookRead", ToolKind::Read),
        ("Write", ToolKind::Write),
        ("Bash", ToolKind::Execute),
        ("BashOutput", ToolKind::Execute),
        ("PowerShell", ToolKind::Execute),
        ("TaskOutput", ToolKind::Execute),
        ("KillShell", ToolKind::Execute),
        ("KillBash", ToolKind::Execute),
        ("TaskStop", ToolKind::Execute),
        ("Monitor", ToolKind::Execute),
        ("Grep", ToolKind::Search),
        ("Glob", ToolKind::Search),
        ("ToolSearch", ToolKind::Search),
        ("LS", ToolKind::List),
        ("Task", ToolKind::Delegate),
        ("Agent", ToolKind::Delegate),
        ("SendMessage", ToolKind::Delegate),
        ("TodoWrite", ToolKind::Plan),
        ("TodoRead", ToolKind::Plan),
        ("TaskCreate", ToolKind::Plan),
        ("TaskUpdate", ToolKind::Plan),
        ("TaskGet", ToolKind::Plan),
        ("TaskList", ToolKind::Plan),
        ("EnterPlanMode", ToolKind::Plan),
        ("ExitPlanMode", ToolKind::Plan),
        ("exit_plan_mode", ToolKind::Plan),
        ("AskUserQuestion", ToolKind::Ask),
        ("WebFetch", ToolKind::Fetch),
        ("WebSearch", ToolKind::WebSearch),
        ("Skill", ToolKind::Skill),
        ("SlashCommand", ToolKind::Skill),
        ("ListMcpResourcesTool", ToolKind::Mcp),
        ("ReadMcpResourceTool", ToolKind::Mcp),
        ("EnterWorktree", ToolKind::Other),
        ("ExitWorktree", ToolKind::Other),
        ("CronCreate", ToolKind::Other),
        ("CronDelete", ToolKind::Other),
        ("CronList", ToolKind::Other),
        ("StructuredOutput", ToolKind::Other),
    ],
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
