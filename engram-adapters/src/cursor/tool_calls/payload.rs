//! The payload of a call or of its result, as the harness records it.

use engram_core::emit::{Fault, Pointer};
use engram_core::text::Text;

use crate::cursor::fields::decoded;
use crate::cursor::fields::faults::within_member;
use crate::cursor::readers::{CallArgs, CallBody, Function};
use crate::shared::value::{Field, Value, is_true, non_empty_text, raw_str};

/// `{"<name>ToolCall": {...}, "hookAdditionalContexts": [], "startedAtMs": "..", "completedAtMs": ".."}`: the key names the tool.
#[derive(Clone, Copy, Default)]
pub(in crate::cursor) struct CallPayload<'a> {
    /// The tool's name, which is the key; empty if the tool is not known.
    pub(in crate::cursor) tool: &'a str,
    body: CallBody<'a>,
    /// What hooks added to the call.
    pub(in crate::cursor) hook_contexts: Field<'a>,
    /// The call's id, if it is next to the tool.
    pub(in crate::cursor) call_id: Option<Text<'a>>,
    /// When the call began.
    pub(in crate::cursor) started_at: Field<'a>,
    completed_at: Field<'a>,
}

/// A call, or its result, ready to be emitted.
pub(in crate::cursor) struct CallRecord<'a> {
    /// The call's id.
    pub(in crate::cursor) call_id: Text<'a>,
    /// The harness's own record of it.
    pub(in crate::cursor) payload: CallPayload<'a>,
    /// The tool's name in the model's messages, where it differs from the payload's.
    pub(in crate::cursor) model_tool: Option<Text<'a>>,
    /// The result that the model received, for payloads without one.
    pub(in crate::cursor) model_result: Option<Text<'a>>,
    /// True if the model received an error.
    pub(in crate::cursor) model_error: bool,
    /// Where in the record this is.
    pub(in crate::cursor) pointer: Pointer<'a>,
}

impl<'a> CallRecord<'a> {
    /// A call about which only the harness's own record is known.
    pub(in crate::cursor) fn new(
        call_id: Text<'a>,
        payload: CallPayload<'a>,
        pointer: Pointer<'a>,
    ) -> CallRecord<'a> {
        CallRecord {
            call_id,
            payload,
            model_tool: None,
            model_result: None,
            model_error: false,
            pointer,
        }
    }
}

impl<'a> CallPayload<'a> {
    /// The payload in `value`. Faults point from there.
    pub(in crate::cursor) fn read(value: Value<'a>) -> Result<Self, Fault> {
        let mut payload = CallPayload::default();
        for (name, member) in value.members() {
            match name {
                "hookAdditionalContexts" => payload.hook_contexts = Some(member),
                "toolCallId" => payload.call_id = non_empty_text(Some(member)),
                "startedAtMs" => payload.started_at = Some(member),
                "completedAtMs" => payload.completed_at = Some(member),
                "function" => {
                    let function = Function::strict(member, "/function")?;
                    (payload.tool, payload.body) =
                        (raw_str(function.name()), CallBody::empty_of(member));
                    payload
                        .body
                        .set(const { CallBody::number("args") }, function.arguments());
                }
                name if name.ends_with("ToolCall") => {
                    payload.tool = name;
                    payload.body = CallBody::strict(member, "")
                        .map_err(|fault| within_member("", name, fault))?;
                }
                _ => {}
            }
        }
        Ok(payload)
    }

    /// The arguments of the call.
    pub(in crate::cursor) fn args(&self) -> Field<'a> {
        self.body.args()
    }

    /// The result, if the call has ended.
    pub(in crate::cursor) fn result(&self) -> Field<'a> {
        self.body.result()
    }

    /// The label of the call, unless its arguments repeat it.
    pub(super) fn label(&self) -> Option<Text<'a>> {
        let in_args = CallArgs::lenient_opt(self.args())
            .description()
            .map(Value::raw);
        non_empty_text(self.body.description())
            .filter(|_| in_args != self.body.description().map(Value::raw))
    }

    /// True if the call requests line numbers in the content that it reads.
    pub(in crate::cursor) fn requests_line_numbers(&self) -> bool {
        is_true(CallArgs::lenient_opt(self.args()).include_line_numbers())
    }

    /// The duration of the call by the harness's own two times, in milliseconds.
    pub(super) fn duration_ms(&self) -> Option<u64> {
        let millis = |field| decoded(field)?.parse::<u64>().ok();
        millis(self.completed_at)?.checked_sub(millis(self.started_at)?)
    }
}
