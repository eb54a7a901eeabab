//! Edits of files, by the texts that all of Cursor's formats state.

pub(super) mod file_edits;
pub(super) mod written_files;
