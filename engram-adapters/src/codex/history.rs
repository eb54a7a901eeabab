//! What has been said: facts that two records state, history that a fork or a child copied, and calls that wait for their results.

use std::borrow::Cow;

use crate::shared::correlate::{KeyMap, PendingCalls, SeenSet, hash64};
use crate::shared::time::millis;
use crate::shared::value::{Field, Value};

use super::held::Waiting;
use super::outputs::Ending;

/// Which of the two records that state a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// A `response_item`: what goes to the model.
    Model,
    /// An `event_msg` or `item_completed`: what goes to the screen.
    Screen,
}

/// What kind of fact it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fact {
    /// A message of the user.
    Prompt,
    /// An image that the user sent.
    Image,
    /// A message of the agent.
    Answer,
    /// A reasoning, or a summary of one.
    Thought,
}

/// Facts that one side has stated and the other has not yet. Either side may come first, and order differs between versions.
#[derive(Debug, Default)]
pub(super) struct Twins {
    /// By fact: how often the model's side is ahead, or (below zero) the screen's.
    ahead: KeyMap<i32>,
}

impl Twins {
    /// States a fact, as its JSON token. False when this repeats what the other side has said.
    pub fn is_new(&mut self, side: Side, fact: Fact, token: &str) -> bool {
        let step = if side == Side::Model { 1 } else { -1 };
        let fact = hash64((fact, token));
        let ahead = self.ahead.entry(fact).or_default();
        let repeats = *ahead * step < 0;
        *ahead += step;
        if *ahead == 0 {
            self.ahead.remove(&fact);
        }
        !repeats
    }
}

/// What is kept of a call.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The tool's name.
    pub tool: Cow<'static, str>,
    /// The patch that it asks for, as a JSON token, until its output says whether it was applied.
    pub patch: Option<String>,
    /// What its output said, as a [`said_key`].
    pub said: Option<u64>,
    /// How the output for the model says that it ended.
    pub ending: Option<Ending>,
    /// The harness has listed the changes that it made.
    pub changes_listed: bool,
}

/// The longest time between two records of a copy that is written at once, in milliseconds.
const MAX_PAUSE: i64 = 1000;

/// Where a record stands: in the artifact's own history or in a copy of another's.
#[derive(Debug, Default)]
pub(super) struct Copied {
    /// The thread's own id.
    own: Option<u64>,
    /// Milliseconds at which the thread was begun, from its UUIDv7.
    begun: Option<u64>,
    /// Where a child says that its own history starts.
    own_from: Option<u64>,
    has_begun: bool,
    /// The last `session_meta` is the thread's own.
    own_meta: bool,
    copying: bool,
    /// Milliseconds at which the last record of a copy was written.
    written: Option<i64>,
}

impl Copied {
    /// Takes a `session_meta`. One of another thread begins a copy: 0.115 to 0.150 write the parent's whole history into a fork, 0.169
    /// into a child. The thread's own comes again where a client sets something of the thread (0.140 to 0.146: its `memory_mode`, in
    /// most turns), and begins none.
    pub fn meta(&mut self, id: Field<'_>, own_from: Field<'_>) {
        let names = id.map(|id| hash64(id.raw()));
        self.own_meta = !self.has_begun || (names.is_some() && names == self.own);
        self.copying = !self.own_meta;
        if !self.has_begun {
            self.has_begun = true;
            self.own = names;
            self.begun = id.and_then(|id| uuid_millis(id.raw()));
            self.own_from = own_from.and_then(Value::unsigned);
        }
    }

