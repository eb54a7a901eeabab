//! Results of calls: how they ended, what they returned, and the read or the edits that they show.

use engram_core::emit::Pointer;
use engram_core::event::{Attachment, ImplicitInput, Meta, SideFile, Status, ToolResult};
use engram_core::keys::hash64;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::edits;
use super::reads;
use super::state::State;
use crate::copilot::descriptor::TOOLS;
use crate::copilot::readers::{Binary, End, Exit, Failure, FileArgs, Output, PersonShell, Start};
use crate::shared::media::base64_hash;
use crate::shared::shown::returned;
use crate::shared::value::{
    Value, count, elements, integer, is_true, non_empty_text, raw_str, text,
};

/// Codes of errors of calls that a person, a rule or a hook refused (`resultType` of 1.0.12 to 1.0.40: `rejected`, `denied`).
const REFUSED: [&str; 2] = ["denied", "rejected"];
/// The code of a call that was stopped. The next run writes it (1.0.102: recorded).
const INTERRUPTED: &str = "interrupted";
/// What stands before the path of a file in the first line of an output that is too large (1.0.102: recorded).
const SAVED: &str = " Saved to: ";
/// How the names of the tools end that run commands or read what they print.
const SHELLS: [&str; 2] = ["bash", "powershell"];

/// The events of a result.
pub fn result(state: &mut State, record: &Record<'_>, data: Value<'_>, out: &mut Emitter<'_>) {
    let end = End::lenient(data);
    let output = Output::lenient_opt(end.result());
    if is_true(end.is_of_person()) {
        return person_shell_end(&end, &output, out);
    }
    let call = state.calls.close(raw_str(end.id()));
    let tool = call.as_ref().map(|call| call.tool.as_str());
    let kind = tool.map(|tool| TOOLS.kind(tool));
    let failure = Failure::lenient_opt(end.error());
    let (shown, content) = match is_nothing(&end) {
        true => (non_empty_text(output.content()), None),
        false => (None, text(output.content())),
    };
    let is_command = tool.is_some_and(|tool| SHELLS.iter().any(|it| tool.ends_with(it)));
    let decoded = content.and_then(|content| content.decode().ok());
    let returned = decoded
        .as_deref()
        .map(|content| returned(content, is_command));
    let said = returned.filter(|returned| !returned.behind.is_empty());
    let stdout = match &said {
        Some(said) => Some(Text::Plain(said.printed)).filter(|text| !text.is_empty()),
        None => content,
    };
    let own = said.as_ref().and_then(|said| said.exit);
    let exit = integer(Exit::lenient_opt(end.shell()).exit()).or(own);
    let status = status(&end, exit);
    let artifact = artifact(&end, &output);
    let event = ToolResult {
        tool: tool.map(Text::Plain),
        call_id: text(end.id()),
        status: Some(status),
        exit,
        stdout,
        stderr: non_empty_text(failure.message()),
        truncated: is_cut(&end),
        artifact: artifact.as_deref().map(|path| SideFile {
            path: Text::Plain(path),
            hash: None,
            bytes: None,
        }),
        attachments: elements(output.binary())
            .map(|image| attachment(state, image))
            .collect(),
        ..ToolResult::default()
    };
    out.emit(event, Pointer::At("/data"));
    if let Some(said) = said {
        let input = ImplicitInput::of_text("tool_result", Some(Text::Plain(said.behind)));
        out.emit(Meta::Context(input), Pointer::At("/data/result/content"));
    }
    if shown.is_some() {
        out.emit(Meta::system("shown", shown), "/data/result/content");
    }
    let Some(call) = call else {
        return;
    };
    if status == Status::Cancelled {
        // The next run says so, while the run that made the call may still be there and have its result (1.0.102: recorded).
        state.calls.open(raw_str(end.id()), call);
        return;
    }
    if status != Status::Ok {
        return;
    }
    let Some(mut start) = record.others.get(call.record) else {
        return;
    };
    let args = start
        .value()
        .and_then(|start| Start::lenient(start.member("data")?).args());
    let args = FileArgs::lenient_opt(args.filter(|args| args.is_object()));
    match kind {
        Some(ToolKind::Read) => reads::read(&args, text(end.id()), &output, out),
        Some(ToolKind::Edit | ToolKind::Write) => {
            edits::edits(state, &args, text(end.id()), &output, out);
        }
        _ => {}
    }
}

