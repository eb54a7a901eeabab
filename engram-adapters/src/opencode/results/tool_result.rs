//! The result of a finished call, then its reads and edits by tool.

use engram_core::emit::Pointer;
use engram_core::event::{Decision, ImplicitInput, Meta, SideFile, Status, ToolResult};
use engram_core::steps::Emitter;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::attachment::attachment;
use super::call::{Call, CallEnd};
use super::{edits, reads};
use crate::opencode::dialect::Dialect;
use crate::opencode::readers::{File, StepContent, StepDetails};
use crate::opencode::tools::TOOLS;
use crate::shared::notices;
use crate::shared::value::{elements, integer, is_true, non_empty_text, raw_str};

/// The harness's messages for a call that was not allowed (0.5.29 to 1.18.34).
const DENIED: [&str; 2] = [
    "The user rejected permission",
    "The user has specified a rule which prevents",
];

/// What precedes the words that the user typed instead of allowing the call (1.14.34 and later).
const FEEDBACK: &str = " with the following feedback: ";

/// Its messages for a call that the user stopped, or a question without an answer.
const CANCELLED: [&str; 3] = [
    "Tool execution aborted",
    "The user dismissed this question",
    "Task cancelled",
];

/// Emits the result of a call that has ended, and what it read or changed.
pub fn emit_result(call: &Call<'_>, dialect: Dialect, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let mut result = tool_result(call);
    let files = elements(call.attachments).map(File::lenient);
    result.attachments = files
        .map(|file| attachment(file.mime(), file.url(), file.filename()))
        .collect();
    let contents = elements(call.contents)
        .map(StepContent::lenient)
        .filter(|item| raw_str(item.kind()) == "file");
    result
        .attachments
        .extend(contents.map(|file| attachment(file.mime(), file.uri(), file.name())));
    let succeeded = result.status == Some(Status::Ok);
    if let Some(words) = refusal_words(call) {
        let reason = Some(Text::Plain(&words));
        let denied = Decision::Deny.of_call(Some(call.name), call.id, reason);
        out.emit(denied, pointer);
    }
    let output = result
        .stdout
        .filter(|output| is_command(call) && notices::may_have_notice(*output));
    let decoded = output.and_then(|output| output.decode().ok());
    let own = decoded.as_deref().map(notices::printed);
    let is_other = own.is_some() && own != decoded.as_deref();
    if is_other {
        result.stdout = own.filter(|own| !own.is_empty()).map(Text::Plain);
    }
    out.emit(result, pointer);
    if is_other {
        let for_model = ImplicitInput::of_text("tool_result", output);
        out.emit(Meta::Context(for_model), pointer);
    }
    if succeeded && call.input.is_some() {
        match &*call.tool {
            "read" => reads::read(call, dialect, pointer, out),
            "edit" => edits::edit(call, dialect, pointer, out),
            "write" => edits::write(call, dialect, pointer, out),
            "apply_patch" => edits::apply_patch(call, dialect, pointer, out),
            "patch" => edits::patch(call, dialect, pointer, out),
            _ => (),
        }
    }
}

fn is_command(call: &Call<'_>) -> bool {
    TOOLS.kind(&call.tool) == ToolKind::Execute
}

/// What a person typed instead of allowing a call.
pub fn refusal_words(call: &Call<'_>) -> Option<String> {
    let CallEnd::Failed(Some(error)) = call.end else {
        return None;
    };
    let error = error.decode_lossy();
    let (_, words) = error.split_once(FEEDBACK)?;
    (error.starts_with(DENIED[0]) && !words.is_empty()).then(|| words.to_owned())
}

/// The result, without attachments.
fn tool_result<'a>(call: &Call<'a>) -> ToolResult<'a> {
    let mut result = ToolResult {
        tool: Some(call.name),
        call_id: call.id,
        duration_ms: duration(call),
        ..ToolResult::default()
    };
    let metadata = &call.metadata;
    match call.end {
        CallEnd::Open => {}
        CallEnd::Aborted(text) => {
            result.status = Some(Status::Cancelled);
            result.stderr = text;
            result.stdout = call.partial_output;
        }
        CallEnd::Denied(text) => {
            result.status = Some(Status::Denied);
            result.stderr = text;
            result.stdout = call.partial_output;
        }
        CallEnd::Failed(text) => {
            let starts_with = |prefixes: &[&str]| {
                text.is_some_and(|text| prefixes.iter().any(|prefix| text.starts_with(prefix)))
            };
            result.status = Some(match () {
                () if starts_with(&DENIED) => Status::Denied,
                () if starts_with(&CANCELLED) => Status::Cancelled,
                () => Status::Error,
            });
            result.stderr = text;
            result.stdout = call.partial_output;
        }
        // The harness replaces a call of an unknown tool, or with wrong arguments, by a call of `invalid`, which always completes.
        CallEnd::Completed(text) if call.tool == "invalid" => {
            result.status = Some(Status::Error);
            result.stderr = text;
        }
        CallEnd::Completed(text) => {
            result.stdout = text;
            result.exit = integer(metadata.exit());
            result.status = completed_status(call, result.exit);
            // An export does not include the file, so the result names it without a hash.
            result.artifact = non_empty_text(metadata.output_path()).map(|path| SideFile {
                path,
                hash: None,
                bytes: None,
            });
            result.truncated = is_true(metadata.truncated()) && is_truncated(call);
        }
    }
    result
}

/// The status of a completed call. Only a command can fail and complete: its exit code is not 0, or it was stopped and has none.
fn completed_status(call: &Call<'_>, exit: Option<i64>) -> Option<Status> {
    // A stopped command has `"exit": null`. A command that the user ran (`!`) has no such member, and its status is not recorded.
    let has_exit_member = || {
        call.metadata_value
            .is_some_and(|metadata| metadata.members().any(|(name, _)| name == "exit"))
    };
    let details = StepDetails::lenient_opt(call.metadata_value);
    match exit {
        Some(0) => Some(Status::Ok),
        Some(_) => Some(Status::Error),
        // 2.x: a program threw an error, or a command was killed or ran out of time.
        None if call.tool == "execute" && is_true(details.error()) => Some(Status::Error),
        None if call.tool == "shell"
            && (is_true(details.timeout()) || details.signal().is_some()) =>
        {
            Some(Status::Error)
        }
        None if call.tool != "bash" => Some(Status::Ok),
        None if !has_exit_member() => None,
        None if call.output().is_some_and(notices::is_stopped) => Some(Status::Cancelled),
        None => Some(Status::Error),
    }
}

/// True unless a `read` has `truncated` only because the call requested a part of the file.
fn is_truncated(call: &Call<'_>) -> bool {
    let has_limit = || {
        call.input
            .is_some_and(|input| input.member("limit").is_some())
    };
    call.tool != "read"
        || call.contents.is_some() && !has_limit()
        || call.output().is_some_and(notices::is_cut_read)
}

/// How long the call ran, in milliseconds.
fn duration(call: &Call<'_>) -> Option<u64> {
    call.ended
        .zip(call.started)
        .and_then(|(end, start)| u64::try_from(end.checked_sub(start)?).ok())
}
