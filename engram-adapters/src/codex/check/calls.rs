//! The check of calls, outputs and ends: what each says of its call.

use std::borrow::Cow;

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Kind as EventKind, Status};
use engram_core::keys::hash64;
use engram_core::steps::Check;
use engram_core::text::Text;

use crate::shared::patch::has_bare_cr;
use crate::shared::value::{Field, Value, count, non_empty_text, raw_str, text};

use super::{Called, Checker, Facts, Scratch};
use crate::codex::blocks::{joined_lines, media, part, unquote};
use crate::codex::emit::edits::changed_lines;
use crate::codex::emit::ends::ScreenEnd;
use crate::codex::emit::output_text::{
    ExitFacts, Framing, line_breaks_of_command, may_be_wrapped, strip_framing, wrapped_of,
};
use crate::codex::emit::outputs::{is_notice, is_told};
use crate::codex::emit::patch_text::{contain_patch, patch_of_command, patch_of_input};
use crate::codex::emit::tool_calls::{SHELL_TOOLS, object_or_list};
use crate::codex::notes::{CallNote, Kind, Role};
use crate::codex::readers::{
    ApprovalReview, Call, CallEnd, Change, ClientCall, GeneratedImage, ImageView, McpResult,
    Output, Part, Sleep, WebSearch,
};
use crate::codex::record::{Container, Record};
use crate::codex::tools;

/// The tools whose JSON outputs the harness itself writes. What their commands print is inside.
const WRAPPING_TOOLS: [&str; 4] = ["shell", "local_shell", "container.exec", "apply_patch"];

/// The output of `view_image` up to 0.98, if a message with the image follows.
const ATTACHED: &str = "\"attached local image path\"";

/// The types of records for the screen: a call has one record of each.
const SHOWN: [&str; 17] = [
    "event_msg/exec_command_end",
    "event_msg/patch_apply_end",
    "event_msg/mcp_tool_call_end",
    "event_msg/dynamic_tool_call_response",
    "event_msg/item_completed/CommandExecution",
    "event_msg/item_completed/FileChange",
    "event_msg/item_completed/McpToolCall",
    "event_msg/item_completed/DynamicToolCall",
    "event_msg/dynamic_tool_call_request",
    "event_msg/view_image_tool_call",
    "event_msg/item_completed/ImageView",
    "event_msg/item_completed/Sleep",
    "event_msg/image_generation_end",
    "response_item/image_generation_call",
    "event_msg/item_completed/ImageGeneration",
    "event_msg/item_completed/Extension",
    "",
];

impl Checker {
    fn add_call(&mut self, note: CallNote) -> Facts {
        self.notes.calls.push(CallNote {
            number: self.number,
            ..note
        });
        Facts {
            at: self.notes.calls.len() as u32 - 1,
            ..Facts::of(Kind::Call)
        }
    }

    fn tool(&mut self, tool: &str) -> u32 {
        self.notes.tools.place(tools::name(tool))
    }

    /// Notes a call, and what its output is read with.
    fn begin_call(&mut self, id: Field<'_>, tool: &str, has_patch: bool, breaks: usize) -> Facts {
        let (id, tool) = (key(id), self.tool(tool));
        if id != 0 {
            self.calls.insert(
                id,
                Called {
                    tool,
                    has_patch,
                    breaks,
                },
            );
        }
        self.add_call(CallNote {
            tool,
            is_patch: has_patch,
            ..note(id, Role::Call)
        })
    }

    /// Notes a record for the screen that says a call, which may be the only one.
    fn add_shown(
        &mut self,
        record: &Record<'_>,
        id: Field<'_>,
        tool: &str,
        role: fn(u8) -> Role,
    ) -> CallNote {
        let (id, tool) = (key(id), self.tool(tool));
        self.calls.entry(id).or_insert(Called {
            tool,
            has_patch: false,
            breaks: 0,
        });
        CallNote {
            tool,
            ..note(id, role(shown(record.name)))
        }
    }
}

