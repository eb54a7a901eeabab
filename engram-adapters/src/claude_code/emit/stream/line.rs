//! One printed line, also in the form of a line of a transcript, and what later lines need of it.

use std::collections::HashSet;

use engram_core::adapter::SideInfo;
use engram_core::keys::hash64;
use engram_core::steps;
use engram_core::text::Text;

use crate::claude_code::emit::state::State;
use crate::claude_code::readers::Printed;
use crate::claude_code::record::Record;

/// A printed line, and the same as a line of a transcript.
pub(super) struct StreamRecord<'a> {
    pub printed: Printed<'a>,
    /// The line as it is in the log.
    pub source: &'a steps::Record<'a>,
    pub record: Record<'a>,
}

/// What later lines of a capture need.
pub(super) struct StreamState {
    pub session: State,
    /// The sub-agents whose start is on the tape.
    pub agents: HashSet<u64>,
    /// Key of the last text of the model, or of a command in its place. The final result repeats it.
    pub last_text: Option<u64>,
    /// The messages that a compaction has left, by the boundary that names them. Each of them was there before.
    pub preserved: HashSet<u64>,
}

impl StreamState {
    /// The state before the first line.
    pub fn new(side_info: SideInfo) -> Self {
        StreamState {
            session: State::new(side_info),
            agents: HashSet::new(),
            last_text: None,
            preserved: HashSet::new(),
        }
    }
}

/// The key of a text, without white space at its ends: the final result may have more of it.
pub(super) fn key_of(text: Text<'_>) -> u64 {
    hash64(text.decode_lossy().trim())
}
