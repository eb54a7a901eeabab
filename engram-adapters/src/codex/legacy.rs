//! The TypeScript document (0.1): one JSON object, rewritten whole on each item, and the tail that a longer version of it left behind.

use engram_core::emit::{Emitter, Fault};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shared::value::{StructuralIndex, parse, raw_str};

use super::convert::{Container, Converter};
use super::schema::SessionHead;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    session: &'a RawValue,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// `session` of a document of which the head is known: what stands in front of `items`.
pub(super) fn head<'a>(text: &'a str, index: &'a mut StructuralIndex) -> Option<SessionHead<'a>> {
    let inner = text.trim_ascii_start().strip_prefix('{')?.trim_ascii_start().strip_prefix("\"session\"")?;
    let inner = inner.trim_ascii_start().strip_prefix(':')?;
    let mut values = serde_json::Deserializer::from_str(inner).into_iter::<&RawValue>();
    let session = values.next()?.ok()?;
    let session = SessionHead::lenient(parse(session.get(), index).ok()?);
    let rest = inner.get(values.byte_offset()..)?.trim_ascii_start().strip_prefix(',')?.trim_ascii_start();
    (rest.starts_with("\"items\"") && session.id().is_some() && session.timestamp().is_some()).then_some(session)
}

impl Converter {
    /// Converts a whole document, then what its tail holds.
    pub(super) fn convert_document(&mut self, text: &str, out: &mut Emitter) -> Result<(), Fault> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Document<'_>>();
        let document = values.next().ok_or_else(|| Fault::malformed("", "a document", "nothing"))??;
        let tail = text.get(values.byte_offset()..).unwrap_or_default();
        self.container = Container::Document(0);
        out.begin();
        let mut index = StructuralIndex::default();
        let session = SessionHead::lenient(parse(document.session.get(), &mut index)?);
        let outcome = self.header(session.instructions(), None, out)?;
        out.settle(outcome);
        for item in &document.items {
            self.document_item(item, &mut index, out)?;
        }
        self.tail(tail, &mut index, out)
    }

    fn document_item(&mut self, raw: &RawValue, index: &mut StructuralIndex, out: &mut Emitter) -> Result<(), Fault> {
        out.begin();
        match parse(raw.get(), index).and_then(|item| self.item(raw_str(item.first("type")), item, out)) {
            Ok(outcome) => out.settle(outcome),
            Err(fault) => out.settle_fault(fault, raw.get())?,
        }
        if let Container::Document(index) = &mut self.container {
            *index += 1;
        }
        Ok(())
    }

    /// The file is rewritten in place and not cut to its new length. Behind a shorter version stand the items that it
    /// lacks: they were recorded, so they are converted as the items that follow.
    fn tail(&mut self, tail: &str, index: &mut StructuralIndex, out: &mut Emitter) -> Result<(), Fault> {
        let mut rest = tail.trim_ascii();
        while rest.starts_with('{') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            let Some(Ok(item)) = values.next() else { break };
            let end = values.byte_offset();
            self.document_item(item, index, out)?;
            rest = rest.get(end..).unwrap_or_default().trim_ascii();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_ascii();
        }
        let is_closing = rest.bytes().all(|byte| matches!(byte, b']' | b'}') || byte.is_ascii_whitespace());
        if is_closing {
            return Ok(());
        }
        out.begin();
        out.settle_fault(Fault::malformed("", "items behind the document", rest), rest)
    }
}