fn note(id: u64, role: Role) -> CallNote {
    CallNote {
        id,
        number: 0,
        command: 0,
        role,
        tool: 0,
        text: 0,
        has_more: false,
        is_patch: false,
        exit: u32::MAX,
    }
}

/// The key of a call's id; 0 if there is none.
fn key(id: Field<'_>) -> u64 {
    non_empty_text(id).map_or(0, |id| hash64(id.raw()))
}

fn shown(record: &str) -> u8 {
    SHOWN
        .iter()
        .position(|name| *name == record)
        .unwrap_or(SHOWN.len() - 1) as u8
}

fn required<'a>(
    field: Field<'a>,
    at: impl Into<String>,
    what: &'static str,
) -> Result<Text<'a>, Fault> {
    text(field).ok_or_else(|| Fault::malformed(at.into(), what, "nothing"))
}

/// A patch that moves a file gives a link.
fn check_move(token: &str, check: &Check<'_>) -> Result<(), Fault> {
    if token.contains("*** Move to: ") {
        check.gives(EventKind::SpanLink, Pointer::Root)
    } else {
        Ok(())
    }
}

/// A call whose arguments are JSON in a string. The call of a shell tool may apply a patch.
pub fn function_call(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let call = Call::strict(record.value, record.at)?;
    let name = required(
        call.name(),
        record.pointer_to("/payload/name"),
        "the name of a tool",
    )?
    .decode_lossy();
    let Scratch { buffer, index } = &mut checker.scratch;
    let is_session = matches!(&*name, "exec_command" | "write_stdin");
    let arguments =
        text(call.arguments()).filter(|args| is_session || patch_of_input(Some(*args)).is_some());
    let decoded = arguments
        .and_then(|args| args.decode_into(buffer).ok())
        .unwrap_or_default();
    let value = object_or_list(decoded, index);
    let with_patch = value.filter(|value| contain_patch(*value));
    if let Some(value) = with_patch.filter(|_| SHELL_TOOLS.contains(&&*name)) {
        let table = if record.container == Container::Bare {
            "function_call#arguments"
        } else {
            "response_item/function_call#arguments"
        };
        check.members(
            table,
            value,
            Pointer::At(record.pointer_to("/payload/arguments")),
            &|_| None,
        );
    }
    let patch = with_patch.and_then(patch_of_command);
    if let Some(patch) = patch {
        check_move(patch, check)?;
    }
    let has_patch = patch.is_some();
    let command = if name == "exec_command" {
        value.and_then(command_of_arguments)
    } else {
        None
    };
    let breaks = match (&*name, value) {
        ("exec_command", Some(args)) => line_breaks_of_command(args),
        ("write_stdin", Some(args)) => count(args.first_member("session_id"))
            .and_then(|session| checker.sessions.get(&session).copied())
            .unwrap_or_default(),
        _ => 0,
    };
    let facts = checker.begin_call(call.call_id(), &name, has_patch, breaks);
    if let (Some(command), Some(call)) = (command, checker.notes.calls.last_mut()) {
        call.command = command;
    }
    Ok(facts)
}

/// The key of the command in the arguments of a shell tool.
fn command_of_arguments(arguments: Value<'_>) -> Option<u64> {
    Some(hash64(
        &*text(arguments.first_member("cmd"))?.decode_lossy(),
    ))
}

/// A call whose input is text: a patch, or a script of code mode.
pub fn custom_tool_call(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let call = Call::strict(record.value, record.at)?;
    let name = required(
        call.name(),
        record.pointer_to("/payload/name"),
        "the name of a tool",
    )?
    .decode_lossy();
    let patch = patch_of_input(text(call.input()));
    if let Some(patch) = patch {
        check_move(patch, check)?;
    }
    Ok(checker.begin_call(call.call_id(), &name, patch.is_some(), 0))
}

/// A command of the model's own shell tool.
pub fn local_shell_call(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let call = Call::strict(record.value, record.at)?;
    Ok(checker.begin_call(call.call_id().or(call.id()), "local_shell", false, 0))
}

