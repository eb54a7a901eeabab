//! The kinds of tools.

/// What a tool does, whatever its harness calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Changes part of a file.
    Edit,
    /// Writes a complete file.
    Write,
    /// Deletes a file.
    Delete,
    /// Moves or renames a file.
    Move,
    /// Searches in files or for files.
    Search,
    /// Lists a directory.
    List,
    /// Runs a command.
    Execute,
    /// Fetches a URL.
    Fetch,
    /// Searches the web.
    WebSearch,
    /// Records a thought and does nothing else.
    Think,
    /// Keeps a plan or task list.
    Plan,
    /// Asks the user.
    Ask,
    /// Delegates work to another agent.
    Delegate,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Loads a skill.
    Skill,
    /// Views or creates images, audio or video.
    Media,
    /// Anything else.
    Other,
}

impl ToolKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [ToolKind; 18] = [
        ToolKind::Read,
        ToolKind::Edit,
        ToolKind::Write,
        ToolKind::Delete,
        ToolKind::Move,
        ToolKind::Search,
        ToolKind::List,
        ToolKind::Execute,
        ToolKind::Fetch,
        ToolKind::WebSearch,
        ToolKind::Think,
        ToolKind::Plan,
        ToolKind::Ask,
        ToolKind::Delegate,
        ToolKind::Mcp,
        ToolKind::Skill,
        ToolKind::Media,
        ToolKind::Other,
    ];

    /// The name in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Write => "write",
            ToolKind::Delete => "delete",
            ToolKind::Move => "move",
            ToolKind::Search => "search",
            ToolKind::List => "list",
            ToolKind::Execute => "execute",
            ToolKind::Fetch => "fetch",
            ToolKind::WebSearch => "web_search",
            ToolKind::Think => "think",
            ToolKind::Plan => "plan",
            ToolKind::Ask => "ask",
            ToolKind::Delegate => "delegate",
            ToolKind::Mcp => "mcp",
            ToolKind::Skill => "skill",
            ToolKind::Media => "media",
            ToolKind::Other => "other",
        }
    }
}
