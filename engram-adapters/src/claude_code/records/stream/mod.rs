//! What `claude -p --output-format stream-json` prints: the lines of the conversation under other names (`conversation`), and notices
//! about the run (`notices`).

mod conversation;
mod dispatch;
mod notices;

use engram_core::adapter::{Session, SessionInit};
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

#[cfg(test)]
pub(super) use dispatch::rows;

use crate::claude_code::state::session_state::SessionState;
use crate::shared::restorable::Restorable;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::{StructuralIndex, parse};
use crate::shared::view::view;

view! {
    /// The members of a printed line that a line of a transcript has under another name, or not at all.
    Printed {
        kind: "type" String,
        subtype: "subtype" String,
        uuid: "uuid" String,
        timestamp: "timestamp" String,
        session_id: "session_id" String,
        /// The message of a model or a person; of a denied call, a text.
        message: "message" Any,
        tool_use_result: "tool_use_result" Any,
        /// The call that started the sub-agent of the line.
        parent_call: "parent_tool_use_id" String,
        /// The sub-agent (2.1.300 and later).
        agent_id: "agent_id" String,
        agent_type: "subagent_type" String,
        is_synthetic: "isSynthetic" Bool,
        request_id: "request_id" String,
        error: "error" Any,
        is_api_error: "is_api_error_message" Bool,
        api_error_status: "api_error_status" Any,
        compact_metadata: "compact_metadata" Object,
        content: "content" Any,
    }
}

/// The conversion of one capture.
pub struct Stream {
    state: StreamState,
    /// The structure of the current line. Reused from line to line.
    index: StructuralIndex,
}

/// What later lines of a capture need.
struct StreamState {
    session: SessionState,
    /// The sub-agents whose start is on the tape.
    agents: SeenSet,
    /// Hash of the last text of the model. The final result repeats it.
    last_text: Restorable<Option<u64>>,
}

impl Stream {
    /// The converter of a capture.
    pub fn new(init: &SessionInit<'_>) -> Self {
        let state = StreamState { session: SessionState::new(init), agents: SeenSet::default(), last_text: Restorable::default() };
        Stream { state, index: StructuralIndex::default() }
    }
}

impl Session for Stream {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        out.set_pointer_alias("/toolUseResult", "/tool_use_result");
        let value = parse(source, &mut self.index)?;
        let outcome = dispatch::line(&mut self.state, value, out);
        self.state.end_record(outcome.is_ok(), out);
        outcome
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.state.session.finish(out)
    }
}

impl StreamState {
    /// Ends a record. What a malformed one has changed is restored.
    fn end_record(&mut self, is_converted: bool, out: &Emitter) {
        self.session.end_record(is_converted, out);
        if is_converted {
            self.agents.commit();
            self.last_text.commit();
        } else {
            self.agents.roll_back();
            self.last_text.roll_back();
        }
    }
}
