//! The beginning and the end of a record of an export, and its outcome.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::ledger::Outcome;

use crate::opencode::descriptor::{DESCRIPTOR, rule};
use crate::opencode::state::session_state::SessionState;
use crate::shared::value::Value;

/// The outcome of a record that is omitted by its type alone.
pub(super) fn omitted(record: &str) -> Result<Outcome, Fault> {
    DESCRIPTOR.ignored_record(record).ok_or_else(|| Fault::unrecognized(record))
}

/// The outcome of a record that the log has twice.
pub(super) fn repeated(record: &'static str) -> Result<Outcome, Fault> {
    Ok(Outcome::Duplicate { record, rule: rule::REPEATED })
}

/// Emits events of an earlier record that belong after the records that followed it.
pub(super) fn late_events(
    state: &mut SessionState,
    out: &mut Emitter<'_>,
    emit: impl FnOnce(&mut SessionState, &mut Emitter<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    out.begin();
    let emitted = emit(state, out);
    state.end_record(emitted.is_ok());
    emitted
}

/// Converts one record of the export, and applies the policy to a fault.
pub(super) fn convert_record(
    pointer: Pointer<'_>,
    record: Value<'_>,
    state: &mut SessionState,
    out: &mut Emitter<'_>,
    convert: impl FnOnce(&mut SessionState, &mut Emitter<'_>) -> Result<Outcome, Fault>,
) -> Result<(), Fault> {
    out.begin();
    let outcome = convert(state, out);
    state.end_record(outcome.is_ok());
    out.settle_result(outcome.map_err(|fault| fault.within(pointer)), record.raw())
}
