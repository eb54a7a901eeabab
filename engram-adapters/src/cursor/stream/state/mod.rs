//! The state of a capture's conversion.

pub(super) mod questions;
pub(super) mod started_calls;

use questions::Questions;
use started_calls::StartedCalls;

use crate::cursor::edits::written_files::WrittenFiles;
use crate::cursor::pieces::Pieces;

/// What is kept from line to line of one session.
#[derive(Default)]
pub(in crate::cursor) struct StreamState {
    pub(super) calls: StartedCalls,
    pub(super) files: WrittenFiles,
    /// Number and call id of the last question. Its response names only the number.
    pub(super) last_question: Option<(u64, String)>,
}

/// What is kept of the whole capture.
#[derive(Default)]
pub(in crate::cursor) struct Shared {
    pub(super) pieces: Pieces,
    pub(super) questions: Questions,
    /// The key of the current session.
    pub(super) session: u64,
    /// The number of the current record.
    pub(super) number: usize,
}

impl Shared {
    /// Step 2.
    pub(super) fn decide(&mut self) {
        self.pieces.decide();
        self.questions.decide();
        self.session = 0;
    }
}
