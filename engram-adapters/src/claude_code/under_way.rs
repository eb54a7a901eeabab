//! What commands have written whose results have not come.

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Context, Meta};
use engram_core::render::Pointer;
use engram_core::text::Text;

use super::descriptor::rule;
use super::record::Late;

/// The most commands whose output is held until their results come. Of more, the oldest counts as said.
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

    /// The command of this call has written so much.
    pub fn keep(&mut self, call: u64, output: Late) {
        self.forget(call);
        if self.outputs.len() == MAX_UNDER_WAY {
            self.outputs.remove(0);
        }
        self.outputs.push(SoFar { call, output });
    }

    /// Says what commands had written whose results never came: the session ended first.
    pub fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        for so_far in self.outputs.drain(..) {
            let written = Some(so_far.output.take_place(out));
            let context = Context { name: Text::Plain("tool_output"), file: None, hash: None, bytes: None, text: written };
            out.emit(Meta::Context(context), Pointer::At("/data/fullOutput"))?;
            out.duplicate_was_mapped("progress/bash_progress", rule::SO_FAR);
        }
        Ok(())
    }
}
