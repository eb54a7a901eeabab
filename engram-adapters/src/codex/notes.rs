//! What step 1 notes of the records: small facts, without text. The plan decides with them alone.

use std::borrow::Cow;

use engram_core::keys::{KeyMap, hash64};

use super::emit::output_text::ExitFacts;

/// What is noted of one record.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Note {
    /// The number of the record in its file.
    pub number: u32,
    pub kind: Kind,
    /// It is an event or a setting, which may stand between a message and its twin.
    pub is_between: bool,
    /// It is a completed item for the screen.
    pub is_item: bool,
    /// Where its facts are in the table of its kind, and how many there are.
    pub at: u32,
    pub count: u32,
    /// Its place in the thread, if it says it.
    pub ordinal: Option<u32>,
    pub turn: Turn,
    /// When an item was made, by its id: in milliseconds since the epoch.
    pub made: Option<u64>,
    /// The key of the item's id; 0 if it has none.
    pub id: u64,
    /// What the item says beside its id and times, as a hash. For a few kinds: the text that they repeat.
    pub fact: u64,
    /// The key of the thread that an item names; 0 if it names none.
    pub thread: u64,
}

/// When the turn that a record names began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// It names none, or its id has no time.
    #[default]
    Unknown,
    /// In milliseconds since the epoch.
    At(u64),
    /// In a session of another harness, which was imported.
    Imported,
}

/// Which of the two records of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// A `response_item`: what goes to the model.
    Model,
    /// An `event_msg` or `item_completed`: what goes to the screen.
    Screen,
}

/// What a record says that a decision needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    #[default]
    Other,
    /// A thread begins: its facts are in `headers`.
    Header,
    /// A message in the user's place: its parts are in `parts`. In a form with events, a record behind it says who sent it.
    Message,
    /// The same, in a form without events.
    LoneMessage,
    /// The twin of a message, for the screen: its facts are in `twins`.
    Twin,
    /// A message of the agent: its texts are in `texts`.
    Answer(Side),
    /// A reasoning, or parts of its summary: its texts are in `texts`.
    Reasoning(Side),
    /// A plan that the agent proposes: its text is `fact`.
    Plan,
    /// The texts of stop hooks. A message with the same id has them.
    HookPrompt,
    /// A turn ends, or a client gets an answer: the answer, which mostly has a record before, is `fact`, or 0.
    AnswerAgain,
    TurnAborted,
    /// The harness ends, at the end of a copy, a turn that goes on in the thread that was copied.
    TurnClosed,
    Compaction,
    /// The mark of a compaction.
    CompactionMark,
    /// A web search for the screen. Its id is in `calls`.
    SearchEvent,
    /// A web search as a response item.
    SearchItem,
    /// A review begins: the text that the session says itself is `fact`.
    ReviewBegins,
    ReviewEnds,
    /// Token counts of a `token_count` event or of a `token_usage_record`: in `tokens`.
    Tokens,
    /// A `token_count` without counts: a process of the harness begins.
    NoTokens,
    /// A call, an output, an end or another record about a call: in `calls`.
    Call,
}

/// The header of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub id: u64,
    /// When the thread began, in milliseconds since the epoch, from its UUIDv7.
    pub started: Option<u64>,
    /// The first ordinal of a sub-agent's own history.
    pub own_from: Option<u32>,
    /// It continues another thread, so records of that one may follow.
    pub is_fork: bool,
    /// No response precedes its first.
    pub is_new: bool,
    /// It names the place in the history of another thread at which it begins (0.160 and later).
    pub has_base: bool,
}

/// A text or image of a message in the user's place, or of its twin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub kind: PartKind,
    /// The key of its token.
    pub token: u64,
    pub ink: Ink,
    /// Who wrote it, as the message says. `None` if it does not.
    pub is_users: Option<bool>,
    /// It begins as the harness's own texts do.
    pub is_injected: bool,
}

/// What a part of a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    /// An image or a sound.
    Image,
    /// A file, skill or mention, or of unknown type.
    #[default]
    Other,
}

/// The twin of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Twin {
    /// All of its text.
    pub ink: Ink,
    /// Its parts.
    pub parts: u32,
    pub count: u32,
    /// The harness wrote it, as the record says.
    pub is_harness: bool,
}

/// A text of the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AgentText {
    /// The key of all of it.
    pub whole: u64,
    /// The key of what its twin has too.
    pub text: u64,
    /// The key of the plan in it; 0 if it has none.
    pub plan: u64,
    /// It has more than a plan.
    pub has_more: bool,
}

/// A text without its white space, as a hash. Those of two texts give that of both together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ink {
    hash: u64,
    /// How many bytes it has.
    pub len: u64,
    /// The base of the hash to the power of `len`.
    power: u64,
    /// The text is not empty.
    pub has_text: bool,
}

impl Ink {
    const PRIME: u128 = (1 << 61) - 1;
    const BASE: u128 = 0x1234_5678_9abc_def1;

