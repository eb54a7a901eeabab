//! The record tables: which function converts a record of which type.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::ledger::Outcome;

use super::part_record::PartRecord;
use super::settle::{omitted, repeated};
use super::step_messages::StepRecord;
use super::step_parts::StepPartRecord;
use super::{messages, parts, step_messages, step_parts, stream, tool_parts};
use crate::opencode::schema::{Envelope, Line, Part};
use crate::opencode::state::message_context::{MessageContext, Speaker};
use crate::opencode::state::record_facts::RecordId;
use crate::opencode::state::session_state::SessionState;
use crate::shared::route::{Action, Route};
use crate::shared::value::{Value, non_empty_text, raw_str, text};

type MessageHandler = fn(&mut SessionState, &Envelope<'_>, &MessageContext<'_>, Pointer<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;
type PartHandler = fn(&mut SessionState, &PartRecord<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;
type StepHandler = fn(&mut SessionState, &StepRecord<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;
type StepPartHandler = fn(&mut SessionState, &StepPartRecord<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;
type LineHandler = fn(&mut SessionState, &Line<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// The messages of an export, by `role`.
pub(super) static MESSAGES: &[Route<MessageHandler>] =
    &[Route::convert("message/assistant", messages::message), Route::convert("message/user", messages::message)];

/// The parts of a message, by `type`.
pub(super) static PARTS: &[Route<PartHandler>] = &[
    Route::convert("part/tool", tool_parts::tool),
    Route::convert("part/text", parts::text),
    Route::omit("part/step-start"),
    Route::convert("part/step-finish", parts::step_finish),
    Route::convert("part/reasoning", parts::reasoning),
    Route::convert("part/patch", parts::patch),
    Route::convert("part/snapshot", parts::snapshot),
    Route::convert("part/file", parts::file),
    Route::convert("part/compaction", parts::compaction),
    Route::convert("part/retry", parts::retry),
    Route::convert("part/agent", parts::agent),
    Route::convert("part/subtask", parts::subtask),
    Route::convert("part/tool-invocation", tool_parts::tool),
    Route::convert("part/source-url", parts::source_url),
];

/// The messages of an export of 2.x, by `type`.
pub(super) static STEPS: &[Route<StepHandler>] = &[
    Route::convert("step/assistant", step_messages::answer),
    Route::convert("step/user", step_messages::user),
    Route::convert("step/synthetic", step_messages::synthetic),
    Route::convert("step/idle", step_messages::idle),
    Route::convert("step/shell", step_messages::shell),
    Route::convert("step/system", step_messages::system),
    Route::convert("step/skill", step_messages::synthetic),
    Route::convert("step/compaction", step_messages::compaction),
    Route::convert("step/agent-switched", step_messages::switched),
    Route::convert("step/model-switched", step_messages::switched),
    Route::convert("step/location-switched", step_messages::switched),
];

/// The parts of an answer of 2.x, by `type`.
pub(super) static STEP_PARTS: &[Route<StepPartHandler>] = &[
    Route::convert("content/tool", step_parts::tool),
    Route::convert("content/text", step_parts::text),
    Route::convert("content/reasoning", step_parts::reasoning),
];

/// The lines of `run --format json`, by `type`. All but errors contain one part.
pub(super) static LINES: &[Route<LineHandler>] = &[
    Route::convert("tool_use", part_of_line),
    Route::convert("text", part_of_line),
    Route::convert("step_start", part_of_line),
    Route::convert("step_finish", part_of_line),
    Route::convert("reasoning", part_of_line),
    Route::convert("error", stream::error),
];

/// Converts a message's own record, `info`.
pub(super) fn message(
    state: &mut SessionState,
    info: Value<'_>,
    envelope: &Envelope<'_>,
    context: &MessageContext<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    let role = raw_str(envelope.role());
    match nested(MESSAGES, "message/", role) {
        Some(route) => {
            // What tools add to their results is compared by `check_tool_metadata`, which knows the tools.
            out.check_members(route.record, info, pointer, &|_| Some(""))?;
            if context.is_repeat {
                return repeated(route.record);
            }
            run(route, |handler| handler(state, envelope, context, pointer, out))
        }
        None if envelope.role().is_none() => Err(Fault::malformed("/role", "a role", "nothing")),
        None => Err(Fault::unrecognized(&format!("message/{role}"))),
    }
}

/// Converts one part of a message or of a line.
pub(super) fn part(state: &mut SessionState, record: &PartRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let is_repeat = record.unchecked.is_some_and(|part| state.is_repeat(id_of_part(record), part));
    // Later records do not inherit the time of a repeat.
    if !is_repeat {
        record.set_header(&mut state.clock, out);
    }
    let kind = raw_str(record.part.kind());
    match nested(PARTS, "part/", kind) {
        Some(route) => {
            if let Some(value) = record.unchecked {
                out.check_members(route.record, value, record.pointer, &|_| None)?;
                if is_repeat {
                    return repeated(route.record);
                }
            }
            run(route, |handler| handler(state, record, out))
        }
        None if kind.is_empty() => Err(Fault::malformed("/type", "a part type", "nothing")),
        None => Err(Fault::unrecognized(kind)),
    }
}

fn id_of_part<'a>(record: &PartRecord<'a>) -> RecordId<'a> {
    match non_empty_text(record.part.id()) {
        Some(_) => RecordId::Part(record.part.id()),
        None => RecordId::PartOf(record.message.id, record.place),
    }
}

/// Converts the own record of a message of 2.x.
pub(super) fn step(state: &mut SessionState, value: Value<'_>, record: &StepRecord<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let kind = raw_str(record.message.kind());
    match nested(STEPS, "step/", kind) {
        Some(route) => {
            out.check_members(route.record, value, record.pointer, &|_| None)?;
            if record.context.is_repeat {
                return repeated(route.record);
            }
            run(route, |handler| handler(state, record, out))
        }
        None => Err(Fault::unrecognized(&format!("step/{kind}"))),
    }
}

/// Converts a part of an answer of 2.x.
pub(super) fn step_part(
    state: &mut SessionState,
    value: Value<'_>,
    record: &StepPartRecord<'_>,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    let is_repeat = state.is_repeat(RecordId::PartOf(record.message.id, record.place), value);
    if !is_repeat {
        record.set_header(state, out);
    }
    let kind = raw_str(record.part.kind());
    match nested(STEP_PARTS, "content/", kind) {
        Some(route) => {
            out.check_members(route.record, value, record.pointer, &|_| None)?;
            if is_repeat {
                return repeated(route.record);
            }
            run(route, |handler| handler(state, record, out))
        }
        None if kind.is_empty() => Err(Fault::malformed("/type", "a part type", "nothing")),
        None => Err(Fault::unrecognized(&format!("content/{kind}"))),
    }
}

/// Converts one line of a stream, `value`.
pub(super) fn line(state: &mut SessionState, value: Value<'_>, line: &Line<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let kind = raw_str(line.kind());
    match nested(LINES, "", kind) {
        Some(route) => {
            // A part of 2.x has the id of its call as `id`.
            let id = match line.part() {
                Some(part) => RecordId::Line(part.member("partID").or_else(|| part.member("id"))),
                None => RecordId::WholeLine(value),
            };
            if state.is_repeat(id, line.part().unwrap_or(value)) {
                out.check_members(route.record, value, Pointer::Root, &|_| None)?;
                return repeated(route.record);
            }
            if let Some(session) = text(line.session_id()).map(|id| id.decode_lossy()) {
                out.set_source(Some(&*session), None);
            }
            MessageContext { printed_at: line.timestamp(), ..MessageContext::default() }.set_header(None, None, &mut state.clock, out);
            out.check_members(route.record, value, Pointer::Root, &|_| None)?;
            run(route, |handler| handler(state, line, out))
        }
        None if kind.is_empty() => Err(Fault::malformed("/type", "a line type", "nothing")),
        None => Err(Fault::unrecognized(kind)),
    }
}

/// Converts the part of a line by its row in [`PARTS`].
fn part_of_line(state: &mut SessionState, line: &Line<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    const PART: Pointer<'static> = Pointer::At("/part");
    let value = line.part().ok_or_else(|| Fault::malformed("/part", "a part", "nothing"))?;
    let mut view = Part::default();
    view.strict_into(value, "/part")?;
    let context = MessageContext {
        speaker: Speaker::Assistant,
        printed_at: line.timestamp(),
        message_id: text(view.message_id()),
        has_step_finish: true,
        ..MessageContext::default()
    };
    let record = PartRecord { part: &view, message: &context, pointer: PART, place: 0, unchecked: None };
    match part(state, &record, out).map_err(|fault| fault.within(PART))? {
        // The ledger counts a line by the line's own type.
        Outcome::Bookkeeping { .. } => omitted("step_start"),
        outcome => Ok(outcome),
    }
}

/// The row of a record type. Rows of a nested level have a common prefix, which the records do not spell.
fn nested<H>(table: &'static [Route<H>], prefix: &str, kind: &str) -> Option<&'static Route<H>> {
    table.iter().find(|row| row.record.strip_prefix(prefix) == Some(kind))
}

fn run<H: Copy>(route: &Route<H>, convert: impl FnOnce(H) -> Result<Outcome, Fault>) -> Result<Outcome, Fault> {
    match route.action {
        Action::Convert(handler) => convert(handler),
        Action::Omit => omitted(route.record),
    }
}

#[cfg(test)]
mod tests {
    use engram_core::descriptor::OmissionRule;

    use super::*;
    use crate::opencode::descriptor::{DESCRIPTOR, MEMBERS};

    /// Record types with a rule that a handler applies: a message without new facts, and a line by the type of its part.
    const OMITTED_BY_HANDLERS: [&str; 4] = ["message/user", "message/assistant", "step_start", "step/idle"];

    fn omit_rows<H>(table: &[Route<H>]) -> impl Iterator<Item = &'static str> {
        table.iter().filter(|row| matches!(row.action, Action::Omit)).map(|row| row.record)
    }

    #[test]
    fn omit_rows_and_record_rules_match() {
        let omitted: Vec<&str> = omit_rows(MESSAGES).chain(omit_rows(PARTS)).chain(omit_rows(LINES)).collect();
        for record in &omitted {
            assert!(DESCRIPTOR.ignored_record(record).is_some(), "no rule for {record}");
        }
        let is_of_type = |rule: &&OmissionRule| matches!(rule.outcome(), Some(Outcome::Bookkeeping { .. }));
        for rule in DESCRIPTOR.omission_rules.iter().filter(is_of_type) {
            assert!(omitted.contains(&rule.record) || OMITTED_BY_HANDLERS.contains(&rule.record), "no row for {}", rule.record);
        }
    }

    #[test]
    fn each_record_type_is_in_the_member_table() {
        let table = MEMBERS.table().unwrap();
        let types =
            MESSAGES.iter().map(|row| row.record).chain(PARTS.iter().map(|row| row.record)).chain(LINES.iter().map(|row| row.record));
        let types = types.chain(STEPS.iter().map(|row| row.record)).chain(STEP_PARTS.iter().map(|row| row.record));
        for record in types.chain(["session", "message", "tool.metadata", "step/session"]) {
            assert!(table.record(record).is_some_and(|shape| shape.name == record), "no `record {record}`");
        }
    }

    #[test]
    fn each_record_type_has_one_row() {
        let types = |records: Vec<&'static str>| records.iter().collect::<std::collections::BTreeSet<_>>().len() == records.len();
        assert!(types(MESSAGES.iter().map(|row| row.record).collect()));
        assert!(types(PARTS.iter().map(|row| row.record).collect()));
        assert!(types(LINES.iter().map(|row| row.record).collect()));
    }
}
