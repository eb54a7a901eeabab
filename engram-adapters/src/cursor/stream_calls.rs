//! `tool_call` lines of a capture: the call, said by the first line that has it, and its result.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{ImplicitInput, Meta, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::stream_called::{Args, Called};
use super::stream_queries::Queries;
use super::{stream_results, tools};
use crate::shared::pending_calls::PendingCalls;
use engram_core::keys::hash64;

use crate::shared::value::{Value, is_true, non_empty_text};

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
    open: PendingCalls<Asked>,
}

impl Calls {
    pub(super) fn started(&mut self, called: &Called<'_>, queries: &mut Queries, out: &mut Emitter) -> Result<Outcome, Fault> {
        if out.seq_of_call(called.call_id).is_some() {
            return Err(Fault::malformed("/call_id", "the id of a new call", &called.call_id.decode_lossy()));
        }
        queries.called(called.call_id);
        self.call(called, out)?;
        Ok(Outcome::Mapped)
    }

    pub(super) fn completed(&mut self, called: &Called<'_>, queries: &mut Queries, out: &mut Emitter) -> Result<Outcome, Fault> {
        let id = called.call_id.decode_lossy();
        let inner = &called.body.inner;
        if out.seq_of_call(called.call_id).is_none() {
            queries.called(called.call_id);
            self.call(called, out)?;
        } else if let Some(args) = inner.args()
            && self.open.get(&id).is_some_and(|asked| asked.args != Some(hash64(args.raw())))
        {
            out.parent_of_next(out.seq_of_call(called.call_id));
            let changed = Meta::System { name: Text::Plain("args"), text: Some(Text::Plain(args.raw())) };
            out.emit(changed, called.pointer)?;
        }
        if let Some(contexts) = called.body.hook_contexts.filter(|contexts| contexts.elements().next().is_some()) {
            let context =
                ImplicitInput { name: Text::Plain("hook"), file: None, hash: None, bytes: None, text: Some(Text::Plain(contexts.raw())) };
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
        if out.seq_of_call(called.call_id).is_none() {
            self.call(called, out)?;
        }
        stream_results::emit(called, false, out)
    }

    fn call(&mut self, called: &Called<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let tool = called.body.tool;
        if tool.is_empty() {
            return Err(Fault::malformed("/tool_call", "a tool's name", "none"));
        }
        let inner = &called.body.inner;
        let call = ToolCall {
            tool: Text::Plain(tool),
            kind: tools::TOOLS.kind(tool),
            call_id: Some(called.call_id),
            args: inner.args().map(Value::raw),
        };
        let seq = out.emit(call, called.pointer)?;
        let stated = Args::lenient_opt(inner.args());
        if let Some(label) = non_empty_text(inner.description())
            && stated.description().map(Value::raw) != inner.description().map(Value::raw)
        {
            out.parent_of_next(Some(seq));
            out.emit(Meta::System { name: Text::Plain("description"), text: Some(label) }, called.pointer)?;
        }
        let asked = Asked { args: inner.args().map(|args| hash64(args.raw())), numbered: is_true(stated.include_line_numbers()) };
        self.open.open(called.call_id.decode_lossy(), asked);
        Ok(())
    }
}
