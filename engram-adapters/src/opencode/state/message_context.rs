//! What the parts of a message need from the message itself.

use engram_core::emit::{Emitter, RecordHeader};
use engram_core::text::Text;

use super::replay::ReplayTracker;
use crate::opencode::schema::{Envelope, Model, Time};
use crate::opencode::step_schema::{StepMessage, StepTime};
use crate::shared::time::MillisFormatter;
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, raw_str, text};

/// Who wrote a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speaker {
    /// The user, or the harness in the user's place.
    User,
    /// The agent.
    Assistant,
    /// The message has no known role, or is missing.
    #[default]
    Unknown,
}

/// What the parts of a message need from the message itself.
#[derive(Default)]
pub struct MessageContext<'a> {
    pub speaker: Speaker,
    pub message_id: Option<Text<'a>>,
    /// The id as a value.
    pub id: Field<'a>,
    pub model: Option<Text<'a>>,
    /// The text is the summary of a compaction.
    pub is_summary: bool,
    /// A `step-finish` part states the tokens of each request.
    pub has_step_finish: bool,
    /// The message has all requests of a turn (up to 0.5.29).
    pub is_turn: bool,
    /// Why the last request ended, where the message states it. Then `input` leaves out what came from the cache.
    pub finish: Field<'a>,
    /// The message was copied from the session that this session was forked from.
    pub is_replay: bool,
    /// The log had all that the message's own record states before.
    pub is_repeat: bool,
    /// The log had its tokens before.
    pub is_usage_stated: bool,
    /// The log had its error before.
    pub is_error_stated: bool,
    /// When the line of a stream was printed, in milliseconds, for parts without a time. None in an export.
    pub printed_at: Field<'a>,
    /// 0.1.174: what tools add to their results, by call id.
    pub tool_metadata: Field<'a>,
}

impl<'a> MessageContext<'a> {
    /// The context that a message's own record gives.
    pub fn of(envelope: &Envelope<'a>, parts: Value<'_>, replay: &ReplayTracker) -> Self {
        MessageContext {
            speaker: match raw_str(envelope.role()) {
                "user" => Speaker::User,
                "assistant" => Speaker::Assistant,
                _ => Speaker::Unknown,
            },
            message_id: text(envelope.id()),
            id: envelope.id(),
            model: non_empty_text(envelope.model_id()),
            is_summary: is_true(envelope.summary()),
            has_step_finish: parts.elements().any(|part| raw_str(part.first_member("type")) == "step-finish"),
            is_turn: envelope.system().is_some_and(Value::is_array),
            finish: envelope.finish(),
            is_replay: replay.is_replay(raw_str(envelope.id()), integer(Time::lenient_opt(envelope.time()).created())),
            is_repeat: false,
            is_usage_stated: false,
            is_error_stated: false,
            printed_at: None,
            tool_metadata: envelope.tool(),
        }
    }

    /// The context of a message of 2.x.
    pub fn of_step(message: &StepMessage<'a>, replay: &ReplayTracker) -> Self {
        MessageContext {
            speaker: Speaker::Assistant,
            message_id: text(message.id()),
            id: message.id(),
            model: non_empty_text(Model::lenient_opt(message.model()).id()),
            is_replay: replay.is_replay(raw_str(message.id()), integer(StepTime::lenient_opt(message.time()).created())),
            ..MessageContext::default()
        }
    }

    /// Sets the time and id of the current record, and whether it is a copy.
    pub fn set_header(&self, millis: Option<i64>, id: Field<'_>, clock: &mut MillisFormatter, out: &mut Emitter<'_>) {
        let time = millis.or_else(|| integer(self.printed_at)).and_then(|millis| clock.format(millis));
        out.set_header(RecordHeader { t: time, id: text(id), replay: self.is_replay });
    }
}
