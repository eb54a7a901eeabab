//! The comparison of a message with the member table: the message around its records, and what tools of 0.1.174 add to their results.

use engram_core::emit::{Emitter, Fault, Pointer};

use crate::opencode::schema::{Invocation, Part};
use crate::shared::value::{Value, raw_str};

/// Compares message `n` with the member table. Its own record and its parts are records, which are compared when they are converted.
pub(super) fn check_message(n: usize, message: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    out.check_members("message", message, Pointer::Item("/messages", n), &|_| None)
}

/// Compares what each call of message `n` adds to its result (0.1.174). The message has it by call id, its parts name the tools.
#[cold]
pub(super) fn check_tool_metadata(n: usize, by_call: Value<'_>, parts: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let path = format!("/messages/{n}/info/metadata/tool");
    for invocation in parts.elements().filter_map(|part| Part::lenient(part).invocation()).map(Invocation::lenient) {
        let (id, tool) = (raw_str(invocation.call_id()), raw_str(invocation.name()));
        if let Some(metadata) = by_call.member(id) {
            let segment = id.replace('~', "~0").replace('/', "~1");
            out.check_members("tool.metadata", metadata, Pointer::Member(&path, &segment), &|_| Some(tool))?;
        }
    }
    Ok(())
}
