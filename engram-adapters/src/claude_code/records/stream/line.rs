//! One printed line, also in the form of a line of a transcript, and what later lines need of it.

use engram_core::adapter::SideInfo;
use engram_core::emit::Emitter;
use engram_core::head::Head;

use crate::claude_code::record::Record;
use crate::claude_code::revisions::Dialect;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::restorable::Restorable;
use crate::shared::seen_set::SeenSet;
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
        /// How the calls of the results ended.
        result_meta: "tool_result_meta" Array,
        /// A request of a sub-agent that failed.
        agent_retry: "subagent_retry" Object,
    }
}

/// A printed line, and the same as a line of a transcript.
pub(super) struct StreamRecord<'a> {
    pub printed: Printed<'a>,
    pub record: Record<'a>,
}

/// What later lines of a capture need.
pub(super) struct StreamState {
    pub session: SessionState,
    /// The sub-agents whose start is on the tape.
    pub agents: SeenSet,
    /// Hash of the last text of the model. The final result repeats it.
    pub last_text: Restorable<Option<u64>>,
}

impl StreamState {
    /// The state before the first line. A capture has no copied history, for which the state of a transcript looks at the head.
    pub fn new(dialect: Dialect, side_info: SideInfo) -> Self {
        StreamState {
            session: SessionState::before(&Head::new(&[], true), dialect, side_info),
            agents: SeenSet::default(),
            last_text: Restorable::default(),
        }
    }

    /// Ends a record. What a malformed one has changed is restored.
    pub fn end_record(&mut self, is_converted: bool, out: &Emitter) {
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
