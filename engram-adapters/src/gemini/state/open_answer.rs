//! An answer that is printed in pieces, and is joined when it ends.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::MsgOut;
use engram_core::text::Text;

use crate::shared::joined_text::JoinedText;

/// The pieces of an answer so far, if one has begun.
#[derive(Default)]
pub struct OpenAnswer {
    begun: Option<Begun>,
}

struct Begun {
    text: JoinedText,
    time: Option<String>,
    location: RecordLocation,
}

impl OpenAnswer {
    /// Adds a piece, which the current record has. The record counts as a duplicate; that of the first piece is mapped in the end. False if
    /// there is no room for it: then end the answer so far. A piece that does not fit then either is one of its own.
    pub fn add(&mut self, raw: &str, time: Option<&str>, out: &Emitter<'_>) -> bool {
        if self.begun.is_none() {
            let begin = |text| Begun { text, time: time.map(str::to_owned), location: out.location() };
            self.begun = JoinedText::begin(out).map(begin);
        }
        self.begun.as_mut().is_some_and(|begun| begun.text.push(raw))
    }

    /// True if there is text that is not emitted yet.
    pub fn has_text(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| !begun.text.as_str().is_empty())
    }

    /// Emits the answer, at the line of its first piece. Pieces are records of this type, which this rule omits.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn end(&mut self, record: &'static str, rule: &'static str, out: &mut Emitter<'_>) -> Result<(), Fault> {
        let Some(Begun { text, time, location }) = self.begun.take().filter(|begun| !begun.text.as_str().is_empty()) else { return Ok(()) };
        let here = out.location();
        out.attribute_to(location, RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
        out.emit(MsgOut { text: Some(Text::Token(&text.into_token())), ..MsgOut::default() }, Pointer::At("/content"))?;
        out.duplicate_was_mapped(record, rule);
        out.attribute_to(here, RecordHeader::default());
        Ok(())
    }
}