/// A search for tools.
pub fn tool_search_call(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let call = Call::strict(record.value, record.at)?;
    Ok(checker.begin_call(call.call_id(), "tool_search", false, 0))
}

/// `function_call_output` and `custom_tool_call_output`.
pub fn call_output(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let item = Output::strict(record.value, record.at)?;
    let list = record.pointer_to("/payload/output");
    let Some(output) = item.output() else {
        return Err(Fault::malformed(list, "an output", "nothing"));
    };
    if is_told(&item) || is_notice(&item) {
        return Ok(Facts::default());
    }
    let id = key(item.call_id());
    let called = checker.calls.get(&id).copied();
    let tool = called
        .map(|called| checker.notes.tools.name(called.tool))
        .unwrap_or_default();
    let author = Author::of(tool, called.is_some_and(|called| called.has_patch));
    let framing = Framing {
        line_breaks_of_command: called.map_or(0, |called| called.breaks),
        may_nest: called.is_none() || author != Author::Other,
    };
    let known_tool = called.map(|_| tool);
    let (facts, text, is_wrapped) = if output.is_array() {
        for (index, value) in output.elements().enumerate() {
            let part = part(value, list, index)?;
            if part.text().is_none() && media(&part).is_none() {
                check.unknown_block(raw_str(part.kind()))?;
            }
        }
        (exit_of_list(output, framing, tool), 0, false)
    } else {
        exit_of_text(
            &mut checker.scratch,
            output,
            (author, framing, known_tool),
            record,
            check,
        )
    };
    let facts = ExitFacts {
        image_follows: tool == "view_image" && output.raw() == ATTACHED,
        ..facts
    };
    if let Some((session, called)) = facts
        .session
        .zip(called)
        .filter(|(_, called)| called.breaks > 0)
    {
        checker.sessions.insert(session, called.breaks);
    }
    if let Some(called) = checker.calls.get_mut(&id) {
        called.has_patch = false;
    }
    checker.notes.exits.push(facts);
    let exit = checker.notes.exits.len() as u32 - 1;
    let role = Role::Output {
        runs_on: facts.running,
    };
    Ok(checker.add_call(CallNote {
        text,
        has_more: is_wrapped,
        exit,
        ..note(id, role)
    }))
}

/// The facts in an output that is a text, or a wrapped text (`{"output": ..., "metadata": ...}` in a string), the key of what was printed, and
/// whether it is wrapped.
fn exit_of_text(
    Scratch { buffer, index }: &mut Scratch,
    output: Value<'_>,
    (author, framing, tool): (Author, Framing, Option<&str>),
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> (ExitFacts, u64, bool) {
    let token = output.raw();
    let may_be_json =
        may_be_wrapped(token) || (author != Author::Other && token.starts_with("\"{\\\""));
    let decoded = output
        .text()
        .filter(|_| may_be_json)
        .and_then(|text| text.decode_into(buffer).ok());
    let parsed =
        decoded.and_then(|text| Some((text, crate::shared::value::parse(text, index).ok()?)));
    match parsed {
        Some((_, value)) => check_wrapped(author, value, record, check),
        None => check_framed(author, token, record, check),
    }
    let wrapped = parsed
        .filter(|_| framing.may_nest)
        .and_then(|(text, value)| wrapped_of(text, value));
    let facts = wrapped
        .as_ref()
        .map_or_else(
            || ExitFacts::of_token(token, framing),
            ExitFacts::of_wrapped,
        )
        .with_status_of_tool(tool, token);
    let printed = wrapped
        .and_then(|wrapped| wrapped.output())
        .map_or(token, Value::raw);
    (
        facts,
        hash64(strip_framing(unquote(printed))),
        wrapped.is_some_and(|wrapped| wrapped.output().is_some()),
    )
}

/// The facts in an output that is a list: the texts that a script printed, or images. The first text has the framing.
fn exit_of_list(list: Value<'_>, framing: Framing, tool: &str) -> ExitFacts {
    let parts = || list.elements().map(Part::lenient);
    let facts_of = |token: &str| ExitFacts::of_token(token, framing);
    let mut facts = joined_lines(list)
        .as_deref()
        .map(facts_of)
        .unwrap_or_default();
    facts.truncated |= parts()
        .filter_map(|part| part.text())
        .any(|text| facts_of(text.raw()).truncated);
    if facts.status.is_none()
        && tool == "view_image"
        && parts().any(|part| part.image_url().is_some())
    {
        facts.status = Some(Status::Ok);
    }
    facts
}

/// Who wrote the JSON in the output of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// The harness: its tools print no other.
    Harness,
    /// The harness if it applied the patch that the command has, else the command.
    HarnessOrCommand,
    /// A command or a server.
    Other,
}

