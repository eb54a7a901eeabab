//! Compares the arguments of calls with those that the model sent.

use engram_core::error::excerpt;
use engram_core::event::Kind;
use serde_json::Value;

use crate::call_args::{are_logged, is_default, is_rewritten, is_tool, same_args};
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::Call;
use crate::outcome::Findings;
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of calls whose arguments a hook changed before the log was written.
const REWRITTEN: &str = "call.rewritten";

/// A `tool.call` has the tool and the arguments that the model sent.
pub fn call_facts(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for (session, event) in case.own_events(Kind::ToolCall) {
        let Some(call) = event.text("call_id").and_then(|id| case.call(id)) else {
            continue;
        };
        findings.count("calls");
        if subject.declares_for(session.schema(), Kind::ToolCall, "call.as_executed") {
            findings.note("calls as the harness executes them");
            continue;
        }
        if is_invalid(event, call) {
            continue;
        }
        let tool = event.text("tool").unwrap_or_default();
        if !is_tool(tool, &call.tool) {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "tool.call {} has tool `{tool}`, not `{}`",
                    call.id, call.tool
                ),
            );
        }
        let args = event.0.get("args").unwrap_or(&Value::Null);
        if has_placeholder_args(session, event, call, args) {
            findings.note("calls with arguments that the harness could not parse");
        } else if has_added_args(session, event, call, args) {
            findings.count("calls to whose arguments the harness adds some");
        } else if is_rewritten(session, event, call)
            && subject.declares_for(session.schema(), Kind::ToolCall, REWRITTEN)
        {
            findings.gap(REWRITTEN);
        } else if !same_args(&call.args, args) {
            let (actual, real) = (excerpt(&args.to_string()), excerpt(&call.args.to_string()));
            findings.fail(
                case.place_of(session, event),
                format!("tool.call {} has args {actual}, not {real}", call.id),
            );
        }
    }
}

/// True for a call that the harness logs as a call of another tool: the tool does not exist, or the arguments are invalid.
fn is_invalid(event: &Event, call: &Call) -> bool {
    event.text("tool") != Some(call.tool.as_str())
        && event.0.pointer("/args/tool").and_then(Value::as_str) == Some(&call.tool)
}

/// True for placeholder arguments: an empty object for a tool that does not exist, one text for invalid JSON.
fn has_placeholder_args(
    session: &ConvertedSession,
    event: &Event,
    call: &Call,
    args: &Value,
) -> bool {
    let is_broken = call.args.is_string() && args.get("value") == Some(&call.args);
    is_broken || (session.has_failed(event) && *args == Value::Object(serde_json::Map::new()))
}

/// True if a call has the model's arguments and others, and its record has each of these.
fn has_added_args(session: &ConvertedSession, event: &Event, call: &Call, args: &Value) -> bool {
    let (Some(real), Some(actual)) = (call.args.as_object(), args.as_object()) else {
        return false;
    };
    let kept = real.iter().all(|(name, value)| {
        actual
            .get(name)
            .is_some_and(|actual| same_args(value, actual))
    });
    let added: Vec<(&String, &Value)> = actual
        .iter()
        .filter(|(name, value)| !real.contains_key(*name) && !is_default(value))
        .collect();
    kept && !added.is_empty() && are_logged(session, event, added)
}
