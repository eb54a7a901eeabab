//! The fields of a capture's lines.

use engram_core::emit::{Fault, Pointer, RecordHeader};

use crate::cursor::fields::{required, required_name};
use crate::cursor::tool_calls::payload::{CallPayload, CallRecord};
use crate::shared::value::Value;
use crate::shared::view::view;

view! {
    /// A line of any type.
    Line {
        kind: "type" Any,
        subtype: "subtype" Any,
        session_id: "session_id" Any,
        timestamp_ms: "timestamp_ms" Any,
        /// The model call that a message belongs to, if a tool call follows the message.
        model_call_id: "model_call_id" Any,
        message: "message" Object,
        text: "text" Any,
        call_id: "call_id" Any,
        tool_call: "tool_call" Object,
        model: "model" Any,
        cwd: "cwd" Any,
        endpoint_url: "endpoint_url" Any,
        is_error: "is_error" Any,
        result: "result" Any,
        error: "error" Any,
        usage: "usage" Object,
        query_type: "query_type" Any,
        query: "query" Any,
        response: "response" Any,
    }
}

view! {
    /// A message of the user or the agent.
    Message {
        content: "content" Array,
    }
}

view! {
    /// One part of a message. Text is the only type known.
    Part {
        kind: "type" Any,
        text: "text" Any,
    }
}

view! {
    /// Tokens of the whole run.
    TurnUsage {
        input_tokens: "inputTokens" Any,
        output_tokens: "outputTokens" Any,
        cache_read_tokens: "cacheReadTokens" Any,
        cache_write_tokens: "cacheWriteTokens" Any,
    }
}

view! {
    /// A question to the user. The call's id is in it or in its arguments.
    Question {
        args: "args" Any,
        tool_call_id: "toolCallId" Any,
    }
}

view! {
    /// The user's answer to a question.
    Answer {
        approved: "approved" Any,
        rejected: "rejected" Object,
        result: "result" Any,
    }
}

/// A line with the header of its events.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// Its fields.
    pub(super) line: Line<'a>,
    /// Its time.
    pub(super) header: RecordHeader<'a>,
}

impl<'a> Record<'a> {
    /// The call of a `tool_call` line.
    pub(super) fn call(&self) -> Result<CallRecord<'a>, Fault> {
        let pointer = Pointer::At("/tool_call");
        let call_id = required_name(self.line.call_id(), Pointer::At("/call_id"))?;
        let payload = required(self.line.tool_call(), pointer, "an object")?;
        let payload = CallPayload::read(payload).map_err(|fault| fault.within(pointer))?;
        Ok(CallRecord::new(call_id, payload, pointer))
    }

    /// The parts of a message, each with the value that it was read from.
    pub(super) fn parts(&self) -> Result<Vec<(Part<'a>, Value<'a>)>, Fault> {
        const CONTENT: &str = "/message/content";
        let message = required(self.line.message(), Pointer::At("/message"), "an object")?;
        let content = required(Message::strict(message, "/message")?.content(), Pointer::At(CONTENT), "a list of parts")?;
        let part = |(index, value)| match Part::strict(value, "") {
            Ok(part) => Ok((part, value)),
            Err(fault) => Err(fault.within(Pointer::Item(CONTENT, index))),
        };
        content.elements().enumerate().map(part).collect()
    }
}
