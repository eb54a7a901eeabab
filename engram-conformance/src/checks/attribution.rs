//! Where the ground truth does not state which call changed a file: it compares files between turns, and agents or calls that run at the
//! same time share a turn.

use engram_core::event::Kind;

use super::call_edits::{CallEdits, is_edit_of, text_of, touches};
use super::spans::{self, Lines};
use crate::case::Case;
use crate::ground_truth::{Call, RealEdit};
use crate::tape::Event;

/// Shorter arguments occur anywhere.
const LEAST_TELLING: usize = 4;

/// True if the ground truth has a change of the file, and no call of that change names the file. Then agents that worked at the same time
/// changed it, and the snapshot of the file was taken for another turn.
pub fn is_shared(case: &Case<'_>, file: &str) -> bool {
    let of_file = case
        .truth
        .edits
        .iter()
        .filter(|real| real.file == file && !real.is_revert());
    let is_foreign = |real: &RealEdit| {
        real.call_ids
            .iter()
            .filter_map(|id| case.call(id))
            .all(|call| !touches(call, file))
    };
    let has_agents =
        case.truth.calls.iter().any(|call| !call.is_main()) || case.scenarios.contains("subagent");
    has_agents && of_file.into_iter().any(is_foreign)
}

/// True if a call of another agent names the file and has no change of its own in the ground truth.
pub fn has_other_agents(case: &Case<'_>, real: &RealEdit) -> bool {
    let has_change = |call: &Call| {
        case.truth
            .edits
            .iter()
            .any(|other| other.file == real.file && other.call_ids.contains(&call.id))
    };
    case.scenarios.contains("subagent")
        && case
            .truth
            .calls
            .iter()
            .any(|call| is_edit_of(case, call, &real.file) && !has_change(call))
}

/// True if several calls or agents ran at the same time, or the log names no call, and a state of the file after a change has what the edit left.
pub fn has_happened(case: &Case<'_>, edits: &CallEdits<'_>) -> bool {
    let is_of_no_call = edits.call_chain.iter().all(|id| id.is_empty());
    let scenarios = ["parallel_calls", "subagent"];
    if !is_of_no_call && !scenarios.iter().any(|name| case.scenarios.contains(name)) {
        return false;
    }
    let calls: Vec<&Call> = edits
        .call_chain
        .iter()
        .filter_map(|id| case.call(id))
        .collect();
    let states = case
        .truth
        .edits
        .iter()
        .filter(|real| real.file == edits.file)
        .filter_map(|real| real.after.as_deref());
    let has = |state: &str| {
        let lines = Lines::new(state);
        edits
            .events
            .iter()
            .any(|event| match event.text("after_hash") {
                // It says which file changed, and no more.
                None => true,
                Some(_) if event.range("after_range").is_some() => {
                    spans::refuted(event, "after", Some(&lines)).is_none()
                }
                Some(hash) => text_of(&calls, hash).is_some_and(|text| state.contains(&text)),
            })
    };
    states.into_iter().any(has)
}

/// True if the call writes a file as a whole, with a text that the file had before or after some change, or if nothing ever changed the file:
/// then it had the text that was written. No snapshot shows such a write.
pub fn writes_same_text(case: &Case<'_>, edits: &CallEdits<'_>) -> bool {
    let is_overwrite = edits
        .events
        .iter()
        .all(|event| matches!(event.text("op"), Some("overwrite" | "create")));
    let calls: Vec<&Call> = edits
        .call_chain
        .iter()
        .filter_map(|id| case.call(id))
        .collect();
    let changes: Vec<&RealEdit> = case
        .truth
        .edits
        .iter()
        .filter(|real| real.file == edits.file)
        .collect();
    let has_written = |text: &str| {
        calls
            .iter()
            .any(|call| spans::strings(&call.args).contains(&text))
    };
    let mut states = changes
        .iter()
        .flat_map(|real| [real.before.as_deref(), real.after.as_deref()]);
    let is_state = states.any(|state| state.is_some_and(has_written));
    let wrote_hashed_text = edits.events.iter().all(|event| {
        let hash = event.text("file_after_hash").or(event.text("after_hash"));
        hash.is_some_and(|hash| text_of(&calls, hash).is_some())
    });
    is_overwrite && (is_state || (changes.is_empty() && wrote_hashed_text))
}

