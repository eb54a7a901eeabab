//! What commands have written whose results have not come.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{ImplicitInput, Meta};
use engram_core::text::Text;

use super::descriptor::rule;
use super::record::Late;
use super::schema::Line;
use crate::shared::value::Value;

/// The most commands whose output is held until their results come. That of more is said at once.
const MAX_UNDER_WAY: usize = 64;

/// What commands have written whose results have not come, the oldest first.
#[derive(Default)]
pub(super) struct UnderWay {
    outputs: Vec<SoFar>,
}

/// What a command has written by the time of a `progress` line.
struct SoFar {
    /// A key of the call.
    call: u64,
    output: Late,
}

impl UnderWay {
    /// The call's result has come, or more is known of what it has written.
    pub fn forget(&mut self, call: u64) {
        self.outputs.retain(|so_far| so_far.call != call);
    }

    /// By the record at hand the command of this call has written so much, which waits, or is said where too much does. True if it waits.
    pub fn keep(&mut self, call: u64, written: Value<'_>, line: &Line<'_>, out: &mut Emitter) -> Result<bool, Fault> {
        self.forget(call);
        let waits = self.outputs.len() < MAX_UNDER_WAY;
        if waits {
            self.outputs.push(SoFar { call, output: Late::of(written, line, out.location()) });
        } else {
            say(written.text(), out)?;
        }
        Ok(waits)
    }

    /// Says what commands had written whose results never came: the session ended first.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for so_far in self.outputs.drain(..) {
            let written = so_far.output.take_place(out);
            say(Some(written), out)?;
            out.duplicate_was_mapped("progress/bash_progress", rule::SO_FAR);
        }
        Ok(())
    }
}

fn say(written: Option<Text<'_>>, out: &mut Emitter) -> Result<(), Fault> {
    let context = ImplicitInput { name: Text::Plain("tool_output"), file: None, hash: None, bytes: None, text: written };
    out.emit(Meta::Context(context), Pointer::At("/data/fullOutput"))?;
    Ok(())
}
