//! The kinds of tools.

use crate::words::words;

words! {
    /// What a tool does, whatever its harness calls it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ToolKind {
        /// Reads a file.
        Read = "read",
        /// Changes part of a file.
        Edit = "edit",
        /// Writes a complete file.
        Write = "write",
        /// Deletes a file.
        Delete = "delete",
        /// Moves or renames a file.
        Move = "move",
        /// Searches in files or for files.
        Search = "search",
        /// Lists a directory.
        List = "list",
        /// Runs a command.
        Execute = "execute",
        /// Fetches a URL.
        Fetch = "fetch",
        /// Searches the web.
        WebSearch = "web_search",
        /// Records a thought and does nothing else.
        Think = "think",
        /// Keeps a plan or task list.
        Plan = "plan",
        /// Asks the user.
        Ask = "ask",
        /// Delegates work to another agent.
        Delegate = "delegate",
        /// Calls a tool of an MCP server.
        Mcp = "mcp",
        /// Loads a skill.
        Skill = "skill",
        /// Views or creates images, audio or video.
        Media = "media",
        /// Anything else.
        Other = "other",
    }
}
