//! Results of calls: how they ended, what they returned, and the read or edit that they show.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, SideFile, Status, ToolResult};
use engram_core::keys::hash64;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::edits::{edit, write};
use super::prompts::{attachment, context};
use super::reads::{is_cut_read, read};
use super::state::{Returned, State};
use crate::qwen::notes::PARTS;
use crate::qwen::readers::{
    Answer, Attached, Call, CallResult, Display, FileArgs, Line, Message, Part, Response,
};
use crate::shared::pending_calls::CallPlace;
use crate::shared::value::{Value, count, elements, is_true, non_empty_text, raw_str, text};

/// The tool that runs commands.
pub const SHELL: &str = "run_shell_command";
/// The line of its result with the exit code.
const EXITED: &str = "\nExit Code: ";
/// Why a call did not run: a person or a rule did not allow it.
const DENIED: &str = "execution_denied";

/// The events of the results in a line.
pub fn result(state: &mut State, record: &Record<'_>, line: &Line<'_>, out: &mut Emitter<'_>) {
    let parts = Message::lenient_opt(line.message()).parts();
    for (n, value) in elements(parts).enumerate() {
        let part = Part::lenient(value);
        if let Some(response) = part.response() {
            one(state, record, (line, &Response::lenient(response), n), out);
        }
    }
}

fn one(
    state: &mut State,
    record: &Record<'_>,
    (line, response, n): (&Line<'_>, &Response<'_>, usize),
    out: &mut Emitter<'_>,
) {
    let result = CallResult::lenient_opt(line.result());
    let answer = Answer::lenient_opt(response.response());
    let display = result.display();
    let returned = Returned {
        tool: response.name(),
        call_id: text(response.id()),
        output: text(answer.output()),
        display: Display::lenient_opt(display.filter(|display| display.is_object())),
        shown: text(display),
    };
    let noticed = returned
        .call_id
        .and_then(|id| state.noticed.remove(&hash64(id.raw())));
    let is_refused = noticed.is_some_and(|notice| notice.is_refused);
    let status = match status(&result, &answer, &returned) {
        Status::Cancelled if is_refused => Status::Denied,
        status => status,
    };
    let duration = count(result.duration()).or(noticed.and_then(|notice| notice.duration));
    let printed = text(answer.output()).or(text(answer.error()));
    let exit = exit(&returned, printed);
    // What a command printed: the text for the model has it between lines of the harness.
    let is_cut = is_true(returned.display.truncated());
    let is_part = returned
        .shown
        .is_some_and(|shown| is_cut_read(&shown.comparable()));
    let own = text(returned.display.output()).filter(|_| !is_cut);
    let (stdout, stderr) = match own {
        Some(own) => (Some(own).filter(|own| !own.is_empty()), None),
        None if status != Status::Ok && exit.is_none() => (None, printed),
        None => (printed, None),
    };
    let event = ToolResult {
        tool: text(response.name()),
        call_id: returned.call_id,
        status: Some(status),
        exit,
        stdout,
        stderr,
        truncated: is_cut || is_part,
        artifact: side_file(&returned.display),
        attachments: attachments(line, response),
        duration_ms: duration,
    };
    out.emit(event, Pointer::Item(PARTS, n));
    if let Some(printed) = printed.filter(|_| own.is_some()) {
        context("tool_result", printed, Pointer::Item(PARTS, n), out);
    }
    let place = state.calls.close(raw_str(response.id()));
    if status == Status::Ok
        && let Some(place) = place
    {
        of_call(record, line, (place, &returned), out);
    }
}

/// How a call ended. The lines of sub-agents have no status.
fn status(result: &CallResult<'_>, answer: &Answer<'_>, returned: &Returned<'_>) -> Status {
    let is_cancelled = raw_str(returned.display.outcome()) == "cancelled";
    match raw_str(result.status()) {
        _ if raw_str(result.error_type()) == DENIED => Status::Denied,
        "cancelled" => Status::Cancelled,
        _ if is_cancelled => Status::Cancelled,
        "error" => Status::Error,
        _ if answer.error().is_some() => Status::Error,
        _ => Status::Ok,
    }
}

/// The exit code of a command. Sub-agents have it only in the text for the model, whose last lines the harness writes.
fn exit(returned: &Returned<'_>, printed: Option<Text<'_>>) -> Option<i64> {
    if raw_str(returned.tool) != SHELL {
        return None;
    }
    if let Some(exit) = returned.display.exit() {
        return exit.raw().parse().ok();
    }
    exit_in(&printed?.decode_lossy())
}

/// The exit code in the text for the model.
pub fn exit_in(printed: &str) -> Option<i64> {
    let (_, rest) = printed.rsplit_once(EXITED)?;
    rest.lines().next()?.parse().ok()
}

/// The first file with output that was too long for the result.
fn side_file<'a>(display: &Display<'a>) -> Option<SideFile<'a>> {
    let path = elements(display.files()).find_map(Value::text)?;
    Some(SideFile {
        path,
        hash: None,
        bytes: None,
    })
}

/// Images and files of a result: inside of it, or in parts beside it.
fn attachments<'a>(line: &Line<'a>, response: &Response<'a>) -> Vec<Attachment<'a>> {
    let beside = Message::lenient_opt(line.message()).parts();
    let beside = elements(beside).filter_map(|part| Part::lenient(part).media());
    let inside = elements(response.parts()).filter_map(|part| Attached::lenient(part).media());
    inside.chain(beside).filter_map(attachment).collect()
}

/// The tools whose calls are reads or edits.
const FILE_TOOLS: [&str; 4] = ["read_file", "edit", "write_file", "notebook_edit"];

/// The read or edit of a call that succeeded. Its arguments are read again from the record of the call.
fn of_call(
    record: &Record<'_>,
    line: &Line<'_>,
    (place, returned): (CallPlace, &Returned<'_>),
    out: &mut Emitter<'_>,
) {
    if !FILE_TOOLS.contains(&raw_str(returned.tool)) {
        return;
    }
    let Some(mut call) = record.others.get(place.record) else {
        return;
    };
    let Some(args) = call.value().and_then(|line| arguments(line, place.part)) else {
        return;
    };
    let emit = |out: &mut Emitter<'_>| file_events(returned, &args, out);
    // A copy may be of a session in another directory.
    if line.forked_from().is_some() {
        out.with_paths_as_stated(emit);
    } else {
        emit(out);
    }
}

/// The read or edit of a call with these arguments.
pub fn file_events(returned: &Returned<'_>, args: &FileArgs<'_>, out: &mut Emitter<'_>) {
    let Some(file) = non_empty_text(args.path().or(args.notebook())) else {
        return;
    };
    match raw_str(returned.tool) {
        "read_file" => read(file, returned, args, out),
        "write_file" => write(file, returned, args, out),
        "edit" | "notebook_edit" => edit(file, returned, args, out),
        _ => {}
    }
}

fn arguments(line: Value<'_>, part: usize) -> Option<FileArgs<'_>> {
    let parts = Message::lenient_opt(Line::lenient(line).message()).parts();
    let part = elements(parts).nth(part)?;
    let call = Call::lenient(Part::lenient(part).call()?);
    Some(FileArgs::lenient(call.args()?))
}
