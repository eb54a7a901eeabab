//! Logs of hook payloads, one payload per line: the only artifact of Cursor that records its version.

mod call_inputs;
mod dispatch;
mod events;
mod files;
mod lifecycle;
mod messages;
mod open_writes;
mod plan;
mod schema;
mod session_facts;
mod state;
mod tool_steps;

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;
use engram_core::steps::Record;

use crate::cursor::readers::Payload;
use plan::{Note, Plan};
use schema::Step;
use state::HookState;

use crate::cursor::fields::decoded;
use crate::cursor::steps::{Out, Reader};
use crate::shared::by_session::BySession;

/// The converter of one log. Hooks are set up for a person or a project, so all conversations that run write to the same log.
pub(super) struct HookLog {
    conversations: BySession<HookState>,
    notes: Vec<Note>,
    plan: Plan,
}

impl Default for HookLog {
    fn default() -> Self {
        HookLog {
            conversations: conversations(),
            notes: Vec::new(),
            plan: Plan::default(),
        }
    }
}

fn conversations() -> BySession<HookState> {
    BySession::new(HookState::default(), HookState::default)
}

impl Reader for HookLog {
    fn record(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
        let payload = Payload::strict(record.value, "")?;
        let step = Step {
            payload,
            number: record.number,
            others: record.others,
        };
        self.conversations
            .switch_to(&decoded(payload.conversation_id()).unwrap_or_default());
        let outcome = dispatch::convert(self.conversations.current(), &self.plan, &step, out)?;
        if out.is_check() {
            self.notes.extend(dispatch::note(&step));
        }
        Ok(outcome)
    }

    fn decide(&mut self) {
        self.plan = plan::decide(&std::mem::take(&mut self.notes));
        self.conversations = conversations();
    }

    fn sessions_are_apart(&self) -> bool {
        true
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Out<'_, '_>) {
        dispatch::set_source(&Payload::lenient(record.value), out);
    }
}
