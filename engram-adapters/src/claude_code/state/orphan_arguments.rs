//! Call arguments echoed by results of calls that are missing so far.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::text::Text;

use super::deferred::DeferredText;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::schema::Line;
use crate::shared::value::Value;

/// Echoed arguments, oldest first. Calls precede their results, except some of those made in parallel.
#[derive(Default)]
pub struct OrphanArguments {
    pending: Vec<OrphanArgument>,
}

struct OrphanArgument {
    /// The call's id, decoded.
    call_id: String,
    /// Where the result echoes the argument.
    pointer: &'static str,
    argument: DeferredText,
}

impl OrphanArguments {
    /// Defers an argument that the current record echoes; emits it now if there is no room for it.
    pub fn defer(
        &mut self,
        call_id: &str,
        argument: Value<'_>,
        pointer: &'static str,
        line: &Line<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        match DeferredText::new(argument, line, out) {
            Some(argument) => self.pending.push(OrphanArgument { call_id: call_id.to_owned(), pointer, argument }),
            None => emit_argument(argument.text_or_json(), pointer, out)?,
        }
        Ok(())
    }

    /// Emits the arguments of calls that never came.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for orphan in self.pending.drain(..) {
            if out.seq_of_call(Text::Plain(&orphan.call_id)).is_none() {
                let argument = orphan.argument.restore_location(out);
                emit_argument(argument, orphan.pointer, out)?;
            }
        }
        Ok(())
    }
}

fn emit_argument(argument: Text<'_>, pointer: &str, out: &mut Emitter) -> Result<(), Fault> {
    emit_text("tool_result", Some(argument), Pointer::At(pointer), out)
}
