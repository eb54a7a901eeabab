//! A call of a capture, or its result, as the harness states it.

use engram_core::emit::Fault;
use engram_core::emit::Pointer;
use engram_core::text::Text;

use super::decoded;
use crate::shared::value::{Field, Value, non_empty_text, raw_str};
use crate::shared::view::view;

/// `{"<name>ToolCall": {...}, "hookAdditionalContexts": [], "startedAtMs": "..", "completedAtMs": ".."}`: the key names the tool.
#[derive(Clone, Copy, Default)]
pub(super) struct ToolCallBody<'a> {
    /// The tool's name, which is the key; empty where the tool is not known.
    pub(super) tool: &'a str,
    /// Arguments, result and label.
    pub(super) inner: Inner<'a>,
    pub(super) hook_contexts: Field<'a>,
    /// The call's id, where it stands beside the tool.
    pub(super) call_id: Option<Text<'a>>,
    /// When the call began.
    pub(super) started_at: Field<'a>,
    /// When it ended.
    pub(super) completed_at: Field<'a>,
}

view! {
    /// What stands under the tool's name.
    Inner {
        args: "args" Any,
        result: "result" Any,
        description: "description" Any,
    }
}

view! {
    /// The fallback of the documentation for tools without a message of their own.
    Function {
        name: "name" Any,
        arguments: "arguments" Any,
    }
}

view! {
    /// The arguments that say more than what the tool is to do.
    Args {
        description: "description" Any,
        include_line_numbers: "includeLineNumbers" Any,
    }
}

/// A call, or its result, on its way to the tape.
pub(super) struct Called<'a> {
    /// The call's id.
    pub(super) call_id: Text<'a>,
    /// What the harness says of it.
    pub(super) body: ToolCallBody<'a>,
    /// The name that the model knows the tool by, where it is another than the body's.
    pub(super) name: Option<Text<'a>>,
    /// What the model was told, for results whose body says nothing.
    pub(super) told: Option<Text<'a>>,
    /// True when the model was told of an error.
    pub(super) failed: bool,
    /// Where in the record this is.
    pub(super) pointer: Pointer<'a>,
}

impl<'a> ToolCallBody<'a> {
    /// The body in `value`, which lies at `pointer`.
    pub(super) fn read(value: Value<'a>, pointer: &'static str) -> Result<Self, Fault> {
        let mut body = ToolCallBody::default();
        for (name, member) in value.members() {
            match name {
                "hookAdditionalContexts" => body.hook_contexts = Some(member),
                "toolCallId" => body.call_id = non_empty_text(Some(member)),
                "startedAtMs" => body.started_at = Some(member),
                "completedAtMs" => body.completed_at = Some(member),
                "function" => {
                    let function = Function::strict(member, pointer)?;
                    (body.tool, body.inner) = (raw_str(function.name()), Inner::empty_of(member));
                    body.inner.set("args", function.arguments());
                }
                name if name.ends_with("ToolCall") => (body.tool, body.inner) = (name, Inner::strict(member, pointer)?),
                _ => {}
            }
        }
        Ok(body)
    }

    /// How long the call took by the harness's own two times, in milliseconds.
    pub(super) fn duration(&self) -> Option<u64> {
        let at = |field| decoded(field)?.parse::<u64>().ok();
        at(self.completed_at)?.checked_sub(at(self.started_at)?)
    }
}
