//! How calls end for the screen: items (0.150 and later) and events (before) that state the end of a command, a patch or an MCP call.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Meta, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::value::{Field, Value, integer, raw_str, text};

use super::convert::Converter;
use super::held::Held;
use super::history::{Call, said_key};
use super::outputs::{Ending, unquote};
use super::results::joined;
use super::rules;
use super::schema::{CallEnd, ClientCall, Duration, ImageView, Invocation, McpResult};
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
    /// A call of a tool that the client offers.
    Dynamic,
}

impl Form {
    /// The item that states such an end.
    fn item(self) -> &'static str {
        match self {
            Form::Command => "event_msg/item_completed/CommandExecution",
            Form::Patch => "event_msg/item_completed/FileChange",
            Form::Mcp | Form::Dynamic => "event_msg/item_completed/McpToolCall",
        }
    }

    /// The event that states such an end.
    fn event(self) -> &'static str {
        match self {
            Form::Command => "event_msg/exec_command_end",
            Form::Patch => "event_msg/patch_apply_end",
            Form::Mcp => "event_msg/mcp_tool_call_end",
            Form::Dynamic => "event_msg/dynamic_tool_call_response",
        }
    }
}

/// The end of a call as an item (0.150 and later) or an event (before) states it.
pub(super) struct Done<'a> {
    form: Form,
    record: &'static str,
    rule: &'static str,
    /// Where its fields lie.
    at: &'static str,
    id: Field<'a>,
    stated: CallEnd<'a>,
    asked: Invocation<'a>,
}

impl<'a> Done<'a> {
    /// The end of a call as an item of `item_completed` states it.
    pub fn of_item(item: Value<'a>, form: Form) -> Result<Self, Fault> {
        let (record, at) = (form.item(), "/payload/item");
        let stated = CallEnd::strict(item, at)?;
        let asked = Invocation::lenient(item);
        Ok(Done { form, record, rule: rules::ITEM_OUTPUT_TWIN, at, id: stated.id(), stated, asked })
    }

    /// The end of a call as an event of its own states it.
    pub fn of_event(event: Value<'a>, form: Form) -> Result<Self, Fault> {
        let (record, at) = (form.event(), "/payload");
        let stated = CallEnd::strict(event, at)?;
        let asked = Invocation::lenient_opt(stated.invocation());
        let rule = if form == Form::Dynamic { rules::CLIENT_OUTPUT_TWIN } else { rules::EVENT_OUTPUT_TWIN };
        Ok(Done { form, record, rule, at, id: stated.call_id(), stated, asked })
    }

    /// Exit code of a command.
    fn exit(&self) -> Option<i64> {
        integer(self.stated.exit_code())
    }

    /// Output and error output. A command's aggregated output holds both.
    fn streams(&self) -> (Field<'a>, Field<'a>) {
        let stated = &self.stated;
        match stated.aggregated_output() {
            Some(aggregated) if self.form == Form::Command && aggregated.raw().len() > 2 => (Some(aggregated), None),
            aggregated => (stated.stdout().or(aggregated), stated.stderr()),
        }
    }

    /// How it ended.
    fn ending(&self) -> Option<Status> {
        let by_success = |success: bool| if success { Status::Ok } else { Status::Error };
        match (raw_str(self.stated.status()), self.exit()) {
            ("declined", _) => Some(Status::Denied),
            (_, Some(exit)) => Some(by_success(exit == 0)),
            ("completed", _) => Some(Status::Ok),
            ("failed", _) => Some(Status::Error),
            _ => self.stated.success().map(|success| by_success(success.is_true())),
        }
    }

    /// True when the changes that it lists were made.
    fn is_applied(&self) -> bool {
        self.form == Form::Patch && self.ending() == Some(Status::Ok)
    }
}

