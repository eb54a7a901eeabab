//! Outputs that are JSON in a string, `{"output":"...","metadata":{...}}`: the check of their members.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::text::Text;

use crate::shared::value::{StructuralIndex, Value, parse};

use super::output_text::strip_framing;
use crate::codex::blocks::unquote;
use crate::codex::members;
use crate::codex::record::Record;
use crate::codex::state::open_calls::OpenCalls;

/// The tools whose JSON outputs the harness itself writes. What their commands print is inside.
const WRAPPING_TOOLS: [&str; 4] = ["shell", "local_shell", "container.exec", "apply_patch"];

/// Who wrote the JSON in the output of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The harness: its tools print no other.
    Harness,
    /// The harness if it applied the patch that the command has, else the command.
    HarnessOrCommand,
    /// A command or a server.
    Other,
}

impl Author {
    /// The author of JSON in the output of this call.
    pub fn of(calls: &OpenCalls, call_id: &str) -> Author {
        if calls.tool(call_id).is_some_and(|tool| WRAPPING_TOOLS.contains(&tool)) {
            Author::Harness
        } else if calls.has_patch(call_id) {
            Author::HarnessOrCommand
        } else {
            Author::Other
        }
    }

    fn is_harness(self, value: Value<'_>) -> bool {
        let has_known_member = || ["output", "metadata"].iter().any(|name| value.first_member(name).is_some());
        value.is_object() && (self == Author::Harness || (self == Author::HarnessOrCommand && has_known_member()))
    }
}

/// True when the decoded token begins like an object.
pub fn is_object_token(token: &str) -> bool {
    token.starts_with("\"{\\\"")
}

/// Checks the members of a parsed output.
pub fn check(author: Author, value: Value<'_>, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    if !author.is_harness(value) {
        return Ok(());
    }
    members::check(inner_record(record), value, Pointer::At(&record.pointer_to("/payload/output")), out)
}

/// Checks the members of an output (a token) behind the framing of a shell tool that applied a patch (0.115 to 0.131).
pub fn check_framed(author: Author, token: &str, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let text = unquote(token);
    let body = if author == Author::HarnessOrCommand { strip_framing(text) } else { text };
    if body.len() == text.len() || !body.starts_with("{\\\"") {
        return Ok(());
    }
    let (quoted, mut index) = (format!("\"{body}\""), StructuralIndex::default());
    let Ok(decoded) = Text::Token(&quoted).decode() else { return Ok(()) };
    parse(&decoded, &mut index).map_or(Ok(()), |value| check(author, value, record, out))
}

/// The name of the output in the member table.
fn inner_record(record: &Record<'_>) -> &'static str {
    match record.type_name() {
        "response_item/function_call_output" => "response_item/function_call_output#output",
        "function_call_output" => "function_call_output#output",
        "response_item/custom_tool_call_output" => "response_item/custom_tool_call_output#output",
        _ => "custom_tool_call_output#output",
    }
}
