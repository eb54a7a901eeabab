//! The notice of a step that has no event kind of its own.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::text::Text;

use crate::cursor::fields::text_or_json;
use crate::shared::value::Field;

/// Emits a notice with this name and text.
pub(super) fn emit_notice(name: &str, value: Field<'_>, out: &mut Emitter) -> Result<(), Fault> {
    out.emit(Meta::System { name: Text::Plain(name), text: text_or_json(value) }, Pointer::Root)?;
    Ok(())
}
