//! What step 3 keeps between records.

use engram_core::hash::Hash;
use engram_core::keys::{KeyMap, hash64};
use engram_core::text::Text;

use super::files::TurnFiles;
use crate::copilot::snapshots::Snapshots;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::stated::Stated;
use crate::shared::value::{Field, raw_str};

/// A call that has begun.
#[derive(Debug, Clone)]
pub struct OpenCall {
    /// The record in which it begins.
    pub record: usize,
    /// Its tool.
    pub tool: String,
}

/// What the handlers of a session keep.
#[derive(Default)]
pub struct State {
    /// The id of the session.
    pub session: Option<String>,
    /// The sub-agent that the record is of, as a key.
    pub speaker: u64,
    /// Facts about the session and its sub-agents, as records said them last.
    pub stated: Stated,
    /// Calls without a result.
    pub calls: PendingCalls<OpenCall>,
    /// The images that the log has had, by id: hash and size.
    pub images: KeyMap<(Hash, u64)>,
    /// The tokens of runs that the tape has of each model.
    pub counted: KeyMap<[u64; 5]>,
    /// The snapshots of the session.
    pub snapshots: Snapshots,
    /// The files that change in this turn.
    pub turn: TurnFiles,
}

impl State {
    /// Hash and size of an image that the log has had, by its id.
    pub fn image(&self, asset: Field<'_>) -> Option<(Hash, u64)> {
        self.images.get(&hash64(raw_str(asset))).copied()
    }

    /// The text of a fact of the session, or of the sub-agent that the record is of, if it is another one than before.
    pub fn changed<'a>(&mut self, name: &str, now: Field<'a>) -> Option<Text<'a>> {
        self.stated.changed((name, self.speaker), now)
    }
}
