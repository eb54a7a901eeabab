//! Tool calls and their results.

use std::borrow::Cow;

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{SideFile, Status, ToolCall, ToolResult};
use engram_core::steps::Emitter;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;
use memchr::memmem;

use super::files::{self, CallRecord, set_changes};
use super::prompts::{Giver, UserText, emit_context};
use super::result_texts::ResultTexts;
use super::state::{CallFate, Events};
use crate::gemini::descriptor::TOOLS;
use crate::gemini::readers::{Call, FunctionCall, FunctionResponse};
use crate::gemini::schema::{
    MASKED_OUTPUT, ends_with_hook, may_have_context, parts, raw, split_context, split_hook,
    without_hook,
};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, Value, elements, raw_str, text};

/// Errors of calls that were not allowed, as raw JSON: how they begin, and what else they contain.
const DENIED: &[(&str, &str)] = &[
    // By the person: at the terminal, and over ACP (0.61.0, recorded).
    ("[Operation Cancelled]", "User denied execution"),
    ("Tool \\\"", "\\\" was canceled by the user."),
    // By a rule of a policy (0.61.0, `denied by policy` in its package).
    ("Tool execution denied by policy.", ""),
    ("Tool execution for \\\"", "\\\" denied by policy."),
    // By a hook before the call (recorded).
    ("Tool execution blocked: ", ""),
];

/// The prefix of a cancelled call's error, as raw JSON.
const CANCELLED: &str = "\"[Operation Cancelled]";

/// The line that has a command's exit code: always up to 0.30.1, from 0.31.0 only if it is not 0.
const EXIT_CODE: &str = "Exit Code: ";

/// How the harness says that its own check stopped a command, as raw JSON: to the model, and at the terminal (0.61.0, recorded). The log calls
/// such a call a success.
const BLOCKED: [&str; 2] = ["Command injection detected: ", "Blocked: "];

/// What stands around an output that may have instructions of others (0.61.0, recorded).
const UNTRUSTED: [&str; 2] = ["<untrusted_context>\n", "\n</untrusted_context>"];

/// The line that has what a command printed, and what stands there if it printed nothing (0.4.1 to 0.61.0: recorded).
const OUTPUT: &str = "Output: ";
const EMPTY: &str = "(empty)";

/// The lines that may follow an output.
const BEHIND_OUTPUT: [&str; 6] = [
    "Error: ",
    EXIT_CODE,
    "Signal: ",
    "Background PIDs: ",
    "Process Group PGID: ",
    "</untrusted_context>",
];

/// Prefixes of a truncated output, as raw JSON.
const TRUNCATED: [&str; 4] = [
    "Output too large.",
    "<untrusted_context>\\nOutput too large.",
    "Tool output was too large",
    MASKED_OUTPUT,
];

/// How the terminal shows a read of which the harness cut lines.
const SHORTENED: &str = " (some lines were shortened)";

