//! Results as the model gets them, outside of their calls.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{ImplicitInput, Meta, Status};
use engram_core::text::Text;

use super::result_texts::ResultTexts;
use super::tool_result::{DENIED, ToolEnd, emit_tool_result};
use crate::gemini::schema::{FunctionResponse, parts};
use crate::gemini::state::session_state::SessionState;
use crate::gemini::state::tally::RecordTally;
use crate::shared::value::{Field, Value, text};

/// The prefix of a cancelled call's error, as raw JSON.
const CANCELLED: &str = "\"[Operation Cancelled]";

/// Emits a result as the model gets it, with the files among `parts_with_files`.
#[inline(never)]
pub fn emit_response(
    state: &mut SessionState,
    response: Value<'_>,
    parts_with_files: Field<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let response = FunctionResponse::lenient(response);
    let mut texts = ResultTexts::default();
    texts.add_response(&response);
    for part in parts(parts_with_files).filter(|part| part.inline_data().is_some() || part.file_data().is_some()) {
        texts.add_part(&part);
    }
    let status = match texts.error.first() {
        None => Status::Ok,
        Some(error) if error.raw().contains(DENIED) => Status::Denied,
        Some(error) if error.raw().starts_with(CANCELLED) => Status::Cancelled,
        Some(_) => Status::Error,
    };
    let Some(tool) = text(response.name()) else {
        return Err(Fault::malformed(format!("{pointer}/name"), "the name of a tool", "none"));
    };
    let end = ToolEnd { tool, call_id: text(response.id()), status: Some(status), display: None };
    emit_tool_result(state, end, texts, pointer, out)
}

/// Emits the texts of a result that the terminal shows, if the log has the call's own result truncated.
#[cold]
pub fn emit_displayed_response(
    tally: &mut RecordTally,
    response: &FunctionResponse<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let mut texts = ResultTexts::default();
    texts.add_response(response);
    let call_id = text(response.id());
    for text in texts.output.iter().chain(texts.error.iter()).filter_map(Value::text) {
        let input = ImplicitInput { name: Text::Plain("tool_result"), file: None, hash: None, bytes: None, text: Some(text) };
        tally.emit_child(call_id.and_then(|id| out.seq_of_call(id)), Meta::Context(input), pointer, out)?;
    }
    Ok(())
}
