//! What results repeat of calls that the log does not hold: its beginning is lost, or it is a part of a longer one.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::text::Text;

use super::record::{Late, MAX_WAITING_BYTES};
use super::returned::{Returned, repeats, say_beside};
use super::schema::Line;
use crate::shared::value::{Value, non_empty_text};

/// Where results repeat what their calls asked for.
const ASKED: &[(&str, &str)] = &[
    ("oldString", "/toolUseResult/oldString"),
    ("newString", "/toolUseResult/newString"),
    ("edits", "/toolUseResult/edits"),
    ("content", "/toolUseResult/content"),
    ("newTodos", "/toolUseResult/newTodos"),
    ("plan", "/toolUseResult/plan"),
    ("description", "/toolUseResult/description"),
    ("query", "/toolUseResult/query"),
    ("url", "/toolUseResult/url"),
];

/// Texts of results whose calls have not come, oldest first: calls stand before their results, but for some of those made at once.
#[derive(Default)]
pub(super) struct Unasked {
    waiting: Vec<Repeated>,
    /// What they take.
    bytes: usize,
}

/// A text that a result repeats of its call.
struct Repeated {
    /// The call's id, decoded.
    call: String,
    pointer: &'static str,
    said: Late,
}

impl Unasked {
    /// Keeps what a result without a call repeats of it.
    #[cold]
    pub fn keep(&mut self, returned: &Returned<'_>, line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(call) = returned.call_id.map(|id| id.decode_lossy()) else { return Ok(()) };
        for (name, pointer) in ASKED {
            let asked = returned.structured.object().member(name);
            // A list of blocks is what the model saw.
            let is_list = |asked: &Value<'_>| *name != "content" && asked.elements().next().is_some();
            let is_text = |asked: &Value<'_>| non_empty_text(Some(*asked)).is_some_and(|said| !repeats(said, returned.content));
            let Some(asked) = asked.filter(|asked| is_text(asked) || is_list(asked)) else { continue };
            let said = Late::of(asked, line, out.location());
            let bytes = self.bytes + said.bytes() + call.len();
            if bytes > MAX_WAITING_BYTES {
                say_beside(Some(said.text()), Pointer::At(pointer), out)?;
            } else {
                self.bytes = bytes;
                self.waiting.push(Repeated { call: call.clone().into_owned(), pointer, said });
            }
        }
        Ok(())
    }

    /// Says what no call has said.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for repeated in self.waiting.drain(..) {
            if out.seq_of_call(Text::Plain(&repeated.call)).is_none() {
                let said = repeated.said.take_place(out);
                say_beside(Some(said), Pointer::At(repeated.pointer), out)?;
            }
        }
        Ok(())
    }
}
