//! Tool calls: once each, however often the log writes them.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::ToolCall;
use engram_core::text::Text;

use super::converter::Converter;
use super::edits::{Change, changes};
use super::heard::Reading;
use super::parts::spelling;
use super::schema::{Call, FunctionCall};
use super::tools::TOOLS;
use crate::shared::correlate::hash64;
use crate::shared::time::tape_time;
use crate::shared::value::{Value, text};

/// The one call of a list. None where there is none, or several.
fn only<'a>(list: Value<'a>, path: &str) -> Result<Option<Call<'a>>, Fault> {
    let mut elements = list.elements();
    let (Some(call), None) = (elements.next(), elements.next()) else { return Ok(None) };
    Call::strict(call, path).map(Some)
}

impl Converter {
    /// Converts the calls of a model turn, with what came of them. `path` leads to the list.
    #[inline(never)]
    pub fn calls(&mut self, calls: Value<'_>, path: &str, out: &mut Emitter) -> Result<(), Fault> {
        // Most turns make one call, which needs no memory of its own.
        let (alone, several): ([Call<'_>; 1], Vec<Call<'_>>);
        let calls = match only(calls, path)? {
            Some(call) => {
                alone = [call];
                &alone[..]
            }
            None => {
                several = calls.elements().map(|call| Call::strict(call, path)).collect::<Result<Vec<_>, _>>()?;
                &several[..]
            }
        };
        let changes = changes(calls, |call| !call.key().is_some_and(|call| self.is_answered(call)));
        for (n, call) in calls.iter().enumerate() {
            let time = tape_time(call.timestamp());
            if time.is_some() {
                out.set_header(RecordHeader { t: time.as_deref(), id: text(call.id()), replay: false });
            }
            self.call(call, changes.get(n).and_then(Option::as_ref), path, n, out)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn call(&mut self, call: &Call<'_>, change: Option<&Change<'_>>, path: &str, n: usize, out: &mut Emitter) -> Result<(), Fault> {
        let tool = text(call.name()).ok_or_else(|| Fault::malformed(format!("{path}/{n}/name"), "the name of a tool", "none"))?;
        let key_of_call = call.key();
        if key_of_call.is_none_or(|call| self.asks_first(call)) {
            self.heard.note(hash64(("call", spelling(call.name()), spelling(call.args()))));
            self.tool_call(tool, text(call.id()), spelling(call.args()), Pointer::Item(path, n), out)?;
        }
        if call.is_settled() && key_of_call.is_none_or(|call| self.answers_first(call)) {
            self.result(call, tool, path, n, out)?;
            self.read(call, tool, path, n, out)?;
            self.edit(call, tool, change, path, n, out)?;
        }
        Ok(())
    }

    /// Converts a call in the form in which the model's interface has it, without its outcome.
    #[inline(never)]
    pub fn function_call(
        &mut self,
        call: &FunctionCall<'_>,
        reading: Option<&mut Reading>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let Some(tool) = text(call.name()) else { return Err(Fault::malformed("/content", "the name of a tool", "none")) };
        let news = match call.id() {
            Some(id) => self.asks_first(hash64(id.raw())),
            None => self.is_news(hash64(("call", spelling(call.name()), spelling(call.args()))), reading),
        };
        if news { self.tool_call(tool, text(call.id()), spelling(call.args()), pointer, out) } else { Ok(()) }
    }

    #[inline(never)]
    fn tool_call(
        &mut self,
        tool: Text<'_>,
        call_id: Option<Text<'_>>,
        args: Option<&str>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let kind = TOOLS.kind(&tool.decode_lossy());
        self.emit(ToolCall { tool, kind, call_id, args }, pointer, out)
    }
}
