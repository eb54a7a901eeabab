//! The emitter: the only way to make an event. It owns order, time, source, parents and the ledger.

mod lifecycle;

use std::io::Write;

use crate::buffer::Buffer;
use crate::descriptor::AdapterDescriptor;
use crate::envelope::Envelope;
pub use crate::envelope::{NO_TIME, RecordHeader};
use crate::error::AdapterError;
use crate::event::{Event, Kind};
pub use crate::fault::Fault;
use crate::head::Identity;
use crate::keys::{self, KeyMap};
use crate::ledger::{Ledger, Outcome};
use crate::limits::{LimitExceeded, Limits};
use crate::origin::Place;
pub use crate::origin::{Pointer, RecordLocation};
use crate::policy::Policy;
use crate::render::push_fields;
use crate::support::ResolvedSupport;
use crate::text::{LoneSurrogate, Text, push_text};

/// The schema of the tapes that this crate writes.
pub const TAPE_SCHEMA: &str = "engram.tape/1";

/// The tape is handed on when this much of it is written, between two events.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes events in order. Made by the driver, handed to the session with each record.
pub struct Emitter<'s> {
    /// Where the tape goes.
    sink: &'s mut dyn Write,
    descriptor: &'static AdapterDescriptor,
    policy: Policy,
    limits: Limits,
    out: Buffer,
    envelope: Envelope,
    counts: [u64; 8],
    ledger: Ledger,
    /// The session and the sub-agent that the envelope names.
    source: (Option<String>, Option<String>),
    calls: KeyMap<u64>,
    next_parent: Option<u64>,
    /// The number of the next event when the current record began.
    at_begin: u64,
    unknown_blocks: Option<String>,
    support: ResolvedSupport,
}

