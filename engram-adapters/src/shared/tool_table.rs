//! The table that maps a harness's tool names to tool kinds. Each adapter has one.

use std::borrow::Cow;

use engram_core::tool_kind::ToolKind;

/// The server of a tool with the name `mcp__<server>__<tool>`.
pub fn mcp_server(tool: &str) -> Option<&str> {
    Some(tool.strip_prefix("mcp__")?.split_once("__")?.0)
}

/// A harness's tool names and their kinds.
///
/// ```
/// use engram_adapters::shared::tool_table::ToolTable;
/// use engram_core::tool_kind::ToolKind;
///
/// const NAMES: &[(&str, ToolKind)] = &[("Bash", ToolKind::Execute)];
/// const TOOLS: ToolTable = ToolTable { names: NAMES, prefixes: &[("mcp__", ToolKind::Mcp)], ..ToolTable::EMPTY };
/// assert_eq!(TOOLS.resolve("Bash"), Some(ToolKind::Execute));
/// assert_eq!(TOOLS.resolve("mcp__server__tool"), Some(ToolKind::Mcp));
/// assert_eq!(TOOLS.resolve("unknown"), None);
/// assert_eq!(TOOLS.kind("unknown"), ToolKind::Other);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ToolTable {
    /// Exact names.
    pub names: &'static [(&'static str, ToolKind)],
    /// Beginnings of names, for families such as MCP tools. Looked at after the exact names.
    pub prefixes: &'static [(&'static str, ToolKind)],
    /// Parts of names, such as a separator between server and tool. Looked at after the beginnings.
    pub infixes: &'static [(&'static str, ToolKind)],
}

impl ToolTable {
    /// A table that knows no tool.
    pub const EMPTY: ToolTable = ToolTable {
        names: &[],
        prefixes: &[],
        infixes: &[],
    };

    /// The kind of a tool. None if the table does not have its name.
    pub fn resolve(&self, tool: &str) -> Option<ToolKind> {
        self.exact(tool).or_else(|| self.family(tool))
    }

    /// Every kind of a tool with this name: two tools may have one name, and then the first of their rows is the usual one.
    pub fn kinds(&self, tool: &str) -> Vec<ToolKind> {
        let exact: Vec<ToolKind> = self
            .names
            .iter()
            .filter(|(name, _)| *name == tool)
            .map(|(_, kind)| *kind)
            .collect();
        if exact.is_empty() {
            self.family(tool).into_iter().collect()
        } else {
            exact
        }
    }

    /// A tool's name and kind. The name is borrowed from the table if it is there.
    pub fn named(&self, tool: &str) -> (Cow<'static, str>, ToolKind) {
        match self.names.iter().find(|(name, _)| *name == tool) {
            Some((name, kind)) => (Cow::Borrowed(name), *kind),
            None => (
                Cow::Owned(tool.to_owned()),
                self.family(tool).unwrap_or(ToolKind::Other),
            ),
        }
    }

    /// The kind of a tool whose exact name is in the table.
    pub fn exact(&self, tool: &str) -> Option<ToolKind> {
        self.names
            .iter()
            .find(|(name, _)| *name == tool)
            .map(|(_, kind)| *kind)
    }

    fn family(&self, tool: &str) -> Option<ToolKind> {
        let prefix = self
            .prefixes
            .iter()
            .find(|(prefix, _)| tool.starts_with(prefix));
        prefix
            .or_else(|| self.infixes.iter().find(|(infix, _)| tool.contains(infix)))
            .map(|(_, kind)| *kind)
    }

    /// As [`ToolTable::resolve`], with [`ToolKind::Other`] for names that the table does not have.
    pub fn kind(&self, tool: &str) -> ToolKind {
        self.resolve(tool).unwrap_or(ToolKind::Other)
    }
}
