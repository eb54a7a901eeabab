//! The end of a call for the screen: items (0.150 and later) and events (older) that end a command, a patch or an MCP call.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};
use engram_core::event::{Meta, Status};
use engram_core::ledger::Outcome;
use engram_core::text::{Text, canonical_json};

use crate::shared::value::{Field, Value, integer, raw_str, text};

use super::edits::{Applied, emit_listed_changes};
use super::end_result::{emit_further_text, emit_plain_text, emit_text, emit_without_output, result_of, text_of};
use super::nested_calls::{NestedTool, emit_nested_call, is_stated};
use crate::codex::blocks::{is_empty_token, joined_texts, unquote};
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::schema::{CallEnd, Duration, Invocation, McpResult};
use crate::codex::state::open_calls::Progress;
use crate::codex::state::pending_end::PendingEnd;
use crate::codex::state::session_state::SessionState;

/// What kind of call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallType {
    /// A command.
    Command,
    /// A patch.
    Patch,
    /// A call of an MCP server's tool.
    Mcp,
    /// A call of a tool that the client offers.
    Client,
}

/// `exec_command_end`.
pub fn command_event(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_event(record, CallType::Command)?, out)
}

/// `patch_apply_end`.
pub fn patch_event(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_event(record, CallType::Patch)?, out)
}

/// `mcp_tool_call_end`.
pub fn mcp_event(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_event(record, CallType::Mcp)?, out)
}

/// `dynamic_tool_call_response`.
pub fn client_event(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_event(record, CallType::Client)?, out)
}

/// The item `DynamicToolCall`.
pub fn client_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_item(record, CallType::Client)?, out)
}

/// The item `CommandExecution`.
pub fn command_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_item(record, CallType::Command)?, out)
}

/// The item `FileChange`.
pub fn patch_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_item(record, CallType::Patch)?, out)
}

/// The item `McpToolCall`.
pub fn mcp_item(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    on_call_end(state, &ScreenEnd::of_item(record, CallType::Mcp)?, out)
}

/// The end of a call as an item or an event states it.
struct ScreenEnd<'r> {
    call_type: CallType,
    record: &'r Record<'r>,
    rule: &'static str,
    /// JSON Pointer of its fields.
    at: &'static str,
    id: Field<'r>,
    fields: CallEnd<'r>,
    invocation: Invocation<'r>,
}

impl<'r> ScreenEnd<'r> {
    fn of_item(record: &'r Record<'r>, call_type: CallType) -> Result<Self, Fault> {
        let fields = CallEnd::strict(record.value, record.at)?;
        let invocation = Invocation::lenient(record.value);
        let rule = omissions::ITEM_OUTPUT_MIRROR.rule;
        Ok(ScreenEnd { call_type, record, rule, at: "/payload/item", id: fields.id(), fields, invocation })
    }

    fn of_event(record: &'r Record<'r>, call_type: CallType) -> Result<Self, Fault> {
        let fields = CallEnd::strict(record.value, record.at)?;
        let invocation = Invocation::lenient_opt(fields.invocation());
        let rule = if call_type == CallType::Client { omissions::CLIENT_OUTPUT_MIRROR } else { omissions::EVENT_OUTPUT_MIRROR };
        Ok(ScreenEnd { call_type, record, rule: rule.rule, at: "/payload", id: fields.call_id(), fields, invocation })
    }

    fn exit(&self) -> Option<i64> {
        integer(self.fields.exit_code())
    }

    /// Output and error output. A command's aggregated output contains both.
    fn streams(&self) -> (Field<'r>, Field<'r>) {
        match self.fields.aggregated_output() {
            Some(aggregated) if self.call_type == CallType::Command && !is_empty_token(aggregated.raw()) => (Some(aggregated), None),
            aggregated => (self.fields.stdout().or(aggregated), self.fields.stderr()),
        }
    }

    fn status(&self) -> Option<Status> {
        let of_success = |success: bool| if success { Status::Ok } else { Status::Error };
        match (raw_str(self.fields.status()), self.exit()) {
            ("declined", _) => Some(Status::Denied),
            (_, Some(exit)) => Some(of_success(exit == 0)),
            ("completed", _) => Some(Status::Ok),
            ("failed", _) => Some(Status::Error),
            _ => self.fields.success().map(|success| of_success(success.is_true())),
        }
    }

    /// The changes that it lists, if they were made.
    fn applied_changes(&self) -> Option<Value<'r>> {
        self.fields.changes().filter(|_| self.call_type == CallType::Patch && self.status() == Some(Status::Ok))
    }

    /// The tool and the arguments of the call.
    fn call(&self) -> (NestedTool<'r>, Field<'r>) {
        match self.call_type {
            CallType::Command => (NestedTool::plain("exec_command"), self.fields.command()),
            CallType::Patch => (NestedTool::plain("apply_patch"), self.fields.changes()),
            CallType::Client => (NestedTool::plain(raw_str(self.fields.tool())), self.fields.arguments()),
            CallType::Mcp => {
                let tool = text(self.invocation.tool()).map(|tool| tool.decode_lossy()).unwrap_or_default();
                (NestedTool { tool, server: text(self.invocation.server()) }, self.invocation.arguments())
            }
        }
    }

    /// What has to be kept of it until the output is read.
    fn to_pending(&self, is_mapped: bool, out: &Emitter<'_>) -> Result<PendingEnd<'r>, Fault> {
        let token = |field: Field<'r>| field.map(|token| Cow::Borrowed(token.raw()));
        let duration_ms = self.fields.duration().and_then(|duration| Duration::lenient(duration).millis());
        let mut end = PendingEnd {
            record: self.record.name,
            rule: self.rule,
            at: self.at,
            is_mapped,
            location: out.location(),
            t: self.record.t.map(str::to_owned),
            replay: self.record.replay,
            status: self.status(),
            exit: self.exit(),
            duration_ms,
            ..PendingEnd::default()
        };
        match self.call_type {
            CallType::Command | CallType::Patch => (end.stdout, end.stderr) = (token(self.streams().0), token(self.streams().1)),
            CallType::Client => {
                end.stdout = joined_texts(self.fields.content_items(), "\\n");
                end.stderr = token(self.fields.error().filter(|error| error.text().is_some()));
            }
            CallType::Mcp => match self.fields.result() {
                Some(answer) => add_mcp_answer(&mut end, &McpResult::strict(answer, &format!("{}/result", self.at))?),
                None => (end.stdout, end.stderr) = (token(self.streams().0), token(self.streams().1)),
            },
        }
        Ok(end)
    }
}

