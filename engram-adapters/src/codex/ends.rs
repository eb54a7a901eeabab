//! How calls end for the screen: items (0.150 and later) and events (before) that state the end of a command, a patch or an MCP call.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Meta, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde_json::value::RawValue;

use crate::kit::json::{self, Raw, boolean, integer, text};

use super::convert::Converter;
use super::held::Held;
use super::history::{Call, said_key};
use super::outputs::Ending;
use super::results::joined;
use super::rules;
use super::schema::{Item, McpResult, Part, Payload};
use super::tools;

/// What kind of call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A command.
    Command,
    /// A patch.
    Patch,
    /// A call of an MCP server's tool.
    Mcp,
}

/// The end of a call as an item (0.150 and later) or an event (before) states it.
pub(super) struct Done<'a> {
    form: Form,
    record: &'static str,
    rule: &'static str,
    /// Where its fields lie.
    at: &'static str,
    id: Raw<'a>,
    status: Option<Text<'a>>,
    success: Option<bool>,
    exit: Option<i64>,
    duration_ms: Option<u64>,
    stdout: Raw<'a>,
    stderr: Raw<'a>,
    is_user_shell: bool,
    command: Raw<'a>,
    changes: Raw<'a>,
    server: Raw<'a>,
    tool: Raw<'a>,
    arguments: Raw<'a>,
    result: Raw<'a>,
}

impl<'a> Done<'a> {
    /// The end of a call as an item of `item_completed` states it.
    pub fn of_item(item: &Item<'a>, form: Form) -> Self {
        let record = match form {
            Form::Command => "event_msg/item_completed/CommandExecution",
            Form::Patch => "event_msg/item_completed/FileChange",
            Form::Mcp => "event_msg/item_completed/McpToolCall",
        };
        let (stdout, stderr) = streams(form, item.aggregated_output, item.stdout, item.stderr);
        Done {
            form,
            record,
            rule: rules::ITEM_OUTPUT_TWIN,
            at: "/payload/item",
            id: item.id,
            status: text(item.status),
            success: None,
            exit: integer(item.exit_code),
            duration_ms: item.duration.map(|duration| duration.millis()),
            stdout,
            stderr,
            is_user_shell: text(item.source).is_some_and(|source| source.is("user_shell")),
            command: item.command,
            changes: item.changes,
            server: item.server,
            tool: item.tool,
            arguments: item.arguments,
            result: item.result,
        }
    }

    /// The end of a call as an event of its own states it.
    pub fn of_event(event: &Payload<'a>, form: Form) -> Self {
        let record = match form {
            Form::Command => "event_msg/exec_command_end",
            Form::Patch => "event_msg/patch_apply_end",
            Form::Mcp => "event_msg/mcp_tool_call_end",
        };
        let (stdout, stderr) = streams(form, event.aggregated_output, event.stdout, event.stderr);
        let invocation = event.invocation.as_ref();
        Done {
            form,
            record,
            rule: rules::EVENT_OUTPUT_TWIN,
            at: "/payload",
            id: event.call_id,
            status: text(event.status),
            success: boolean(event.success),
            exit: integer(event.exit_code),
            duration_ms: event.duration.map(|duration| duration.millis()),
            stdout,
            stderr,
            is_user_shell: text(event.source).is_some_and(|source| source.is("user_shell")),
            command: event.command,
            changes: event.changes,
            server: invocation.and_then(|asked| asked.server),
            tool: invocation.and_then(|asked| asked.tool),
            arguments: invocation.and_then(|asked| asked.arguments),
            result: event.result,
        }
    }

    /// How it ended.
    fn ending(&self) -> Option<Status> {
        match self.status {
            Some(status) if status.is("declined") => Some(Status::Denied),
            _ if self.exit.is_some() => Some(if self.exit == Some(0) { Status::Ok } else { Status::Error }),
            Some(status) if status.is("completed") => Some(Status::Ok),
            Some(status) if status.is("failed") => Some(Status::Error),
            _ => self.success.map(|success| if success { Status::Ok } else { Status::Error }),
        }
    }

    /// True when the changes that it lists were made.
    fn is_applied(&self) -> bool {
        self.form == Form::Patch && self.ending() == Some(Status::Ok)
    }
}

/// Output and error output. A command's aggregated output holds both.
fn streams<'a>(form: Form, aggregated: Raw<'a>, stdout: Raw<'a>, stderr: Raw<'a>) -> (Raw<'a>, Raw<'a>) {
    match aggregated {
        Some(aggregated) if form == Form::Command && aggregated.get() != "\"\"" => (Some(aggregated), None),
        _ => (stdout.or(aggregated), stderr),
    }
}

