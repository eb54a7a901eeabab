//! Tool calls: each once, even if the log repeats it.

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::event::ToolCall;
use engram_core::text::{Text, canonical_json};

use super::call_record::CallRecord;
use super::file_changes::{StatedCall, changes};
use super::tool_result::emit_call_result;
use super::{edits, reads};
use crate::gemini::schema::{Call, FunctionCall, raw};
use crate::gemini::state::dedup::{CallList, StatedId};
use crate::gemini::state::occurrences::HistoryPass;
use crate::gemini::state::session_state::SessionState;
use crate::gemini::state::tally::RecordTally;
use crate::gemini::tools::TOOLS;
use crate::shared::route::{Action, Route};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, raw_str, text};
use engram_core::keys::hash64;

type FileHandler = fn(&mut RecordTally, &CallRecord<'_>, &mut Emitter<'_>) -> Result<(), Fault>;

/// The tools whose successful calls read or change files.
static FILE_TOOLS: &[Route<FileHandler>] = &[
    Route::convert("read_file", reads::read_file),
    Route::convert("replace", edits::replace),
    Route::convert("write_file", edits::write_file),
    Route::convert("read_many_files", reads::read_many_files),
];

/// Converts the calls of a turn, with their results. `path` is the place of the list.
#[inline(never)]
pub fn tool_calls(
    state: &mut SessionState,
    calls: Value<'_>,
    message_id: Field<'_>,
    path: &str,
    mut pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    // Most turns have one call, which needs no allocation.
    let (single, several): ([StatedCall<'_>; 1], Vec<StatedCall<'_>>);
    let calls = match single_call(calls, path)? {
        Some(call) => {
            single = [stated(state, call, pass)];
            &single[..]
        }
        None => {
            let strict = |(n, call)| strict_call(call, path, n).map(|call| stated(state, call, pass.as_deref_mut()));
            several = calls.elements().enumerate().map(strict).collect::<Result<Vec<_>, _>>()?;
            &several[..]
        }
    };
    let changes = changes(calls, |call| !call.key.is_some_and(|call| state.dedup.has_result(call)));
    for (n, StatedCall { call, key, is_new }) in calls.iter().enumerate() {
        let time = tape_time(call.timestamp());
        if time.is_some() {
            out.set_header(RecordHeader { t: time.as_deref(), id: text(call.id()), replay: false });
        }
        let tool = text(call.name()).ok_or_else(|| Fault::malformed(format!("{path}/{n}/name"), "the name of a tool", "none"))?;
        let change = changes.get(n).and_then(Option::as_ref);
        tool_call(state, &CallRecord { call, key: *key, is_new: *is_new, tool, change, path, n }, message_id, out)?;
    }
    Ok(())
}

fn stated<'a>(state: &mut SessionState, call: Call<'a>, pass: Option<&mut HistoryPass>) -> StatedCall<'a> {
    let args = args_key(raw(call.args()));
    let (key, is_new) = call.key().map(|id| state.dedup.next_call(StatedId { id, args }, CallList::Calls, pass)).unzip();
    StatedCall { call, key, is_new: is_new.unwrap_or(true) }
}

/// The only call of a list. None if there is none, or several.
fn single_call<'a>(list: Value<'a>, path: &str) -> Result<Option<Call<'a>>, Fault> {
    let mut elements = list.elements();
    let (Some(call), None) = (elements.next(), elements.next()) else { return Ok(None) };
    strict_call(call, path, 0).map(Some)
}

fn strict_call<'a>(call: Value<'a>, path: &str, n: usize) -> Result<Call<'a>, Fault> {
    // The pointer is built only for a fault: most calls have none.
    Call::strict(call, "").map_err(|fault| fault.within(Pointer::Item(path, n)))
}

#[inline(never)]
fn tool_call(state: &mut SessionState, record: &CallRecord<'_>, message_id: Field<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let CallRecord { call, key, .. } = *record;
    if record.is_new {
        state.dedup.add_text(call_key(raw(call.name()), raw(call.args())));
        let event = ToolCall { message_id: text(message_id), ..made_call(record.tool, text(call.id()), raw(call.args())) };
        state.tally.emit(event, record.pointer(), out)?;
    }
    if call.has_ended() && key.is_none_or(|key| state.dedup.is_first_result(key)) {
        emit_call_result(state, record, out)?;
        if let Some(Action::Convert(emit)) = Route::find(FILE_TOOLS, raw_str(call.name())).filter(|_| call.succeeded()) {
            emit(&mut state.tally, record, out)?;
        }
    }
    Ok(())
}

/// Converts a call in the form of the model's interface, which has no result.
#[inline(never)]
pub fn function_call(
    state: &mut SessionState,
    call: &FunctionCall<'_>,
    message_id: Field<'_>,
    pass: Option<&mut HistoryPass>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let Some(tool) = text(call.name()) else {
        return Err(Fault::malformed(format!("{pointer}/name"), "the name of a tool", "none"));
    };
    let is_new = match call.id() {
        Some(id) => {
            let stated = StatedId { id: hash64(id.raw()), args: args_key(raw(call.args())) };
            state.dedup.next_call(stated, CallList::Content, pass).1
        }
        None => state.dedup.is_new_text(call_key(raw(call.name()), raw(call.args())), pass),
    };
    if !is_new {
        return Ok(());
    }
    let event = ToolCall { message_id: text(message_id), ..made_call(tool, text(call.id()), raw(call.args())) };
    state.tally.emit(event, pointer, out)
}

/// The key of the arguments of a call.
fn args_key(args: Option<&str>) -> u64 {
    hash64(args.map(canonical_json))
}

/// The key of a call without an id, which is counted like a text.
fn call_key(name: Option<&str>, args: Option<&str>) -> u64 {
    hash64(("call", name, args))
}

fn made_call<'a>(tool: Text<'a>, call_id: Option<Text<'a>>, args: Option<&'a str>) -> ToolCall<'a> {
    let kind = TOOLS.kind(&tool.decode_lossy());
    ToolCall { call_id, args, ..ToolCall::new(tool, kind) }
}