/// Adds the answer of an MCP server. The model gets the structured form, if there is one, in place of the texts.
fn add_mcp_answer<'a>(end: &mut PendingEnd<'a>, wrapped: &McpResult<'a>) {
    let answer = wrapped.ok().map_or(*wrapped, McpResult::lenient);
    end.stdout = joined_texts(answer.content(), "\\n");
    end.stderr = wrapped.err().map(|error| Cow::Borrowed(error.raw()));
    let structured = answer.structured().filter(|structured| structured.raw() != "null");
    if let Some(structured) = structured.and_then(|structured| serde_json::to_string(&*canonical_json(structured.raw())).ok()) {
        end.plain_text = end.stdout.replace(Cow::Owned(structured)).filter(|text| Some(text) != end.stdout.as_ref());
    }
    let is_error = answer.is_error().map(Value::is_true).or(wrapped.err().map(|_| true));
    end.status = is_error.map(|is_error| if is_error { Status::Error } else { Status::Ok }).or(end.status);
}

/// Converts the end of a call. A call has one result: the output for the model nearly always follows, and the end waits for it.
fn on_call_end(state: &mut SessionState, end: &ScreenEnd<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if raw_str(end.fields.source()) == "user_shell" {
        let printed = text(end.streams().0);
        out.emit(Meta::System { name: Text::Plain("user_shell"), text: printed }, Pointer::At(end.at))?;
        return Ok(Outcome::Mapped);
    }
    let Some(id) = text(end.id) else {
        return Err(Fault::malformed(end.at, "the id of a call", "nothing"));
    };
    let is_nested = !is_stated(&mut state.calls, id, end.record, out);
    if is_nested {
        let (tool, args) = end.call();
        emit_nested_call(&mut state.calls, &tool, id, args, (end.record.name, end.at), out)?;
    }
    let mut is_mapped = is_nested;
    if let Some(changes) = end.applied_changes() {
        let printed = text(end.streams().0).map(|printed| printed.comparable()).unwrap_or_default();
        let patch = state.calls.patch(&id.decode_lossy());
        let applied = Applied { directory: state.last.cwd(), changes, printed: &printed, text: patch, call_id: id };
        is_mapped |= emit_listed_changes(&mut state.files, &applied, &format!("{}/changes", end.at), out)?;
    }
    state.pending_ends.set_has_read_any();
    let pending = end.to_pending(is_mapped, out)?;
    if end.call_type == CallType::Patch {
        state.calls.set_changes_listed(&id.decode_lossy());
    }
    is_mapped |= emit_or_defer(state, pending, id, is_nested, out)?;
    state.calls.set_stated_by(&id.decode_lossy(), end.record.name);
    let (record, rule) = (end.record.name, end.rule);
    Ok(if is_mapped { Outcome::Mapped } else { Outcome::Duplicate { record, rule } })
}

/// Emits a result, defers it until the output is read, or emits what the output that was read lacks. True if it emitted an event.
fn emit_or_defer(
    state: &mut SessionState,
    end: PendingEnd<'_>,
    id: Text<'_>,
    is_nested: bool,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    let key = id.decode_lossy();
    let progress = state.calls.progress(&key);
    if progress == Some(Progress::Called) && !is_nested {
        let (kept, has_room) = match end.keep(out) {
            Some(kept) => (kept, true),
            None => (end.without_texts(), false),
        };
        if let Some((oldest_id, oldest)) = state.pending_ends.push(&key, kept) {
            emit_without_output(&oldest, &state.calls, &oldest_id, out)?;
            out.attribute_to(end.location, RecordHeader { t: end.t.as_deref(), id: None, replay: end.replay });
        }
        if !has_room {
            emit_text(&end, id, out)?;
            emit_further_text(&end, id, out)?;
            emit_plain_text(&end, "", id, out)?;
        }
        return Ok(!has_room);
    }
    match progress {
        Some(Progress::Ended) => {
            let Some(text) = text_of(&end) else { return Ok(false) };
            if state.calls.is_output(&key, unquote(text)) {
                return emit_further_text(&end, id, out);
            }
            emit_text(&end, id, out)?;
            emit_further_text(&end, id, out)?;
            emit_plain_text(&end, "", id, out)?;
            Ok(true)
        }
        Some(Progress::Called | Progress::Running) | None => {
            state.calls.end_without_output(&key);
            out.emit(result_of(&end, state.calls.tool(&key), id), Pointer::At(end.at))?;
            emit_plain_text(&end, "", id, out)?;
            Ok(true)
        }
    }
}
