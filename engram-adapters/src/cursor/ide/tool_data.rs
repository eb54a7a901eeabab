//! Calls of the editor: the call, the user's decision, the result and the edit, all from one `toolFormerData`.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{
    CodeEdit, Decision, EditOp, Meta, Permission, Seq, Status, ToolCall, ToolResult,
};
use engram_core::text::Text;

use crate::cursor::edits::file_edits::whole_file_edits;
use crate::cursor::fields::{decoded, text_or_json};
use crate::cursor::members;
use crate::cursor::readers::{EditParams, EditorLine, EditorResult, ToolFormerData};
use crate::cursor::steps::Out;
use crate::cursor::tools;
use crate::shared::value::{
    StructuralIndex, Value, integer, is_true, non_empty_text, parse, raw_str, text,
};

const RESULT: &str = "/bubble/toolFormerData/result";
const PARAMS: &str = "/bubble/toolFormerData/params";
const POINTER: Pointer<'static> = Pointer::At("/bubble/toolFormerData");

/// The tool and the call that events belong to.
#[derive(Clone, Copy)]
struct Call<'a> {
    tool: Text<'a>,
    call_id: Option<Text<'a>>,
    /// The `seq` of the call's event.
    seq: Seq,
}

/// Emits a call and, if it has ended, its result and the edit that it shows. Returns the number of calls and results.
pub(super) fn emit(
    data: &ToolFormerData<'_>,
    line: &EditorLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let Some(tool) = non_empty_text(data.name()) else {
        return Ok(0);
    };
    let params = decoded(data.params());
    let call = emit_call(data, tool, params.as_deref(), out)?;
    let decision = match raw_str(data.user_decision()) {
        "accepted" => Some(Decision::Allow),
        "rejected" => Some(Decision::Deny),
        _ => None,
    };
    if let Some(decision) = decision {
        out.emit(
            Meta::Permission(Permission {
                decision,
                tool: Some(tool),
                call_id: call.call_id,
                text: None,
            }),
            POINTER,
        )?;
    }
    let status = match raw_str(data.status()) {
        "completed" => Status::Ok,
        "error" => Status::Error,
        "cancelled" => Status::Cancelled,
        _ => return Ok(1),
    };
    let result = decoded(data.result());
    let mut index = StructuralIndex::default();
    let fields = result
        .as_deref()
        .and_then(|result| parse(result, &mut index).ok())
        .map(EditorResult::lenient)
        .unwrap_or_default();
    check(
        "bubble#result",
        fields.object(),
        RESULT,
        &tool.decode_lossy(),
        out,
    );
    emit_result(data, call, status, result.as_deref(), &fields, out)?;
    if status == Status::Ok && decision != Some(Decision::Deny) && !is_true(fields.apply_failed()) {
        emit_edit(call, params.as_deref(), line, out)?;
    }
    Ok(2)
}

/// Compares JSON inside a string with the member table, if it is an object.
fn check(record: &str, value: Value<'_>, at: &'static str, tool: &str, out: &mut Out<'_, '_>) {
    if value.is_object() {
        members::check_chosen(record, value, Pointer::At(at), tool, out);
    }
}

/// `params` and `rawArgs` are both arguments. The one that is JSON is the call's; `params` becomes a notice if it is not that one.
fn emit_call<'a>(
    data: &ToolFormerData<'a>,
    tool: Text<'a>,
    params: Option<&str>,
    out: &mut Out<'_, '_>,
) -> Result<Call<'a>, Fault> {
    let raw_args = decoded(data.raw_args());
    let is_json = |args: &&str| {
        !out.nests_too_deep(args) && parse(args, &mut StructuralIndex::default()).is_ok()
    };
    let args = raw_args
        .as_deref()
        .filter(is_json)
        .or(params.filter(is_json));
    let (kind, call_id) = (
        tools::TOOLS.kind(&tool.decode_lossy()),
        non_empty_text(data.tool_call_id()),
    );
    let seq = out.emit(
        ToolCall {
            call_id,
            args,
            ..ToolCall::new(tool, kind)
        },
        POINTER,
    )?;
    if let Some(params) = params.filter(|params| args != Some(*params)) {
        out.emit(
            Meta::System {
                name: Text::Plain("params"),
                text: Some(Text::Plain(params)),
            },
            POINTER,
        )?;
    }
    Ok(Call { tool, call_id, seq })
}

fn emit_result(
    data: &ToolFormerData<'_>,
    call: Call<'_>,
    status: Status,
    result: Option<&str>,
    fields: &EditorResult<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let exit = integer(fields.exit_code());
    let event = ToolResult {
        tool: Some(call.tool),
        call_id: call.call_id,
        status: Some(if exit.is_some_and(|exit| exit != 0) {
            Status::Error
        } else {
            status
        }),
        exit,
        stdout: non_empty_text(fields.output())
            .or(result.map(Text::Plain))
            .filter(|text| !text.is_empty()),
        stderr: text_or_json(data.error()).filter(|text| !text.is_empty()),
        ..ToolResult::default()
    };
    out.emit_child(Some(call.seq), event, POINTER)?;
    Ok(())
}

/// Emits the edits that the file's texts before and after the call show.
fn emit_edit(
    call: Call<'_>,
    params: Option<&str>,
    line: &EditorLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let mut index = StructuralIndex::default();
    let params = params
        .and_then(|params| parse(params, &mut index).ok())
        .map(EditParams::lenient)
        .unwrap_or_default();
    let Some(after) = text(line.after()) else {
        return Ok(());
    };
    let Some(file) =
        non_empty_text(params.relative_workspace_path()).or(non_empty_text(params.target_file()))
    else {
        check(
            "bubble#params",
            params.object(),
            PARAMS,
            &call.tool.decode_lossy(),
            out,
        );
        return Ok(());
    };
    let op = if line.before().is_some() {
        EditOp::Update
    } else {
        EditOp::Create
    };
    let edit = CodeEdit {
        call_id: call.call_id,
        ..CodeEdit::new(op, file)
    };
    for edit in whole_file_edits(edit, text(line.before()), after, None) {
        out.emit_child(Some(call.seq), edit, POINTER)?;
    }
    Ok(())
}
