//! What step 3 keeps between records.

use engram_core::emit::Pointer;
use engram_core::keys::{KeyMap, PlaceMap};
use engram_core::text::Text;

use crate::qwen::interface::Interface;
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
    /// What notices say of responses whose line comes next, by its record.
    pub requests: PlaceMap<usize, Request>,
    /// What notices say of calls whose result comes next, by the key of the call.
    pub noticed: KeyMap<NoticedCall>,
    /// The interface that the requests of a sub-agent go to.
    pub interface: Interface,
    /// The next prompt is what the model gets in the place of a command.
    pub is_command_sent: bool,
    /// The session that this one is a fork of was said.
    pub is_fork_stated: bool,
}

impl State {
    /// What is known of the request for the response in this record, which has been written.
    pub fn request(&mut self, response: usize) -> Request {
        self.requests.remove(&response).unwrap_or(Request {
            id: None,
            interface: self.interface,
        })
    }
}

/// What a notice says of the request for a response.
#[derive(Debug, Clone)]
pub struct Request {
    /// The provider's id of the response.
    pub id: Option<String>,
    pub interface: Interface,
}

/// What a notice says of a call.
#[derive(Debug, Clone, Copy)]
pub struct NoticedCall {
    /// How long it ran, in milliseconds.
    pub duration: Option<u64>,
    /// A person did not allow it.
    pub is_refused: bool,
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
