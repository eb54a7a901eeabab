//! Step 3 for one record: its events. Nothing here returns an error.

use std::collections::BTreeSet;

use super::verdicts::{Entry, Rejected};
use crate::emit::member_check::Kinds;
use crate::emit::{self, Fault, RecordHeader};
use crate::error::{AdapterError, ErrorCode, error_of};
use crate::event::{Event, Meta, Pointer, RecordLocation, Seq};
use crate::ledger::Outcome;
use crate::policy::Policy;
use crate::text::Text;
use crate::version::Revision;

/// Makes events and passes them to the sink: it sets number, time, source, parent and origin, and keeps the ledger.
///
/// No method fails. What cannot be emitted (a limit, a sink that fails, an event that no tape may have) ends the conversion after the record.
pub struct Emitter<'s> {
    out: emit::Emitter<'s>,
    /// All records, for events that belong to another one.
    entries: &'s [Entry],
    bases: &'s [Pointer<'static>],
    /// The current record.
    number: usize,
    /// The record that events are attributed to.
    attributed: usize,
    has_events: bool,
    /// Mapped records that have no event yet.
    owed: BTreeSet<usize>,
    /// Later records that have an event already.
    paid: BTreeSet<usize>,
    /// The kinds whose claims the current record lowers, before its first event.
    lowers: Option<Kinds>,
    error: Option<AdapterError>,
}

impl<'s> Emitter<'s> {
    pub(super) fn new(out: emit::Emitter<'s>, entries: &'s [Entry], bases: &'s [Pointer<'static>]) -> Self {
        let (owed, paid, lowers) = (BTreeSet::new(), BTreeSet::new(), None);
        Emitter { out, entries, bases, number: 0, attributed: 0, has_events: false, owed, paid, lowers, error: None }
    }

    /// The policy of this conversion.
    pub fn policy(&self) -> Policy {
        self.out.policy()
    }

    /// Sets the session and sub-agent of all following events.
    pub fn set_source(&mut self, session_id: Option<&str>, agent_id: Option<&str>) {
        self.out.set_source(session_id, agent_id);
    }

    /// Sets time, id and replay mark of the current record. Call it before the first event of the record.
    pub fn set_header(&mut self, header: RecordHeader<'_>) {
        self.out.set_header(header);
    }

    /// Makes pointers begin with another place than the record: for a record inside another record. Until the next record.
    pub fn set_pointer_prefix(&mut self, prefix: Pointer<'static>) {
        self.out.set_pointer_prefix(prefix);
    }

    /// Makes pointers that begin with `name` begin with `member`, for an artifact that names a member otherwise.
    pub fn set_pointer_alias(&mut self, name: &'static str, member: &'static str) {
        self.out.set_pointer_alias(name, member);
    }

    /// Emits relative paths as they are: for a call that ran in a directory which the log does not state.
    pub fn with_paths_as_stated<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.out.keep_paths(true);
        let emitted = emit(self);
        self.out.keep_paths(before);
        emitted
    }

    /// The 1-based line of the current record; 0 in a document.
    pub fn line(&self) -> u64 {
        self.out.line()
    }

    /// The number of the latest `tool.call` with this id that is still open, else of the latest one; `None` if there is none so far.
    pub fn seq_of_call(&self, call_id: Text<'_>) -> Option<Seq> {
        self.out.seq_of_call(call_id)
    }

    /// The number of the latest `tool.call` with this id that has no result; `None` if there is none.
    pub fn seq_of_open_call(&self, call_id: Text<'_>) -> Option<Seq> {
        self.out.seq_of_open_call(call_id)
    }

    /// True if a JSON value nests too deep to be the arguments of a call. That of a record does not; one inside a string may.
    pub fn nests_too_deep(&self, json: &str) -> bool {
        self.out.nests_too_deep(json)
    }

    /// The number of the last event so far, for a later event that refers to it.
    pub fn last_seq(&self) -> Option<Seq> {
        self.out.last_seq()
    }

    /// True if the current record has given an event of its own.
    pub fn has_events(&self) -> bool {
        self.has_events
    }

    /// Emits an event, and returns its number. `pointer` is the place in the record that the event comes from. The parent of results, reads,
    /// edits and links is the call with their `call_id`. A relative path becomes absolute by the directory that the session stated last, and a
    /// usage without a model gets the one that the session stated last.
    pub fn emit<'e>(&mut self, event: impl Into<Event<'e>>, pointer: Pointer<'_>) -> Seq {
        self.emit_child(None, event, pointer)
    }

    /// As [`Emitter::emit`], for an event with this parent.
    pub fn emit_child<'e>(&mut self, parent: Option<Seq>, event: impl Into<Event<'e>>, pointer: Pointer<'_>) -> Seq {
        self.lower_claims();
        let emitted = self.out.emit_child(parent, event, pointer);
        self.emitted(emitted)
    }

    /// Keeps a part of the record of an unknown type as `meta unrecognized`. `name` is its type, `raw` its JSON. The check has named it
    /// ([`Check::unknown_block`](super::Check::unknown_block)).
    pub fn unrecognized_block(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) {
        self.lower_claims();
        let emitted = self.out.unrecognized_block(name, raw, pointer).map(|()| Seq::default());
        self.emitted(emitted);
    }

    /// Says which version wrote the record. If it is another one than before, emits `meta revision` and returns the new revision.
    pub fn version(&mut self, version: &str) -> Option<&'static Revision> {
        self.lower_claims();
        let before = self.out.last_seq();
        match self.out.version(version) {
            Ok(revision) => {
                if self.out.last_seq() != before {
                    self.note_event();
                }
                revision
            }
            Err(fault) => {
                self.fail(fault);
                None
            }
        }
    }

    /// Emits events that belong to another record: a fact that only a later record decides, or that stands after a later one. They have the
    /// origin of that record and this header. Afterwards the current record goes on as before.
    pub fn of_record<T>(&mut self, number: usize, header: RecordHeader<'_>, emit: impl FnOnce(&mut Self) -> T) -> T {
        let location = self.entries.get(number).map(|entry| entry.location).unwrap_or_default();
        let base = self.bases.get(number).copied().unwrap_or_default();
        let attributed = std::mem::replace(&mut self.attributed, number);
        let here = self.out.go_to(location, base, header);
        let emitted = emit(self);
        self.out.go_back(here);
        self.attributed = attributed;
        emitted
    }

    fn emitted(&mut self, emitted: Result<Seq, Fault>) -> Seq {
        match emitted {
            Ok(seq) => {
                self.note_event();
                seq
            }
            Err(fault) => {
                self.fail(fault);
                self.out.last_seq().unwrap_or_default()
            }
        }
    }

    #[inline]
    fn note_event(&mut self) {
        if self.attributed == self.number {
            self.has_events = true;
        } else if self.attributed < self.number {
            self.owed.remove(&self.attributed);
        } else {
            self.paid.insert(self.attributed);
        }
    }

    #[cold]
    fn fail(&mut self, fault: Fault) {
        let error = match fault {
            Fault::Refused { pointer, expected, found } => {
                let mut error = AdapterError::new(ErrorCode::AdapterDefect).expected(expected).found(&found);
                error.pointer = Some(pointer);
                error.line = (self.line() > 0).then_some(self.line());
                error
            }
            fault => error_of(fault, self.line()),
        };
        self.error.get_or_insert(error);
    }

    #[inline]
    fn lower_claims(&mut self) {
        if let Some(kinds) = self.lowers.take()
            && let Err(fault) = self.out.lower_kinds(kinds)
        {
            self.fail(fault);
        }
    }
}

