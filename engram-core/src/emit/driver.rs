//! What the driver of the three steps says to the emitter: where a record begins, and what became of it.

use super::Emitter;
use super::verdicts::Rejected;
use crate::audit::record_type;
use crate::descriptor::OmissionRule;
use crate::error::{AdapterError, ErrorCode, Fault};
use crate::event::{KindCounts, Kinds, Meta, Pointer, RecordLocation};
use crate::ledger::{Ledger, Outcome};
use crate::members::UnknownMembers;
use crate::support::ResolvedSupport;
use crate::text::Text;

impl Emitter<'_> {
    /// Keeps the sessions of the artifact apart, or not.
    pub(crate) fn set_apart(&mut self, is_apart: bool) {
        self.is_apart = is_apart;
    }

    /// Gives reads and edits their texts, or not.
    pub(crate) fn set_span_text(&mut self, span_text: bool) {
        self.span_text = span_text;
    }

    /// Sets what the check found in all records.
    pub(crate) fn set_unknown_members(&mut self, unknown: UnknownMembers) {
        self.ledger.unknown = unknown;
    }

    /// Begins a record. `lowers` are the kinds whose claims its unknown members lower.
    pub(crate) fn begin(&mut self, number: usize, location: RecordLocation, lowers: Option<Kinds>) {
        self.begin_at(location, self.records.base(number));
        self.records.begin(number);
        self.lowers = lowers;
    }

    /// Events have this place and the time before it from here on.
    pub(super) fn begin_at(&mut self, location: RecordLocation, prefix: Pointer<'static>) {
        self.calls.begin_record();
        self.location = location;
        self.pointer_prefix = prefix;
        self.header.clear();
        self.unknown_block = None;
        self.source_before = None;
    }

    /// Ends a record that the conversion has emitted.
    ///
    /// # Errors
    /// What could not be emitted.
    pub(crate) fn settle(&mut self, outcome: Outcome) -> Result<(), AdapterError> {
        self.lower_claims();
        if outcome == Outcome::Mapped {
            self.records.note_mapped();
        }
        self.count(outcome);
        self.end_record()
    }

    fn count(&mut self, outcome: Outcome) {
        match self.unknown_block.take() {
            Some(name) => self.ledger.unrecognized(&name),
            None => self.ledger.settle(outcome),
        }
    }

    /// Ends a record that repeats another byte by byte.
    ///
    /// # Errors
    /// As [`Emitter::settle`].
    pub(crate) fn settle_repeat(&mut self, record: &str) -> Result<(), AdapterError> {
        self.ledger.repeated(
            record_type(self.descriptor, record),
            OmissionRule::REPEATED.rule,
        );
        self.end_record()
    }

    /// Ends a record that was not accepted, and emits what is kept of it. These events belong to the session that the record names. Then the
    /// session of the record before is the current one again.
    ///
    /// # Errors
    /// As [`Emitter::settle`].
    pub(crate) fn settle_rejected(
        &mut self,
        why: Rejected,
        bytes: &[u8],
    ) -> Result<(), AdapterError> {
        self.lower_claims();
        let text = std::str::from_utf8(bytes).ok();
        match why {
            Rejected::Fault(fault) => self.keep_faulty(fault, text.unwrap_or_default()),
            Rejected::Declared(Fault::Unrecognized { name }) => {
                self.emit_declared(&name, text.unwrap_or_default(), Pointer::Root);
                self.count(Outcome::Mapped);
            }
            Rejected::Declared(fault) => self.keep_faulty(fault, text.unwrap_or_default()),
            Rejected::Unreadable => self.keep_bytes(bytes),
            Rejected::Oversize { bytes, hash } => self.keep_oversize(bytes, hash),
            Rejected::Cut(code) => {
                let error = Meta::error(Some(Text::Plain(code)), text.map(Text::Plain));
                self.emit_event(None, &error.into(), Pointer::Root);
                self.count(Outcome::Mapped);
            }
            Rejected::Notice => {
                let text = text.map(|text| Text::Plain(text.trim_ascii()));
                self.emit_event(None, &Meta::system("stdout", text).into(), Pointer::Root);
                self.count(Outcome::Mapped);
            }
        }
        if let Some(source) = self.source_before.take() {
            self.source = source;
        }
        self.end_record()
    }

    pub(super) fn end_record(&mut self) -> Result<(), AdapterError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// All records are emitted.
    ///
    /// # Errors
    /// `adapter_defect` if a mapped record has no event.
    pub(crate) fn end(&self) -> Result<(), AdapterError> {
        let Some(location) = self.records.without_event() else {
            return Ok(());
        };
        let error = AdapterError::new(ErrorCode::AdapterDefect)
            .expected("at least one event of a mapped record");
        Err(if location.line > 0 {
            error.line(location.line)
        } else {
            error
        })
    }

    pub(crate) fn counts(&self) -> KindCounts {
        self.counts
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn support(&self) -> &ResolvedSupport {
        &self.support
    }

    pub(crate) fn lowest_support(&self) -> &ResolvedSupport {
        &self.lowest_support
    }
}
