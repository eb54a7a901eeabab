//! How a call ended: its status and exit code.

use engram_core::event::Status;
use engram_core::text::Text;

use crate::claude_code::authors::{self, DENIED_BY_PERSON};
use crate::claude_code::readers::{Block, Line, Structured};
use crate::shared::value::{Value, is_true, raw_str};

/// How the harness reports that a call was denied, beside the denials of a person.
const DENIED: &[&str] = &[
    "The user doesn't want to take this action right now.",
    "Claude requested permissions to ",
    "Permission to use ",
    // The auto mode (2.1.220 and later), which has a reason of its own when its check does not answer.
    "Permission for this action was denied by the Claude Code auto mode classifier.",
    "Auto mode could not evaluate this action and is blocking it for safety",
    "Auto mode is unavailable: its safety check does not run for this session",
];

/// The same, after the name of a model that does not answer.
const CHECK_IS_MISSING: &str =
    " is temporarily unavailable, so auto mode cannot determine the safety of ";

/// The longest name of a model.
const MODEL_BYTES: usize = 100;

/// How the harness reports that a call was cancelled.
const CANCELLED: &[&str] = &[
    "[Tool call interrupted",
    "[Request interrupted by user",
    "Interrupted by user",
    "<tool_use_error>Cancelled",
];

/// How the call ended.
#[inline(never)]
pub(super) fn status(
    line: &Line<'_>,
    block: &Block<'_>,
    content: Option<Text<'_>>,
    structured: &Structured<'_>,
) -> Status {
    let begins = |texts: &[&str]| {
        content.is_some_and(|content| texts.iter().any(|text| content.starts_with(text)))
    };
    let was_stopped = || {
        begins(&DENIED_BY_PERSON)
            && content.is_some_and(|content| authors::was_stopped(&content.decode_lossy()))
    };
    if is_true(structured.interrupted()) || begins(CANCELLED) || was_stopped() {
        Status::Cancelled
    } else if !is_true(block.is_error()) {
        Status::Ok
    } else if line.tool_denial_kind().is_some()
        || is_denied(line, block)
        || begins(&DENIED_BY_PERSON)
        || begins(DENIED)
        || content.is_some_and(is_check_missing)
    {
        Status::Denied
    } else {
        Status::Error
    }
}

/// True if the auto mode refused a call since no model could look at it.
fn is_check_missing(content: Text<'_>) -> bool {
    let raw = content.raw().as_bytes();
    let head = &raw[..raw.len().min(MODEL_BYTES + CHECK_IS_MISSING.len())];
    memchr::memmem::find(head, CHECK_IS_MISSING.as_bytes()).is_some()
}

/// True if a capture says that the call was denied.
fn is_denied(line: &Line<'_>, block: &Block<'_>) -> bool {
    // These calls were stopped.
    const STOPPED: [&str; 2] = ["interrupted", "cancelled"];
    let of_call = |stated: &Value<'_>| raw_str(stated.member("id")) == raw_str(block.tool_use_id());
    line.result_meta()
        .into_iter()
        .flat_map(Value::elements)
        .filter(of_call)
        .any(|stated| {
            let kind = raw_str(stated.member("non_execution_kind"));
            let decision = stated
                .member("permission_decision")
                .and_then(|decision| decision.member("decision"));
            raw_str(decision) == "reject" || !(kind.is_empty() || STOPPED.contains(&kind))
        })
}

/// The number of `Exit code N`, with which the results of failed commands begin (2.0.45 and later).
#[inline(never)]
pub(super) fn exit_code(content: Text<'_>) -> Option<i64> {
    let digits = content.token()?.strip_prefix("\"Exit code ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}
