//! What Goose's tools do, by the names that its bundled extensions give them.

use engram_core::tool_kind::ToolKind;

const KINDS: &[(&str, ToolKind)] = &[
    ("developer__shell", ToolKind::Execute),
    ("developer__text_editor", ToolKind::Edit),
    ("developer__image_processor", ToolKind::Media),
    ("developer__screen_capture", ToolKind::Media),
    ("developer__list_windows", ToolKind::Other),
    ("todo__write", ToolKind::Plan),
    ("todo__read", ToolKind::Plan),
];

/// The kind of a tool. A name with an extension's in front that is not bundled is that of an MCP server's tool.
pub fn kind(tool: &str) -> Option<ToolKind> {
    let bundled = KINDS.iter().find(|(name, _)| *name == tool).map(|(_, kind)| *kind);
    bundled.or_else(|| tool.contains("__").then_some(ToolKind::Mcp))
}
