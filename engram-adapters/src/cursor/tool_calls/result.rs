//! Results of calls: a member whose name is the way the call ended. One table lists what is read from the result of each tool.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Status, ToolResult};
use engram_core::text::Text;

use super::code::{emit_delete, emit_edit, emit_nothing, emit_read, emit_write};
use super::output;
use super::payload::CallRecord;
use crate::cursor::edits::written_files::WrittenFiles;
use crate::cursor::fields::faults::{absent, within_member};
use crate::cursor::readers::ResultFields;
use crate::cursor::steps::Out;

/// What is read from the result of a successful call.
struct ResultRoute {
    tool: &'static str,
    /// Fills in the output of the result.
    output: for<'a> fn(&ResultFields<'a>, &mut ToolResult<'a>),
    /// Emits the read or edit that the result shows. True for `numbered` if its content has line numbers.
    code: fn(
        &ResultFields<'_>,
        &CallRecord<'_>,
        numbered: bool,
        &mut WrittenFiles,
        &mut Out<'_, '_>,
    ) -> Result<(), Fault>,
}

/// Every tool whose result is more than JSON.
static RESULTS: &[ResultRoute] = &[
    ResultRoute {
        tool: SHELL,
        output: output::shell,
        code: emit_nothing,
    },
    ResultRoute {
        tool: "readToolCall",
        output: output::content_text,
        code: emit_read,
    },
    ResultRoute {
        tool: "editToolCall",
        output: output::message_text,
        code: emit_edit,
    },
    ResultRoute {
        tool: "writeToolCall",
        output: output::message_text,
        code: emit_write,
    },
    ResultRoute {
        tool: "deleteToolCall",
        output: output::no_text,
        code: emit_delete,
    },
    ResultRoute {
        tool: "fetchToolCall",
        output: output::content_text,
        code: emit_nothing,
    },
    ResultRoute {
        tool: "webFetchToolCall",
        output: output::markdown_text,
        code: emit_nothing,
    },
];

/// Any other tool.
static OTHER_RESULT: ResultRoute = ResultRoute {
    tool: "",
    output: output::json_text,
    code: emit_nothing,
};

/// The one tool whose failed calls have output too.
const SHELL: &str = "shellToolCall";

/// The tools of MCP servers.
const MCP: &str = "mcpToolCall";

/// The ways in which a call ends, by the name of the result's member (SDK 1.0.32 descriptors). The first one that is there counts.
const CASES: &[(&str, Status)] = &[
    ("success", Status::Ok),
    ("failure", Status::Error),
    ("timeout", Status::Error),
    ("rejected", Status::Denied),
    ("permissionDenied", Status::Denied),
    ("error", Status::Error),
    ("spawnError", Status::Error),
    ("fileNotFound", Status::Error),
    ("notFile", Status::Error),
    ("fileBusy", Status::Error),
    ("invalidFile", Status::Error),
    ("readPermissionDenied", Status::Error),
    ("writePermissionDenied", Status::Error),
    ("toolNotFound", Status::Error),
    ("serverNotFound", Status::Error),
];

/// Emits the result of a call, and the read or edit that it shows. `numbered`: the content that was read has line numbers. Faults point
/// from the call's payload.
pub(in crate::cursor) fn emit_result(
    call: &CallRecord<'_>,
    numbered: bool,
    files: &mut WrittenFiles,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let tool = call.payload.tool;
    let mut buffer = String::new();
    let mut result = ToolResult {
        tool: call
            .model_tool
            .or(Some(Text::Plain(tool)).filter(|tool| !tool.is_empty())),
        call_id: Some(call.call_id),
        duration_ms: call.payload.duration_ms(),
        ..ToolResult::default()
    };
    let Some(returned) = call.payload.result() else {
        result.stdout = call.model_result.filter(|_| !call.model_error);
        result.stderr = call.model_result.filter(|_| call.model_error);
        result.status = call.model_error.then_some(Status::Error);
        out.emit(result, call.pointer)?;
        return Ok(());
    };
    if !returned.is_object() {
        return Err(within_member(
            "",
            tool,
            absent(Pointer::At("/result"), "an object", Some(returned)),
        ));
    }
    let case = CASES
        .iter()
        .find_map(|(name, status)| Some((Some(*status), returned.member(name)?)));
    let (status, value) = case.unwrap_or((None, returned));
    let fields = ResultFields::lenient(value);
    let route = RESULTS
        .iter()
        .find(|route| route.tool == tool)
        .unwrap_or(&OTHER_RESULT);
    result.status = status;
    if status == Some(Status::Ok) && tool == MCP {
        output::mcp_parts(&fields, &mut buffer, &mut result);
    } else if status == Some(Status::Ok) || tool == SHELL {
        (route.output)(&fields, &mut result);
    } else if status.is_none() && !returned.is_empty_object() {
        result.stdout = Some(returned.json());
    }
    if status.is_some_and(|status| status != Status::Ok) {
        result.stderr = result.stderr.or(fields.failure());
    }
    result.truncated |= fields.is_truncated();
    result.artifact = fields.side_file();
    // A command without output has none: the model got a sentence of the harness.
    let is_known = tool == SHELL && matches!(status, Some(Status::Ok | Status::Error));
    if result.stdout.is_none() && result.stderr.is_none() && !is_known {
        match result.status {
            Some(Status::Error | Status::Denied) => result.stderr = call.model_result,
            _ => result.stdout = call.model_result,
        }
    }
    out.emit(result, call.pointer)?;
    if status == Some(Status::Ok) {
        (route.code)(&fields, call, numbered, files, out)
    } else {
        Ok(())
    }
}
