//! Unit tests for what no fixture has: forms that only real logs have, and malformed lines.

mod attachments;
mod autumn;
mod beside;
mod edits;
mod history;
mod legacy_db;
mod members;
mod messages;
mod progress;
mod prompts;
mod real_life;
mod repeats;
mod response_parts;
mod results;
mod rewinds;
mod session;
mod state;
mod stream;

use engram_core::adapter::{StreamAdapter, convert_str};
use engram_core::audit::{AuditReport, audit};
use engram_core::error::AdapterError;
use engram_core::pipeline::Options;
use engram_core::policy::Policy;
use serde_json::{Value, json};

use super::ClaudeCode;

/// A line of a conversation of this version.
pub(super) fn line(version: &str, number: u32, kind: &str, rest: Value) -> Value {
    let mut line = json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/p", "sessionId": "s", "version": version,
        "type": kind, "uuid": format!("u{number}"), "timestamp": format!("2026-01-01T00:{:02}:{:02}.000Z", number / 60, number % 60),
    });
    line.as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    line
}

/// An `assistant` line with the message of this id.
pub(super) fn assistant_line(version: &str, number: u32, id: &str, blocks: Value) -> Value {
    let message = json!({"id": id, "role": "assistant", "model": "m", "content": blocks, "stop_reason": "end_turn", "usage": {"output_tokens": number}});
    line(version, number, "assistant", json!({"message": message}))
}

/// A `user` line with the result of this call, and its structured form.
pub(super) fn result_line(
    version: &str,
    number: u32,
    call: &str,
    content: &str,
    result: Option<Value>,
) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": call, "content": content});
    let mut rest = json!({"message": {"role": "user", "content": [block]}});
    if let Some(result) = result {
        rest["toolUseResult"] = result;
    }
    line(version, number, "user", rest)
}

/// The events of the tape of these lines.
pub(super) fn tape(lines: &[Value], policy: Policy) -> Result<Vec<Value>, AdapterError> {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(
        &ClaudeCode,
        &log,
        &Options {
            policy,
            ..Options::default()
        },
    )?;
    Ok(tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect())
}

/// The bytes of the log's texts that neither the tape nor an omission rule accounts for.
pub(super) fn unaccounted_bytes(lines: &[Value]) -> u64 {
    report(lines).left_over.bytes
}

/// The values of the log that neither the tape nor the member table accounts for.
pub(super) fn unaccounted_values(lines: &[Value]) -> Vec<String> {
    report(lines)
        .examples
        .iter()
        .map(|value| format!("{}: {}", value.line, value.pointer))
        .collect()
}

fn report(lines: &[Value]) -> AuditReport {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tape = convert_str(&ClaudeCode, &log, &Options::default()).unwrap();
    audit(log.as_bytes(), &tape, ClaudeCode.describe()).unwrap()
}

/// The events of one kind.
pub(super) fn events(lines: &[Value], kind: &str) -> Vec<Value> {
    tape(lines, Policy::Strict)
        .unwrap()
        .into_iter()
        .filter(|event| event["k"] == kind)
        .collect()
}
