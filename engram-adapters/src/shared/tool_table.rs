//! From a harness's own tool names to tool kinds: one table an adapter.

use std::borrow::Cow;

use engram_core::tool_kind::ToolKind;

/// A harness's tool names and their kinds.
#[derive(Debug, Clone, Copy)]
pub struct ToolTable {
    /// Exact names.
    pub names: &'static [(&'static str, ToolKind)],
    /// Beginnings of names, for families such as MCP tools. Looked at after the exact names.
    pub prefixes: &'static [(&'static str, ToolKind)],
}

impl ToolTable {
    /// The kind of a tool, or none for a name that the table does not know.
    pub fn resolve(&self, tool: &str) -> Option<ToolKind> {
        self.exact(tool).or_else(|| self.family(tool))
    }

    /// A tool's name, which needs no memory of its own where the table has it, and its kind.
    pub fn named(&self, tool: &str) -> (Cow<'static, str>, ToolKind) {
        match self.names.iter().find(|(name, _)| *name == tool) {
            Some((name, kind)) => (Cow::Borrowed(name), *kind),
            None => (Cow::Owned(tool.to_owned()), self.family(tool).unwrap_or(ToolKind::Other)),
        }
    }

    fn exact(&self, tool: &str) -> Option<ToolKind> {
        self.names.iter().find(|(name, _)| *name == tool).map(|(_, kind)| *kind)
    }

    fn family(&self, tool: &str) -> Option<ToolKind> {
        self.prefixes.iter().find(|(prefix, _)| tool.starts_with(prefix)).map(|(_, kind)| *kind)
    }

    /// As [`ToolTable::resolve`], with [`ToolKind::Other`] for what the table does not know.
    pub fn kind(&self, tool: &str) -> ToolKind {
        self.resolve(tool).unwrap_or(ToolKind::Other)
    }
}
