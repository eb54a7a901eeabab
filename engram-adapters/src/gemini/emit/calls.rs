//! Tool calls and their results.

use std::borrow::Cow;
use std::collections::HashMap;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Attachment, SideFile, Status, ToolCall, ToolResult};
use engram_core::steps::Emitter;
use engram_core::text::{Text, push_text};
use engram_core::tool_kind::ToolKind;
use memchr::memmem;

use super::files;
use super::messages::{Events, attachment};
use crate::gemini::descriptor::TOOLS;
use crate::gemini::schema::{Call, FileChange, FunctionCall, FunctionResponse, MASKED_OUTPUT, Part, Response, parts, raw};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, raw_str, text};

/// The error of a call that the user did not allow.
const DENIED: &str = "User denied execution";

/// The prefix of a cancelled call's error, as raw JSON.
const CANCELLED: &str = "\"[Operation Cancelled]";

/// The line that states a command's exit code: always up to 0.30.1, from 0.31.0 only if it is not 0.
const EXIT_CODE: &str = "Exit Code: ";

/// Prefixes of a truncated output, as raw JSON.
const TRUNCATED: [&str; 4] = ["Output too large.", "<untrusted_context>\\nOutput too large.", "Tool output was too large", MASKED_OUTPUT];

/// What precedes the path of the file with the full output.
const FULL_OUTPUT: [&str; 3] = ["For full output see: ", "The full output has been saved to: ", "Full output available at: "];

/// One call of a turn.
pub(super) struct CallRecord<'c> {
    pub call: Call<'c>,
    /// Its index in the list of calls.
    pub n: usize,
    /// The file before and after, as the call reports it.
    pub change: Option<FileChange<'c>>,
    /// Another call of the turn changed the same version of the same file, so one of the two changes is lost.
    ///
    /// From 0.35.3 to 0.47.0 the calls of a turn ran in parallel, and both report success.
    pub is_contested: bool,
}

impl CallRecord<'_> {
    /// The place of a field of the call.
    pub(super) fn field(&self, field: &'static str) -> Pointer<'_> {
        Pointer::Field("/toolCalls", self.n, field)
    }
}

/// The facts of a result, its texts excepted.
struct ToolEnd<'a> {
    tool: Text<'a>,
    call_id: Option<Text<'a>>,
    status: Option<Status>,
    /// What the terminal shows.
    display: Field<'a>,
}

impl Events {
    /// The calls of a turn, with their results.
    pub(super) fn tool_calls(&mut self, list: Value<'_>, message_id: Field<'_>, out: &mut Emitter<'_>) {
        let calls =
            list.elements().enumerate().map(|(n, call)| CallRecord { call: Call::lenient(call), n, change: None, is_contested: false });
        let mut calls: Vec<CallRecord<'_>> = calls.collect();
        let are_new: Vec<bool> = calls.iter().map(|_| self.plan.is_new()).collect();
        if calls.iter().any(|record| record.call.is_edit()) {
            set_changes(&mut calls);
        }
        for (record, is_new) in calls.iter().zip(are_new) {
            let call = &record.call;
            let time = tape_time(call.timestamp());
            if time.is_some() {
                out.set_header(RecordHeader { t: time.as_deref(), id: text(call.id()), replay: false });
            }
            let Some(tool) = text(call.name()) else { continue };
            if is_new {
                out.emit(made_call(tool, call.id(), call.args(), message_id), Pointer::Item("/toolCalls", record.n));
            }
            let is_first_result = self.plan.is_new();
            if call.has_ended() {
                self.result(record, tool, is_first_result, out);
            }
        }
    }

    /// A call in the form of the model's interface, which has no result.
    pub(super) fn function_call(&mut self, call: Value<'_>, message_id: Field<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
        let call = FunctionCall::lenient(call);
        let Some(tool) = text(call.name()).filter(|_| self.plan.is_new()) else { return };
        out.emit(made_call(tool, call.id(), call.args(), message_id), place);
    }

