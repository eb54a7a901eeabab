//! Calls and their results. One table lists what is read from the value that each tool returns.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{
    Attachment, CodeEdit, CodeRead, EditOp, Meta, Range, Status, ToolCall, ToolResult,
};
use engram_core::hash::Hash;
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::cursor::edits::file_edits::diff_edits;
use crate::cursor::edits::written_files::forget_first_line;
use crate::cursor::fields::{required_name, text_or_json, unsigned};
use crate::cursor::readers::{SdkMessage, SdkResult, SdkReturned};
use crate::cursor::steps::Out;
use crate::cursor::tool_calls::joined_texts;
use crate::cursor::tools;
use crate::shared::pending_calls::PendingCalls;
use crate::shared::spans::{line_count, span_facts, without_final_line_end};
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, raw_str, text};

/// Calls without a result yet, with the hash of their arguments.
#[derive(Default)]
pub(super) struct Calls {
    open: PendingCalls<u64>,
}

/// A call whose result is converted.
struct Ended<'a> {
    call_id: Text<'a>,
    /// The file that the arguments name.
    file: Option<Text<'a>>,
    value: SdkReturned<'a>,
}

/// What is read from the value that a tool returned.
struct Tool {
    name: &'static str,
    output: for<'a> fn(&SdkReturned<'a>, &mut ToolResult<'a>),
    code: fn(&Ended<'_>, &mut Out<'_, '_>) -> Result<(), Fault>,
}

/// Every tool that returns more than JSON.
static TOOLS: &[Tool] = &[
    Tool {
        name: "shell",
        output: shell_output,
        code: no_code,
    },
    Tool {
        name: "read",
        output: read_output,
        code: emit_read,
    },
    Tool {
        name: "edit",
        output: no_output,
        code: emit_edits,
    },
    Tool {
        name: "delete",
        output: no_output,
        code: emit_delete,
    },
];

/// Any other tool.
static OTHER: Tool = Tool {
    name: "",
    output: json_output,
    code: no_code,
};

impl Calls {
    /// A call that begins, or its result. A result without its call has both.
    pub(super) fn convert(
        &mut self,
        message: &SdkMessage<'_>,
        out: &mut Out<'_, '_>,
    ) -> Result<Outcome, Fault> {
        let tool = required_name(message.name(), Pointer::At("/name"))?;
        let call_id = required_name(message.call_id(), Pointer::At("/call_id"))?;
        let args = message
            .args()
            .map(|args| hash64(args.raw()))
            .unwrap_or_default();
        let id = call_id.decode_lossy();
        let status = raw_str(message.status());
        if message.result().is_none() && !matches!(status, "completed" | "error") {
            emit_call(message, tool, call_id, out)?;
            self.open.open(id, args);
            return Ok(Outcome::Mapped);
        }
        match (self.open.get(&id), out.seq_of_open_call(call_id)) {
            (_, None) => emit_call(message, tool, call_id, out)?,
            (Some(called), seq) if *called != args => {
                let text = text_or_json(message.args());
                out.emit_child(seq, Meta::system("args", text), "/args")?;
            }
            _ => {}
        }
        emit_result(
            message,
            tool,
            call_id,
            message
                .result()
                .map(|result| SdkResult::strict(result, "/result"))
                .transpose()?,
            out,
        )?;
        self.open.close(id);
        Ok(Outcome::Mapped)
    }
}

fn emit_call(
    message: &SdkMessage<'_>,
    tool: Text<'_>,
    call_id: Text<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let name = tool.decode_lossy();
    let call = ToolCall {
        server: tools::server(&name, message.args()),
        call_id: Some(call_id),
        args: message.args().map(Value::raw),
        ..ToolCall::new(tool, tools::TOOLS.kind(&name))
    };
    out.emit(call, "/args")?;
    Ok(())
}

fn emit_result(
    message: &SdkMessage<'_>,
    name: Text<'_>,
    call_id: Text<'_>,
    returned: Option<SdkResult<'_>>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    // A message without a result states only how the call ended.
    let status = match raw_str(returned.map_or(message.status(), |returned| returned.status())) {
        "success" | "completed" => Some(Status::Ok),
        "error" => Some(Status::Error),
        _ => None,
    };
    let returned_value = returned.and_then(|returned| returned.value());
    let tool = TOOLS
        .iter()
        .find(|tool| name.eq_str(tool.name))
        .unwrap_or(&OTHER);
    let value = SdkReturned::lenient_opt(returned_value);
    let mut buffer = String::new();
    let mut result = ToolResult {
        tool: Some(name),
        call_id: Some(call_id),
        status,
        truncated: is_true(
            message
                .truncated()
                .and_then(|left_out| left_out.member("result")),
        ),
        ..ToolResult::default()
    };
    if returned_value.is_some_and(Value::is_object) && name.eq_str("mcp") {
        mcp_output(&value, &mut buffer, &mut result);
    } else if returned_value.is_some_and(Value::is_object) {
        (tool.output)(&value, &mut result);
    } else {
        result.stdout = text_or_json(returned_value);
    }
    if let Some(error) = returned.and_then(|returned| returned.error()) {
        result.stderr = non_empty_text(error.member("message")).or(text_or_json(Some(error)));
    }
    out.emit(result, "/result")?;
    if status == Some(Status::Ok) && returned_value.is_some() {
        let file = message
            .args()
            .and_then(|args| non_empty_text(args.member("path")));
        (tool.code)(
            &Ended {
                call_id,
                file,
                value,
            },
            out,
        )?;
    }
    Ok(())
}

fn shell_output<'a>(value: &SdkReturned<'a>, result: &mut ToolResult<'a>) {
    result.exit = integer(value.exit_code());
    (result.stdout, result.stderr) = (
        non_empty_text(value.stdout()),
        non_empty_text(value.stderr()),
    );
    result.duration_ms = unsigned(value.execution_time());
    if result.exit.is_some_and(|exit| exit != 0) {
        result.status = Some(Status::Error);
    }
}

