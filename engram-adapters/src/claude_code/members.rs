//! The type of a line, as the member table names it.

use super::emit::state::Scratch;
use super::readers::{Attachment, Line, Progress};
use super::table::MEMBERS;
use crate::shared::value::raw_str;

/// The names of arguments in the table begin with this.
pub(super) const ARGUMENTS: &str = "arguments/";

/// Types of hook lines: the table has one row for all of them.
const HOOKS: &[&str] = &[
    "attachment/hook_additional_context",
    "attachment/hook_blocking_error",
    "attachment/hook_cancelled",
    "attachment/hook_error_during_execution",
    "attachment/hook_non_blocking_error",
    "attachment/hook_stopped_continuation",
    "attachment/hook_success",
    "attachment/hook_system_message",
];

/// Types of the last line of a printed run: the table has one row for all of them.
const RESULTS: &[&str] = &[
    "result/success",
    "result/error_during_execution",
    "result/error_max_turns",
    "result/error_max_budget_usd",
    "result/error_max_structured_output_retries",
];

/// The type of a line, if the table names it.
pub(super) fn named_type(scratch: &mut Scratch, line: &Line<'_>) -> Option<&'static str> {
    set_record_type(&mut scratch.record_type, line);
    let kind = scratch.record_type.as_str();
    let in_table = || {
        MEMBERS
            .table()
            .ok()?
            .record(kind)
            .map(|shape| &*shape.name)
            .filter(|name| *name == kind)
    };
    HOOKS
        .iter()
        .chain(RESULTS)
        .find(|hook| **hook == kind)
        .copied()
        .or_else(in_table)
}

/// The type of a record, as the descriptor's pointers give it.
pub(super) fn set_record_type(kind: &mut String, line: &Line<'_>) {
    let attachment = line
        .attachment()
        .map(Attachment::lenient)
        .and_then(|attachment| attachment.kind());
    let progress = line
        .data()
        .map(Progress::lenient)
        .and_then(|data| data.kind());
    kind.clear();
    for part in [
        line.kind(),
        line.subtype(),
        line.operation(),
        attachment,
        progress,
    ]
    .into_iter()
    .flatten()
    {
        if !kind.is_empty() {
            kind.push('/');
        }
        kind.push_str(raw_str(Some(part)));
    }
}
