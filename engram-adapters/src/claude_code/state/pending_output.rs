//! Partial output of shell commands that have no tool result yet.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::text::Text;

use super::deferred::DeferredText;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::schema::Line;
use crate::shared::value::Value;

/// The limit of commands whose partial output is deferred. The output of further commands is emitted at once.
const MAX_PENDING: usize = 64;

/// Partial output of commands that have no result yet, oldest first.
#[derive(Default)]
pub struct PendingOutput {
    pending: Vec<PartialOutput>,
}

struct PartialOutput {
    /// Hash of the call's id.
    call: u64,
    output: DeferredText,
}

impl PendingOutput {
    /// The call has a result, or a later partial output.
    pub fn remove(&mut self, call: u64) {
        self.pending.retain(|partial| partial.call != call);
    }

    /// Defers the call's output so far, which the current record has; emits it now if there is no room for it. Returns whether it was
    /// deferred.
    pub fn defer(&mut self, call: u64, output: Value<'_>, line: &Line<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        self.remove(call);
        let has_room = self.pending.len() < MAX_PENDING;
        let deferred = has_room.then(|| DeferredText::new(output, line, out)).flatten();
        let fits = deferred.is_some();
        match deferred {
            Some(output) => self.pending.push(PartialOutput { call, output }),
            None => emit_output(output.text(), out)?,
        }
        Ok(fits)
    }

    /// Emits the last output of commands that never got a result.
    pub(super) fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for partial in self.pending.drain(..) {
            let output = partial.output.restore_location(out);
            emit_output(Some(output), out)?;
            out.duplicate_was_mapped("progress/bash_progress", rule::PARTIAL_OUTPUT);
        }
        Ok(())
    }
}

fn emit_output(output: Option<Text<'_>>, out: &mut Emitter) -> Result<(), Fault> {
    emit_text("tool_output", output, Pointer::At("/data/fullOutput"), out)
}
