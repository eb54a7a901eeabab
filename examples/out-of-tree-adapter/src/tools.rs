//! The kinds of Goose's tools, by the names that its bundled extensions give them.

use engram_adapters::shared::tool_table::ToolTable;
use engram_core::tool_kind::ToolKind;

/// Tools are named `<extension>__<tool>`. An extension that is not bundled is an MCP server.
pub static TOOLS: ToolTable = ToolTable {
    names: &[
        ("developer__shell", ToolKind::Execute),
        ("developer__text_editor", ToolKind::Edit),
        ("developer__image_processor", ToolKind::Media),
        ("developer__screen_capture", ToolKind::Media),
        ("developer__list_windows", ToolKind::Other),
        ("todo__write", ToolKind::Plan),
        ("todo__read", ToolKind::Plan),
    ],
    infixes: &[("__", ToolKind::Mcp)],
    ..ToolTable::EMPTY
};
