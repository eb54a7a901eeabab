//! The tool names of Codex and what they do.

use std::borrow::Cow;

use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use crate::shared::tool_table::ToolTable;

/// Every tool name in the recorded sessions, and the names of the same tools in other releases.
pub(super) static TOOLS: ToolTable = ToolTable {
    names: &[
        ("shell", ToolKind::Execute),
        ("local_shell", ToolKind::Execute),
        ("shell_command", ToolKind::Execute),
        ("exec_command", ToolKind::Execute),
        ("write_stdin", ToolKind::Execute),
        ("exec", ToolKind::Execute),
        ("apply_patch", ToolKind::Edit),
        ("view_image", ToolKind::Media),
        ("update_plan", ToolKind::Plan),
        ("request_user_input", ToolKind::Ask),
        ("tool_search", ToolKind::Search),
        ("web_search", ToolKind::WebSearch),
        ("image_generation", ToolKind::Media),
        ("list_mcp_resources", ToolKind::Mcp),
        ("list_mcp_resource_templates", ToolKind::Mcp),
        ("read_mcp_resource", ToolKind::Mcp),
        ("request_permissions", ToolKind::Ask),
        ("spawn_agent", ToolKind::Delegate),
        ("send_input", ToolKind::Delegate),
        ("send_message", ToolKind::Delegate),
        ("followup_task", ToolKind::Delegate),
        ("resume_agent", ToolKind::Delegate),
        ("wait", ToolKind::Delegate),
        WAIT_FOR_SCRIPT,
        ("wait_agent", ToolKind::Delegate),
        ("list_agents", ToolKind::Delegate),
        ("interrupt_agent", ToolKind::Delegate),
        ("close_agent", ToolKind::Delegate),
        ("get_goal", ToolKind::Plan),
        ("create_goal", ToolKind::Plan),
        ("update_goal", ToolKind::Plan),
        ("sleep", ToolKind::Other),
        // The names in the stream of `exec --json`.
        ("command_execution", ToolKind::Execute),
        ("file_change", ToolKind::Edit),
    ],
    prefixes: &[("mcp__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};

/// A `wait` with the id of a cell: it waits for a script of code mode, not for an agent.
pub(super) const WAIT_FOR_SCRIPT: (&str, ToolKind) = ("wait", ToolKind::Execute);

/// The kind of the tools of MCP servers.
pub(super) const MCP: ToolKind = ToolKind::Mcp;

/// The kind of a call whose record states the MCP server by itself.
pub(super) fn kind_on(server: Option<Text<'_>>, tool: &str) -> ToolKind {
    if server.is_some() {
        MCP
    } else {
        kind(tool, "")
    }
}

/// The name of a tool, borrowed from the table if it is listed.
pub(super) fn name(tool: &str) -> Cow<'static, str> {
    TOOLS.named(tool).0
}

/// The kind of a call. The server of an MCP tool is in the namespace (0.128 and later) or in the name before `__` (older).
pub(super) fn kind(tool: &str, namespace: &str) -> ToolKind {
    if namespace.starts_with("mcp__") {
        return ToolKind::Mcp;
    }
    if namespace == "web" {
        return ToolKind::WebSearch;
    }
    TOOLS.resolve(tool).unwrap_or_else(|| {
        if tool.contains("__") {
            ToolKind::Mcp
        } else {
            ToolKind::Other
        }
    })
}

/// The MCP server that a name says: in the namespace (0.128 and later), else before the tool in the name. None if the name can be read in
/// several ways.
pub(super) fn server<'n>(tool: &'n str, namespace: &'n str) -> Option<&'n str> {
    if !namespace.is_empty() {
        return namespace
            .strip_prefix("mcp__")
            .map(|server| server.strip_suffix("__").unwrap_or(server));
    }
    if TOOLS.exact(tool).is_some() {
        return None;
    }
    let (server, tool) = tool
        .strip_prefix("mcp__")
        .unwrap_or(tool)
        .split_once("__")?;
    (!server.is_empty() && !tool.is_empty() && !tool.contains("__")).then_some(server)
}
