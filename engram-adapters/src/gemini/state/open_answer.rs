//! An answer that is printed in pieces, and is joined when it ends.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader, RecordLocation};
use engram_core::event::MsgOut;
use engram_core::text::Text;

/// The pieces of an answer so far, if one has begun.
#[derive(Default)]
pub struct OpenAnswer {
    begun: Option<Begun>,
}

struct Begun {
    /// The joined pieces, as raw JSON.
    text: String,
    time: Option<String>,
    location: RecordLocation,
}

impl OpenAnswer {
    /// Adds a piece, which was read at this place. Its record counts as a duplicate; that of the first piece is mapped in the end.
    pub fn add(&mut self, raw: &str, time: Option<&str>, location: RecordLocation) {
        let begin = || Begun { text: String::new(), time: time.map(str::to_owned), location };
        self.begun.get_or_insert_with(begin).text.push_str(raw);
    }

    /// True if there is text that is not emitted yet.
    pub fn has_text(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| !begun.text.is_empty())
    }

    /// Emits the answer, at the line of its first piece. Pieces are records of this type, which this rule omits.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn end(&mut self, record: &'static str, rule: &'static str, out: &mut Emitter<'_>) -> Result<(), Fault> {
        let Some(Begun { text, time, location }) = self.begun.take().filter(|begun| !begun.text.is_empty()) else { return Ok(()) };
        let here = out.location();
        out.attribute_to(location, RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
        let token = format!("\"{text}\"");
        out.emit(MsgOut { text: Some(Text::Token(&token)), ..MsgOut::default() }, Pointer::At("/content"))?;
        out.duplicate_was_mapped(record, rule);
        out.attribute_to(here, RecordHeader::default());
        Ok(())
    }
}
