//! `progress` lines (2.1.12 to 2.1.80): of commands and hooks, and the lines of a sub-agent inside those of its session.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::session_meta::begin_record;
use super::state::State;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::format::{ProgressKind, rule};
use crate::claude_code::readers::{Line, Progress};
use crate::claude_code::record::Record;
use crate::shared::value::{Value, elements, non_empty_text, text};

/// `progress/bash_progress`: the output of a command so far, which counts if no result follows.
pub(super) fn bash_progress(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    if !state.plan.last_outputs.contains(&record.at) {
        return Outcome::duplicate(ProgressKind::BashProgress.name(), rule::PROGRESS_SO_FAR);
    }
    begin_record(state, &mut record.clone(), out);
    let data = Progress::lenient_opt(record.line.data());
    emit_text(
        "tool_output",
        text(data.full_output()),
        Pointer::At("/data/fullOutput"),
        out,
    );
    Outcome::Mapped
}

/// `progress/hook_progress`: a hook runs.
pub(super) fn hook_progress(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    begin_record(state, &mut record.clone(), out);
    let data = Progress::lenient_opt(record.line.data());
    let name = non_empty_text(data.hook_name()).unwrap_or(Text::Plain("hook_progress"));
    out.emit(Meta::system(name, text(data.command())), "/data");
    Outcome::Mapped
}

/// The lines that a `progress` line wraps, and where they are in it.
pub fn wrapped_lines<'a>(
    data: &Progress<'a>,
) -> impl Iterator<Item = (Pointer<'static>, Value<'a>)> {
    let normalized = elements(data.normalized()).enumerate();
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