    /// The ink of a text.
    pub fn of(text: &str) -> Ink {
        let mut ink = Ink {
            hash: 0,
            len: 0,
            power: 1,
            has_text: !text.is_empty(),
        };
        for word in text.split_whitespace() {
            for byte in word.bytes() {
                ink.hash = ((u128::from(ink.hash) * Self::BASE + u128::from(byte) + 1)
                    % Self::PRIME) as u64;
                ink.power = (u128::from(ink.power) * Self::BASE % Self::PRIME) as u64;
            }
            ink.len += word.len() as u64;
        }
        ink
    }

    /// The ink of this text and another behind it.
    pub fn then(self, other: Ink) -> Ink {
        let power = u128::from(other.power.max(1));
        let hash = (u128::from(self.hash) * power + u128::from(other.hash)) % Self::PRIME;
        let power = u128::from(self.power.max(1)) * power % Self::PRIME;
        Ink {
            hash: hash as u64,
            len: self.len + other.len,
            power: power as u64,
            has_text: self.has_text || other.has_text,
        }
    }

    /// True if both texts are the same but for white space.
    pub fn equals(self, other: Ink) -> bool {
        (self.hash, self.len) == (other.hash, other.len)
    }
}

/// Counts of tokens as the harness writes them: input with the cache, output with reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub output: Option<u64>,
    pub reasoning: Option<u64>,
}

/// The token counts in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tokens {
    /// Of one response, in a record of its own (0.160 and later).
    Record(Counts),
    /// Of the last request and the running total, as an event. Either may be missing.
    Event {
        last: Option<Counts>,
        total: Option<Counts>,
    },
}

/// What a record says of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallNote {
    /// The key of the call's id.
    pub id: u64,
    /// The number of the record.
    pub number: u32,
    pub role: Role,
    /// The tool, by its place in `tools`.
    pub tool: u32,
    /// The key of what the end or the output says that the call printed; 0 if nothing.
    pub text: u64,
    /// The key of the command of a shell tool: as the model wrote it, or as it ran. 0 if it is not one text.
    pub command: u64,
    /// Of an end: the error text or plain text beside the output. Of an output: it is wrapped in JSON.
    pub has_more: bool,
    /// An end that lists the changes of a patch, or a call that asks for one.
    pub is_patch: bool,
    /// Of an output or an end: its facts in `exits`.
    pub exit: u32,
}

/// What a record is to its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It makes the call.
    Call,
    /// It has the output for the model. Of a call that runs on, another will follow.
    Output { runs_on: bool },
    /// It ends the call, for the screen. A record of this type says it once of each call.
    End(u8),
    /// It says the call for the screen, with all of its result.
    Screen(u8),
    /// It says the call for the screen, before its result.
    Request(u8),
    /// It names the call: a web search for the screen, a review.
    About,
}

/// The notes of all records of a file.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub notes: Vec<Note>,
    pub headers: Vec<Header>,
    pub parts: Vec<Part>,
    pub twins: Vec<Twin>,
    pub texts: Vec<AgentText>,
    pub tokens: Vec<Tokens>,
    pub calls: Vec<CallNote>,
    pub exits: Vec<ExitFacts>,
    /// The times of records in a file whose thread has no time in its id, by note.
    pub times: KeyMap<i64>,
    pub tools: Tools,
}

/// The names of tools, each once.
#[derive(Debug, Default)]
pub(super) struct Tools {
    names: Vec<Cow<'static, str>>,
    places: KeyMap<u32>,
}

impl Tools {
    /// The place of a name.
    pub fn place(&mut self, name: Cow<'static, str>) -> u32 {
        *self.places.entry(hash64(&*name)).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u32 - 1
        })
    }

    /// The name at a place.
    pub fn name(&self, place: u32) -> &str {
        self.names.get(place as usize).map_or("", |name| name)
    }
}

impl Notes {
    /// The parts of a message.
    pub fn parts_of(&self, note: &Note) -> &[Part] {
        self.parts
            .get(note.at as usize..(note.at + note.count) as usize)
            .unwrap_or_default()
    }

    /// The facts of a record about a call.
    pub fn call_of(&self, note: &Note) -> Option<&CallNote> {
        if matches!(note.kind, Kind::Call | Kind::SearchEvent) {
            self.calls.get(note.at as usize)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ink_of_parts_is_that_of_all() {
        let whole = Ink::of(" first\nsecond ");
        assert!(Ink::of("first").then(Ink::of("\tsecond")).equals(whole));
        assert!(!Ink::of("second").then(Ink::of("first")).equals(whole));
        assert!(Ink::default().then(Ink::of("firstsecond")).equals(whole));
        assert_eq!(
            (
                Ink::of(" \n").len,
                Ink::of(" \n").has_text,
                Ink::of("").has_text
            ),
            (0, true, false)
        );
    }

    #[test]
    fn a_note_is_small() {
        assert!(size_of::<Note>() <= 80, "{}", size_of::<Note>());
    }
}
