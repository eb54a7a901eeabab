//! What a chat has shown so far.

use engram_core::event::Author;

use crate::cursor::edits::written_files::WrittenFiles;

/// What a chat has shown so far.
pub(super) struct ChatState {
    /// Who writes the prompts.
    pub(super) prompts_by: Author,
    /// The files that the harness wrote.
    pub(super) files: WrittenFiles,
}

impl Default for ChatState {
    fn default() -> Self {
        ChatState {
            prompts_by: Author::Person,
            files: WrittenFiles::default(),
        }
    }
}
