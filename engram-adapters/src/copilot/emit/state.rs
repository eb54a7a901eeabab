//! What step 3 keeps between records.

use engram_core::hash::Hash;
use engram_core::keys::KeyMap;

use super::files::TurnFiles;
use crate::copilot::snapshots::Snapshots;
use crate::shared::pending_calls::PendingCalls;

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