impl Converter {
    /// Converts the end of a call that an item or event states. One call has one result: the output for the model nearly
    /// always follows, and what is stated here waits for it.
    pub(super) fn ended(&mut self, done: &Done<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if done.is_user_shell {
            let said = done.stdout.and_then(Text::of);
            out.emit(Meta::System { name: Text::Plain("user_shell"), text: said }, Pointer::At(done.at))?;
            return Ok(Outcome::Mapped);
        }
        let Some(id) = done.id.and_then(Text::of) else {
            return Err(Fault::malformed(done.at, "the id of a call", done.id.map_or("", RawValue::get)));
        };
        let is_nested = out.call(id).is_none();
        if is_nested {
            self.nested_call(done, id, out)?;
        }
        let mut mapped = is_nested;
        if let Some(changes) = done.changes.filter(|_| done.is_applied()) {
            mapped |= self.applied(changes, id, done.at, out)?;
        }
        self.history.has_ends = true;
        let held = self.hold(done, mapped, out)?;
        mapped |= self.settle_end(done, held, id, is_nested, out)?;
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(done.record, done.rule) })
    }

    /// What an item or event states, as it can wait.
    fn hold(&self, done: &Done<'_>, mapped: bool, out: &Emitter) -> Result<Held, Fault> {
        let owned = |raw: Raw<'_>| text(raw).and(raw).map(|raw| raw.get().to_owned());
        let answer: Option<McpResult<'_>> = match done.result.filter(|_| done.form == Form::Mcp) {
            Some(answer) => Some(json::read(answer, done.at, "the answer of an MCP server")?),
            None => None,
        };
        let answered = answer.as_ref().map(|answer| (answer.texts(), answer.status(), owned(answer.err)));
        let (stdout, status, stderr) = answered.unwrap_or_else(|| (owned(done.stdout), None, owned(done.stderr)));
        Ok(Held {
            record: done.record,
            rule: done.rule,
            at: done.at,
            mapped,
            line: out.line(),
            t: self.history.t.clone(),
            replay: self.history.replay,
            status: status.or(done.ending()),
            exit: done.exit,
            duration_ms: done.duration_ms,
            stdout,
            stderr,
        })
    }

    /// Gives a result at once, lets it wait for the output, or adds to what the output has said. True when it gave an event.
    fn settle_end(&mut self, done: &Done<'_>, held: Held, id: Text<'_>, is_nested: bool, out: &mut Emitter) -> Result<bool, Fault> {
        let key = id.decode_lossy();
        let call = self.history.calls.get_mut(&key);
        let ending = call.as_ref().and_then(|call| call.ending);
        if let Some(call) = call {
            call.changes_listed |= done.form == Form::Patch;
            if ending.is_none() && !is_nested {
                if let Some((key, late)) = self.history.waiting.push(&key, held) {
                    self.result_without_output(&key, &late, out)?;
                }
                return Ok(false);
            }
        }
        if ending.is_some_and(|ending| !ending.running) {
            let repeats = self.history.calls.get(&key).is_some_and(|call| call.said.is_some() && call.said == held.said().map(said_key));
            if repeats || held.said().is_none() {
                return Ok(false);
            }
            held.notice(id, out)?;
            return Ok(true);
        }
        let tool = self.history.calls.get_mut(&key).map(|call| {
            call.ending = Some(Ending { exit: held.exit, status: held.status, ..Ending::default() });
            call.tool.as_str()
        });
        out.emit(held.result(tool, id), Pointer::At(done.at))?;
        Ok(true)
    }

    /// The result of a call whose output never came.
    pub(super) fn result_without_output(&self, call_id: &str, held: &Held, out: &mut Emitter) -> Result<(), Fault> {
        held.emit(self.history.calls.get(call_id).map(|call| call.tool.as_str()), call_id, out)
    }

    /// A call inside a script of code mode (0.169): only its item says that it was made.
    fn nested_call(&mut self, done: &Done<'_>, id: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let (tool, args): (Cow<'_, str>, Raw<'_>) = match done.form {
            Form::Command => (Cow::Borrowed("exec_command"), done.command),
            Form::Patch => (Cow::Borrowed("apply_patch"), done.changes),
            Form::Mcp => {
                let word = |raw: Raw<'_>| text(raw).map(|text| text.decode_lossy().into_owned()).unwrap_or_default();
                (Cow::Owned(format!("mcp__{}__{}", word(done.server), word(done.tool))), done.arguments)
            }
        };
        self.nested(&tool, id, args, done.at, out)
    }

    fn nested(&mut self, tool: &str, id: Text<'_>, args: Raw<'_>, at: &str, out: &mut Emitter) -> Result<(), Fault> {
        // With several scripts at once nothing says which of them made the call.
        let parent = if let [script] = self.history.scripts.as_slice() { out.call(Text::Plain(script)) } else { None };
        out.parent_of_next(parent);
        let call = ToolCall { tool: Text::Plain(tool), kind: tools::kind(tool, ""), call_id: Some(id), args: args.map(RawValue::get) };
        out.emit(call, Pointer::At(at))?;
        self.history.calls.open(&id.decode_lossy(), Call { tool: tool.to_owned(), ..Call::default() });
        Ok(())
    }

    /// A look at an image: the `view_image` call says it already, unless a script made it.
    pub(super) fn image_view(&mut self, item: &Item<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(id) = text(item.id) else {
            return Err(Fault::malformed("/payload/item/id", "the id of a call", ""));
        };
        if out.call(id).is_some() {
            return Ok(rules::duplicate("event_msg/item_completed/ImageView", rules::IMAGE_VIEW));
        }
        self.nested("view_image", id, item.path, "/payload/item", out)?;
        let result =
            ToolResult { tool: Some(Text::Plain("view_image")), call_id: Some(id), status: Some(Status::Ok), ..ToolResult::default() };
        out.emit(result, Pointer::At("/payload/item"))?;
        Ok(Outcome::Mapped)
    }
}

impl McpResult<'_> {
    fn parts(&self) -> &[Part<'_>] {
        self.ok.as_ref().map_or(&self.content, |ok| &ok.content).as_deref().unwrap_or_default()
    }

    /// The texts of the answer as one JSON token.
    fn texts(&self) -> Option<String> {
        joined(self.parts(), "\\n")
    }

    fn status(&self) -> Option<Status> {
        let is_error = self.ok.as_ref().map_or(self.is_error, |ok| ok.is_error);
        let is_error = is_error.or(self.err.map(|_| true))?;
        Some(if is_error { Status::Error } else { Status::Ok })
    }
}