fn read_output<'a>(value: &SdkReturned<'a>, result: &mut ToolResult<'a>) {
    result.stdout = non_empty_text(value.content());
}

/// What an MCP tool returned: its pictures, and its texts, or all of it as JSON.
fn mcp_output<'a>(value: &SdkReturned<'a>, buffer: &'a mut String, result: &mut ToolResult<'a>) {
    let parts = || value.content().into_iter().flat_map(Value::elements);
    result.attachments = parts().filter_map(picture).collect();
    let others = parts().filter(|part| picture(*part).is_none());
    let output = match joined_texts(others, buffer) {
        Some(texts) => Some(texts).filter(|texts| !texts.is_empty()),
        None => Some(value.object().json()),
    };
    if is_true(value.is_error()) {
        result.status = Some(Status::Error);
        result.stderr = output;
    } else {
        result.stdout = output;
    }
}

/// A picture that an MCP tool returned. The runtime writes its bytes as an object of numbers: `{"0":137,"1":80}` (1.0.32: recorded).
fn picture(part: Value<'_>) -> Option<Attachment<'_>> {
    let image = part.member("image")?;
    let byte = |(at, (name, value)): (usize, (&str, Value<'_>))| {
        let is_next = name == at.to_string();
        is_next.then(|| value.raw().parse::<u8>().ok()).flatten()
    };
    let bytes: Option<Vec<u8>> = image
        .member("data")?
        .members()
        .enumerate()
        .map(byte)
        .collect();
    let bytes = bytes.filter(|bytes| !bytes.is_empty())?;
    Some(Attachment {
        media_type: text(image.member("mimeType")),
        hash: Some(Hash::of_bytes(&bytes)),
        bytes: Some(bytes.len() as u64),
        name: None,
    })
}

fn json_output<'a>(value: &SdkReturned<'a>, result: &mut ToolResult<'a>) {
    result.stdout = Some(value.object().json()).filter(|_| !value.object().is_empty_object());
}

fn no_output(_: &SdkReturned<'_>, _: &mut ToolResult<'_>) {}

fn no_code(_: &Ended<'_>, _: &mut Out<'_, '_>) -> Result<(), Fault> {
    Ok(())
}

/// A read. The message does not state which lines it returned: only a whole file is known by its number of lines. Cursor counts the empty
/// text after a final line end as a line; the tape does not.
fn emit_read(ended: &Ended<'_>, out: &mut Out<'_, '_>) -> Result<(), Fault> {
    let Some(file) = ended.file else {
        return Ok(());
    };
    let call_id = Some(ended.call_id);
    let mut read = CodeRead {
        call_id,
        ..CodeRead::new(file)
    };
    if let Some(Ok(content)) = text(ended.value.content()).map(|content| content.decode())
        && unsigned(ended.value.total_lines()) == Some(content.split('\n').count() as u64)
        && !content.is_empty()
    {
        let lines = line_count(&content);
        (read.range, read.total_lines) = (
            Some(Range {
                first: 1,
                last: lines,
            }),
            Some(lines),
        );
        (read.hash, read.anchor_hashes, read.text) = span_facts(without_final_line_end(&content));
    }
    out.emit(read, "/result")?;
    Ok(())
}

/// An edit by its diff: one event per changed run of lines.
fn emit_edits(ended: &Ended<'_>, out: &mut Out<'_, '_>) -> Result<(), Fault> {
    let Some(file) = ended.file else {
        return Ok(());
    };
    let diff = text(ended.value.diff_string()).and_then(|diff| diff.decode().ok());
    let is_new = diff
        .as_deref()
        .is_some_and(|diff| diff.starts_with("--- /dev/null\n"));
    let is_zero = |count: Field<'_>| unsigned(count) == Some(0);
    if !is_new && is_zero(ended.value.lines_added()) && is_zero(ended.value.lines_removed()) {
        return Ok(());
    }
    let op = if is_new {
        EditOp::Create
    } else {
        EditOp::Update
    };
    let edit = CodeEdit {
        call_id: Some(ended.call_id),
        ..CodeEdit::new(op, file)
    };
    for mut edit in diff_edits(edit, diff.as_deref()) {
        if !is_new {
            forget_first_line(&mut edit);
        }
        out.emit(edit, "/result")?;
    }
    Ok(())
}

fn emit_delete(ended: &Ended<'_>, out: &mut Out<'_, '_>) -> Result<(), Fault> {
    let Some(file) = ended.file else {
        return Ok(());
    };
    out.emit(
        CodeEdit {
            call_id: Some(ended.call_id),
            ..CodeEdit::new(EditOp::Delete, file)
        },
        "/result",
    )?;
    Ok(())
}
