//! Calls of the editor: the call, the person's decision, the result, and the read or the edit, all from one `toolFormerData`.

use engram_core::emit::Fault;
use engram_core::event::{Author, Decision, Meta, MsgIn, Status, ToolCall};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::call::{Call, POINTER, check};
use super::results::{self, Ending};
use super::tool_code;
use crate::cursor::fields::decoded;
use crate::cursor::readers::{EditorLine, EditorParams, EditorResult, HumanReview, ToolFormerData};
use crate::cursor::steps::Out;
use crate::cursor::tools;
use crate::shared::value::{StructuralIndex, Value, is_true, non_empty_text, parse, raw_str};

const RESULT: &str = "/bubble/toolFormerData/result";
/// Emits a call and, if it has ended, its result and the read or the edit that it shows. Returns the number of calls and results.
pub(super) fn emit(
    data: &ToolFormerData<'_>,
    line: &EditorLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<usize, Fault> {
    let Some(tool) = non_empty_text(data.name()) else {
        return Ok(0);
    };
    let name = tool.decode_lossy();
    let kind = tools::TOOLS.kind(&name);
    let route = if kind == ToolKind::Mcp { "mcp" } else { &*name };
    let (text, mut index) = (decoded(data.params()), StructuralIndex::default());
    let params = object(text.as_deref(), &mut index)
        .map(EditorParams::lenient)
        .unwrap_or_default();
    let call = emit_call(data, tool, (kind, route), (text.as_deref(), &params), out)?;
    let (text, mut index) = (decoded(data.result()), StructuralIndex::default());
    let fields = object(text.as_deref(), &mut index).map(EditorResult::lenient);
    if let Some(fields) = &fields {
        check("bubble#result", fields.object(), RESULT, route, out);
    }
    let decision = emit_decision(data, fields.unwrap_or_default(), call, out)?;
    let status = match raw_str(data.status()) {
        _ if decision == Some(Decision::Deny) => Status::Denied,
        "completed" => Status::Ok,
        "error" => Status::Error,
        "cancelled" => Status::Cancelled,
        _ => return Ok(1),
    };
    let ending = Ending {
        status,
        result: text.as_deref(),
        fields,
        error: data.error(),
    };
    if results::emit(&ending, call, out)? == Status::Ok {
        tool_code::emit(call, &params, &fields.unwrap_or_default(), line, out)?;
    }
    Ok(2)
}

/// A text that is a JSON object.
fn object<'t>(text: Option<&'t str>, index: &'t mut StructuralIndex) -> Option<Value<'t>> {
    parse(text?, index).ok().filter(|value| value.is_object())
}

/// `params` and `rawArgs` both hold arguments. The call gets the member that is a JSON object. If that is `rawArgs`, `params` becomes a
/// notice.
fn emit_call<'a>(
    data: &ToolFormerData<'a>,
    tool: Text<'a>,
    (kind, route): (ToolKind, &'a str),
    (params, fields): (Option<&str>, &EditorParams<'_>),
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
    let server = fields
        .tools()
        .and_then(|tools| non_empty_text(tools.elements().next()?.member("serverName")));
    let call_id = non_empty_text(data.tool_call_id());
    let seq = out.emit(
        ToolCall {
            server,
            call_id,
            args,
            ..ToolCall::new(tool, kind)
        },
        POINTER,
    )?;
    if let Some(params) = params.filter(|params| args != Some(*params)) {
        out.emit(Meta::system("params", Some(Text::Plain(params))), POINTER)?;
    }
    Ok(Call {
        tool,
        route,
        call_id,
        seq,
    })
}

/// Emits what a person decided about a call, and the words that they wrote with it, except where these became a message of their own.
fn emit_decision(
    data: &ToolFormerData<'_>,
    result: EditorResult<'_>,
    call: Call<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Option<Decision>, Fault> {
    let decision = match raw_str(data.user_decision()) {
        "rejected" => Some(Decision::Deny),
        _ if is_true(result.rejected()) => Some(Decision::Deny),
        "accepted" => Some(Decision::Allow),
        _ => None,
    };
    let review = result
        .human_review()
        .map(HumanReview::lenient)
        .unwrap_or_default();
    if let Some(decision) = decision {
        let option = non_empty_text(review.selected_option());
        out.emit(
            decision.of_call(Some(call.tool), call.call_id, option),
            POINTER,
        )?;
    }
    let words = non_empty_text(review.feedback_text());
    if let Some(words) = words.filter(|_| !is_true(review.is_new_message())) {
        out.emit(MsgIn::user(Author::Person, Some(words)), RESULT)?;
    }
    Ok(decision)
}
