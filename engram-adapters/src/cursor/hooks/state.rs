//! What a hook log has shown so far of one conversation.

use super::call_inputs::CallInputs;
use super::open_writes::OpenWrites;
use super::session_facts::LastFacts;
use crate::cursor::edits::written_files::WrittenFiles;

/// What a hook log has shown so far of one conversation.
#[derive(Default)]
pub(super) struct HookState {
    pub(super) facts: LastFacts,
    pub(super) inputs: CallInputs,
    pub(super) writes: OpenWrites,
    pub(super) files: WrittenFiles,
    /// True if the answers of the turn have token counts. Those of its end are their sum.
    pub(super) has_usage: bool,
}
