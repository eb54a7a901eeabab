//! How calls end for the model: outputs, one text or a list of parts, completed by what an item stated before.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::ToolResult;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, raw_str, text};

use super::convert::Converter;
use super::held::Held;
use super::history::said_key;
use super::outputs::{Ending, body, may_be_wrapped, unquote};
use super::rules;
use super::schema::{Output, Part, Wrapped, elements};

impl Converter {
    /// Converts the output of a call, as the model gets it.
    pub(super) fn output(&mut self, item: &Output<'_>, record: &'static str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(output) = item.output() else {
            return Err(Fault::malformed(self.at("/payload/output"), "an output", "nothing"));
        };
        let key = text(item.call_id()).map(|id| id.decode_lossy()).unwrap_or_default();
        let held = self.history.waiting.take(&key);
        if output.is_array() {
            return self.output_parts(item, output, &key, held.as_ref(), out);
        }
        let (mut room, mut index) = std::mem::take(&mut self.inner);
        let decoded = output.text().filter(|text| may_be_wrapped(text.raw())).and_then(|text| text.decode_into(&mut room).ok());
        let wrapped = decoded.and_then(|text| Wrapped::inside(text, &mut index));
        let ending = wrapped.as_ref().map_or_else(|| Ending::of_token(output.raw()), Wrapped::ending);
        let said = wrapped.and_then(|wrapped| wrapped.output()).unwrap_or(output);
        let token = said.raw();
        // An item can come later only where there are items at all, and where none came before.
        let may_be_repeated = self.history.has_ends && held.is_none();
        let repeatable = may_be_repeated.then(|| said_key(body(unquote(token))));
        let is_said = held.as_ref().is_none_or(|held| held.is_in(token));
        let whole = held.as_ref().filter(|held| !is_said && held.is_cut_in(token));
        match whole {
            Some(whole) => self.result_without_output(&key, whole, out)?,
            None => {
                let result = ToolResult { stdout: said.text(), ..ending.facts() };
                self.emit_output(item, &key, result, held.as_ref(), is_said, out)?;
            }
        }
        self.close(&key, ending, repeatable, item, out)?;
        self.inner = (room, index);
        Ok(if whole.is_some() { rules::duplicate(record, rules::OUTPUT_CUT) } else { Outcome::Mapped })
    }

    /// An output that is a list: what a script printed, or images. It begins with how the call ended.
    fn output_parts(
        &mut self,
        item: &Output<'_>,
        output: Value<'_>,
        key: &str,
        held: Option<&Held>,
        out: &mut Emitter,
    ) -> Result<Outcome, Fault> {
        let path = self.at("/payload/output");
        let said = joined(Some(output), "");
        let mut ending = said.as_deref().map(Ending::of_token).unwrap_or_default();
        ending.truncated |=
            output.elements().filter_map(|part| Part::lenient(part).text()).any(|text| Ending::of_token(text.raw()).truncated);
        let attachments = output.elements().filter_map(|part| Part::lenient(part).image_url()).filter_map(media::data_url).collect();
        let result = ToolResult { stdout: said.as_deref().map(Text::Token), attachments, ..ending.facts() };
        let is_said = held.is_none_or(|held| held.is_in(said.as_deref().unwrap_or_default()));
        self.emit_output(item, key, result, held, is_said, out)?;
        for (index, value) in output.elements().enumerate() {
            let part = Part::strict(value, &path)?;
            if part.text().is_none() && part.image_url().is_none() {
                out.unrecognized_block(raw_str(part.kind()), value.raw(), Pointer::Item(&path, index))?;
            }
        }
        self.close(key, ending, None, item, out)?;
        Ok(Outcome::Mapped)
    }

    /// Writes the one result of a call. What the item says stands beside it unless `is_said` by the output.
    fn emit_output<'r>(
        &'r self,
        item: &Output<'r>,
        key: &str,
        mut result: ToolResult<'r>,
        held: Option<&Held>,
        is_said: bool,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        result.tool = self.history.calls.get(key).map(|call| Text::Plain(&call.tool));
        result.call_id = text(item.call_id());
        if let Some(held) = held {
            held.complete(&mut result);
        }
        let (call_id, output) = (result.call_id, result.stdout);
        out.emit(result, Pointer::At(&self.at("/payload/output")))?;
        let Some((held, call_id)) = held.zip(call_id) else { return Ok(()) };
        if !is_said {
            held.notice(call_id, out)?;
        }
        held.say_words(output.map(|output| output.raw()).unwrap_or_default(), call_id, out)
    }

    /// Ends a call: a patch that was applied and whose changes no record lists gives its edits now.
    fn close(&mut self, key: &str, ending: Ending, said: Option<u64>, item: &Output<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(call) = self.history.calls.get_mut(key) else { return Ok(()) };
        call.ending = Some(ending);
        call.said = said;
        self.history.scripts.retain(|script| script != key);
        let patch = call.patch.take();
        if call.tool == "view_image" && !item.output().is_some_and(Value::is_array) {
            self.history.shown += 1;
        }
        let listed = call.changes_listed;
        if let (Some(patch), true, false, Some(id)) = (patch, ending.patched, listed, text(item.call_id())) {
            self.patched(&patch, id, out)?;
        }
        Ok(())
    }
}

/// The texts of parts as one JSON token; the tokens are joined as they stand.
pub(super) fn joined(parts: Field<'_>, between: &str) -> Option<String> {
    let texts: Vec<&str> = elements(parts).filter_map(|part| Part::lenient(part).text()).map(|text| unquote(text.raw())).collect();
    (!texts.is_empty()).then(|| format!("\"{}\"", texts.join(between)))
}
