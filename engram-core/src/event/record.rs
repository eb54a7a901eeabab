//! An event with its envelope: number, time, session, cause and origin.

use super::seq::Seq;
use super::{Event, Meta, Pointer};
use crate::text::Text;
use crate::words::words;

words! {
    /// Why the time of an event is not the own time of its record.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TimeBasis {
        /// It is the time of the nearest earlier record, or of the header of the session.
        Inherited = "inherited",
        /// The artifact has no times.
        Absent = "absent",
    }
}

/// The session that an event belongs to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EventSource<'a> {
    /// The harness family.
    pub harness: &'a str,
    /// The id of the session, if the source has one.
    pub session_id: Option<Text<'a>>,
    /// The id of the sub-agent, if the event belongs to one.
    pub agent_id: Option<Text<'a>>,
}

/// The location in the artifact that an event comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// 1-based physical line, for line formats.
    pub line: Option<u64>,
    /// 0-based index among the JSON values of that line.
    pub part: u64,
    /// The first part of the pointer, for a record inside another record.
    pub pointer_prefix: Pointer<'a>,
    /// The rest of the pointer: the location inside the record.
    pub pointer: Pointer<'a>,
    /// The record's own id.
    pub id: Option<Text<'a>>,
}

impl Origin<'_> {
    /// True if nothing is known. The tape then has no `origin`.
    pub fn is_empty(&self) -> bool {
        self.line.is_none() && !self.has_pointer() && self.id.is_none()
    }

    /// True if the event comes from a location inside the record.
    pub fn has_pointer(&self) -> bool {
        !self.pointer_prefix.is_root() || !self.pointer.is_root()
    }
}

/// One event of a tape. Every [`EventSink`](crate::sink::EventSink) takes it, and the reader of a tape returns it.
///
/// A reader gives records that own their event. A sink takes [`EventRef`]s, which borrow it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventRecord<'a, E = Event<'a>> {
    /// The number of the event.
    pub seq: Seq,
    /// Time: RFC 3339, UTC, `Z`.
    pub t: &'a str,
    /// Why `t` is not the own time of the record; `None` if it is.
    pub t_basis: Option<TimeBasis>,
    /// The session.
    pub source: EventSource<'a>,
    /// The event.
    pub event: E,
    /// The event that caused this one.
    pub parent: Option<Seq>,
    /// The location in the artifact.
    pub origin: Origin<'a>,
    /// True if the record repeats the history of another session.
    pub replay: bool,
}

/// A record that borrows its event.
pub type EventRef<'a> = EventRecord<'a, &'a Event<'a>>;

impl<'a> EventRecord<'a> {
    /// The same record, with the event borrowed.
    pub fn as_event_ref(&'a self) -> EventRef<'a> {
        let EventRecord {
            seq,
            t,
            t_basis,
            source,
            ref event,
            parent,
            origin,
            replay,
        } = *self;
        EventRecord {
            seq,
            t,
            t_basis,
            source,
            event,
            parent,
            origin,
            replay,
        }
    }
}

impl<'a> EventRef<'a> {
    /// The session whose work the event is. `None` for what repeats another session's history, for events of sub-agents, and for notices of the
    /// harness: a hook that runs before its session has an id that no session has.
    pub(crate) fn worked_in(&self) -> Option<Text<'a>> {
        let is_notice = matches!(self.event, Event::Meta(Meta::System { .. }));
        let is_work = !self.replay && !is_notice && self.source.agent_id.is_none();
        self.source.session_id.filter(|_| is_work)
    }
}