impl Converter {
    /// Converts the end of a call that an item or event states. One call has one result: the output for the model nearly
    /// always follows, and what is stated here waits for it.
    pub(super) fn ended(&mut self, done: &Done<'_>, t: Option<&str>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if raw_str(done.stated.source()) == "user_shell" {
            let said = text(done.streams().0);
            out.emit(Meta::System { name: Text::Plain("user_shell"), text: said }, Pointer::At(done.at))?;
            return Ok(Outcome::Mapped);
        }
        let Some(id) = text(done.id) else {
            return Err(Fault::malformed(done.at, "the id of a call", "nothing"));
        };
        let is_nested = out.seq_of_call(id).is_none();
        if is_nested {
            self.nested_call(done, id, out)?;
        }
        let mut mapped = is_nested;
        if let Some(changes) = done.stated.changes().filter(|_| done.is_applied()) {
            mapped |= self.applied(changes, id, done.at, out)?;
        }
        self.history.has_ends = true;
        let held = self.hold(done, mapped, t, out)?;
        mapped |= self.settle_end(done, held, id, is_nested, out)?;
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(done.record, done.rule) })
    }

    /// What an item or event states, as it can wait.
    fn hold(&self, done: &Done<'_>, mapped: bool, t: Option<&str>, out: &Emitter) -> Result<Held, Fault> {
        let owned = |said: Field<'_>| said.map(|said| said.raw().to_owned());
        let (mut stdout, mut stderr) = (owned(done.streams().0), owned(done.streams().1));
        let mut status = done.ending();
        let mut words = None;
        if let Some(answer) = done.stated.result().filter(|_| done.form == Form::Mcp) {
            let answer = McpResult::strict(answer, done.at)?;
            (stdout, stderr) = (answer.texts(), owned(answer.err()));
            if let Some(structured) = answer.structured_text() {
                words = stdout.replace(structured).filter(|words| Some(words) != stdout.as_ref());
            }
            status = answer.status().or(status);
        }
        if done.form == Form::Dynamic {
            (stdout, stderr) =
                (joined(done.stated.content_items(), "\\n"), owned(done.stated.error().filter(|error| error.text().is_some())));
        }
        let duration_ms = done.stated.duration().and_then(|duration| Duration::lenient(duration).millis());
        Ok(Held {
            record: done.record,
            rule: done.rule,
            at: done.at,
            mapped,
            location: out.location(),
            t: t.map(str::to_owned),
            replay: self.history.replay,
            status,
            exit: done.exit(),
            duration_ms,
            stdout,
            stderr,
            words,
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
            let repeats = self
                .history
                .calls
                .get(&key)
                .is_some_and(|call| call.said.is_some() && call.said == held.said().map(|said| said_key(unquote(said))));
            if repeats || held.said().is_none() {
                return Ok(false);
            }
            held.notice(id, out)?;
            held.say_words("", id, out)?;
            return Ok(true);
        }
        let tool = self.history.calls.get_mut(&key).map(|call| {
            call.ending = Some(Ending { exit: held.exit, status: held.status, ..Ending::default() });
            call.tool.as_ref()
        });
        out.emit(held.result(tool, id), Pointer::At(done.at))?;
        held.say_words("", id, out)?;
        Ok(true)
    }

    /// The result of a call whose output never came.
    pub(super) fn result_without_output(&self, call_id: &str, held: &Held, out: &mut Emitter) -> Result<(), Fault> {
        held.emit(self.history.calls.get(call_id).map(|call| call.tool.as_ref()), call_id, out)
    }

    /// A call inside a script of code mode (0.169): only its item says that it was made.
    fn nested_call(&mut self, done: &Done<'_>, id: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let (tool, args) = match done.form {
            Form::Command => (Cow::Borrowed("exec_command"), done.stated.command()),
            Form::Patch => (Cow::Borrowed("apply_patch"), done.stated.changes()),
            Form::Dynamic => (Cow::Borrowed(raw_str(done.stated.tool())), done.stated.arguments()),
            Form::Mcp => {
                let name = |field: Field<'_>| text(field).map(|text| text.decode_lossy().into_owned()).unwrap_or_default();
                (Cow::Owned(format!("mcp__{}__{}", name(done.asked.server()), name(done.asked.tool()))), done.asked.arguments())
            }
        };
        self.nested(&tool, id, args, done.at, out)
    }

    /// A call of a tool that the client offers, which a response item nearly always makes.
    pub(super) fn client_call(&mut self, asked: &ClientCall<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(id) = text(asked.call_id()) else {
            return Err(Fault::malformed("/payload/callId", "the id of a call", "nothing"));
        };
        if out.seq_of_call(id).is_some() {
            return Ok(rules::duplicate("event_msg/dynamic_tool_call_request", rules::CLIENT_CALL));
        }
        self.nested(raw_str(asked.tool()), id, asked.arguments(), "/payload", out)?;
        Ok(Outcome::Mapped)
    }

    fn nested(&mut self, tool: &str, id: Text<'_>, args: Field<'_>, at: &str, out: &mut Emitter) -> Result<(), Fault> {
        // With several scripts at once nothing says which of them made the call.
        let parent = if let [script] = self.history.scripts.as_slice() { out.seq_of_call(Text::Plain(script)) } else { None };
        out.parent_of_next(parent);
        let call = ToolCall { tool: Text::Plain(tool), kind: tools::kind(tool, ""), call_id: Some(id), args: args.map(Value::raw) };
        out.emit(call, Pointer::At(at))?;
        self.history.calls.open(id.decode_lossy(), Call { tool: tools::name(tool), ..Call::default() });
        Ok(())
    }

    /// A look at an image, at `at`: the `view_image` call says it already, unless a script made it.
    pub(super) fn image_view(&mut self, view: &ImageView<'_>, at: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(id) = text(view.call_id().or(view.id())) else {
            return Err(Fault::malformed(at.to_owned(), "the id of a call", "nothing"));
        };
        if out.seq_of_call(id).is_some() {
            return Ok(if view.call_id().is_some() {
                rules::duplicate("event_msg/view_image_tool_call", rules::IMAGE_VIEW_EVENT)
            } else {
                rules::duplicate("event_msg/item_completed/ImageView", rules::IMAGE_VIEW)
            });
        }
        self.nested("view_image", id, view.path(), at, out)?;
        let result =
            ToolResult { tool: Some(Text::Plain("view_image")), call_id: Some(id), status: Some(Status::Ok), ..ToolResult::default() };
        out.emit(result, Pointer::At(at))?;
        Ok(Outcome::Mapped)
    }
}

impl<'a> McpResult<'a> {
    /// The answer proper, which an event wraps.
    fn answer(&self) -> McpResult<'a> {
        self.ok().map_or(*self, McpResult::lenient)
    }

    /// The texts of the answer as one JSON token.
    fn texts(&self) -> Option<String> {
        joined(self.answer().content(), "\\n")
    }

    /// A structured answer as the text that the model gets in place of the others, a JSON token.
    fn structured_text(&self) -> Option<String> {
        let structured = self.answer().structured().filter(|structured| structured.raw() != "null")?;
        serde_json::to_string(structured.raw()).ok()
    }

    fn status(&self) -> Option<Status> {
        let is_error = self.answer().is_error().map(Value::is_true).or(self.err().map(|_| true))?;
        Some(if is_error { Status::Error } else { Status::Ok })
    }
}
