//! Results of the editor's calls: which member of the message `aiserver.v1.<Tool>Result` is the output, and whether the call failed.

use engram_core::emit::Fault;
use engram_core::event::{Meta, SideFile, Status, ToolResult};
use engram_core::text::Text;

use super::call::{Call, POINTER, check};
use crate::cursor::fields::{decoded, text_or_json};
use crate::cursor::readers::{EditorError, EditorResult};
use crate::cursor::steps::Out;
use crate::shared::value::{
    Field, StructuralIndex, elements, integer, is_true, non_empty_text, parse,
};

const ERROR: &str = "/bubble/toolFormerData/error";

/// How a call ended.
pub(super) struct Ending<'r> {
    /// Its status, before its result is looked at.
    pub(super) status: Status,
    /// Its result, as the log has it.
    pub(super) result: Option<&'r str>,
    /// The members of the result. `None` for a result that is not a JSON object.
    pub(super) fields: Option<EditorResult<'r>>,
    /// Why it failed: `aiserver.v1.ToolResultError` in a string, or a text.
    pub(super) error: Field<'r>,
}

/// Emits the result of a call, and returns its status.
///
/// # Errors
/// Those of [`Out::emit`].
pub(super) fn emit(
    ending: &Ending<'_>,
    call: Call<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Status, Fault> {
    let fields = ending.fields.unwrap_or_default();
    let (text, mut index) = (decoded(fields.result()), StructuralIndex::default());
    let answer = Answer::of_mcp(text.as_deref(), &mut index);
    let stdout = match ending.fields {
        Some(_) => output(&fields, call.route, &answer),
        None => ending.result.map(Text::Plain),
    };
    let exit = integer(fields.exit_code_v2().or(fields.exit_code()));
    let has_failed =
        answer.is_error || exit.is_some_and(|exit| exit != 0) || is_true(fields.apply_failed());
    let status = match ending.status {
        Status::Ok if has_failed => Status::Error,
        status => status,
    };
    let (error, mut index) = (decoded(ending.error), StructuralIndex::default());
    let reasons = Reasons::of(error.as_deref(), &mut index, call, out);
    let stated = (reasons.told.or(reasons.shown))
        .or(failure(&fields))
        .or(text_or_json(ending.error));
    let stated = stated.filter(|text| !text.is_empty());
    // A read that failed has the reason in place of the content.
    let (stdout, stderr) = match (stated, call.route) {
        (None, "read_file" | "read_file_v2") if status == Status::Error => (None, stdout),
        _ => (stdout, stated),
    };
    let event = ToolResult {
        tool: Some(call.tool),
        call_id: call.call_id,
        status: Some(status),
        exit,
        stdout: stdout.filter(|text| !text.is_empty()),
        stderr,
        artifact: side_file(&fields),
        ..ToolResult::default()
    };
    out.emit_child(Some(call.seq), event, POINTER)?;
    reasons.emit_shown(out)?;
    Ok(status)
}

/// The output of a call whose result is a JSON object, by its tool in the member table.
fn output<'r>(fields: &EditorResult<'r>, route: &str, answer: &Answer<'r>) -> Option<Text<'r>> {
    match route {
        "run_terminal_command_v2" => non_empty_text(fields.output()),
        "read_file" | "read_file_v2" => non_empty_text(fields.contents()),
        "edit_file" | "edit_file_v2" | "search_replace" | "write" => {
            // `code.edit` has what an edit changed. A diff for display is kept where it is all there is.
            let diff = || fields.diff().map(|_| fields.object().json());
            non_empty_text(fields.result_for_model()).or_else(diff)
        }
        "delete_file" => None,
        "mcp" => answer.text.or(non_empty_text(fields.result())),
        _ => Some(fields.object().json())
            .filter(|_| !fields.object().is_empty_object() && failure(fields).is_none()),
    }
}

/// Why a call failed, by its result.
fn failure<'r>(fields: &EditorResult<'r>) -> Option<Text<'r>> {
    let recoverable = fields
        .recoverable_error()
        .and_then(|error| non_empty_text(error.member("modelMessage")));
    // The member of a `oneof`, alone in its result: `{"error":{"error":"…"}}`.
    let alone = || {
        let mut members = fields.object().members();
        let ("error", error) = members.next()? else {
            return None;
        };
        let mut inner = error.members();
        let ("error", reason) = inner.next()? else {
            return None;
        };
        let is_alone = members.next().is_none() && inner.next().is_none();
        non_empty_text(Some(reason)).filter(|_| is_alone)
    };
    recoverable.or_else(alone)
}

/// What a tool of an MCP server answered.
#[derive(Default)]
struct Answer<'r> {
    /// Its text, if that is all.
    text: Option<Text<'r>>,
    is_error: bool,
}

impl<'r> Answer<'r> {
    /// Reads `{"content":[{"type":"text","text":..}],"isError":..}`.
    fn of_mcp(json: Option<&'r str>, index: &'r mut StructuralIndex) -> Answer<'r> {
        let Some(answer) = json.and_then(|json| parse(json, index).ok()) else {
            return Answer::default();
        };
        let mut parts = elements(answer.member("content"));
        let only = parts.next().filter(|_| parts.next().is_none());
        Answer {
            text: only.and_then(|part| non_empty_text(part.member("text"))),
            is_error: is_true(answer.member("isError")),
        }
    }
}

/// Why a call failed: what the model was told, and what the person was shown.
#[derive(Default)]
struct Reasons<'r> {
    told: Option<Text<'r>>,
    shown: Option<Text<'r>>,
}

impl<'r> Reasons<'r> {
    fn of(
        error: Option<&'r str>,
        index: &'r mut StructuralIndex,
        call: Call<'_>,
        out: &mut Out<'_, '_>,
    ) -> Reasons<'r> {
        let Some(error) = error.and_then(|error| parse(error, index).ok()) else {
            return Reasons::default();
        };
        check("bubble#error", error, ERROR, call.route, out);
        let error = EditorError::lenient(error);
        Reasons {
            told: non_empty_text(error.model_visible()),
            shown: non_empty_text(error.client_visible()),
        }
    }

    /// Emits what the person was shown, if the model was told something else.
    fn emit_shown(&self, out: &mut Out<'_, '_>) -> Result<(), Fault> {
        let (Some(told), Some(shown)) = (self.told, self.shown) else {
            return Ok(());
        };
        if told.decode_lossy() != shown.decode_lossy() {
            let notice = Meta::error(Some(Text::Plain("clientVisibleErrorMessage")), Some(shown));
            out.emit(notice, ERROR)?;
        }
        Ok(())
    }
}

/// The file that contains the whole output of a command.
fn side_file<'r>(fields: &EditorResult<'r>) -> Option<SideFile<'r>> {
    let location = fields.output_location()?;
    let size = location.member("sizeBytes");
    Some(SideFile {
        path: non_empty_text(location.member("filePath"))?,
        hash: None,
        bytes: size.and_then(|size| size.raw().trim_matches('"').parse().ok()),
    })
}
