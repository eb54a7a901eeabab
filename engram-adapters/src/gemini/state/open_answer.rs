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
    /// Adds a piece, which was read at this place.
    pub fn add(&mut self, raw: &str, time: Option<&str>, location: RecordLocation) {
        let begin = || Begun { text: String::new(), time: time.map(str::to_owned), location };
        self.begun.get_or_insert_with(begin).text.push_str(raw);
    }

    /// Emits the answer, at the line of its first piece.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn end(&mut self, out: &mut Emitter<'_>) -> Result<(), Fault> {
        let Some(Begun { text, time, location }) = self.begun.take().filter(|begun| !begun.text.is_empty()) else { return Ok(()) };
        let here = out.location();
        out.attribute_to(location, RecordHeader { t: time.as_deref(), ..RecordHeader::default() });
        let token = format!("\"{text}\"");
        out.emit(MsgOut { text: Some(Text::Token(&token)), ..MsgOut::default() }, Pointer::At("/content"))?;
        out.attribute_to(here, RecordHeader::default());
        Ok(())
    }
}
