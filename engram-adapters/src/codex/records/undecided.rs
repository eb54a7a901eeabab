//! What becomes of a line behind a message that no record has decided: it states who sent the message, or waits for the line that does.

use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;

use crate::shared::value::{Value, raw_str};

use super::prompts::{Twin, is_twin_of_held, release, twin_of};
use crate::codex::state::session_state::SessionState;

/// Converts a line that waited.
pub type Convert = fn(&mut SessionState, Value<'_>, &mut Emitter<'_>) -> Result<Outcome, Fault>;

/// What a line states about the message that is kept.
enum Next<'t> {
    /// Nothing that is certain.
    Unknown,
    /// Who sent it.
    Decides(Twin<'t>),
}

/// Emits the message that is kept if a line decides it. Else the line waits, and the answer is true.
pub fn waits(
    state: &mut SessionState,
    line: Value<'_>,
    (line_type, payload): (&str, Value<'_>),
    convert: Convert,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    if !state.held.is_holding() {
        state.held.take();
        return Ok(false);
    }
    // A line that waited may be a message, which this line decides, too.
    while state.held.is_holding() {
        let twin = match next(state, line_type, payload)? {
            Next::Decides(twin) => twin,
            Next::Unknown if state.held.wait(line, is_message(line_type, payload), out) => return Ok(true),
            Next::Unknown => Twin::Other,
        };
        decide(state, twin, convert, out)?;
        if state.held.repeats_message() {
            break;
        }
    }
    Ok(false)
}

/// Emits the message that is kept, then converts the lines that waited for that.
fn decide(state: &mut SessionState, twin: Twin<'_>, convert: Convert, out: &mut Emitter<'_>) -> Result<(), Fault> {
    release(state, twin, out)?;
    if !state.held.has_waiting() {
        return Ok(());
    }
    let (released, here) = (state.held.take_released(), out.location());
    for mut line in state.held.take_waiting() {
        line.record.release();
        out.resume(line.location);
        let outcome = convert(state, line.record.value(), out);
        state.end_record(outcome.is_ok());
        out.settle_result(outcome, line.record.value().raw())?;
    }
    out.resume(here);
    state.held.restore_released(released);
    Ok(())
}

/// Emits what no later line decides.
pub fn finish(state: &mut SessionState, convert: Convert, out: &mut Emitter<'_>) -> Result<(), Fault> {
    while state.held.is_holding() {
        let twin = if state.held.has_waiting() { Twin::Other } else { Twin::Unknown };
        decide(state, twin, convert, out)?;
    }
    Ok(())
}

/// Between a message and its twin there may be events, settings, and messages that nobody sent.
fn next<'t>(state: &SessionState, line_type: &str, payload: Value<'t>) -> Result<Next<'t>, Fault> {
    match twin_of(line_type, payload) {
        Twin::Unreadable => Ok(Next::Unknown),
        Twin::Sent(text) if !state.held.has_waiting_message() || is_twin_of_held(state, &text)? => Ok(Next::Decides(Twin::Sent(text))),
        Twin::Sent(_) => Ok(Next::Decides(Twin::Other)),
        twin => match (line_type, raw_str(payload.first_member("type"))) {
            ("event_msg", "item_completed") => Ok(Next::Decides(twin)),
            ("event_msg" | "turn_context" | "token_usage_record", _) => Ok(Next::Unknown),
            _ if is_message(line_type, payload) => Ok(Next::Unknown),
            _ => Ok(Next::Decides(twin)),
        },
    }
}

fn is_message(line_type: &str, payload: Value<'_>) -> bool {
    let is = |name: &str, text: &str| raw_str(payload.first_member(name)) == text;
    line_type == "response_item" && is("type", "message") && is("role", "user")
}