/// For the driver.
impl<'s> Emitter<'s> {
    pub(super) fn inner(&mut self) -> &mut emit::Emitter<'s> {
        &mut self.out
    }

    pub(super) fn begin(&mut self, number: usize, location: RecordLocation, lowers: Option<Kinds>) {
        self.out.begin_at(location);
        if let Some(base) = self.bases.get(number) {
            self.out.set_pointer_prefix(*base);
        }
        (self.number, self.attributed, self.has_events) = (number, number, false);
        self.lowers = lowers;
    }

    /// Ends a record that the conversion has emitted.
    pub(super) fn settle(&mut self, outcome: Outcome) -> Result<(), AdapterError> {
        self.lower_claims();
        if outcome == Outcome::Mapped && !self.has_events && !self.paid.remove(&self.number) {
            self.owed.insert(self.number);
        }
        self.out.settle(outcome);
        self.end_record()
    }

    /// Ends a record that repeats another.
    pub(super) fn settle_repeat(&mut self, text: &str) -> Result<(), AdapterError> {
        self.out.settle_repeat(text);
        self.end_record()
    }

    /// Ends a record that was not accepted.
    pub(super) fn settle_rejected(&mut self, why: Rejected, bytes: &[u8]) -> Result<(), AdapterError> {
        self.lower_claims();
        let settled = match why {
            Rejected::Fault(fault) => self.out.settle_unrecognized(fault, std::str::from_utf8(bytes).unwrap_or_default()),
            Rejected::Unreadable => self.out.malformed_bytes(bytes),
            Rejected::Cut(code) => {
                let text = std::str::from_utf8(bytes).ok().map(Text::Plain);
                let emitted = self.out.emit(Meta::Error { code: Some(Text::Plain(code)), text }, Pointer::Root);
                emitted.map(|_| self.out.settle(Outcome::Mapped))
            }
            Rejected::Notice => {
                let text = std::str::from_utf8(bytes).ok().map(|text| Text::Plain(text.trim_ascii()));
                let emitted = self.out.emit(Meta::System { name: Text::Plain("stdout"), text }, Pointer::Root);
                emitted.map(|_| self.out.settle(Outcome::Mapped))
            }
            Rejected::Oversize { bytes, hash } => self.out.oversize(bytes, hash),
        };
        if let Err(fault) = settled {
            self.fail(fault);
        }
        self.out.restore_source();
        self.end_record()
    }

    fn end_record(&mut self) -> Result<(), AdapterError> {
        match self.error.take().or_else(|| self.out.take_error()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// All records are emitted.
    pub(super) fn end(&self) -> Result<(), AdapterError> {
        let Some(number) = self.owed.first() else { return Ok(()) };
        let line = self.entries.get(*number).map_or(0, |entry| entry.location.line());
        let error = AdapterError::new(ErrorCode::AdapterDefect).expected("at least one event of a mapped record");
        Err(if line > 0 { error.line(line) } else { error })
    }
}
