//! `tool_call` lines of a capture: the call, said by the first line that has it, and its result.

use std::borrow::Cow;
use std::fmt;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Meta, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::members::Key;
use super::stream_queries::Queries;
use super::{decoded, stream_results, tools};
use crate::kit::correlate::{OpenCalls, key};
use crate::kit::json::{Raw, boolean, filled_text, is_array};

/// `{"<name>ToolCall": {...}, "hookAdditionalContexts": [], "startedAtMs": "..", "completedAtMs": ".."}`: the key names the tool.
#[derive(Default)]
pub(super) struct ToolCallBody<'a> {
    /// The tool's name: the key.
    pub(super) tool: Option<Cow<'a, str>>,
    /// Arguments, result and label.
    pub(super) inner: Inner<'a>,
    hook_contexts: Raw<'a>,
    /// The call's id, where it stands beside the tool.
    pub(super) call_id: Option<Text<'a>>,
    /// When the call began.
    pub(super) started_at: Raw<'a>,
    /// When it ended.
    pub(super) completed_at: Raw<'a>,
}

/// A call, or its result, on its way to the tape.
pub(super) struct Called<'a> {
    /// The call's id.
    pub(super) call_id: Text<'a>,
    /// What the harness says of it.
    pub(super) body: &'a ToolCallBody<'a>,
    /// The name that the model knows the tool by, where it is another than the body's.
    pub(super) name: Option<Text<'a>>,
    /// What the model was told, for results whose body says nothing.
    pub(super) told: Option<Text<'a>>,
    /// True when the model was told of an error.
    pub(super) failed: bool,
    /// Where in the record this is.
    pub(super) pointer: Pointer<'a>,
}

/// What stands under the tool's name.
#[derive(Default, Deserialize)]
pub(super) struct Inner<'a> {
    #[serde(borrow)]
    pub(super) args: Raw<'a>,
    #[serde(borrow)]
    pub(super) result: Raw<'a>,
    #[serde(borrow)]
    description: Raw<'a>,
}

/// The fallback of the documentation for tools without a message of their own.
#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolCallBody<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = ToolCallBody<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a member that ends in `ToolCall`")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ToolCallBody<'a>, M::Error> {
                let mut body = ToolCallBody::default();
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    match key.0.as_ref() {
                        "hookAdditionalContexts" => body.hook_contexts = map.next_value()?,
                        "toolCallId" => body.call_id = filled_text(map.next_value()?),
                        "startedAtMs" => body.started_at = map.next_value()?,
                        "completedAtMs" => body.completed_at = map.next_value()?,
                        "function" => {
                            let function: Function<'de> = map.next_value()?;
                            body.tool = decoded(function.name);
                            body.inner.args = function.arguments;
                        }
                        name if name.ends_with("ToolCall") => {
                            body.inner = map.next_value()?;
                            body.tool = Some(key.0);
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(body)
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

impl ToolCallBody<'_> {
    /// How long the call took by the harness's own two times, in milliseconds.
    pub(super) fn duration(&self) -> Option<u64> {
        let at = |raw| decoded(raw)?.parse::<u64>().ok();
        at(self.completed_at)?.checked_sub(at(self.started_at)?)
    }
}

/// What is kept of a call until its result comes.
pub(super) struct Asked {
    /// The arguments, as a number to compare.
    args: Option<u64>,
    /// True when the call asks for line numbers in what it reads.
    pub(super) numbered: bool,
}

/// The calls of a capture.
#[derive(Default)]
pub(super) struct Calls {
    open: OpenCalls<Asked>,
}

impl Calls {
    pub(super) fn started(&mut self, called: &Called<'_>, queries: &mut Queries, out: &mut Emitter) -> Result<Outcome, Fault> {
        if out.call(called.call_id).is_some() {
            return Err(Fault::malformed("/call_id", "the id of a new call", &called.call_id.decode_lossy()));
        }
        queries.called(called.call_id);
        self.call(called, out)?;
        Ok(Outcome::Mapped)
    }

    pub(super) fn completed(&mut self, called: &Called<'_>, queries: &mut Queries, out: &mut Emitter) -> Result<Outcome, Fault> {
        let id = called.call_id.decode_lossy();
        let inner = &called.body.inner;
        if out.call(called.call_id).is_none() {
            queries.called(called.call_id);
            self.call(called, out)?;
        } else if let Some(args) = inner.args
            && self.open.get(&id).is_some_and(|asked| asked.args != Some(key(args.get())))
        {
            out.parent_of_next(out.call(called.call_id));
            let changed = Meta::System { name: Text::Plain("args"), text: Some(Text::Plain(args.get())) };
            out.emit(changed, called.pointer)?;
        }
        if let Some(contexts) = called.body.hook_contexts.filter(|contexts| is_array(contexts) && contexts.get().len() > 2) {
            let context = engram_core::event::Context {
                name: Text::Plain("hook"),
                file: None,
                hash: None,
                bytes: None,
                text: Some(Text::Plain(contexts.get())),
            };
            out.emit(Meta::Context(context), Pointer::At("/tool_call/hookAdditionalContexts"))?;
        }
        let numbered = self.open.close(&id).is_some_and(|asked| asked.numbered);
        stream_results::emit(called, numbered, out)?;
        Ok(Outcome::Mapped)
    }

    /// A result whose call has been written.
    pub(super) fn result(&mut self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        stream_results::emit(called, false, out)
    }

    /// A call with its result.
    pub(super) fn call_and_result(&mut self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        if out.call(called.call_id).is_none() {
            self.call(called, out)?;
        }
        stream_results::emit(called, false, out)
    }

    fn call(&mut self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(tool) = called.body.tool.as_deref().filter(|tool| !tool.is_empty()) else {
            return Err(Fault::malformed("/tool_call", "a tool's name", "none"));
        };
        let inner = &called.body.inner;
        let call = ToolCall {
            tool: Text::Plain(tool),
            kind: tools::TOOLS.kind(tool),
            call_id: Some(called.call_id),
            args: inner.args.map(RawValue::get),
        };
        let seq = out.emit(call, called.pointer)?;
        let stated = inner.args.and_then(|args| serde_json::from_str::<Args<'_>>(args.get()).ok());
        if let Some(label) = filled_text(inner.description)
            && stated.as_ref().and_then(|args| args.description).map(RawValue::get) != inner.description.map(RawValue::get)
        {
            out.parent_of_next(Some(seq));
            out.emit(Meta::System { name: Text::Plain("description"), text: Some(label) }, called.pointer)?;
        }
        let numbered = stated.is_some_and(|args| boolean(args.include_line_numbers) == Some(true));
        self.open.open(&called.call_id.decode_lossy(), Asked { args: inner.args.map(|args| key(args.get())), numbered });
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args<'a> {
    #[serde(borrow)]
    description: Raw<'a>,
    #[serde(borrow)]
    include_line_numbers: Raw<'a>,
}