/// A command that the person runs.
pub fn person_shell(data: Value<'_>, out: &mut Emitter<'_>) {
    let args = PersonShell::lenient(data).args();
    let command = text(args.and_then(|args| args.member("command")));
    out.emit(
        Meta::system("user_shell", command),
        "/data/arguments/command",
    );
}

/// What the command of the person printed, and how it ended.
fn person_shell_end(end: &End<'_>, output: &Output<'_>, out: &mut Emitter<'_>) {
    let failure = Failure::lenient_opt(end.error());
    for (printed, at) in [
        (output.content(), "/data/result/content"),
        (failure.message(), "/data/error/message"),
    ] {
        if let Some(printed) = non_empty_text(printed) {
            out.emit(Meta::system("user_shell_output", Some(printed)), at);
        }
    }
    if let Some(exit) = Exit::lenient_opt(end.shell()).exit() {
        let exit = Meta::system("user_shell_exit", Some(exit.json()));
        out.emit(exit, "/data/shellExecution/exitCode");
    }
}

fn status(end: &End<'_>, exit: Option<i64>) -> Status {
    let code = raw_str(Failure::lenient_opt(end.error()).code());
    match is_true(end.success()) {
        // `success` says that the command ran, not how it ended.
        true if exit.is_some_and(|exit| exit != 0) => Status::Error,
        true => Status::Ok,
        false if REFUSED.contains(&code) => Status::Denied,
        false if code == INTERRUPTED => Status::Cancelled,
        false => Status::Error,
    }
}

/// True if the model got nothing: the content is what the terminal shows (1.0.102: recorded of a view of an empty file).
fn is_nothing(end: &End<'_>) -> bool {
    measured(end, "metrics", "resultLength").is_some_and(|length| length.raw() == "0")
}

/// True if the model got a part of the output, and the path of a file with all of it.
fn is_cut(end: &End<'_>) -> bool {
    raw_str(measured(end, "properties", "largeOutputHandled")) == "true"
}

/// What the harness measured of a call.
fn measured<'e>(end: &End<'e>, of: &str, name: &str) -> Option<Value<'e>> {
    end.telemetry()?.member(of)?.member(name)
}

/// The file that the harness names in the place of a large output.
fn artifact(end: &End<'_>, output: &Output<'_>) -> Option<String> {
    let content = text(output.content())
        .filter(|_| is_cut(end))?
        .decode_lossy();
    let (_, rest) = content.lines().next()?.split_once(SAVED)?;
    Some(rest.to_owned())
}

/// An image of a result: its bytes, or the id of a record with them.
fn attachment<'a>(state: &State, image: Value<'a>) -> Attachment<'a> {
    let image = Binary::lenient(image);
    let own = text(image.data()).and_then(base64_hash);
    let (hash, bytes) = own.or_else(|| state.image(image.asset())).unzip();
    Attachment {
        media_type: non_empty_text(image.media_type()),
        hash,
        bytes: bytes.or(count(image.bytes())),
        name: None,
    }
}

/// The bytes of an image, before the result that has it.
pub fn asset(state: &mut State, data: Value<'_>, out: &mut Emitter<'_>) {
    let asset = Binary::lenient(data);
    if let Some(found) = text(asset.data()).and_then(base64_hash) {
        state.images.insert(hash64(raw_str(asset.asset())), found);
    }
    let words = non_empty_text(asset.description()).or(non_empty_text(asset.media_type()));
    out.emit(Meta::system("binary_asset", words), "/data/description");
}
