//! The envelope of an event: number, time, kind and source before its own fields, the cause and the origin behind them.

use crate::buffer::{Buffer, Piece, Push as _};
use crate::digits::Count;
use crate::event::Kind;
use crate::members::{key, piece, word};
use crate::origin::{Place, Pointer, push_origin};
use crate::tape::TimeBasis;
use crate::text::{Text, push_text};

/// The time that stands where an artifact has none.
pub const NO_TIME: &str = "1970-01-01T00:00:00Z";

/// What a record says of itself, for the envelope of its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordHeader<'a> {
    /// The record's own time in the tape's form (RFC 3339, UTC, `Z`), if it has one.
    pub t: Option<&'a str>,
    /// The record's own id.
    pub id: Option<Text<'a>>,
    /// True when the record repeats another session's history.
    pub replay: bool,
}

/// How the members behind the time begin, in the order of [`Kind::ALL`].
static KINDS: [Piece; Kind::ALL.len()] = {
    let mut pieces = [Piece::of(&[]); Kind::ALL.len()];
    let mut number = 0;
    while number < pieces.len() {
        pieces[number] = Piece::of(&["\",\"k\":\"", Kind::ALL[number].as_str(), "\",\"source\":"]);
        number += 1;
    }
    pieces
};

/// What the envelopes of a record's events share, as it stands in them.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// The number of the next event.
    pub seq: Count,
    /// Where the current record lies.
    place: Place,
    /// The member that states its line.
    line: Count,
    /// The time, from its key on, without the quote behind it.
    time: Buffer,
    has_time: bool,
    /// True when it is the record's own.
    own_time: bool,
    /// The value of `source`.
    source: Buffer,
    /// The member that states the record's own id; empty where it has none.
    id: Buffer,
    replay: bool,
}

impl Envelope {
    /// Envelopes that begin with this time, if the artifact has one.
    pub fn new(start: Option<&str>) -> Envelope {
        let mut envelope = Envelope {
            seq: Count::new(piece!("{\"seq\":")),
            place: Place::default(),
            line: Count::new(key!("line")),
            time: Buffer::default(),
            has_time: start.is_some(),
            own_time: false,
            source: Buffer::default(),
            id: Buffer::default(),
            replay: false,
        };
        envelope.set_time(start.unwrap_or(NO_TIME));
        envelope
    }

    /// States which session (and sub-agent) of which harness the events from here on belong to.
    pub fn set_source(&mut self, harness: &str, session_id: Option<&str>, agent_id: Option<&str>) {
        self.source.truncate(0);
        self.source.word(key!("harness"), harness);
        self.source.name(key!("session_id"), &session_id.map(Text::Plain));
        self.source.name(key!("agent_id"), &agent_id.map(Text::Plain));
        self.source.brace(0);
    }

    /// Begins a record, which says nothing of itself yet.
    pub fn begin(&mut self, place: Place) {
        self.set_place(place);
        self.own_time = false;
        self.id.truncate(0);
        self.replay = false;
    }

    /// The place of the current record.
    pub fn place(&self) -> Place {
        self.place
    }

    /// States where the record lies.
    pub fn set_place(&mut self, place: Place) {
        self.place = place;
        self.line.set(place.line);
    }

    /// States what the record says of itself.
    pub fn set_header(&mut self, header: RecordHeader<'_>) {
        self.own_time = header.t.is_some();
        if let Some(t) = header.t {
            self.set_time(t);
            self.has_time = true;
        }
        self.id.truncate(0);
        if let Some(id) = header.id.filter(|id| !id.is_empty()) {
            self.id.piece(key!("id"));
            push_text(&mut self.id, id);
        }
        self.replay = header.replay;
    }

    fn set_time(&mut self, t: &str) {
        self.time.truncate(0);
        self.time.piece(piece!(",\"t\":\""));
        self.time.push_str(t);
    }

    /// Writes what stands before the event's own fields.
    #[inline(never)]
    pub fn open(&self, out: &mut Buffer, kind: Kind) {
        out.piece(self.seq.spelled());
        out.append(&self.time);
        out.piece(&KINDS[kind as usize]);
        out.append(&self.source);
    }

    /// Writes what stands behind the event's own fields.
    #[inline(never)]
    pub fn close(&self, out: &mut Buffer, pointer: Pointer<'_>, parent: Option<u64>) {
        out.number(key!("parent"), parent);
        if !self.own_time {
            let inherited = word!("t_basis", TimeBasis::Inherited.as_str());
            out.piece(if self.has_time { inherited } else { word!("t_basis", TimeBasis::Absent.as_str()) });
        }
        push_origin(out, self.place, self.line.spelled(), pointer, &self.id);
        out.flag(key!("replay"), self.replay, false);
        out.piece(piece!("}\n"));
    }
}
