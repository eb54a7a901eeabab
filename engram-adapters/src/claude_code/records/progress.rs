//! `progress` lines (2.1.12 to 2.1.80) of commands and hooks.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::session_meta::begin_record;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::record::Record;
use crate::claude_code::schema::Progress;
use crate::claude_code::state::session_state::SessionState;
use crate::shared::value::{non_empty_text, text};
use engram_core::keys::hash64;

/// `progress/bash_progress`: the output of a command so far, kept until its result comes.
pub(super) fn bash_progress(
    state: &mut SessionState,
    record: &Record<'_>,
    data: &Progress<'_>,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    let line = &record.line;
    let call = text(line.parent_call()).map(|id| hash64(id.raw())).filter(|call| !state.dedup.has_result(*call));
    let output = data.full_output().filter(|output| non_empty_text(Some(*output)).is_some());
    let deferred = match (call, output) {
        (Some(call), Some(output)) => state.output.defer(call, output, line, out)?,
        _ => true,
    };
    let omitted = Outcome::Duplicate { record: "progress/bash_progress", rule: rule::PARTIAL_OUTPUT };
    Ok(if deferred { omitted } else { Outcome::Mapped })
}

/// `progress/hook_progress`: a hook runs.
pub(super) fn hook_progress(
    state: &mut SessionState,
    record: &Record<'_>,
    data: &Progress<'_>,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    begin_record(state, &mut record.clone(), out)?;
    let name = non_empty_text(data.hook_name()).unwrap_or(Text::Plain("hook_progress"));
    out.emit(Meta::System { name, text: text(data.command()) }, Pointer::At("/data"))?;
    Ok(Outcome::Mapped)
}
