//! The result of a call.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{SideFile, Status, ToolResult};
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use memchr::memmem;

use super::call_record::CallRecord;
use super::result_texts::ResultTexts;
use crate::gemini::blocks::{UserTextOrigin, emit_user_text};
use crate::gemini::schema::{FunctionResponse, MASKED_OUTPUT, Part, parts};
use crate::gemini::state::occurrences::text_key;
use crate::gemini::state::session_state::SessionState;
use crate::gemini::tools::TOOLS;
use crate::shared::value::{Field, raw_str, text};

/// The error of a call that the user did not allow.
pub(super) const DENIED: &str = "User denied execution";

/// The line that states a command's exit code: always up to 0.30.1, from 0.31.0 only if it is not 0.
const EXIT_CODE: &str = "Exit Code: ";

/// Prefixes of a truncated output, as raw JSON.
const TRUNCATED: [&str; 4] = ["Output too large.", "<untrusted_context>\\nOutput too large.", "Tool output was too large", MASKED_OUTPUT];

/// What precedes the path of the file with the full output.
const FULL_OUTPUT: [&str; 3] = ["For full output see: ", "The full output has been saved to: ", "Full output available at: "];

/// The facts of a result, its texts excepted.
pub(super) struct ToolEnd<'a> {
    pub tool: Text<'a>,
    pub call_id: Option<Text<'a>>,
    pub status: Option<Status>,
    /// What the terminal shows.
    pub display: Field<'a>,
}

/// Emits the result of a call.
#[inline(never)]
pub(super) fn emit_call_result(state: &mut SessionState, record: &CallRecord<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let call = record.call;
    let mut texts = ResultTexts::default();
    let response_n = parts(call.result()).position(|part| part.response().is_some()).unwrap_or_default();
    for (part_n, part) in parts(call.result()).enumerate() {
        match part.response().map(FunctionResponse::lenient) {
            Some(response) => {
                texts.add_response(&response);
                if let Some(id) = call.key() {
                    state.dedup.insert_response(id, &response);
                }
            }
            // Texts of the result itself follow the response.
            None if part_n < response_n && part.plain_text().is_some() => {
                let pointer = format!("{}/{}/result/{part_n}/text", record.path, record.n);
                emit_interjection(state, &part, Pointer::At(&pointer), out)?;
            }
            None => texts.add_part(&part),
        }
    }
    if texts.is_empty() {
        // A call that never ran has no result, only the text that the terminal shows.
        let shown = call.display().filter(|shown| shown.text().is_some());
        if call.succeeded() { texts.output.add(shown) } else { texts.error.add(shown) }
    }
    let status = match raw_str(call.status()) {
        "success" => Some(Status::Ok),
        "error" => Some(Status::Error),
        "cancelled" if texts.error.iter().any(|text| text.raw().contains(DENIED)) => Some(Status::Denied),
        "cancelled" => Some(Status::Cancelled),
        _ => None,
    };
    let end = ToolEnd { tool: record.tool, call_id: text(call.id()), status, display: call.display() };
    emit_tool_result(state, end, texts, record.pointer(), out)
}

/// Emits what a person wrote while the tool ran. The harness puts it before the result.
#[cold]
fn emit_interjection(state: &mut SessionState, part: &Part<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let Some(text) = text(part.plain_text()) else { return Ok(()) };
    emit_user_text(state, text, UserTextOrigin::Typed, None, pointer, out)?;
    state.dedup.set_interjection(text_key("user", text));
    Ok(())
}

/// Emits `tool.result`.
#[inline(never)]
pub(super) fn emit_tool_result(
    state: &mut SessionState,
    end: ToolEnd<'_>,
    texts: ResultTexts<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let (mut output, mut error) = (String::new(), String::new());
    let (stdout, stderr) = (texts.output.joined(&mut output), texts.error.joined(&mut error));
    let is_command = TOOLS.kind(&end.tool.decode_lossy()) == ToolKind::Execute;
    let exit = if is_command { exit_code(stdout, end.display) } else { None };
    // A command that failed is a successful call of the tool.
    let status = if exit.is_some_and(|exit| exit != 0) && end.status == Some(Status::Ok) { Some(Status::Error) } else { end.status };
    let path = stdout.and_then(full_output_path);
    let artifact = path.as_deref().map(|path| {
        let (hash, bytes) = state.side_info.side_files.as_ref().and_then(|files| files.hash(path)).unzip();
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
    state.tally.emit(result, pointer, out)
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
