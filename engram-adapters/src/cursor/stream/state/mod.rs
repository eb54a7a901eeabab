//! The state of a capture's conversion.

pub(super) mod partial_text;
pub(super) mod pending_approvals;
pub(super) mod started_calls;

use partial_text::PartialText;
use pending_approvals::PendingApprovals;
use started_calls::StartedCalls;

use crate::cursor::edits::written_files::WrittenFiles;

/// What is kept from line to line. Each part keeps its own fields private.
#[derive(Default)]
pub(in crate::cursor) struct StreamState {
    pub(super) partial_text: PartialText,
    pub(super) calls: StartedCalls,
    pub(super) approvals: PendingApprovals,
    pub(super) files: WrittenFiles,
    /// Scratch: the type of the current line, with its subtype.
    pub(super) record_type: String,
}