impl<'s> Emitter<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn Write,
        descriptor: &'static AdapterDescriptor,
        policy: Policy,
        limits: Limits,
        identity: &Identity,
        support: ResolvedSupport,
    ) -> Self {
        let mut emitter = Emitter {
            sink,
            descriptor,
            policy,
            limits,
            // DecodeBuffer for what is written, and for the event with which it is too much.
            out: Buffer::with_capacity(2 * FLUSH_BYTES),
            envelope: Envelope::new(identity.start.as_deref()),
            counts: [0; 8],
            ledger: Ledger::default(),
            source: (identity.session_id.clone(), identity.agent_id.clone()),
            calls: keys::key_map(),
            next_parent: None,
            at_begin: 0,
            unknown_blocks: None,
            support,
        };
        emitter.name_source();
        emitter
    }

    /// The policy of this conversion.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// States which session (and sub-agent) the events from here on belong to. Costs nothing when it does not change.
    pub fn set_source(&mut self, session_id: Option<&str>, agent_id: Option<&str>) {
        if self.source.0.as_deref() != session_id || self.source.1.as_deref() != agent_id {
            self.source = (session_id.map(str::to_owned), agent_id.map(str::to_owned));
            self.name_source();
        }
    }

    fn name_source(&mut self) {
        self.envelope.set_source(self.descriptor.harness_family, self.source.0.as_deref(), self.source.1.as_deref());
    }

    /// Begins a record. The driver does this for lines; a session does it for the records of a document.
    pub fn begin(&mut self) {
        self.begin_at(Place::default());
    }

    pub(crate) fn begin_at(&mut self, place: Place) {
        self.envelope.begin(place);
        self.next_parent = None;
        self.at_begin = self.envelope.seq.get();
        self.unknown_blocks = None;
    }

    /// States what the current record says of itself. To be called before its first event.
    pub fn set_header(&mut self, header: RecordHeader<'_>) {
        self.envelope.set_header(header);
    }

    /// The 1-based line of the current record, 0 in a document.
    pub fn line(&self) -> u64 {
        self.envelope.place().line
    }

    /// The current record, for [`Emitter::attribute_to`].
    pub fn location(&self) -> RecordLocation {
        self.envelope.place().into()
    }

    /// Places the events that follow at another record, for facts that only a later record settles.
    pub fn attribute_to(&mut self, location: RecordLocation, header: RecordHeader<'_>) {
        self.envelope.set_place(location.into());
        self.envelope.set_header(header);
    }

    /// States that the pointers of the events that follow begin at this place of the record, until another one begins. For a record that
    /// wraps another.
    pub fn set_pointer_prefix(&mut self, place: Pointer<'static>) {
        self.envelope.set_place(Place { within: place, ..self.envelope.place() });
    }

    /// Makes the next event a child of this one. For the first event of a sub-agent.
    pub fn parent_of_next(&mut self, parent: Option<u64>) {
        self.next_parent = parent;
    }

    /// The `seq` of the `tool.call` with this id, if it has come.
    #[inline(never)]
    pub fn seq_of_call(&self, call_id: Text<'_>) -> Option<u64> {
        self.calls.get(&call_key(call_id)).copied()
    }

    /// Writes an event and gives its `seq`.
    ///
    /// # Errors
    /// [`Fault::Limit`] when `args` nest too deep; nothing is written then.
    pub fn emit<'e>(&mut self, event: impl Into<Event<'e>>, pointer: Pointer<'_>) -> Result<u64, Fault> {
        self.emit_event(&event.into(), pointer)
    }

    fn emit_event(&mut self, event: &Event<'_>, pointer: Pointer<'_>) -> Result<u64, Fault> {
        let parent = self.next_parent.take().or_else(|| self.seq_of_call(event.answers()?));
        let max_depth = self.limits.nesting;
        let seq = self.write(event.kind(), pointer, parent, |out| push_fields(out, event, max_depth))?;
        if let Event::ToolCall(call) = event {
            self.note_call(call.call_id, seq);
        }
        Ok(seq)
    }

    #[inline(never)]
    fn note_call(&mut self, call_id: Option<Text<'_>>, seq: u64) {
        if let Some(id) = call_id.filter(|id| !id.is_empty()) {
            self.calls.entry(call_key(id)).or_insert(seq);
        }
    }

    /// Ends a record of a document. The driver does this for lines.
    pub fn settle(&mut self, outcome: Outcome) {
        match self.unknown_blocks.take() {
            Some(name) => self.ledger.unrecognized(&name),
            None => self.ledger.settle(outcome),
        }
    }

    /// Takes back that an earlier record was a duplicate. Its event must have been written after [`Emitter::attribute_to`].
    pub fn duplicate_was_mapped(&mut self, record: &'static str, rule: &'static str) {
        self.ledger.duplicate_was_mapped(record, rule);
    }

    /// True when the current record has given an event.
    pub(crate) fn has_events(&self) -> bool {
        self.envelope.seq.get() > self.at_begin
    }

    /// Writes one line: the envelope around what `fields` writes.
    fn write(
        &mut self,
        kind: Kind,
        pointer: Pointer<'_>,
        parent: Option<u64>,
        fields: impl FnOnce(&mut Buffer) -> Result<(), LimitExceeded>,
    ) -> Result<u64, Fault> {
        if self.out.len() >= FLUSH_BYTES {
            self.flush().map_err(Fault::Fatal)?;
        }
        let before = self.out.len();
        self.envelope.open(&mut self.out, kind);
        if let Err(limit) = fields(&mut self.out) {
            self.out.truncate(before);
            return Err(limit.into());
        }
        self.envelope.close(&mut self.out, pointer, parent);
        self.counts[kind as usize] += 1;
        let seq = self.envelope.seq.get();
        self.envelope.seq.set(seq + 1);
        Ok(seq)
    }

    /// Hands on what has been written.
    #[inline(never)]
    pub(crate) fn flush(&mut self) -> Result<(), AdapterError> {
        self.sink.write_all(self.out.as_bytes())?;
        self.out.truncate(0);
        Ok(())
    }

    pub(crate) fn counts(&self) -> [u64; 8] {
        self.counts
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn support(&self) -> &ResolvedSupport {
        &self.support
    }
}

fn call_key(call_id: Text<'_>) -> u64 {
    match call_id.decode() {
        Ok(id) => keys::hash64(id),
        // Two ids that differ in half a surrogate pair are two ids.
        Err(LoneSurrogate) => {
            let mut spelled = String::new();
            push_text(&mut spelled, call_id);
            keys::hash64(spelled)
        }
    }
}
