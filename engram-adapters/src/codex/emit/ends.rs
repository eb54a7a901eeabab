//! Ends of calls for the screen: items (0.150 and later) and events (older) that end a command, a patch, or a call of a server or client.
//!
//! The output for the model nearly always follows, and both become one result there. An end without an output gives the result itself.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{Meta, Status, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::{Text, canonical_json};
use memchr::memmem;

use crate::shared::search::contains;
use crate::shared::value::{Field, Value, integer, raw_str, text};

use super::State;
use super::edits::{Applied, emit_listed_changes};
use super::nested_calls::{NestedTool, emit_nested_call};
use super::output_text::{
    ExitFacts, is_of_harness, is_truncated_copy, printed_by, status_of_mcp_error, strip_framing,
    strip_line_count,
};
use crate::codex::blocks::{is_empty_token, joined_texts, unquote};
use crate::codex::format::rule;
use crate::codex::plan::calls::{CallFate, Is};
use crate::codex::readers::{CallEnd, Duration, Invocation, McpResult};
use crate::codex::record::Record;

/// The mark in the middle of an output of which the log has 65,536 characters, and fewer characters than such an output has (0.166.0).
const CUT_MARK: &str = "\\n... command output truncated for persistence ...\\n";
const MIN_CUT_BYTES: usize = 60_000;

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

/// The end of a call as an item or an event says it.
pub struct ScreenEnd<'r> {
    call_type: CallType,
    pub id: Field<'r>,
    fields: CallEnd<'r>,
    invocation: Invocation<'r>,
}

/// What an end says of the result of its call. Texts are JSON tokens.
#[derive(Debug, Default)]
pub struct EndFacts<'e> {
    status: Option<Status>,
    exit: Option<i64>,
    duration_ms: Option<u64>,
    stdout: Option<Cow<'e, str>>,
    stderr: Option<Cow<'e, str>>,
    /// The plain text of an MCP answer whose structured form is `stdout`.
    pub plain_text: Option<Cow<'e, str>>,
}

impl<'r> ScreenEnd<'r> {
    /// The end in a record.
    pub fn of(record: &Record<'r>) -> Self {
        ScreenEnd::in_value(record.short_name(), record.value)
    }

    /// The end in the payload or item of a record.
    pub fn in_value(name: &str, value: Value<'r>) -> Self {
        let fields = CallEnd::lenient(value);
        let (call_type, is_item) = match name {
            "CommandExecution" => (CallType::Command, true),
            "FileChange" => (CallType::Patch, true),
            "McpToolCall" => (CallType::Mcp, true),
            "DynamicToolCall" => (CallType::Client, true),
            "patch_apply_end" => (CallType::Patch, false),
            "mcp_tool_call_end" => (CallType::Mcp, false),
            "dynamic_tool_call_response" => (CallType::Client, false),
            _ => (CallType::Command, false),
        };
        let invocation = if is_item {
            Invocation::lenient(value)
        } else {
            Invocation::lenient_opt(fields.invocation())
        };
        ScreenEnd {
            call_type,
            id: if is_item {
                fields.id()
            } else {
                fields.call_id()
            },
            fields,
            invocation,
        }
    }

    /// True for a call of an MCP server's tool.
    pub fn is_mcp(&self) -> bool {
        self.call_type == CallType::Mcp
    }

    /// True for a patch.
    pub fn is_patch(&self) -> bool {
        self.call_type == CallType::Patch
    }

    fn exit(&self) -> Option<i64> {
        integer(self.fields.exit_code())
    }

    /// Output and error output. A command's aggregated output contains both.
    fn streams(&self) -> (Field<'r>, Field<'r>) {
        match self.fields.aggregated_output() {
            Some(aggregated)
                if self.call_type == CallType::Command && !is_empty_token(aggregated.raw()) =>
            {
                (Some(aggregated), None)
            }
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
            _ => self
                .fields
                .success()
                .map(|success| of_success(success.is_true())),
        }
    }

    /// True if the model (its output is a JSON token) got the words of a hook in the place of the output: the call ran before
    /// (`PostToolUse`, 0.171.0: recorded).
    pub fn is_replaced_by(&self, end: &EndFacts<'_>, output: &str) -> bool {
        let has_run = match self.call_type {
            CallType::Command => end.exit.is_some(),
            CallType::Patch => end.status == Some(Status::Ok),
            CallType::Mcp | CallType::Client => false,
        };
        let is_copy = || end.is_in_output(output) || end.is_cut_in_output(output);
        has_run && end.text().is_some() && !is_of_harness(output) && !is_copy()
    }