/// True if a call made a link with the name of the file: the ground truth has the change of the file that it leads to.
pub fn is_through_link(case: &Case<'_>, edits: &CallEdits<'_>) -> bool {
    let name = edits.file.rsplit('/').next().unwrap_or_default();
    let makes_link = |text: &str| text.contains("ln -") && text.contains(name);
    let is_changed = case.truth.edits.iter().any(|real| {
        real.call_ids
            .iter()
            .any(|id| edits.call_chain.contains(&id.as_str()))
    });
    let mut texts = case
        .truth
        .calls
        .iter()
        .flat_map(|call| spans::strings(&call.args));
    is_changed && texts.any(makes_link)
}

/// True if the edits are by a command, and another command that names the file ran at the same time. Then the changes that the harness shows
/// for one command include the changes of the other command.
pub fn has_parallel_command(case: &Case<'_>, edits: &CallEdits<'_>) -> bool {
    let is_own = |call: &Event| {
        call.text("call_id")
            .is_some_and(|id| edits.call_chain.contains(&id))
    };
    let names_file = |call: &&Event| {
        call.text("call_id")
            .and_then(|id| case.call(id))
            .is_some_and(|call| touches(call, &edits.file))
    };
    let Some((call, result)) = commands(&edits.session.events).find(|(call, _)| is_own(call))
    else {
        return false;
    };
    let is_beside = |(other, other_result): (&Event, &Event)| {
        other_result.number("seq") > call.number("seq")
            && other.number("seq") < result.number("seq")
    };
    let mut others =
        commands(&edits.session.events).filter(|(other, _)| !is_own(other) && names_file(other));
    // Other processes print captures of their own.
    let mut of_others = case
        .sessions
        .iter()
        .filter(|session| session.name() != edits.session.name())
        .flat_map(|session| commands(&session.events));
    let is_beside_by_time = |(other, other_result): (&Event, &Event)| {
        let times = [
            own_time(other_result),
            own_time(call),
            own_time(result),
            own_time(other),
        ];
        matches!(times, [Some(other_end), Some(start), Some(end), Some(other_start)] if other_end > start && other_start < end)
    };
    others.any(is_beside)
        || of_others.any(|(other, result)| {
            !is_own(other) && names_file(&other) && is_beside_by_time((other, result))
        })
}

/// The commands on a tape, with their results.
fn commands(events: &[Event]) -> impl Iterator<Item = (&Event, &Event)> {
    let is_command =
        |call: &&Event| call.is(Kind::ToolCall) && call.text("kind") == Some("execute");
    let result = |call: &Event| {
        events.iter().find(|event| {
            event.is(Kind::ToolResult) && event.number("parent") == call.number("seq")
        })
    };
    events
        .iter()
        .filter(is_command)
        .filter_map(move |call| Some((call, result(call)?)))
}

/// The time that the record of an event says. Times of one harness have one form, so that their texts have their order.
fn own_time(event: &Event) -> Option<&str> {
    event.text("t").filter(|_| !event.has("t_basis"))
}

/// True if the result that the model saw is no error and shows a text of the call: the change was made, but no snapshot was taken after it.
pub fn is_shown(case: &Case<'_>, edits: &CallEdits<'_>) -> bool {
    let shows = |id: &&str| {
        let result = case
            .truth
            .results
            .iter()
            .find(|result| result.id == **id && result.is_error != Some(true));
        let texts = case
            .call(id)
            .map(|call| spans::strings(&call.args))
            .unwrap_or_default();
        let telling =
            |text: &&str| text.len() >= LEAST_TELLING && !text.ends_with(edits.file.as_ref());
        result.is_some_and(|result| {
            texts
                .iter()
                .filter(|text| telling(text))
                .any(|text| result.text.contains(*text))
        })
    };
    edits.call_chain.iter().any(shows)
}
