//! A sub-agent's lines inside `progress/agent_progress` lines of its session (2.1.12 to 2.1.80).

use engram_core::emit::{Fault, Pointer};

use crate::claude_code::readers::{Line, Progress};
use crate::shared::value::Value;

/// The lines that a `progress` line wraps, and where they are in it.
pub fn wrapped_lines<'a>(
    data: &Progress<'a>,
) -> impl Iterator<Item = (Pointer<'static>, Value<'a>)> {
    let normalized = data
        .normalized()
        .into_iter()
        .flat_map(Value::elements)
        .enumerate();
    let earlier =
        normalized.map(|(index, line)| (Pointer::Item("/data/normalizedMessages", index), line));
    earlier.chain(
        data.message()
            .map(|line| (Pointer::At("/data/message"), line)),
    )
}

/// A wrapped line, with the fields that it shares with the line of the session that wraps it.
///
/// # Errors
/// [`Fault::Malformed`] if it is not an object, or a field has another type.
pub fn unwrapped<'a>(
    outer: &Line<'a>,
    value: Value<'a>,
    place: Pointer<'_>,
) -> Result<Line<'a>, Fault> {
    let inner = Line::strict(value, "").map_err(|fault| fault.within(place))?;
    let mut line = Line::empty_of(outer.object());
    for (number, field) in [
        (const { Line::number("type") }, inner.kind()),
        (
            const { Line::number("uuid") },
            inner.uuid().or(outer.uuid()),
        ),
        (
            const { Line::number("timestamp") },
            inner.timestamp().or(outer.timestamp()),
        ),
        (const { Line::number("message") }, inner.message()),
        (const { Line::number("attachment") }, inner.attachment()),
        (
            const { Line::number("toolUseResult") },
            inner.tool_use_result(),
        ),
        (const { Line::number("sessionId") }, outer.session_id()),
        (const { Line::number("version") }, outer.version()),
        (
            const { Line::number("parentToolUseID") },
            outer.parent_call(),
        ),
    ] {
        line.set(number, field);
    }
    Ok(line)
}