    /// The script that a shell ran: `["/bin/bash", "-lc", "ls"]`.
    pub fn script(&self) -> Option<Text<'r>> {
        let mut words = self.fields.command()?.elements();
        let (_, option, script, None) = (words.next()?, words.next()?, words.next()?, words.next())
        else {
            return None;
        };
        if matches!(option.raw_str(), "-lc" | "-c") && self.call_type == CallType::Command {
            script.text()
        } else {
            None
        }
    }

    /// The changes that it lists, if they were made.
    pub fn applied_changes(&self) -> Option<Value<'r>> {
        self.fields
            .changes()
            .filter(|_| self.is_patch() && self.status() == Some(Status::Ok))
    }

    /// The tool and the arguments of the call.
    pub fn call(&self) -> (NestedTool<'r>, Field<'r>) {
        match self.call_type {
            CallType::Command => (NestedTool::plain("exec_command"), self.fields.command()),
            CallType::Patch => (NestedTool::plain("apply_patch"), self.fields.changes()),
            CallType::Client => (
                NestedTool::plain(raw_str(self.fields.tool())),
                self.fields.arguments(),
            ),
            CallType::Mcp => {
                let tool = text(self.invocation.tool())
                    .map(|tool| tool.decode_lossy())
                    .unwrap_or_default();
                (
                    NestedTool {
                        tool,
                        server: text(self.invocation.server()),
                    },
                    self.invocation.arguments(),
                )
            }
        }
    }

    /// What it says of the result.
    pub fn facts(&self) -> EndFacts<'r> {
        let token = |field: Field<'r>| field.map(|token| Cow::Borrowed(token.raw()));
        let duration_ms = self
            .fields
            .duration()
            .and_then(|duration| Duration::lenient(duration).millis());
        let mut facts = EndFacts {
            status: self.status(),
            exit: self.exit(),
            duration_ms,
            ..EndFacts::default()
        };
        match (self.call_type, self.fields.result()) {
            (CallType::Client, _) => {
                facts.stdout = joined_texts(self.fields.content_items(), "\\n");
                facts.stderr = token(self.fields.error().filter(|error| error.text().is_some()));
            }
            (CallType::Mcp, Some(answer)) => facts.add_mcp_answer(&McpResult::lenient(answer)),
            (CallType::Mcp, None) => {
                facts.add_mcp_error(
                    self.fields
                        .error()
                        .and_then(|error| error.member("message")),
                );
            }
            _ => (facts.stdout, facts.stderr) = (token(self.streams().0), token(self.streams().1)),
        }
        facts
    }
}

impl<'e> EndFacts<'e> {
    /// Adds the answer of an MCP server. The model gets the structured form, if there is one, in place of the texts.
    fn add_mcp_answer(&mut self, wrapped: &McpResult<'e>) {
        let answer = wrapped.ok().map_or(*wrapped, McpResult::lenient);
        self.stdout = joined_texts(answer.content(), "\\n");
        let structured = answer
            .structured()
            .filter(|structured| structured.raw() != "null");
        if let Some(structured) = structured
            .and_then(|structured| serde_json::to_string(&*canonical_json(structured.raw())).ok())
        {
            self.plain_text = self
                .stdout
                .replace(Cow::Owned(structured))
                .filter(|text| Some(text) != self.stdout.as_ref());
        }
        let of_error = |is_error: bool| if is_error { Status::Error } else { Status::Ok };
        let is_error = answer.is_error().map(Value::is_true);
        self.status = is_error.map(of_error).or(self.status);
        self.add_mcp_error(wrapped.err());
    }

    /// Adds the error that a call has in the place of an answer.
    fn add_mcp_error(&mut self, error: Field<'e>) {
        let Some(error) = error.filter(|error| error.text().is_some()) else {
            return;
        };
        self.status = Some(status_of_mcp_error(error.raw_str()));
        self.stderr = Some(Cow::Borrowed(error.raw()));
    }

    /// The text that it has: what the command printed, or why it did not run.
    pub fn text(&self) -> Option<&str> {
        let is_filled = |token: &&str| !is_empty_token(token);
        self.stdout
            .as_deref()
            .filter(is_filled)
            .or(self.stderr.as_deref())
            .filter(is_filled)
    }

