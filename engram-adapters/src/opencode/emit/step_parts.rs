//! The parts of an answer of OpenCode 2: text, reasoning, calls with their results.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, MsgOut};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::call_events::{CallPlace, emit_call};
use super::message_context::MessageContext;
use super::session_state::SessionState;
use super::system_events::emit_system;
use crate::opencode::format::ContentKind;
use crate::opencode::readers::{StepPart, StepTime};
use crate::opencode::record_facts::CALL;
use crate::opencode::results::call::Call;
use crate::opencode::results::step_call::StepOutput;
use crate::shared::value::{integer, non_empty_text, raw_str};

/// A part of an answer as the handlers get it.
#[derive(Clone, Copy)]
pub(super) struct StepPartRecord<'r> {
    pub part: &'r StepPart<'r>,
    pub message: &'r MessageContext<'r>,
    pub pointer: Pointer<'r>,
}

impl StepPartRecord<'_> {
    /// Sets the header of the part's events. Parts have no ids, and texts no time.
    pub(super) fn set_header(&self, state: &mut SessionState, out: &mut Emitter<'_>) {
        let created = integer(StepTime::lenient_opt(self.part.time()).created());
        self.message
            .set_header(created, None, &mut state.clock, out);
    }

    fn msg_out(
        &self,
        text: Option<Text<'_>>,
        channel: Option<Channel>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let MessageContext {
            model, message_id, ..
        } = *self.message;
        out.emit(
            MsgOut {
                text,
                channel,
                model,
                message_id,
                redacted: text.is_none(),
            },
            self.pointer,
        );
        Outcome::Mapped
    }
}

/// Emits a part by its type.
pub(super) fn part(
    state: &mut SessionState,
    record: &StepPartRecord<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    match ContentKind::named(raw_str(record.part.kind())) {
        Some(ContentKind::Tool) => tool(state, record, out),
        Some(ContentKind::Reasoning) => reasoning(record, out),
        Some(ContentKind::Text) => text(record, out),
        None => Outcome::Mapped,
    }
}

/// Text of an answer. It may be empty between calls.
fn text(record: &StepPartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    match non_empty_text(record.part.text()) {
        Some(text) => record.msg_out(Some(text), None, out),
        None => emit_system("empty_text", None, record.pointer, out),
    }
}

/// Reasoning. If only the provider can read it, it has no text.
fn reasoning(record: &StepPartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    match non_empty_text(record.part.text()) {
        None if record.part.state().is_none() => {
            emit_system("empty_reasoning", None, record.pointer, out)
        }
        text => record.msg_out(text, Some(Channel::Reasoning), out),
    }
}

/// A call, with its result if it has ended. The header of the part is set.
fn tool(state: &mut SessionState, record: &StepPartRecord<'_>, out: &mut Emitter<'_>) -> Outcome {
    let output = StepOutput::of(record.part);
    let Ok(mut call) = Call::of_step(record.part, &output) else {
        return Outcome::Mapped;
    };
    call.directory = state.last_stated.cwd();
    let is_stated = state.decision.stated[CALL];
    let place = CallPlace {
        message: record.message,
        id: None,
        pointer: record.pointer,
        dialect: state.dialect,
        is_stated,
    };
    emit_call(&call, &place, &mut state.clock, out)
}
