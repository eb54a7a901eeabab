//! Call arguments echoed by tool results. Emitted only if the call itself is missing, e.g. when the log was truncated at the start.

use engram_core::emit::Pointer;
use engram_core::steps::Emitter;

use super::result_context::{ResultContext, emit_context};
use super::result_text::repeats;
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

/// Emits the arguments that a result without a call echoes.
#[cold]
pub(super) fn emit_echoed_arguments(result: &ResultContext<'_>, out: &mut Emitter<'_>) {
    for (name, pointer) in ECHOED {
        // A list in `content` is what the model saw.
        let is_list = |value: &Value<'_>| *name != "content" && value.elements().next().is_some();
        let is_text = |value: &Value<'_>| {
            non_empty_text(Some(*value)).is_some_and(|text| !repeats(text, result.content))
        };
        let argument = result
            .structured
            .object()
            .member(name)
            .filter(|value| is_text(value) || is_list(value));
        if let Some(argument) = argument {
            emit_context(Some(argument.text_or_json()), Pointer::At(pointer), out);
        }
    }
}
