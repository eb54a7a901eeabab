//! `progress` lines (2.1.12 to 2.1.80) of commands and hooks.

use engram_core::emit::Pointer;
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::session_meta::begin_record;
use super::state::State;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::format::{ProgressKind, rule};
use crate::claude_code::readers::Progress;
use crate::claude_code::record::Record;
use crate::shared::value::{non_empty_text, text};

/// `progress/bash_progress`: the output of a command so far, which counts if no result follows.
pub(super) fn bash_progress(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    if !state.plan.last_outputs.contains(&record.at) {
        return Outcome::Duplicate {
            record: ProgressKind::BashProgress.name(),
            rule: rule::PROGRESS_SO_FAR,
        };
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
    out.emit(
        Meta::System {
            name,
            text: text(data.command()),
        },
        Pointer::At("/data"),
    );
    Outcome::Mapped
}
