//! Call arguments echoed by tool results. Emitted only if the call itself is missing, e.g. when the log was truncated at the start.

use engram_core::emit::{Emitter, Fault};

use super::result_context::ResultContext;
use super::result_text::repeats;
use crate::claude_code::schema::Line;
use crate::claude_code::state::orphan_arguments::OrphanArguments;
use crate::shared::value::{Value, non_empty_text};

/// The fields of `toolUseResult` that echo arguments, and their pointers.
const ECHOED: &[(&str, &str)] = &[
    ("oldString", "/toolUseResult/oldString"),
    ("newString", "/toolUseResult/newString"),
    ("edits", "/toolUseResult/edits"),
    ("content", "/toolUseResult/content"),
    ("newTodos", "/toolUseResult/newTodos"),
    ("plan", "/toolUseResult/plan"),
    ("description", "/toolUseResult/description"),
    ("query", "/toolUseResult/query"),
    ("url", "/toolUseResult/url"),
];

/// Keeps the arguments that a result without a call echoes.
#[cold]
pub(super) fn keep_echoed_arguments(
    orphans: &mut OrphanArguments,
    result: &ResultContext<'_>,
    line: &Line<'_>,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let Some(call_id) = result.call_id.map(|id| id.decode_lossy()) else { return Ok(()) };
    for (name, pointer) in ECHOED {
        // A list in `content` is what the model saw.
        let is_list = |value: &Value<'_>| *name != "content" && value.elements().next().is_some();
        let is_text = |value: &Value<'_>| non_empty_text(Some(*value)).is_some_and(|text| !repeats(text, result.content));
        let argument = result.structured.object().member(name).filter(|value| is_text(value) || is_list(value));
        if let Some(argument) = argument {
            orphans.defer(&call_id, argument, pointer, line, out)?;
        }
    }
    Ok(())
}
