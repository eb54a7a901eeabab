//! Logs of hook payloads, one payload per line: the only artifact of Cursor that records its version.

mod call_inputs;
mod dispatch;
mod events;
mod files;
mod held_reads;
mod lifecycle;
mod messages;
mod open_writes;
mod schema;
mod session_facts;
mod state;
mod tool_steps;

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;
use schema::Payload;
use state::HookState;

use crate::cursor::fields::decoded;
use crate::shared::by_session::BySession;
use crate::shared::value::{StructuralIndex, parse};

/// The converter of one log. Hooks are set up for a person or a project, so all conversations that run write to the same log.
pub(super) struct HookLog {
    conversations: BySession<HookState>,
    index: StructuralIndex,
}

impl Default for HookLog {
    fn default() -> Self {
        HookLog { conversations: BySession::new(HookState::default(), HookState::default), index: StructuralIndex::default() }
    }
}

impl Session for HookLog {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let payload = Payload::strict(parse(source, &mut self.index)?, "")?;
        let conversation = decoded(payload.conversation_id()).unwrap_or_default();
        if let Some(mut ended) = self.conversations.switch_to(&conversation) {
            let location = out.location();
            dispatch::emit_settled(&mut ended.state, true, out)?;
            out.attribute_to(location, RecordHeader::default());
        }
        dispatch::convert(self.conversations.current(), source, &payload, out)
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        let mut ended = self.conversations.end_all();
        ended.iter_mut().try_for_each(|ended| dispatch::emit_settled(&mut ended.state, true, out).map(drop))
    }
}
