//! The TypeScript document (0.1): one JSON object that is rewritten for each item, and the tail that a longer version of it left.

use engram_core::emit::{Emitter, Fault};
use engram_core::members::RawNode;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::shared::value::{StructuralIndex, parse};

use super::dispatch::convert_item;
use super::settings;
use crate::codex::record::Container;
use crate::codex::schema::SessionHead;
use crate::codex::state::session_state::SessionState;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    session: &'a RawValue,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Converts a document, then the items in its tail.
pub fn convert_document(state: &mut SessionState, text: &str, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Document<'_>>();
    let document = values.next().ok_or_else(|| Fault::malformed("", "a document", "nothing"))??;
    let tail = text.get(values.byte_offset()..).unwrap_or_default();
    let mut index = StructuralIndex::default();
    out.begin();
    if let Some(root) = text.get(..text.len() - tail.len()).and_then(RawNode::parse) {
        out.check_document(root)?;
    }
    let session = SessionHead::lenient(parse(document.session.get(), &mut index)?);
    let outcome = settings::bare_header(state, session.instructions(), None, "/session/instructions", out)?;
    state.end_record(true);
    out.settle(outcome);
    let mut items = Items { state, index, count: 0 };
    for item in &document.items {
        items.convert(item, out)?;
    }
    convert_tail(&mut items, tail, out)
}

/// The items of a document, converted one after another.
struct Items<'s> {
    state: &'s mut SessionState,
    index: StructuralIndex,
    count: usize,
}

impl Items<'_> {
    fn convert(&mut self, raw: &RawValue, out: &mut Emitter<'_>) -> Result<(), Fault> {
        out.begin();
        let at = format!("/items/{}", self.count);
        let item = parse(raw.get(), &mut self.index);
        let outcome = item.and_then(|item| convert_item(self.state, item, &at, Container::Document, out));
        self.state.end_record(outcome.is_ok());
        out.settle_result(outcome, raw.get())?;
        self.count += 1;
        Ok(())
    }
}

/// The file is rewritten in place and not truncated to its new length. After a shorter version remain the items that it lacks: they were
/// recorded, so they are converted as the next items.
fn convert_tail(items: &mut Items<'_>, tail: &str, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let mut rest = tail.trim_ascii();
    while rest.starts_with('{') {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(item)) = values.next() else { break };
        let end = values.byte_offset();
        items.convert(item, out)?;
        rest = rest.get(end..).unwrap_or_default().trim_ascii();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_ascii();
    }
    let is_closing = rest.bytes().all(|byte| matches!(byte, b']' | b'}') || byte.is_ascii_whitespace());
    if is_closing {
        return Ok(());
    }
    out.begin();
    out.settle_fault(Fault::malformed("", "items after the document", rest), rest)
}