/// What precedes the path of the file with the full output.
const FULL_OUTPUT: [&str; 3] = [
    "For full output see: ",
    "The full output has been saved to: ",
    "Full output available at: ",
];

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
    pub(super) fn tool_calls(
        &mut self,
        list: Value<'_>,
        message_id: Field<'_>,
        out: &mut Emitter<'_>,
    ) {
        let calls = list.elements().enumerate().map(|(n, call)| CallRecord {
            call: Call::lenient(call),
            n,
            change: None,
            is_contested: false,
        });
        let mut calls: Vec<CallRecord<'_>> = calls.collect();
        let fates: Vec<CallFate> = calls.iter().map(|_| self.plan.next_call()).collect();
        if calls.iter().any(|record| record.call.change().is_some()) {
            set_changes(&mut calls);
        }
        for (record, fate) in calls.iter().zip(fates) {
            let call = &record.call;
            let time = tape_time(call.timestamp());
            if time.is_some() {
                out.set_header(RecordHeader::new(time.as_deref(), text(call.id())));
            }
            let Some(tool) = text(call.name()) else {
                continue;
            };
            if matches!(fate, CallFate::New | CallFate::Collected) {
                let message_id = message_id.filter(|_| fate == CallFate::New);
                let shown = text(call.shown_name()).map(|name| name.decode_lossy());
                let server = shown.as_deref().and_then(server_in).map(Text::Plain);
                let made = made_call(tool, call.id(), call.args(), message_id);
                let server = server.filter(|_| made.kind == ToolKind::Mcp);
                out.emit(
                    ToolCall { server, ..made },
                    Pointer::Item("/toolCalls", record.n),
                );
            }
            let is_first_result = self.plan.is_new();
            if call.has_ended() {
                self.result(record, tool, is_first_result, out);
            }
        }
    }

    /// A call in the form of the model's interface, which has no result.
    pub(super) fn function_call(
        &mut self,
        call: Value<'_>,
        message_id: Field<'_>,
        place: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) {
        let call = FunctionCall::lenient(call);
        let Some(tool) = text(call.name()) else {
            return;
        };
        let fate = self.plan.next_call();
        if fate == CallFate::Rewritten
            && let Some(args) = call.args()
        {
            emit_context("call_arguments", args.text_or_json(), place, out);
        }
        if matches!(fate, CallFate::Repeated | CallFate::Rewritten) {
            return;
        }
        out.emit(made_call(tool, call.id(), call.args(), message_id), place);
    }

    /// What a call of a turn returned, read and changed, if it is its first result.
    fn result(
        &mut self,
        record: &CallRecord<'_>,
        tool: Text<'_>,
        is_first: bool,
        out: &mut Emitter<'_>,
    ) {
        let call = &record.call;
        // What a person wrote while the tool ran: the harness puts it before the result.
        for (part, text) in call.interjections() {
            if !is_first {
                self.plan.is_new();
                continue;
            }
            let place = format!("/toolCalls/{}/result/{part}/text", record.n);
            let said = UserText {
                text,
                giver: Giver::Typed,
                in_history: false,
                mentions: &[],
                place: Pointer::At(&place),
            };
            self.user_text(said, &mut Vec::new(), out);
        }
        let responses = parts(call.result())
            .filter(|part| part.response().is_some())
            .count();
        for _ in 0..responses {
            self.plan.is_new();
        }
        if !is_first {
            return;
        }
        let texts = ResultTexts::of_call(call);
        let status = match raw_str(call.status()) {
            // Of a sub-agent that failed, only what the terminal shows tells it.
            "success" if raw_str(call.progress().state()) == "error" => Some(Status::Error),
            "success" => Some(Status::Ok),
            _ if texts.error.iter().any(is_denied) => Some(Status::Denied),
            "error" => Some(Status::Error),
            _ => Some(Status::Cancelled),
        };
        let end = ToolEnd {
            tool,
            call_id: text(call.id()),
            status,
            display: call.display(),
        };
        self.tool_result(end, texts, Pointer::Item("/toolCalls", record.n), out);
        if call.succeeded() {
            files::events(record, out);
        }
    }

    /// A result as the model gets it, outside of its call, with the files among `parts_with_files`.
    pub(super) fn response(
        &mut self,
        response: Value<'_>,
        parts_with_files: Field<'_>,
        place: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) {
        let response = FunctionResponse::lenient(response);
        let mut texts = ResultTexts::of_response(&response);
        for part in parts(parts_with_files).filter(|part| part.file().is_some()) {
            texts.add_part(&part);
        }
        let status = match texts.error.first {
            None => Status::Ok,
            Some(error) if is_denied(error) => Status::Denied,
            Some(error) if error.raw().starts_with(CANCELLED) => Status::Cancelled,
            Some(_) => Status::Error,
        };
        let Some(tool) = text(response.name()) else {
            return;
        };
        self.tool_result(
            ToolEnd {
                tool,
                call_id: text(response.id()),
                status: Some(status),
                display: None,
            },
            texts,
            place,
            out,
        );
    }

    fn tool_result(
        &self,
        end: ToolEnd<'_>,
        texts: ResultTexts<'_>,
        place: Pointer<'_>,
        out: &mut Emitter<'_>,
    ) {
        let (mut output, mut error) = (String::new(), String::new());
        let (stdout, stderr) = (
            texts.output.joined(&mut output),
            texts.error.joined(&mut error),
        );
        let is_command = TOOLS.kind(&end.tool.decode_lossy()) == ToolKind::Execute;
        let exit = stdout
            .zip(end.display)
            .filter(|_| is_command)
            .and_then(|(output, display)| exit_code(output, display));
        let [to_model, at_terminal] = BLOCKED;
        let is_blocked = is_command
            && raw_str(end.display).starts_with(at_terminal)
            && stdout.is_some_and(|output| output.starts_with(to_model));
        // A command that failed is a successful call of the tool.
        let has_failed = exit.is_some_and(|exit| exit != 0);
        let status = match end.status {
            Some(Status::Ok) if is_blocked => Some(Status::Denied),
            Some(Status::Ok) if has_failed => Some(Status::Error),
            status => status,
        };
        let (stdout, stderr) = if is_blocked {
            (None, stdout)
        } else {
            (stdout, stderr)
        };
        let path = stdout.and_then(full_output_path);
        let artifact = path.as_deref().map(|path| {
            let (hash, bytes) = self
                .side_info
                .side_files
                .as_ref()
                .and_then(|files| files.hash(path))
                .unzip();
            SideFile {
                path: Text::Plain(path),
                hash,
                bytes,
            }
        });
        let decoded = stdout
            .filter(|output| path.is_none() && (is_command || is_wrapped(*output)))
            .and_then(|output| output.decode().ok());
        let printed = decoded.as_deref().and_then(|output| {
            let shown = end.display.and_then(shown_text);
            own_output(output, shown.as_deref(), is_command)
        });
        let own = match printed {
            Some("") => None,
            Some(printed) => Some(Text::Plain(printed)),
            None => stdout,
        };
        let result = ToolResult {
            tool: Some(end.tool),
            call_id: end.call_id,
            status,
            exit,
            stdout: own,
            stderr,
            truncated: path.is_some() || raw_str(end.display).ends_with(SHORTENED),
            artifact,
            attachments: texts.attachments,
            duration_ms: None,
        };
        out.emit(result, place);
        if let Some(for_model) = stdout.filter(|_| printed.is_some()) {
            emit_context("tool_result", for_model, place, out);
        }
        if let Some((_, words)) = decoded.as_deref().and_then(split_hook) {
            emit_context("hook", Text::Plain(words), place, out);
        }
        if let Some(stdout) = stdout {
            emit_found_context(stdout, place, out);
        }
    }
}

