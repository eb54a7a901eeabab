//! One handler for two steps. The records of nine forms are read by the same handlers in step 1 and in step 3: in step 1 what they emit is
//! only checked, and every fault is found; in step 3 it is written.
//!
//! What becomes of a record may depend on later ones. A reader notes that in step 1 ([`Out::is_check`]) and decides it between the steps.

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Event, Seq};
use engram_core::ledger::Outcome;
use engram_core::steps::{Check, Conversion, Emitter, Item, Record};
use engram_core::text::Text;

use crate::shared::document::required_array;
use crate::shared::value::Value;

/// Where a handler writes.
pub(super) enum Out<'p, 's> {
    /// Step 1: faults are found, and nothing is written.
    Check(&'p mut Check<'s>, Identified),
    /// Step 3.
    Emit(&'p mut Emitter<'s>),
}

/// Whether a record has an id or a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identified {
    Yes,
    No,
}

impl Out<'_, '_> {
    /// True in step 1.
    pub(super) fn is_check(&self) -> bool {
        matches!(self, Out::Check(..))
    }

    /// Emits an event, and returns its number, which is 0 in step 1.
    ///
    /// # Errors
    /// In step 1, if the claims of the form have no event of this kind.
    pub(super) fn emit<'e, 'p>(
        &mut self,
        event: impl Into<Event<'e>>,
        pointer: impl Into<Pointer<'p>>,
    ) -> Result<Seq, Fault> {
        self.emit_child(None, event, pointer)
    }

    /// As [`Out::emit`], for an event with this parent.
    ///
    /// # Errors
    /// As [`Out::emit`].
    pub(super) fn emit_child<'e, 'p>(
        &mut self,
        parent: Option<Seq>,
        event: impl Into<Event<'e>>,
        pointer: impl Into<Pointer<'p>>,
    ) -> Result<Seq, Fault> {
        match self {
            Out::Check(check, _) => check
                .gives(event.into().kind(), pointer.into())
                .map(|()| Seq::default()),
            Out::Emit(out) => Ok(out.emit_child(parent, event, pointer)),
        }
    }

    /// Keeps a part of the record of an unknown type.
    ///
    /// # Errors
    /// In step 1 under strict policy.
    pub(super) fn unrecognized_block(
        &mut self,
        name: &str,
        raw: &str,
        pointer: Pointer<'_>,
    ) -> Result<(), Fault> {
        match self {
            Out::Check(check, _) => check.unknown_block(name),
            Out::Emit(out) => {
                out.unrecognized_block(name, raw, pointer);
                Ok(())
            }
        }
    }

    /// Compares a value with the member table. `chosen` is the case of its selector that begins with `@`.
    pub(super) fn check_members(
        &mut self,
        record: &str,
        value: Value<'_>,
        at: Pointer<'_>,
        chosen: Option<&str>,
    ) {
        if let Out::Check(check, _) = self {
            check.members(record, value, at, &|_| chosen);
        }
    }

    /// Sets time and id of the current record.
    pub(super) fn set_header(&mut self, header: RecordHeader<'_>) {
        match self {
            Out::Check(_, identified) if header.t.is_some() || header.id.is_some() => {
                *identified = Identified::Yes
            }
            Out::Check(..) => {}
            Out::Emit(out) => out.set_header(header),
        }
    }

    /// Sets session and sub-agent of all following events.
    pub(super) fn set_source(&mut self, session_id: Option<&str>, agent_id: Option<&str>) {
        if let Out::Emit(out) = self {
            out.set_source(session_id, agent_id);
        }
    }

    /// Makes pointers begin with another place than the record.
    pub(super) fn set_pointer_prefix(&mut self, prefix: Pointer<'static>) {
        if let Out::Emit(out) = self {
            out.set_pointer_prefix(prefix);
        }
    }

    /// Says which version wrote the record.
    ///
    /// # Errors
    /// In step 1 under strict policy, if the version is not supported.
    pub(super) fn version(&mut self, version: &str) -> Result<(), Fault> {
        match self {
            Out::Check(check, _) => check.version(version).map(drop),
            Out::Emit(out) => {
                out.version(version);
                Ok(())
            }
        }
    }

    /// The number of the latest call with this id; `None` in step 1.
    pub(super) fn seq_of_call(&self, call_id: Text<'_>) -> Option<Seq> {
        if let Out::Emit(out) = self {
            out.seq_of_call(call_id)
        } else {
            None
        }
    }

    /// The number of the latest call with this id that has no result. Always `None` in step 1, so that step 1 also checks what is emitted
    /// only if there is no such call.
    pub(super) fn seq_of_open_call(&self, call_id: Text<'_>) -> Option<Seq> {
        if let Out::Emit(out) = self {
            out.seq_of_open_call(call_id)
        } else {
            None
        }
    }

