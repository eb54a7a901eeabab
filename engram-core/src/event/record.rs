//! An event with its envelope: number, time, session, cause and origin.

use std::fmt;

use super::{Event, Pointer};
use crate::text::Text;

/// The place of an event in its tape, from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub(crate) u64);

impl Seq {
    /// The number that a tape holds.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why `t` is not the record's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBasis {
    /// It is that of the nearest earlier record, or of the session's header.
    Inherited,
    /// Nothing in the artifact has a time.
    Absent,
}

impl TimeBasis {
    /// Every basis.
    pub const ALL: [TimeBasis; 2] = [TimeBasis::Inherited, TimeBasis::Absent];

    /// The name in a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            TimeBasis::Inherited => "inherited",
            TimeBasis::Absent => "absent",
        }
    }
}

/// The session that an event belongs to.
#[derive(Debug, Clone, Copy)]
pub struct EventSource<'a> {
    /// The harness family.
    pub harness: &'a str,
    /// The session's id, where the source gives one.
    pub session_id: Option<Text<'a>>,
    /// The sub-agent's id, where a sub-agent is meant.
    pub agent_id: Option<Text<'a>>,
}

/// Where in the artifact an event comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// 1-based physical line, for line formats.
    pub line: Option<u64>,
    /// 0-based index among the JSON values of that line.
    pub part: u64,
    /// The beginning of the pointer, for a record that wraps another.
    pub pointer_prefix: Pointer<'a>,
    /// The rest of the pointer: the place inside the record.
    pub pointer: Pointer<'a>,
    /// The record's own id.
    pub id: Option<Text<'a>>,
}

impl Origin<'_> {
    /// True when nothing is known; the tape then has no `origin`.
    pub fn is_empty(&self) -> bool {
        self.line.is_none() && !self.has_pointer() && self.id.is_none()
    }

    /// True when the event comes from a place inside the record.
    pub fn has_pointer(&self) -> bool {
        !self.pointer_prefix.is_root() || !self.pointer.is_root()
    }
}

/// One event of a tape: what every [`EventSink`](crate::sink::EventSink) takes and every reader of a tape gives.
#[derive(Debug, Clone)]
pub struct EventRecord<'a> {
    /// Place in the tape.
    pub seq: Seq,
    /// Time: RFC 3339, UTC, `Z`.
    pub t: &'a str,
    /// Why `t` is not the record's own time, if it is not.
    pub t_basis: Option<TimeBasis>,
    /// The session.
    pub source: EventSource<'a>,
    /// What happened.
    pub event: Event<'a>,
    /// The event that caused this one.
    pub parent: Option<Seq>,
    /// Where in the artifact.
    pub origin: Origin<'a>,
    /// True when the record repeats another session's history.
    pub replay: bool,
}
