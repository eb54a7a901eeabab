//! How calls end: the output for the model, and the item or event that says the same for the screen, whichever comes first.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Meta, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde_json::value::RawValue;

use crate::kit::json::{self, Raw, boolean, filled_text, integer, is_array, text};
use crate::kit::media;

use super::convert::Converter;
use super::history::Call;
use super::outputs::{Ending, Wrapped, decode, may_be_wrapped, repeats, unquote};
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
    /// Converts the end of a call that an item or event states.
    pub(super) fn ended(&mut self, done: &Done<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if done.is_user_shell {
            let said = done.stdout.and_then(Text::of);
            out.emit(Meta::System { name: Text::Plain("user_shell"), text: said }, Pointer::At(done.at))?;
            return Ok(Outcome::Mapped);
        }
        let Some(id) = done.id.and_then(Text::of) else {
            return Err(Fault::malformed(done.at, "the id of a call", done.id.map_or("", RawValue::get)));
        };
        let key = id.decode_lossy();
        if out.call(id).is_none() {
            self.nested_call(done, id, out)?;
        }
        let mut mapped = false;
        if self.says_something_new(done, &key) {
            self.result_of(done, id, &key, out)?;
            mapped = true;
        }
        if let Some(call) = self.history.calls.get_mut(&key) {
            call.changes_listed |= done.form == Form::Patch;
            let filled = |raw: Raw<'_>| filled_text(raw).is_some();
            let told = if filled(done.stderr) && !filled(done.stdout) { done.stderr } else { done.stdout };
            call.told = told.filter(|_| call.ending.is_none()).map(|said| said.get().to_owned());
        }
        if done.is_applied()
            && let Some(changes) = done.changes
        {
            mapped |= self.applied(changes, id, done.at, out)?;
        }
        Ok(if mapped { Outcome::Mapped } else { rules::duplicate(done.record, done.rule) })
    }

    /// False when the call's output has said how it ended.
    fn says_something_new(&self, done: &Done<'_>, key: &str) -> bool {
        match self.history.calls.get(key).and_then(|call| call.ending) {
            None => true,
            Some(ending) => ending.running || (done.exit.is_some() && done.exit != ending.exit),
        }
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

    /// The result that an item or event states. An MCP server answers in parts: each text is a result of its own.
    fn result_of(&mut self, done: &Done<'_>, id: Text<'_>, key: &str, out: &mut Emitter) -> Result<(), Fault> {
        let tool = self.history.calls.get(key).map(|call| call.tool.clone());
        let mut result = ToolResult {
            tool: tool.as_deref().map(Text::Plain),
            call_id: Some(id),
            status: done.ending(),
            exit: done.exit,
            stdout: done.stdout.and_then(Text::of),
            stderr: filled_text(done.stderr),
            duration_ms: done.duration_ms,
            ..ToolResult::default()
        };
        if result.stderr.is_some() {
            result.stdout = result.stdout.filter(|stdout| !stdout.is_empty());
        }
        if let (Form::Mcp, Some(answer)) = (done.form, done.result) {
            return mcp_result(answer, result, done.at, out);
        }
        out.emit(result, Pointer::At(done.at))?;
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

    /// Converts the output of a call, as the model gets it.
    pub(super) fn output(&mut self, item: &Payload<'_>, record: &'static str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(output) = item.output else {
            return Err(Fault::malformed(self.at("/payload/output"), "an output", "nothing"));
        };
        let key = text(item.call_id).map(|id| id.decode_lossy()).unwrap_or_default();
        let told = self.history.calls.get_mut(&key).and_then(|call| call.told.take());
        if is_array(output) {
            return self.output_parts(item, output, &key, out);
        }
        let decoded = if may_be_wrapped(output.get()) { decode(output.get()) } else { Cow::Borrowed("") };
        let wrapped = Wrapped::of(&decoded);
        let said = wrapped.as_ref().map_or(output, |wrapped| wrapped.output);
        let ending = wrapped.as_ref().map_or_else(|| Ending::of_token(output.get()), Wrapped::ending);
        if told.is_some_and(|told| repeats(said.get(), &told)) {
            self.close(&key, ending, item, out)?;
            return Ok(rules::duplicate(record, rules::OUTPUT_TWIN));
        }
        self.emit_output(item, &key, ending, Text::of(said), Vec::new(), Pointer::At(&self.at("/payload/output")), out)?;
        self.close(&key, ending, item, out)?;
        Ok(Outcome::Mapped)
    }

    fn emit_output(
        &self,
        item: &Payload<'_>,
        key: &str,
        ending: Ending,
        stdout: Option<Text<'_>>,
        attachments: Vec<Attachment<'_>>,
        pointer: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let tool = self.history.calls.get(key).map(|call| Text::Plain(&call.tool));
        let result = ToolResult {
            tool,
            call_id: text(item.call_id),
            status: ending.status,
            exit: ending.exit,
            stdout,
            truncated: ending.truncated,
            attachments,
            duration_ms: ending.duration_ms,
            ..ToolResult::default()
        };
        out.emit(result, pointer)?;
        Ok(())
    }

    /// An output that is a list: what a script printed, or images. It begins with how the call ended.
    fn output_parts(&mut self, item: &Payload<'_>, output: &RawValue, key: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let path = self.at("/payload/output");
        let parts: Vec<Part<'_>> = json::read(output, &path, "parts of an output")?;
        let said = joined(&parts, "");
        let mut ending = said.as_deref().map(Ending::of_token).unwrap_or_default();
        ending.truncated |= parts.iter().filter_map(|part| part.text).any(|text| Ending::of_token(text.get()).truncated);
        let attachments = parts.iter().filter_map(|part| part.image_url).filter_map(media::data_url).collect();
        self.emit_output(item, key, ending, said.as_deref().map(Text::Token), attachments, Pointer::At(&path), out)?;
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.text.is_none() && part.image_url.is_none()) {
            let raw: Vec<&RawValue> = json::read(output, &path, "parts of an output")?;
            out.unrecognized_block(&part.kind, raw.get(index).map_or("null", |raw| raw.get()), Pointer::Item(&path, index))?;
        }
        self.close(key, ending, item, out)?;
        Ok(Outcome::Mapped)
    }

    /// Ends a call: a patch that was applied and whose changes no record lists gives its edits now.
    fn close(&mut self, key: &str, ending: Ending, item: &Payload<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(call) = self.history.calls.get_mut(key) else { return Ok(()) };
        call.ending = Some(ending);
        self.history.scripts.retain(|script| script != key);
        let patch = call.patch.take();
        if call.tool == "view_image" && !item.output.is_some_and(is_array) {
            self.history.shown += 1;
        }
        let listed = call.changes_listed;
        if let (Some(patch), true, false, Some(id)) = (patch, ending.patched, listed, text(item.call_id)) {
            self.patched(&patch, id, out)?;
        }
        Ok(())
    }
}