    /// What a call of a turn returned, read and changed, if it is its first result.
    fn result(&mut self, record: &CallRecord<'_>, tool: Text<'_>, is_first: bool, out: &mut Emitter<'_>) {
        let call = &record.call;
        // What a person wrote while the tool ran: the harness puts it before the result.
        for (part, text) in call.interjections() {
            if !is_first {
                self.plan.is_new();
                continue;
            }
            let place = format!("/toolCalls/{}/result/{part}/text", record.n);
            self.user_text(text, true, false, Pointer::At(&place), out);
        }
        let responses = parts(call.result()).filter(|part| part.response().is_some()).count();
        for _ in 0..responses {
            self.plan.is_new();
        }
        if !is_first {
            return;
        }
        let texts = ResultTexts::of_call(call);
        let status = match raw_str(call.status()) {
            "success" => Some(Status::Ok),
            "error" => Some(Status::Error),
            _ if texts.error.iter().any(|text| text.raw().contains(DENIED)) => Some(Status::Denied),
            _ => Some(Status::Cancelled),
        };
        let end = ToolEnd { tool, call_id: text(call.id()), status, display: call.display() };
        self.tool_result(end, texts, Pointer::Item("/toolCalls", record.n), out);
        if call.succeeded() {
            files::events(record, out);
        }
    }

    /// A result as the model gets it, outside of its call, with the files among `parts_with_files`.
    pub(super) fn response(&mut self, response: Value<'_>, parts_with_files: Field<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
        let response = FunctionResponse::lenient(response);
        let mut texts = ResultTexts::of_response(&response);
        for part in parts(parts_with_files).filter(|part| part.file().is_some()) {
            texts.add_part(&part);
        }
        let status = match texts.error.first {
            None => Status::Ok,
            Some(error) if error.raw().contains(DENIED) => Status::Denied,
            Some(error) if error.raw().starts_with(CANCELLED) => Status::Cancelled,
            Some(_) => Status::Error,
        };
        let Some(tool) = text(response.name()) else { return };
        self.tool_result(ToolEnd { tool, call_id: text(response.id()), status: Some(status), display: None }, texts, place, out);
    }

    fn tool_result(&self, end: ToolEnd<'_>, texts: ResultTexts<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
        let (mut output, mut error) = (String::new(), String::new());
        let (stdout, stderr) = (texts.output.joined(&mut output), texts.error.joined(&mut error));
        let is_command = TOOLS.kind(&end.tool.decode_lossy()) == ToolKind::Execute;
        let exit = if is_command { exit_code(stdout, end.display) } else { None };
        // A command that failed is a successful call of the tool.
        let status = if exit.is_some_and(|exit| exit != 0) && end.status == Some(Status::Ok) { Some(Status::Error) } else { end.status };
        let path = stdout.and_then(full_output_path);
        let artifact = path.as_deref().map(|path| {
            let (hash, bytes) = self.side_info.side_files.as_ref().and_then(|files| files.hash(path)).unzip();
            SideFile { path: Text::Plain(path), hash, bytes }
        });
        let result = ToolResult {
            tool: Some(end.tool),
            call_id: end.call_id,
            status,
            exit,
            stdout,
            stderr,
            truncated: path.is_some(),
            artifact,
            attachments: texts.attachments,
            duration_ms: None,
        };
        out.emit(result, place);
    }
}

/// Sets the changes that the calls of a turn report. Only successful calls count: a cancelled call reports what it would have done.
fn set_changes(calls: &mut [CallRecord<'_>]) {
    // The last change of each file.
    let mut last = HashMap::new();
    for n in 0..calls.len() {
        let call = &calls[n].call;
        let Some(display) = call.display().filter(|display| display.is_object() && call.is_edit() && call.succeeded()) else { continue };
        let file = FileChange::lenient(display);
        calls[n].change = Some(file);
        let Some(before) = last.insert(raw(file.file_path()), n) else { continue };
        if calls[before].change.is_some_and(|before| raw(before.original()) == raw(file.original())) {
            (calls[before].is_contested, calls[n].is_contested) = (true, true);
        }
    }
}

fn made_call<'a>(tool: Text<'a>, call_id: Field<'a>, args: Field<'a>, message_id: Field<'a>) -> ToolCall<'a> {
    let kind = TOOLS.kind(&tool.decode_lossy());
    ToolCall { call_id: text(call_id), args: raw(args), message_id: text(message_id), ..ToolCall::new(tool, kind) }
}

/// The exit code that the harness states after the output of a command.
///
/// The command itself may print such a line. So the code is used only if the command's own output, which the terminal shows, has none.
fn exit_code(output: Option<Text<'_>>, display: Field<'_>) -> Option<i64> {
    display.filter(|display| memmem::find(display.raw().as_bytes(), EXIT_CODE.as_bytes()).is_none())?;
    // At most four other lines of the harness follow it, some of them with an empty line.
    let mut last = output?.raw().trim_end_matches('"').rsplit("\\n").take(8);
    last.find_map(|line| line.strip_prefix(EXIT_CODE))?.parse().ok()
}

/// The file with the full output, if the harness truncated the result.
fn full_output_path(output: Text<'_>) -> Option<String> {
    if !TRUNCATED.iter().any(|prefix| output.starts_with(prefix)) {
        return None;
    }
    let output = output.decode_lossy();
    let (_, rest) = FULL_OUTPUT.iter().find_map(|prefix| output.split_once(prefix))?;
    rest.lines().next().map(|path| path.trim_end().to_owned())
}

/// The texts of one result, as raw JSON, and its files.
#[derive(Default)]
pub(super) struct ResultTexts<'a> {
    pub output: Texts<'a>,
    pub error: Texts<'a>,
    pub attachments: Vec<Attachment<'a>>,
}