    /// True when the record belongs to a copy. What proves its end: the ordinal that a child names, else a turn younger than the thread;
    /// where the thread's id holds no time (0.36), that the copy, which is written at once, went on no longer.
    pub fn covers(&mut self, ordinal: Field<'_>, payload: Value<'_>, t: Option<&str>) -> bool {
        if !self.copying {
            self.written = None;
            return false;
        }
        let now = t.and_then(millis);
        let pause = now.zip(self.written).map_or(0, |(now, written)| now.saturating_sub(written));
        self.written = now.or(self.written);
        let own = match (self.own_from, ordinal.and_then(Value::unsigned)) {
            (Some(own_from), Some(ordinal)) => ordinal >= own_from,
            _ => match (self.begun, payload.first("turn_id").and_then(|id| uuid_millis(id.raw()))) {
                (Some(begun), Some(turn)) => turn >= begun,
                (None, _) => pause > MAX_PAUSE,
                (Some(_), None) => false,
            },
        };
        self.copying = !own;
        self.copying
    }

    /// True for a `session_meta` of the artifact's own thread.
    pub fn is_own_meta(&self) -> bool {
        self.own_meta
    }
}

/// A text as eight bytes, to tell whether it is said again.
pub(super) fn said_key(text: &str) -> u64 {
    hash64(text)
}

/// The milliseconds since the epoch that a UUIDv7 token begins with.
fn uuid_millis(token: &str) -> Option<u64> {
    let id = token.trim_matches('"');
    (id.len() == 36 && id.as_bytes().get(14) == Some(&b'7')).then_some(())?;
    let (high, low) = (id.get(..8)?, id.get(9..13)?);
    Some(u64::from_str_radix(high, 16).ok()? << 16 | u64::from_str_radix(low, 16).ok()?)
}

/// All that a conversion remembers of what it has seen.
#[derive(Debug, Default)]
pub(super) struct History {
    pub twins: Twins,
    pub copied: Copied,
    pub calls: PendingCalls<Call>,
    /// Facts that need no second record: answers, instructions, files.
    pub said: SeenSet,
    /// Ends of calls that wait for their outputs.
    pub waiting: Waiting,
    /// The artifact states ends of calls apart from their outputs.
    pub has_ends: bool,
    /// The present record is part of a copy.
    pub replay: bool,
    /// Compactions that no marker has followed yet.
    pub unmarked_compactions: u64,
    /// Images that `view_image` attached and that no message has brought yet (up to 0.98).
    pub shown: u64,
    /// What the thread's header stated last.
    pub header: Option<u64>,
    /// The last state of the settings that a turn states.
    pub settings: Option<u64>,
    /// The last token counts, of a request and of the thread.
    pub tokens: [String; 2],
    /// How many records have come.
    pub records: u64,
    /// The number of the last web search that an event stated.
    pub searched_at: Option<u64>,
    /// The scripts of code mode that run.
    pub scripts: Vec<String>,
    /// An agent began the session: what stands in the user's place is that agent's.
    pub is_spawned: bool,
    /// The name of the agent whose session this is, among agents.
    pub agent_path: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_side_may_come_first_and_each_pair_is_one_fact() {
        let mut twins = Twins::default();
        assert!(twins.is_new(Side::Model, Fact::Answer, "\"a\""));
        assert!(!twins.is_new(Side::Screen, Fact::Answer, "\"a\""));
        assert!(twins.is_new(Side::Screen, Fact::Answer, "\"a\""));
        assert!(twins.is_new(Side::Screen, Fact::Answer, "\"a\""));
        assert!(!twins.is_new(Side::Model, Fact::Answer, "\"a\""));
        assert!(!twins.is_new(Side::Model, Fact::Answer, "\"a\""));
        assert!(twins.is_new(Side::Model, Fact::Prompt, "\"a\""));
    }

    #[test]
    fn only_the_seventh_version_of_a_uuid_tells_a_time() {
        assert_eq!(uuid_millis("\"01a1fda5-4307-7000-bbe5-da9ea7a40358\""), Some(0x01a1_fda5_4307));
        assert_eq!(uuid_millis("\"7803e6bd-9e47-4d44-bca1-44735c92b705\""), None);
        assert_eq!(uuid_millis("\"short\""), None);
    }
}
