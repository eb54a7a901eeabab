//! Which call a result belongs to: several calls of a log may have one id.

use engram_core::keys::{KeyMap, hash64};

/// A call: the key of its id, and which call of that id it is, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallKey {
    pub(super) id: u64,
    pub(super) number: u32,
}

/// The calls of the log. Several may have one id.
#[derive(Default)]
pub(super) struct Calls {
    /// The number of a call, by its id, its message, and how many calls before it in the message have its id.
    pub(super) numbers: KeyMap<u32>,
    /// The arguments of a call, by its id, its message, its number there, and the list.
    pub(super) args: KeyMap<u64>,
    /// The calls with their arguments that the log has said.
    pub(super) told: KeyMap<()>,
    /// The calls of the last message with an id: the first and the last of them.
    pub(super) latest: KeyMap<(u32, u32)>,
    /// The calls, by their id, that only a history has so far: the turn was stopped before the log had them. Their results come in a message of
    /// their own (0.61.0, recorded).
    pub(super) restated: KeyMap<u32>,
    /// The calls with a result.
    returned: KeyMap<()>,
    /// The responses that the model got, from the calls' own results.
    pub(super) responses: KeyMap<()>,
}

/// The most calls of a message and an id among which the call of a response is searched.
const MAX_OPEN: usize = 64;

impl Calls {
    /// Notes the result of a call. True if the log said it before.
    pub(super) fn returns(&mut self, call: CallKey) -> bool {
        self.returned.insert(hash64(call), ()).is_some()
    }

    /// The call that a response belongs to. Its id can be used by several messages: the last such message counts, and in it the last call
    /// without a result.
    pub(super) fn of_response(&self, id: u64) -> CallKey {
        let (first, last) = self.latest.get(&id).copied().unwrap_or((1, 1));
        let keys = || {
            (first..=last)
                .rev()
                .map(|number| CallKey { id, number })
                .take(MAX_OPEN)
        };
        keys()
            .find(|call| !self.returned.contains_key(&hash64(call)))
            .unwrap_or(CallKey { id, number: last })
    }
}
