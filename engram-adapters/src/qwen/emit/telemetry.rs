//! Notices about requests and calls that the harness counted.

use engram_core::emit::Pointer;
use engram_core::event::{Decision, Meta};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};

use super::state::{NoticedCall, Request, State};
use super::usage::of_event;
use crate::qwen::format::rule;
use crate::qwen::interface::Interface;
use crate::qwen::notes::{EVENT, telemetry};
use crate::qwen::plan::Counted;
use crate::qwen::readers::Telemetry;
use crate::shared::value::{Value, count, non_empty_text, owned, raw_str, text};

/// The most calls whose result is awaited.
const MAX_CALLS: usize = 10_000;

/// A request. One without a line of a response, such as a request for a summary, has tokens of its own.
pub fn response(
    state: &mut State,
    record: &Record<'_>,
    (name, counted): (&'static str, Option<Counted>),
    out: &mut Emitter<'_>,
) -> Outcome {
    let event = Telemetry::lenient_opt(telemetry(record.value));
    match counted {
        Some(Counted::Agent) => Outcome::bookkeeping(name, rule::TELEMETRY_AGENT),
        Some(Counted::Response(of)) => {
            let request = Request {
                id: owned(event.response_id()),
                interface: Interface::named(raw_str(event.interface())),
            };
            state.requests.insert(of, request);
            Outcome::duplicate(name, rule::TELEMETRY_RESPONSE)
        }
        Some(Counted::Call) | None => {
            // The log has no other line of this response.
            let words = non_empty_text(event.response_text());
            let usage = of_event(&event);
            if words.is_some() || usage.is_none() {
                out.emit(Meta::system("api_response", words), Pointer::At(EVENT));
            }
            if let Some(usage) = usage {
                out.emit(Meta::Usage(usage), Pointer::At(EVENT));
            }
            Outcome::Mapped
        }
    }
}

/// A request that failed, of the session or of a sub-agent.
pub fn error(line: Value<'_>, out: &mut Emitter<'_>) {
    let event = Telemetry::lenient_opt(telemetry(line));
    let error = Meta::error(non_empty_text(event.error_type()), text(event.error()));
    out.emit(error, "/systemPayload/uiEvent/error_message");
}

/// A call: how long it ran, and what a person decided about it. A call that no line has, which code of the model made, is on the tape as it is.
pub fn call(
    state: &mut State,
    record: &Record<'_>,
    (name, counted): (&'static str, Option<Counted>),
    out: &mut Emitter<'_>,
) -> Outcome {
    let Some(value) = telemetry(record.value) else {
        return Outcome::Mapped;
    };
    let event = Telemetry::lenient(value);
    match counted {
        Some(Counted::Agent) => return Outcome::bookkeeping(name, rule::TELEMETRY_AGENT),
        // Before 0.21.10 a notice does not name its call, which has lines of its own.
        None if event.call_id().is_none() => {}
        Some(_) => {}
        None => {
            out.emit(
                Meta::system("tool_call", Some(value.json())),
                Pointer::At(EVENT),
            );
            return Outcome::Mapped;
        }
    }
    // `auto_accept` is also the decision where nobody was asked.
    let decision = match raw_str(event.decision()) {
        "accept" | "modify" => Some(Decision::Allow),
        "reject" => Some(Decision::Deny),
        _ => None,
    };
    if let Some(id) = text(event.call_id())
        && state.noticed.len() < MAX_CALLS
    {
        let noticed = NoticedCall {
            duration: count(event.duration()),
            is_refused: decision == Some(Decision::Deny),
        };
        state.noticed.insert(hash64(id.raw()), noticed);
    }
    let Some(decision) = decision else {
        return Outcome::duplicate(name, rule::TELEMETRY_CALL);
    };
    let permission = decision.of_call(text(event.tool()), text(event.call_id()), None);
    out.emit(permission, Pointer::At(EVENT));
    Outcome::Mapped
}