/// The result of an MCP call: the texts of the answer, an image as its hash.
fn mcp_result(answer: &RawValue, result: ToolResult<'_>, at: &str, out: &mut Emitter) -> Result<(), Fault> {
    let answer: McpResult<'_> = json::read(answer, at, "the answer of an MCP server")?;
    let (content, is_error) = match &answer.ok {
        Some(ok) => (&ok.content, ok.is_error),
        None => (&answer.content, answer.is_error),
    };
    let status = match is_error {
        _ if answer.err.is_some() => Some(Status::Error),
        Some(is_error) => Some(if is_error { Status::Error } else { Status::Ok }),
        None => result.status,
    };
    let parts = content.as_deref().unwrap_or_default();
    let said = joined(parts, "\\n");
    let attachments = parts.iter().filter_map(|part| part.image_url).filter_map(media::data_url).collect();
    let stdout = said.as_deref().map(Text::Token);
    out.emit(ToolResult { status, stdout, stderr: text(answer.err), attachments, ..result }, Pointer::At(at))?;
    Ok(())
}

/// The texts of parts as one JSON token; the tokens are joined as they stand.
fn joined(parts: &[Part<'_>], between: &str) -> Option<String> {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.text).map(|text| unquote(text.get())).collect();
    (!texts.is_empty()).then(|| format!("\"{}\"", texts.join(between)))
}
