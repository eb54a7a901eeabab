//! The fields of a capture's lines.

use engram_core::emit::{Fault, Pointer, RecordHeader};

use crate::cursor::fields::{required, required_name};
use crate::cursor::readers::{CaptureLine, CaptureMessage, CapturePart};
use crate::cursor::tool_calls::payload::{CallPayload, CallRecord};
use crate::shared::value::Value;

/// A line with the header of its events.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// Its fields.
    pub(super) line: CaptureLine<'a>,
    /// Its time.
    pub(super) header: RecordHeader<'a>,
}

impl<'a> Record<'a> {
    /// The call of a `tool_call` line.
    pub(super) fn call(&self) -> Result<CallRecord<'a>, Fault> {
        let pointer = Pointer::At("/tool_call");
        let call_id = required_name(self.line.call_id(), Pointer::At("/call_id"))?;
        let payload = required(self.line.tool_call(), pointer, "an object")?;
        let payload = CallPayload::read(payload).map_err(|fault| fault.within(pointer))?;
        Ok(CallRecord::new(call_id, payload, pointer))
    }

    /// The parts of a message, each with the value that it was read from.
    pub(super) fn parts(&self) -> Result<Vec<(CapturePart<'a>, Value<'a>)>, Fault> {
        const CONTENT: &str = "/message/content";
        let message = required(self.line.message(), Pointer::At("/message"), "an object")?;
        let content = required(
            CaptureMessage::strict(message, "/message")?.content(),
            Pointer::At(CONTENT),
            "a list of parts",
        )?;
        let part = |(index, value)| match CapturePart::strict(value, "") {
            Ok(part) => Ok((part, value)),
            Err(fault) => Err(fault.within(Pointer::Item(CONTENT, index))),
        };
        content.elements().enumerate().map(part).collect()
    }
}
