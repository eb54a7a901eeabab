//! The member table: every member of every line, and the check of a line against it.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::members::MemberSource;

use super::record::Record;
use super::schema::{Attachment, Block, Line, Progress};
use super::state::open_calls::OpenCalls;
use super::state::session_state::{Scratch, SessionState};
use crate::shared::value::{Field, Value, raw_str, text};
use engram_core::keys::hash64;

/// The member table.
pub(super) static MEMBERS: MemberSource = MemberSource::new(&[
    include_str!("members/rules.members"),
    include_str!("members/messages.members"),
    include_str!("members/results.members"),
    include_str!("members/progress.members"),
    include_str!("members/system.members"),
    include_str!("members/attachments.members"),
    include_str!("members/attached_files.members"),
    include_str!("members/session.members"),
    include_str!("members/arguments.members"),
    include_str!("members/stream.members"),
]);

/// The names of arguments in the table begin with this.
pub(super) const ARGUMENTS: &str = "arguments/";

/// Compares a line with the member table. A line of a type that the table does not have is unrecognized as a whole. The lines that
/// a `progress` line wraps are compared with it.
#[inline(never)]
pub(super) fn check(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let kind = &mut state.scratch.record_type;
    set_record_type(kind, &record.line);
    let calls = &state.calls;
    let tool = || called_tool(calls, record.message.content());
    out.check_named_members(kind, record.line.object(), Pointer::Root, &|_| tool()).map(drop)
}

/// Compares the arguments of a call with the member table. Its result, which is at `at`, needs what they lack.
#[cold]
pub(super) fn check_arguments(tool: &str, arguments: Value<'_>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let kind = format!("{ARGUMENTS}{tool}");
    out.check_named_members(&kind, arguments, at, &|_| None).map(drop)
}

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
    let in_table = || MEMBERS.table().ok()?.record(kind).map(|shape| &*shape.name).filter(|name| *name == kind);
    HOOKS.iter().chain(RESULTS).find(|hook| **hook == kind).copied().or_else(in_table)
}

/// The type of a record, as the descriptor's pointers give it.
fn set_record_type(kind: &mut String, line: &Line<'_>) {
    let attachment = line.attachment().map(Attachment::lenient).and_then(|attachment| attachment.kind());
    let progress = line.data().map(Progress::lenient).and_then(|data| data.kind());
    kind.clear();
    for part in [line.kind(), line.subtype(), line.operation(), attachment, progress].into_iter().flatten() {
        if !kind.is_empty() {
            kind.push('/');
        }
        kind.push_str(raw_str(Some(part)));
    }
}

/// The tool whose result the blocks have, if it is one of the harness's own tools or of an MCP server. The result of another tool is
/// compared with those of all tools.
fn called_tool<'c>(calls: &'c OpenCalls, content: Field<'_>) -> Option<&'c str> {
    let result = content?.elements().find_map(|block| text(Block::lenient(block).tool_use_id()))?;
    calls.tool(hash64(result.raw()))
}
