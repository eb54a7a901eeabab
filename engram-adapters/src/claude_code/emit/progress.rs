//! `progress` lines (2.1.12 to 2.1.80) of commands, hooks and sub-agents.

use engram_core::emit::Pointer;
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::agent_lines::{unwrapped, wrapped_lines};
use super::dispatch::convert;
use super::session_meta::begin_record;
use super::state::State;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::omission_rules::rule;
use crate::claude_code::plan::Fate;
use crate::claude_code::record::Record;
use crate::claude_code::schema::Progress;
use crate::shared::value::{non_empty_text, raw_str, text};

/// `progress/bash_progress`: the output of a command so far, which counts if no result follows.
pub(super) fn bash_progress(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    if !state.plan.last_outputs.contains(&record.at) {
        return Outcome::Duplicate { record: "progress/bash_progress", rule: rule::PARTIAL_OUTPUT };
    }
    begin_record(state, &mut record.clone(), out);
    let data = Progress::lenient_opt(record.line.data());
    emit_text("tool_output", text(data.full_output()), Pointer::At("/data/fullOutput"), out);
    Outcome::Mapped
}

/// `progress/hook_progress`: a hook runs.
pub(super) fn hook_progress(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    begin_record(state, &mut record.clone(), out);
    let data = Progress::lenient_opt(record.line.data());
    let name = non_empty_text(data.hook_name()).unwrap_or(Text::Plain("hook_progress"));
    out.emit(Meta::System { name, text: text(data.command()) }, Pointer::At("/data"));
    Outcome::Mapped
}

/// `progress/agent_progress`: lines of a sub-agent. They are converted here only if the sub-agent has no file of its own.
pub(super) fn agent_progress(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let omitted = Outcome::Duplicate { record: "progress/agent_progress", rule: rule::AGENT_PROGRESS };
    let data = Progress::lenient_opt(record.line.data());
    let agent = text(data.agent_id()).map(|agent| agent.decode_lossy()).unwrap_or_default();
    if state.side_info.side_files.as_ref().is_some_and(|files| files.has_agent(&agent)) {
        return omitted;
    }
    let mut is_mapped = false;
    let lines = wrapped_lines(&data).filter_map(|(place, value)| Some((place, unwrapped(&record.line, value, place).ok()?)));
    // The sub-agent's own `progress` lines are left out: their results follow.
    let lines = lines.filter(|(_, line)| raw_str(line.kind()) != "progress");
    for (at, (place, line)) in (record.at + 1..).zip(lines) {
        if state.plan.fate(at) != Fate::Repeated {
            let mut inner = Record { at, line, prefix: place, agent: Some(agent.clone()), ..Record::default() };
            is_mapped |= convert(state, &mut inner, out) == Outcome::Mapped;
        }
    }
    if is_mapped { Outcome::Mapped } else { omitted }
}