    /// True if JSON inside a string nests too deep to be the arguments of a call.
    pub(super) fn nests_too_deep(&self, json: &str) -> bool {
        if let Out::Emit(out) = self {
            out.nests_too_deep(json)
        } else {
            false
        }
    }

    /// Emits events that belong to another record.
    ///
    /// # Errors
    /// Those of `emit`.
    pub(super) fn of_record<T>(
        &mut self,
        number: usize,
        header: RecordHeader<'_>,
        emit: impl FnOnce(&mut Out<'_, '_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self {
            Out::Check(..) => emit(self),
            Out::Emit(out) => out.of_record(number, header, |out| emit(&mut Out::Emit(out))),
        }
    }
}

/// Reads the records of one form.
pub(super) trait Reader {
    /// Reads a record, in step 1 and in step 3.
    ///
    /// # Errors
    /// In step 1, if the record is of an unknown type or malformed.
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault>;

    /// Step 2: decides over the notes of step 1, and begins step 3.
    fn decide(&mut self) {}

    /// For a form that is one document: the name and the pointer of its list of records, and the member beside it that makes the document
    /// itself the last record.
    fn list(&self) -> Option<(&'static str, &'static str, &'static str)> {
        None
    }

    /// As [`Conversion::repeats_are_exact`].
    fn repeats_are_exact(&self) -> bool {
        false
    }

    /// As [`Conversion::sessions_are_apart`].
    fn sessions_are_apart(&self) -> bool {
        false
    }

    /// As [`Conversion::cut_record`].
    fn cut_record(&self, text: &str) -> Option<&'static str> {
        let _ = text;
        None
    }

    /// As [`Conversion::is_notice`].
    fn is_notice(&self, text: &str) -> bool {
        let _ = text;
        false
    }

    /// Sets the session of a record that step 1 did not accept.
    fn envelope(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) {
        let _ = (record, out);
    }
}

/// The code of a line of standard error, which often shares the pipe of a capture: it is not a JSON object, and not a part of one.
pub(super) fn line_of_standard_error(line: &str) -> Option<&'static str> {
    let line = line.trim_ascii();
    let is_part_of_message = line.starts_with('{') || line.ends_with('}');
    (!is_part_of_message && !is_log_line(line)).then_some("stderr")
}

/// True for a line of the log that the runtime of the SDK prints among the messages: `04:26:35.762 INFO  ...` (SDK 1.0.32, with `settingSources`).
pub(super) fn is_log_line(line: &str) -> bool {
    let Some((time, rest)) = line.split_once(' ') else {
        return false;
    };
    let level = rest.split(' ').next().unwrap_or_default();
    let is_time = |(at, c): (usize, char)| match at {
        2 | 5 => c == ':',
        8 => c == '.',
        _ => c.is_ascii_digit(),
    };
    let is_level = !level.is_empty() && level.chars().all(|c| c.is_ascii_uppercase());
    time.len() == 12 && time.char_indices().all(is_time) && is_level
}

/// The three steps of a form.
pub(super) struct Steps<R>(pub(super) R);

impl<R: Reader> Conversion for Steps<R> {
    fn repeats_are_exact(&self) -> bool {
        self.0.repeats_are_exact()
    }

    fn sessions_are_apart(&self) -> bool {
        self.0.sessions_are_apart()
    }

    fn cut_record(&self, text: &str) -> Option<&'static str> {
        self.0.cut_record(text)
    }

    fn is_notice(&self, text: &str) -> bool {
        self.0.is_notice(text)
    }

    fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let Some((name, list, beside)) = self.0.list() else {
            return Err(Fault::malformed("", "JSON Lines", "a document"));
        };
        let items = required_array(document, name)?;
        check.document(document);
        let items = items
            .elements()
            .enumerate()
            .map(|(n, item)| Item::of_list(item, list, n));
        let outer = document
            .member(beside)
            .map(|_| Item::header(document, name));
        Ok(items.chain(outer).collect())
    }

    fn check(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let mut out = Out::Check(check, Identified::No);
        let outcome = self.0.record(record, &mut out)?;
        // Pieces of a text often have the same bytes and the same time.
        if let (Out::Check(check, Identified::Yes), false) =
            (out, matches!(outcome, Outcome::Duplicate { .. }))
        {
            check.identify();
        }
        Ok(())
    }

    fn decide(&mut self) {
        self.0.decide();
    }

    /// Step 1 has found all faults.
    fn emit(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let outcome = self.0.record(record, &mut Out::Emit(out));
        debug_assert!(
            outcome.is_ok(),
            "a fault that step 1 has not found: {outcome:?}"
        );
        outcome.unwrap_or(Outcome::Mapped)
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        self.0.envelope(record, &mut Out::Emit(out));
    }
}