/// Emits the instruction files that the harness found and put behind an output.
fn emit_found_context(output: Text<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
    if !may_have_context(output.raw()) {
        return;
    }
    let output = output.decode_lossy();
    if let Some((_, context)) = split_context(without_hook(&output)) {
        emit_context("instructions", Text::Plain(context), place, out);
    }
}

/// True for the error of a call that was not allowed.
pub(super) fn is_denied(error: Value<'_>) -> bool {
    let error = raw_str(Some(error));
    DENIED.iter().any(|(begin, inside)| {
        error
            .strip_prefix(begin)
            .is_some_and(|rest| rest.contains(inside))
    })
}

/// The server in the name that the terminal shows of an MCP tool: `tool (server MCP Server)` (0.61.0, recorded).
fn server_in(shown: &str) -> Option<&str> {
    let (_, server) = shown.strip_suffix(" MCP Server)")?.split_once(" (")?;
    (!server.is_empty()).then_some(server)
}

fn made_call<'a>(
    tool: Text<'a>,
    call_id: Field<'a>,
    args: Field<'a>,
    message_id: Field<'a>,
) -> ToolCall<'a> {
    let kind = TOOLS.kind(&tool.decode_lossy());
    ToolCall {
        call_id: text(call_id),
        args: raw(args),
        message_id: text(message_id),
        ..ToolCall::new(tool, kind)
    }
}

/// The exit code that the harness says after the output of a command.
///
/// The command itself may print such a line. So the code is used only if the command's own output, which the terminal shows, has none.
fn exit_code(output: Text<'_>, display: Value<'_>) -> Option<i64> {
    if memmem::find(display.raw().as_bytes(), EXIT_CODE.as_bytes()).is_some() {
        return None;
    }
    // At most four other lines of the harness follow it, some of them with an empty line.
    let mut last = output.raw().trim_end_matches('"').rsplit("\\n").take(8);
    last.find_map(|line| line.strip_prefix(EXIT_CODE))?
        .parse()
        .ok()
}

