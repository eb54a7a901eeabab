//! What the parts of a message need from the message itself.

use engram_core::emit::RecordHeader;
use engram_core::keys::hash64;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::replay::ReplayTracker;
use crate::opencode::notes::Speaker;
use crate::opencode::readers::{Envelope, Line, Model, Part, StepMessage, StepTime, Time};
use crate::shared::time::MillisFormatter;
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, raw_str, text};

/// What the parts of a message need from the message itself.
#[derive(Default, Clone, Copy)]
pub struct MessageContext<'a> {
    pub speaker: Speaker,
    pub message_id: Option<Text<'a>>,
    /// The id as a key.
    pub key: u64,
    pub model: Option<Text<'a>>,
    /// The text is the summary of a compaction.
    pub is_summary: bool,
    /// A `step-finish` part says the tokens of each request.
    pub has_step_finish: bool,
    /// It says why the last request ended. Then `input` leaves out what came from the cache.
    pub has_finish: bool,
    /// The message was copied from the session that this session was forked from.
    pub is_replay: bool,
    /// When the line of a stream was printed, in milliseconds, for parts without a time. `None` in an export.
    pub printed_at: Option<i64>,
    /// 0.1.174: the record with what tools add to their results, by call id.
    pub tool_metadata: Option<usize>,
}

impl<'a> MessageContext<'a> {
    /// The context that a message's own record gives.
    pub fn of(envelope: &Envelope<'a>, has_step_finish: bool, replay: &ReplayTracker) -> Self {
        MessageContext {
            speaker: Speaker::of(raw_str(envelope.role())),
            message_id: text(envelope.id()),
            key: hash64(envelope.id().map(Value::raw)),
            model: non_empty_text(envelope.model_id()),
            is_summary: is_true(envelope.summary()),
            has_step_finish,
            has_finish: envelope.finish().is_some(),
            is_replay: replay.is_replay(
                raw_str(envelope.id()),
                integer(Time::lenient_opt(envelope.time()).created()),
            ),
            printed_at: None,
            tool_metadata: None,
        }
    }

    /// The context of a message of 2.x.
    pub fn of_step(message: &StepMessage<'a>, replay: &ReplayTracker) -> Self {
        MessageContext {
            speaker: Speaker::Assistant,
            message_id: text(message.id()),
            key: hash64(message.id().map(Value::raw)),
            model: non_empty_text(Model::lenient_opt(message.model()).id()),
            is_replay: replay.is_replay(
                raw_str(message.id()),
                integer(StepTime::lenient_opt(message.time()).created()),
            ),
            ..MessageContext::default()
        }
    }

    /// The context of the part of a line.
    pub fn of_line(line: &Line<'_>, part: &Part<'a>) -> Self {
        MessageContext {
            speaker: Speaker::Assistant,
            printed_at: integer(line.timestamp()),
            message_id: text(part.message_id()),
            has_step_finish: true,
            ..MessageContext::default()
        }
    }

    /// Time and id of a record, and whether it is a copy.
    pub fn header<'h>(
        &self,
        millis: Option<i64>,
        id: Field<'h>,
        clock: &'h mut MillisFormatter,
    ) -> RecordHeader<'h> {
        let time = millis
            .or(self.printed_at)
            .and_then(|millis| clock.format(millis));
        RecordHeader {
            t: time,
            id: text(id),
            replay: self.is_replay,
        }
    }

    /// Sets the time and id of the current record, and whether it is a copy.
    pub fn set_header(
        &self,
        millis: Option<i64>,
        id: Field<'_>,
        clock: &mut MillisFormatter,
        out: &mut Emitter<'_>,
    ) {
        out.set_header(self.header(millis, id, clock));
    }
}

/// The last message, for its parts, which are records of their own.
#[derive(Default)]
pub struct LastMessage {
    number: usize,
    context: MessageContext<'static>,
    /// Id and model as JSON.
    id: Option<String>,
    model: Option<String>,
    /// Which of its facts earlier records have said.
    pub stated: [bool; 3],
    /// When it ended, in milliseconds since the epoch.
    pub completed: Option<i64>,
}

impl LastMessage {
    pub fn of(
        number: usize,
        context: &MessageContext<'_>,
        has_tool_metadata: bool,
        stated: [bool; 3],
        completed: Option<i64>,
    ) -> Self {
        let (id, model) = (context.message_id, context.model);
        let token = |text: Text<'_>| text.raw().to_owned();
        let tool_metadata = has_tool_metadata.then_some(number);
        LastMessage {
            number,
            context: MessageContext {
                message_id: None,
                model: None,
                tool_metadata,
                ..without_texts(context)
            },
            id: id.map(token),
            model: model.map(token),
            stated,
            completed,
        }
    }

    /// The context of the parts of the message whose record has this number. Nothing is known of a message that was not accepted.
    pub fn context(&self, number: u32) -> MessageContext<'_> {
        if self.number != number as usize {
            return MessageContext::default();
        }
        let (message_id, model) = (
            self.id.as_deref().map(Text::Token),
            self.model.as_deref().map(Text::Token),
        );
        MessageContext {
            message_id,
            model,
            ..self.context
        }
    }
}

fn without_texts(context: &MessageContext<'_>) -> MessageContext<'static> {
    let MessageContext {
        speaker,
        key,
        is_summary,
        has_step_finish,
        has_finish,
        is_replay,
        printed_at,
        tool_metadata,
        ..
    } = *context;
    MessageContext {
        speaker,
        message_id: None,
        key,
        model: None,
        is_summary,
        has_step_finish,
        has_finish,
        is_replay,
        printed_at,
        tool_metadata,
    }
}
