//! The walk over an export: the session's own record, then its messages and their parts, each as a record.

use std::fmt::Write as _;

use engram_core::emit::{Emitter, Fault, Pointer};

use super::check_message::{check_message, check_tool_metadata};
use super::dispatch;
use super::part_record::PartRecord;
use super::session_info::{INFO, session_info};
use super::settle::{convert_record, late_events};
use super::{messages, step_export, step_info};
use crate::opencode::schema::{Document, Envelope, Message, Part, Time};
use crate::opencode::state::message_context::MessageContext;
use crate::opencode::state::record_facts::{ERROR, RecordId, TOKENS};
use crate::opencode::state::session_state::SessionState;
use crate::shared::value::{PullReader, StructuralIndex, Value, integer, parse, raw_str};

/// Reads an export record by record.
#[derive(Default)]
pub(super) struct ExportReader {
    /// How many top-level values (the session's record, messages, and what no version writes) are converted. When an export turns out to be
    /// truncated, its valid beginning is read again, and these are skipped.
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
        let (mut has_info, mut has_messages, mut next) = (false, false, 0);
        if !reader.enter(b'{')? {
            return Err(other_document());
        }
        while let Some(name) = reader.member()? {
            match &*name {
                "info" if !has_info => {
                    has_info = true;
                    let info = reader.value()?;
                    self.convert_once(&mut next, |_| {
                        convert_record(INFO, info, state, out, |state, out| match info.member("version") {
                            Some(_) => session_info(state, info, out),
                            None => step_info::session_info(state, info, out),
                        })
                    })?;
                }
                "messages" if has_info && !has_messages && reader.enter(b'[')? => {
                    has_messages = true;
                    for n in 0.. {
                        if !reader.element()? {
                            break;
                        }
                        let message = reader.value()?;
                        self.convert_once(&mut next, |reader| reader.message(n, message, state, out))?;
                    }
                }
                "messages" if !has_info => return Err(Fault::malformed("/messages", "the session's own record before them", "none")),
                "info" | "messages" => return Err(other_document()),
                name => {
                    let value = reader.value()?;
                    let pointer = Pointer::Member("", name);
                    self.convert_once(&mut next, |_| convert_record(pointer, value, state, out, |_, _| Err(Fault::unrecognized(name))))?;
                }
            }
        }
        reader.end()?;
        if !has_messages {
            return Err(other_document());
        }
        match state.revert.event() {
            Some(rewind) => late_events(state, out, |_, out| out.emit(rewind, Pointer::At("/info/revert")).map(drop)),
            None => Ok(()),
        }
    }

    /// Converts the top-level value with the number `next`, unless it is converted already.
    fn convert_once(&mut self, next: &mut usize, convert: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if *next == self.converted {
            convert(self)?;
            self.converted += 1;
        }
        *next += 1;
        Ok(())
    }

    /// Converts a message: its own record, then one record for each part.
    fn message(&mut self, n: usize, message: Value<'_>, state: &mut SessionState, out: &mut Emitter<'_>) -> Result<(), Fault> {
        let view = Message::lenient(message);
        if view.info().is_none() && message.first_member("type").is_some() {
            state.revert.reach(raw_str(message.member("id")), out);
            return step_export::message(n, message, &mut self.parts_path, state, out);
        }
        let (Some(info), Some(parts)) = (view.info(), view.parts()) else {
            let fault = Fault::malformed("", "a message with parts", message.raw());
            return convert_record(Pointer::Item("/messages", n), message, state, out, |_, _| Err(fault));
        };
        state.revert.reach(raw_str(info.member("id")), out);
        let (mut envelope, mut context, mut has_end) = (Envelope::default(), MessageContext::default(), false);
        let pointer = Pointer::Field("/messages", n, "/info");
        convert_record(pointer, info, state, out, |state, out| {
            envelope.fill_message(info)?;
            context = MessageContext::of(&envelope, parts, &state.replay);
            context.is_repeat = state.is_repeat(RecordId::Message(envelope.id()), info);
            if !context.is_repeat {
                context.set_header(integer(Time::lenient_opt(envelope.time()).created()), envelope.id(), &mut state.clock, out);
            }
            check_message(n, message, out)?;
            if let Some(by_call) = context.tool_metadata {
                check_tool_metadata(n, by_call, parts, out)?;
            }
            (context.is_usage_stated, context.is_error_stated) = (state.read.is_stated(TOKENS), state.read.is_stated(ERROR));
            let outcome = dispatch::message(state, info, &envelope, &context, pointer, out)?;
            has_end = !context.is_repeat;
            Ok(outcome)
        })?;
        self.parts_path.clear();
        let _ = write!(self.parts_path, "/messages/{n}/parts");
        for (n, part) in parts.elements().enumerate() {
            let pointer = Pointer::Item(&self.parts_path, n);
            state.revert.reach_part(raw_str(part.member("id")), out);
            convert_record(pointer, part, state, out, |state, out| {
                let mut view = Part::default();
                view.strict_into(part, "")?;
                dispatch::part(state, &PartRecord { part: &view, message: &context, pointer, place: n, unchecked: Some(part) }, out)
            })?;
        }
        if !has_end {
            return Ok(());
        }
        late_events(state, out, |state, out| {
            let completed = integer(Time::lenient_opt(envelope.time()).completed());
            context.set_header(completed, envelope.id(), &mut state.clock, out);
            messages::message_end(&envelope, &context, (pointer, state.dialect), out)
        })
    }
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