impl<'a> ResultTexts<'a> {
    /// The texts of the result of a call.
    fn of_call(call: &Call<'a>) -> Self {
        let mut texts = ResultTexts::default();
        let response = call.response_at();
        for (n, part) in parts(call.result()).enumerate() {
            match part.response().map(FunctionResponse::lenient) {
                Some(response) => texts.add_response(&response),
                // A person wrote it while the tool ran.
                None if n < response && part.plain_text().is_some() => {}
                None => texts.add_part(&part),
            }
        }
        if texts.output.first.is_none() && texts.error.first.is_none() {
            // A call that never ran has no result, only the text that the terminal shows.
            let shown = call.display().filter(|shown| shown.text().is_some());
            if call.succeeded() { texts.output.add(shown) } else { texts.error.add(shown) }
        }
        texts
    }

    /// The texts of a response.
    pub(super) fn of_response(response: &FunctionResponse<'a>) -> Self {
        let mut texts = ResultTexts::default();
        texts.add_response(response);
        texts
    }

    fn add_response(&mut self, response: &FunctionResponse<'a>) {
        let content = Response::lenient_opt(response.response());
        self.output.add(content.output());
        self.error.add(content.error());
        if content.output().is_none() && content.error().is_none() {
            // Third-party tools may respond in another form.
            self.output.add(response.response().filter(|content| !content.is_empty_object() && content.raw() != "\"\""));
        }
        let files = response.parts().into_iter().flat_map(Value::elements).filter_map(|part| Part::lenient(part).inline_data());
        self.attachments.extend(files.map(attachment));
    }

    /// Adds a text or file next to the response.
    fn add_part(&mut self, part: &Part<'a>) {
        self.output.add(part.plain_text());
        self.attachments.extend(part.inline_data().or(part.file_data()).map(attachment));
    }
}

/// Texts in their order. Almost always there is one, which needs no allocation.
#[derive(Default)]
pub(super) struct Texts<'a> {
    first: Field<'a>,
    others: Vec<Value<'a>>,
}

impl<'a> Texts<'a> {
    /// Adds a text.
    fn add(&mut self, text: Field<'a>) {
        match self.first {
            None => self.first = text,
            Some(_) => self.others.extend(text),
        }
    }

    /// All texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        self.first.into_iter().chain(self.others.iter().copied())
    }

    /// The texts as one, separated by line ends. Several are joined in `scratch`.
    fn joined<'t>(&self, scratch: &'t mut String) -> Option<Text<'t>>
    where
        'a: 't,
    {
        let single = text(self.first).filter(|_| self.others.is_empty());
        if single.is_none() && self.first.is_some() {
            *scratch = self.join();
            return Some(Text::Token(scratch));
        }
        single
    }

    #[cold]
    fn join(&self) -> String {
        let mut joined = String::from("\"");
        for (n, value) in self.iter().enumerate() {
            joined.push_str(if n > 0 { "\\n" } else { "" });
            joined.push_str(&unquoted(value));
        }
        joined.push('"');
        joined
    }
}

/// A text without its quotes, in canonical form. Another value as the text that its JSON is.
fn unquoted(value: Value<'_>) -> Cow<'_, str> {
    match value.text() {
        Some(_) => Cow::Borrowed(raw_str(Some(value))),
        None => {
            let mut quoted = String::new();
            push_text(&mut quoted, value.json());
            Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
        }
    }
}
