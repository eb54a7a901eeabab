//! One part of a message, as the part handlers get it.

use engram_core::emit::{Emitter, Pointer};

use crate::opencode::schema::{Part, Time};
use crate::opencode::state::message_context::MessageContext;
use crate::shared::time::MillisFormatter;
use crate::shared::value::{Field, integer};

/// One part of a message.
#[derive(Clone, Copy)]
pub(super) struct PartRecord<'r> {
    pub part: &'r Part<'r>,
    /// The message that the part belongs to.
    pub message: &'r MessageContext<'r>,
    /// The place of the part.
    pub pointer: Pointer<'r>,
    /// The number of the part in its message.
    pub place: usize,
    /// The part itself, if its members are not compared with the member table yet.
    pub unchecked: Field<'r>,
}

impl PartRecord<'_> {
    /// Sets the header of the part's events.
    pub(super) fn set_header(&self, clock: &mut MillisFormatter, out: &mut Emitter<'_>) {
        let time = Time::lenient_opt(self.part.time());
        self.message.set_header(integer(time.start().or(time.created())), self.part.id(), clock, out);
    }
}