impl Author {
    fn of(tool: &str, has_patch: bool) -> Author {
        if WRAPPING_TOOLS.contains(&tool) {
            Author::Harness
        } else if has_patch {
            Author::HarnessOrCommand
        } else {
            Author::Other
        }
    }

    fn is_harness(self, value: Value<'_>) -> bool {
        let has_known_member = || {
            ["output", "metadata"]
                .iter()
                .any(|name| value.first_member(name).is_some())
        };
        value.is_object()
            && (self == Author::Harness || (self == Author::HarnessOrCommand && has_known_member()))
    }
}

/// Checks the members of a parsed output.
fn check_wrapped(author: Author, value: Value<'_>, record: &Record<'_>, check: &mut Check<'_>) {
    if author.is_harness(value) {
        let table = match record.type_name() {
            "response_item/function_call_output" => "response_item/function_call_output#output",
            "function_call_output" => "function_call_output#output",
            "response_item/custom_tool_call_output" => {
                "response_item/custom_tool_call_output#output"
            }
            _ => "custom_tool_call_output#output",
        };
        check.members(
            table,
            value,
            Pointer::At(record.pointer_to("/payload/output")),
            &|_| None,
        );
    }
}

/// Checks the members of an output (a token) behind the framing of a shell tool that applied a patch (0.115 to 0.131).
fn check_framed(author: Author, token: &str, record: &Record<'_>, check: &mut Check<'_>) {
    let text = unquote(token);
    let body = if author == Author::HarnessOrCommand {
        strip_framing(text)
    } else {
        text
    };
    if body.len() == text.len() || !body.starts_with("{\\\"") {
        return;
    }
    let (quoted, mut index) = (
        format!("\"{body}\""),
        crate::shared::value::StructuralIndex::default(),
    );
    let Ok(decoded) = Text::Token(&quoted).decode() else {
        return;
    };
    if let Ok(value) = crate::shared::value::parse(&decoded, &mut index) {
        check_wrapped(author, value, record, check);
    }
}

/// The end of a call, as an event or item.
pub fn end(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let fields = CallEnd::strict(record.value, record.at)?;
    if raw_str(fields.source()) == "user_shell" {
        return Ok(Facts::default());
    }
    let end = ScreenEnd::of(record);
    required(end.id, record.at, "the id of a call")?;
    if let Some(answer) = fields.result().filter(|_| end.is_mcp()) {
        McpResult::strict(answer, &format!("{}/result", record.at))?;
    }
    if fields.changes().is_some() {
        check_patch_status(raw_str(fields.status()), record.at)?;
    }
    if let Some(changes) = end.applied_changes() {
        for (name, change) in changes.members() {
            check_change(
                change,
                &format!(
                    "{}/changes/{}",
                    record.at,
                    name.replace('~', "~0").replace('/', "~1")
                ),
                check,
            )?;
        }
    }
    let facts = end.facts();
    let tool: Cow<'_, str> = end.call().0.tool;
    let shown = checker.add_shown(record, end.id, &tool, Role::End);
    let text = facts.text().map_or(0, |text| hash64(unquote(text)));
    let has_more = facts.further_text().is_some() || facts.plain_text.is_some();
    checker.notes.exits.push(facts.numbers());
    let exit = checker.notes.exits.len() as u32 - 1;
    Ok(checker.add_call(CallNote {
        text,
        has_more,
        command: end
            .script()
            .map_or(0, |script| hash64(&*script.decode_lossy())),
        is_patch: end.is_patch(),
        exit,
        ..shown
    }))
}

