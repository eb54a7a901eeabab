//! Model turns that the harness writes again under the same id.

use crate::gemini::schema::Record;
use engram_core::keys::hash64;
use engram_core::text::canonical_json;

use crate::shared::restorable::RestorableMap;
use crate::shared::value::Field;

/// The parts of a turn and its time, each as a key. 40 bytes a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TurnKeys {
    text: u64,
    thoughts: u64,
    tokens: u64,
    time: u64,
}

/// The last version of each turn, by the key of its id.
#[derive(Debug, Default)]
pub(super) struct RepeatedTurns {
    turns: RestorableMap<TurnKeys>,
}

/// Which parts of a turn an earlier record has, unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepeatedParts {
    pub text: bool,
    pub thoughts: bool,
    pub tokens: bool,
}

impl RepeatedParts {
    /// True if any part is repeated.
    pub(super) fn any(self) -> bool {
        self.text || self.thoughts || self.tokens
    }
}

impl RepeatedTurns {
    /// The repeated parts of a turn, which becomes the last version.
    pub(super) fn insert(&mut self, id: u64, turn: &Record<'_>) -> RepeatedParts {
        let keys = TurnKeys::of(turn);
        self.turns.insert(id, keys).map(|last| last.repeated_in(keys)).unwrap_or_default()
    }

    /// The repeated parts of a turn in a history. A history has less of a turn than the turn itself, so the last version stays.
    pub(super) fn get(&self, id: u64, turn: &Record<'_>) -> RepeatedParts {
        self.turns.get(id).map(|last| last.repeated_in(TurnKeys::of(turn))).unwrap_or_default()
    }

    /// The record is converted: its turns stay.
    pub(super) fn commit(&mut self) {
        self.turns.commit();
    }

    /// The record is malformed: its turns are forgotten.
    pub(super) fn roll_back(&mut self) {
        self.turns.roll_back();
    }
}

impl TurnKeys {
    fn of(turn: &Record<'_>) -> TurnKeys {
        let key = |field: Field<'_>| field.map_or(0, |value| hash64(&*canonical_json(value.raw())));
        TurnKeys { text: key(turn.content()), thoughts: key(turn.thoughts()), tokens: key(turn.tokens()), time: key(turn.timestamp()) }
    }

    fn repeated_in(self, now: TurnKeys) -> RepeatedParts {
        let text = self.text == now.text;
        // Two responses may have the same counts.
        let is_same_response = self.time == now.time || text;
        RepeatedParts { text, thoughts: self.thoughts == now.thoughts, tokens: self.tokens == now.tokens && is_same_response }
    }
}
