//! The kinds of Cursor's stores, and the id of an agent's runs in one of them.

/// One chat in a database of its own.
pub(in crate::cursor) const CHATS: &str = "Cursor chat store";
/// Conversations of the editor.
pub(in crate::cursor) const EDITOR: &str = "Cursor editor store";
/// Agents and their runs.
pub(in crate::cursor) const RUNS: &str = "Cursor run store";

/// The end of the id of an agent's runs, where the store has its conversation too.
pub(in crate::cursor) const RUNS_OF: &str = ".runs";