/// What the terminal shows of a result: a text, or lines of cells, with blanks up to the width of the terminal (0.38.2 to 0.43.0).
fn shown_text(display: Value<'_>) -> Option<Cow<'_, str>> {
    if let Some(shown) = display.text() {
        return shown.decode().ok();
    }
    let mut shown = String::new();
    for line in elements(Some(display)) {
        for cells in line
            .elements()
            .filter_map(|cells| text(cells.member("text")))
        {
            shown.push_str(&cells.decode_lossy());
        }
        shown.truncate(shown.trim_end_matches(' ').len());
        shown.push('\n');
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    Some(Cow::Owned(shown))
}

/// True if the harness may have put something around an output, or a hook behind it.
fn is_wrapped(output: Text<'_>) -> bool {
    output.starts_with(UNTRUSTED[0].trim()) || ends_with_hook(output.raw())
}

/// What a tool gave, of the text that the model got; `None` if that is all of the text, or nothing proves what it is.
fn own_output<'t>(output: &'t str, shown: Option<&str>, is_command: bool) -> Option<&'t str> {
    let bare = split_hook(output).map(|(before, _)| before);
    let rest = bare.unwrap_or(output);
    let own = match is_command {
        true => shown.and_then(|shown| printed(rest, shown)),
        false => {
            let [begin, end] = UNTRUSTED;
            let inside = rest
                .strip_prefix(begin)
                .and_then(|rest| rest.strip_suffix(end));
            inside.filter(|inside| shown.is_some_and(|shown| shown.trim() == inside.trim()))
        }
    };
    own.or(bare)
}

/// What a command printed, of the text that the model got. The terminal shows the same (`resultDisplay`), and proves where it ends: a command may
/// print lines like the harness's own. None without this proof.
fn printed<'t>(text: &'t str, shown: &str) -> Option<&'t str> {
    let begin = match text.strip_prefix(OUTPUT) {
        Some(_) => 0,
        None => text.find(&format!("\n{OUTPUT}"))? + 1,
    };
    let rest = &text[begin + OUTPUT.len()..];
    let is_end = |behind: &str| {
        let line = behind.trim_start_matches('\n');
        line.is_empty()
            || line.len() < behind.len()
                && BEHIND_OUTPUT.iter().any(|begin| line.starts_with(begin))
    };
    let begins = |output: &str| rest.strip_prefix(output).is_some_and(is_end);
    if !shown.is_empty() && begins(shown) {
        Some(&rest[..shown.len()])
    } else {
        begins(EMPTY).then_some("")
    }
}

/// The file with the full output, if the harness truncated the result.
fn full_output_path(output: Text<'_>) -> Option<String> {
    if !TRUNCATED.iter().any(|prefix| output.starts_with(prefix)) {
        return None;
    }
    let output = output.decode_lossy();
    let (_, rest) = FULL_OUTPUT
        .iter()
        .find_map(|prefix| output.split_once(prefix))?;
    rest.lines().next().map(|path| path.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    #[test]
    fn the_terminal_shows_where_an_output_ends() {
        let text = "<untrusted_context>\nOutput: 4\nProcess Group PGID: 95\n</untrusted_context>";
        assert_eq!(printed(text, "4"), Some("4"));
        assert_eq!(printed(text, "other"), None);
        let empty = "Output: (empty)\nExit Code: 1\nProcess Group PGID: 9";
        assert_eq!(printed(empty, "Command exited with code: 1"), Some(""));
        assert_eq!(printed(empty, EMPTY), Some(EMPTY));
        let both = |output, shown| own_output(output, Some(shown), false);
        let marked = "<untrusted_context>\n{}\n</untrusted_context>";
        assert_eq!(both(marked, "{}"), Some("{}"));
        assert_eq!(both(marked, "other"), None);
        let hook = "done\n\n<hook_context>formatted</hook_context>";
        assert_eq!(both(hook, ""), Some("done"));
        assert_eq!(split_hook(hook), Some(("done", "formatted")));
        // Lines of cells.
        let cells = r#"[[{"text":" a"},{"text":"  "}],[{"text":"b "}],[{"text":"  "}]]"#;
        let mut index = StructuralIndex::default();
        let shown = shown_text(parse(cells, &mut index).unwrap()).unwrap();
        assert_eq!(shown, " a\nb");
        assert_eq!(
            printed("Output:  a\nb\nProcess Group PGID: 9", &shown),
            Some(" a\nb")
        );
        // The command printed a line like one of the harness.
        let text = "Output: a\nSignal: b\nProcess Group PGID: 9";
        assert_eq!(printed(text, "a\nSignal: b"), Some("a\nSignal: b"));
    }
}
