//! What step 3 keeps between records.

use engram_core::emit::Pointer;
use engram_core::keys::{KeyMap, PlaceMap};
use engram_core::text::Text;

use crate::qwen::notes::PARTS;
use crate::qwen::readers::Display;
use crate::shared::pending_calls::{CallPlace, PendingCalls};
use crate::shared::stated::Stated;
use crate::shared::value::Field;

/// What the handlers of a session keep.
#[derive(Debug, Default)]
pub struct State {
    /// Calls without a result.
    pub calls: PendingCalls<CallPlace>,
    /// Facts about the session, as its lines said them last.
    pub stated: Stated,
    /// The provider's ids of responses whose line comes next, by its record.
    pub response_ids: PlaceMap<usize, String>,
    /// How long calls ran whose result comes next, in milliseconds, by the key of the call.
    pub durations: KeyMap<u64>,
    /// The session that this one is a fork of was said.
    pub is_fork_stated: bool,
}

/// A result, as its line has it.
pub struct Returned<'a> {
    pub tool: Field<'a>,
    pub call_id: Option<Text<'a>>,
    /// What the model got.
    pub output: Option<Text<'a>>,
    /// What the terminal shows, if it is more than a text.
    pub display: Display<'a>,
    /// What the terminal shows, if it is a text.
    pub shown: Option<Text<'a>>,
}

/// Where the text for the model is.
pub const OUTPUT: Pointer<'static> = Pointer::At(PARTS);
/// Where that is what the terminal shows.
pub const SHOWN: Pointer<'static> = Pointer::At("/toolCallResult/resultDisplay");