    /// The error text beside an output.
    pub fn further_text(&self) -> Option<&str> {
        let is_filled = |token: &&str| !is_empty_token(token);
        self.stdout
            .as_deref()
            .filter(is_filled)
            .and(self.stderr.as_deref())
            .filter(is_filled)
    }

    /// The result of a call that has no output for the model.
    fn result<'h>(&'h self, tool: Option<&'h str>, call_id: Text<'h>) -> ToolResult<'h> {
        self.with_streams(ToolResult {
            tool: tool.map(Text::Plain),
            call_id: Some(call_id),
            status: self.status,
            exit: self.exit,
            duration_ms: self.duration_ms,
            ..ToolResult::default()
        })
    }

    /// A result with its output and error output.
    pub fn with_streams<'h>(&'h self, result: ToolResult<'h>) -> ToolResult<'h> {
        let stderr = self
            .stderr
            .as_deref()
            .filter(|token| !is_empty_token(token));
        let is_cut = |token: &str| {
            token.len() >= MIN_CUT_BYTES
                && memmem::find(token.as_bytes(), CUT_MARK.as_bytes()).is_some()
        };
        ToolResult {
            stdout: self
                .stdout
                .as_deref()
                .filter(|token| stderr.is_none() || !is_empty_token(token))
                .map(Text::Token),
            stderr: stderr.map(Text::Token),
            truncated: self.stdout.as_deref().is_some_and(is_cut),
            ..result
        }
    }

    /// Its numbers.
    pub fn numbers(&self) -> ExitFacts {
        ExitFacts {
            status: self.status,
            exit: self.exit,
            duration_ms: self.duration_ms,
            ..ExitFacts::default()
        }
    }

    /// Adds to the result of an output the error text that only the end says.
    pub fn complete<'h>(&'h self, result: &mut ToolResult<'h>) {
        let output = result.stdout.map(|output| output.raw()).unwrap_or_default();
        let further = self
            .further_text()
            .filter(|text| !contains(unquote(output), unquote(text)));
        result.stderr = result.stderr.or(further.map(Text::Token));
    }

    /// True when the output (a token) has the text of the end. Either may be truncated, and an event is truncated at fewer characters.
    pub fn is_in_output(&self, output: &str) -> bool {
        let output = unquote(output);
        self.text().map(unquote).is_none_or(|text| {
            contains(output, text)
                || is_truncated_copy(text, strip_line_count(strip_framing(output)))
        })
    }

    /// True when the output (a token) is a truncated copy of the text of the end.
    fn is_cut_in_output(&self, output: &str) -> bool {
        self.text()
            .is_some_and(|text| is_truncated_copy(strip_framing(unquote(output)), unquote(text)))
    }

    /// Emits the text of the end, which the result of its call lacks.
    pub fn emit_text(&self, place: &Place<'_>, out: &mut Emitter<'_>) {
        emit_beside(place, self.text(), out);
    }

    fn emit_further_text(&self, place: &Place<'_>, out: &mut Emitter<'_>) {
        if let Some(text) = self.further_text() {
            emit_beside(place, Some(text), out);
        }
    }

    /// Emits the plain text of a structured answer, unless the output (a token) has it.
    pub fn emit_plain_text(&self, output: &str, place: &Place<'_>, out: &mut Emitter<'_>) {
        if let Some(text) = self
            .plain_text
            .as_deref()
            .filter(|text| !contains(unquote(output), unquote(text)))
        {
            emit_beside(place, Some(text), out);
        }
    }
}

/// Where the end of a call is.
pub struct Place<'p> {
    /// The last part of the record's type.
    pub name: &'p str,
    pub at: &'static str,
    pub call_id: Text<'p>,
}

/// Emits a text beside the result of a call.
fn emit_beside(place: &Place<'_>, text: Option<&str>, out: &mut Emitter<'_>) {
    let event = Meta::system(place.name, text.map(Text::Token));
    out.emit_child(out.seq_of_call(place.call_id), event, place.at);
}

