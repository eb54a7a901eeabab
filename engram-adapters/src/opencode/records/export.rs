//! The walk over an export: the session's own record, then its messages and their parts, each as a record.

use std::fmt::Write as _;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::ledger::Outcome;

use super::dispatch;
use super::part_record::PartRecord;
use super::session_info::{INFO, session_info};
use crate::opencode::schema::{Document, Envelope, Message, Part};
use crate::opencode::state::message_context::MessageContext;
use crate::opencode::state::session_state::SessionState;
use crate::shared::value::{PullReader, StructuralIndex, Value, parse, raw_str};

/// Reads an export record by record.
#[derive(Default)]
pub(super) struct ExportReader {
    /// How many top-level values (the session's record and messages) are converted. When an export turns out to be truncated, its valid
    /// beginning is read again, and these are skipped.
    converted: usize,
    /// Scratch: the pointer of the current message's parts.
    parts_path: String,
}

impl ExportReader {
    /// Converts an export, value by value: it is never in memory as a tree.
    pub(super) fn convert(
        &mut self,
        source: &str,
        index: &mut StructuralIndex,
        state: &mut SessionState,
        out: &mut Emitter<'_>,
    ) -> Result<(), Fault> {
        let other_document = || Fault::malformed("", "a session with messages", "another document");
        let mut reader = PullReader::of(source, index)?;
        let (mut has_info, mut has_messages) = (false, false);
        if !reader.enter(b'{')? {
            return Err(other_document());
        }
        while let Some(name) = reader.member()? {
            match name {
                "info" if !has_info => {
                    has_info = true;
                    let info = reader.value()?;
                    self.convert_once(0, |_| convert_record(INFO, info, state, out, |state, out| session_info(state, info, out)))?;
                }
                "messages" if has_info && !has_messages && reader.enter(b'[')? => {
                    has_messages = true;
                    for n in 0.. {
                        if !reader.element()? {
                            break;
                        }
                        let message = reader.value()?;
                        self.convert_once(n + 1, |reader| reader.message(n, message, state, out))?;
                    }
                }
                "messages" if !has_info => return Err(Fault::malformed("/messages", "the session's own record before them", "none")),
                "info" | "messages" => return Err(other_document()),
                _ => {
                    reader.value()?;
                }
            }
        }
        reader.end()?;
        if has_messages { Ok(()) } else { Err(other_document()) }
    }

    /// Converts the top-level value with this number, unless it is converted already.
    fn convert_once(&mut self, number: usize, convert: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if number == self.converted {
            convert(self)?;
            self.converted += 1;
        }
        Ok(())
    }

    /// Converts a message: its own record, then one record for each part.
    fn message(&mut self, n: usize, message: Value<'_>, state: &mut SessionState, out: &mut Emitter<'_>) -> Result<(), Fault> {
        let view = Message::lenient(message);
        let (Some(info), Some(parts)) = (view.info(), view.parts()) else {
            let fault = Fault::malformed("", "a message with parts", message.raw());
            return convert_record(Pointer::Item("/messages", n), message, state, out, |_, _| Err(fault));
        };
        let mut context = MessageContext::default();
        let pointer = Pointer::Field("/messages", n, "/info");
        convert_record(pointer, info, state, out, |state, out| {
            let mut envelope = Envelope::default();
            envelope.fill_message(info)?;
            context = MessageContext::of(&envelope, has_step_finish(parts), &state.replay);
            dispatch::message(state, &envelope, &context, pointer, out)
        })?;
        self.parts_path.clear();
        let _ = write!(self.parts_path, "/messages/{n}/parts");
        for (n, part) in parts.elements().enumerate() {
            let pointer = Pointer::Item(&self.parts_path, n);
            convert_record(pointer, part, state, out, |state, out| {
                let mut view = Part::default();
                view.strict_into(part, "")?;
                dispatch::part(state, &PartRecord { part: &view, message: &context, pointer }, out)
            })?;
        }
        Ok(())
    }
}

/// Converts one record of the export, and applies the policy to a fault.
fn convert_record(
    pointer: Pointer<'_>,
    record: Value<'_>,
    state: &mut SessionState,
    out: &mut Emitter<'_>,
    convert: impl FnOnce(&mut SessionState, &mut Emitter<'_>) -> Result<Outcome, Fault>,
) -> Result<(), Fault> {
    out.begin();
    let outcome = convert(state, out);
    state.end_record(outcome.is_ok());
    match outcome {
        Ok(outcome) => {
            out.settle(outcome);
            Ok(())
        }
        Err(fault) => out.settle_fault(fault.within(pointer), record.raw()),
    }
}

/// True when a part of the message states the tokens of each request.
fn has_step_finish(parts: Value<'_>) -> bool {
    parts.elements().any(|part| raw_str(part.first_member("type")) == "step-finish")
}

/// What is wrong with an export as one document. It takes precedence over a fault of one of its records.
#[cold]
pub(super) fn document_fault(source: &str) -> Result<(), Fault> {
    let mut index = StructuralIndex::default();
    let document = Document::strict(parse(source, &mut index)?, "")?;
    let missing = |field: &'static str| Fault::malformed(field, "a session with messages", "nothing");
    document.info().ok_or_else(|| missing("/info"))?;
    document.messages().ok_or_else(|| missing("/messages"))?;
    Ok(())
}