/// Checks the status of a patch: it decides whether the changes were made. Older versions have none; `success` says the same.
fn check_patch_status(status: &str, at: &str) -> Result<(), Fault> {
    match status {
        "" | "completed" | "failed" | "declined" => Ok(()),
        other => Err(Fault::malformed(
            format!("{at}/status"),
            "completed, failed or declined",
            other,
        )),
    }
}

/// Checks a change that was made: its kind, and the lines of its diff.
fn check_change(change: Value<'_>, at: &str, check: &Check<'_>) -> Result<(), Fault> {
    let fields = Change::strict(change, at)?;
    let kind = raw_str(fields.kind());
    if !matches!(kind, "add" | "delete" | "update") {
        return Err(Fault::malformed(
            format!("{at}/type"),
            "add, delete or update",
            kind,
        ));
    }
    if fields.move_path().is_some() {
        check.gives(EventKind::SpanLink, Pointer::Root)?;
    }
    if kind == "update"
        && let Some(Ok(diff)) = text(fields.unified_diff()).map(|diff| diff.decode())
        && changed_lines(&diff, has_bare_cr(&diff)).is_none()
    {
        return Err(Fault::malformed(
            format!("{at}/unified_diff"),
            "a unified diff",
            &diff,
        ));
    }
    Ok(())
}

/// The request for a call of a tool that the client offers.
pub fn client_call(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let call = ClientCall::strict(record.value, record.at)?;
    required(call.call_id(), "/payload/callId", "the id of a call")?;
    // It says the call without a result: an output or a response follows.
    let shown = checker.add_shown(record, call.call_id(), raw_str(call.tool()), Role::Request);
    Ok(checker.add_call(shown))
}

/// A viewed image.
pub fn image_view(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let view = ImageView::strict(record.value, record.at)?;
    let id = view.call_id().or(view.id());
    required(id, record.at, "the id of a call")?;
    let shown = checker.add_shown(record, id, "view_image", Role::Screen);
    Ok(checker.add_call(shown))
}

/// A call of a tool that an extension of the harness has.
pub fn extension(
    checker: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    match raw_str(record.value.first_member("kind")) {
        "web.search" => search_event(checker, record, check),
        "clock.sleep" => sleep(checker, record, check),
        "image_gen.generation" => generated_image(checker, record, check),
        kind => check.unknown_block(kind).map(|()| Facts::default()),
    }
}

/// A sleep of the agent.
pub fn sleep(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let sleep = Sleep::strict(record.value, record.at)?;
    required(sleep.id(), record.at, "the id of a call")?;
    let shown = checker.add_shown(record, sleep.id(), "sleep", Role::Screen);
    Ok(checker.add_call(shown))
}

/// A generated image, as an event or a response item.
pub fn generated_image(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let image = GeneratedImage::strict(record.value, record.at)?;
    let id = image.call_id().or(image.id());
    required(id, record.at, "the id of a call")?;
    let shown = checker.add_shown(record, id, "image_generation", Role::Screen);
    Ok(checker.add_call(shown))
}

/// A web search as an event or a completed item.
pub fn search_event(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let search = WebSearch::strict(record.value, record.at)?;
    let id = key(search.call_id().or(search.id()));
    Ok(Facts {
        kind: Kind::SearchEvent,
        ..checker.add_call(note(id, Role::About))
    })
}

/// The review of a call that needs approval.
pub fn approval(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let review = ApprovalReview::strict(record.value, record.at)?;
    Ok(checker.add_call(note(key(review.target_item_id()), Role::About)))
}

/// A web search as a response item.
pub fn search_item(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    WebSearch::strict(record.value, record.at).map(|_| Facts::of(Kind::SearchItem))
}

/// The tools that a search found, or that the model gets in addition.
pub fn tools(_: &mut Checker, record: &Record<'_>, _: &mut Check<'_>) -> Result<Facts, Fault> {
    Output::strict(record.value, record.at).map(|_| Facts::default())
}
