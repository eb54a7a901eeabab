//! What a person typed instead of allowing a call. The response with the call ends first.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Author, MsgIn};
use engram_core::steps::Emitter;
use engram_core::text::Text;

/// Words that have no place yet.
pub struct Typed {
    /// The record that has them.
    number: usize,
    time: Option<String>,
    /// The id of the record, as JSON.
    id: Option<String>,
    replay: bool,
    /// The record is a line of a stream, and its part has them.
    is_in_line: bool,
    words: String,
}

impl Typed {
    pub fn new(
        number: usize,
        header: &RecordHeader<'_>,
        pointer: Pointer<'_>,
        words: String,
    ) -> Self {
        Typed {
            number,
            time: header.t.map(str::to_owned),
            id: header.id.map(|id| id.raw().to_owned()),
            replay: header.replay,
            is_in_line: !matches!(pointer, Pointer::Root),
            words,
        }
    }
}

/// Emits the words.
pub(super) fn emit_typed(typed: &mut Vec<Typed>, out: &mut Emitter<'_>) {
    for typed in typed.drain(..) {
        let header = RecordHeader {
            t: typed.time.as_deref(),
            id: typed.id.as_deref().map(Text::Token),
            replay: typed.replay,
        };
        let pointer = if typed.is_in_line {
            Pointer::At("/part")
        } else {
            Pointer::Root
        };
        let message = MsgIn::user(Author::Person, Some(Text::Plain(&typed.words)));
        out.of_record(typed.number, header, |out| out.emit(message, pointer));
    }
}