/// The end of a call.
pub fn end(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let end = ScreenEnd::of(record);
    if raw_str(end.fields.source()) == "user_shell" {
        let printed = text(end.streams().0);
        out.emit(Meta::system("user_shell", printed), record.at);
        return Outcome::Mapped;
    }
    let (id, fate) = (text(end.id).unwrap_or_default(), state.call().1);
    if fate.is == Is::New {
        let (tool, args) = end.call();
        emit_nested_call(state, &tool, id, args, record, out);
    }
    if state.is_rewritten(fate) {
        // A hook has rewritten the command.
        let parent = out.seq_of_call(id);
        let at = if record.at == "/payload/item" {
            "/payload/item/command"
        } else {
            "/payload/command"
        };
        out.emit_child(
            parent,
            Meta::system("command", end.script()),
            Pointer::Item(at, 2),
        );
    }
    if let Some(changes) = end.applied_changes() {
        emit_changes(state, &end, changes, (fate, record), out);
    }
    emit_end(state, &end.facts(), fate, record, id, out);
    let rule = match (record.at, end.call_type) {
        ("/payload/item", _) => rule::OUTPUT_ITEM,
        (_, CallType::Client) => rule::CLIENT_OUTPUT,
        _ => rule::OUTPUT_EVENT,
    };
    record.mapped_or(out.has_events(), rule)
}

impl State {
    /// True if the command that ended is not the one that the model wrote.
    fn is_rewritten(&self, fate: CallFate) -> bool {
        let commands = fate
            .call
            .and_then(|call| self.notes.calls.get(call as usize))
            .zip(self.call().0);
        fate.is != Is::New
            && commands.is_some_and(|(call, end)| {
                call.command != 0 && end.command != 0 && call.command != end.command
            })
    }
}

fn emit_changes(
    state: &mut State,
    end: &ScreenEnd<'_>,
    changes: Value<'_>,
    (fate, record): (CallFate, &Record<'_>),
    out: &mut Emitter<'_>,
) {
    let printed = text(end.streams().0)
        .map(|printed| printed.comparable())
        .unwrap_or_default();
    let is_behind_output = matches!(fate.is, Is::Told | Is::Further);
    let patch = if is_behind_output || fate.is == Is::New {
        None
    } else {
        state.patch_of(fate, record.others)
    };
    let at = if record.at == "/payload/item" {
        "/payload/item/changes"
    } else {
        "/payload/changes"
    };
    let call_id = text(end.id).unwrap_or_default();
    let applied = Applied {
        directory: state.last.cwd(),
        changes,
        printed: &printed,
        text: patch.as_ref(),
        call_id,
    };
    emit_listed_changes(&mut state.files, &applied, at, out);
}

/// Emits what an end says that its output does not: all of the result if there is no output, or if that is a cut copy.
fn emit_end(
    state: &mut State,
    facts: &EndFacts<'_>,
    fate: CallFate,
    record: &Record<'_>,
    id: Text<'_>,
    out: &mut Emitter<'_>,
) {
    let place = Place {
        name: record.short_name(),
        at: record.at,
        call_id: id,
    };
    match fate.is {
        Is::Before => {
            let Some(output) = fate
                .other
                .filter(|output| is_cut_in(state, facts, *output, record))
            else {
                return;
            };
            state.cut_outputs.insert(output);
            emit_result(state, facts, fate, &place, out);
        }
        Is::New | Is::Result | Is::Plain => emit_result(state, facts, fate, &place, out),
        Is::Told => facts.emit_further_text(&place, out),
        Is::Further => {
            facts.emit_text(&place, out);
            facts.emit_further_text(&place, out);
            facts.emit_plain_text("", &place, out);
        }
    }
}

fn emit_result(
    state: &State,
    facts: &EndFacts<'_>,
    fate: CallFate,
    place: &Place<'_>,
    out: &mut Emitter<'_>,
) {
    out.emit(facts.result(state.tool_of(fate), place.call_id), place.at);
    facts.emit_plain_text("", place, out);
}

/// True if an output behind an end is a truncated copy of its text.
fn is_cut_in(state: &State, facts: &EndFacts<'_>, output: u32, record: &Record<'_>) -> bool {
    let text_of = |note: u32| {
        Some(
            state
                .notes
                .call_of(state.notes.notes.get(note as usize)?)?
                .text,
        )
    };
    if text_of(output) == state.call().0.map(|end| end.text) || facts.text().is_none() {
        return false;
    }
    let mut again = record.others.get(state.number_of(output));
    let output = again
        .as_mut()
        .and_then(|again| again.value())
        .and_then(|line| line.first_member("payload"));
    let Some(printed) = output.and_then(printed_by) else {
        return false;
    };
    !facts.is_in_output(&printed) && facts.is_cut_in_output(&printed)
}
