//! Results of tools: how they ended, what they printed, and the read or edit that they show.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, ImplicitInput, Meta, SideFile, SpanLink, Status, ToolResult};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::edits::{edit, patch, write};
use super::nested::nested;
use super::printed::{STOPPED, exit_in, is_shell, split};
use super::reads::read;
use super::state::{FileCall, State};
use super::usage::usage;
use super::words::images;
use crate::pi::notes::CONTENT;
use crate::pi::readers::{Block, Details, FileArgs, Message, Truncation};
use crate::shared::pending_calls::CallPlace;
use crate::shared::value::{Value, count, integer, is_true, non_empty_text, raw_str, text};

/// The events of a result.
pub fn result(
    state: &mut State,
    record: &Record<'_>,
    message: &Message<'_>,
    out: &mut Emitter<'_>,
) {
    let content = message.content();
    let joined = joined(content);
    // One text stays as the log has it.
    let mut texts = content.into_iter().flat_map(Value::elements);
    let only = texts.next().filter(|_| texts.next().is_none());
    let only = only.and_then(|block| text(Block::lenient(block).text()));
    let printed = only.unwrap_or(Text::Plain(&joined));
    let place = state.calls.close(raw_str(message.call_id()));
    let script = state.scripts.close(raw_str(message.call_id()));
    nested(state, record, message, script, out);
    let exit = exit(message, &joined);
    let status = status(message, exit, &joined);
    let (own, notice) = match is_shell(raw_str(message.tool())) {
        true => split(&joined, status != Status::Ok),
        false => (&*joined, None),
    };
    let printed = match notice {
        Some(_) => Some(Text::Plain(own)).filter(|own| !own.is_empty()),
        None => Some(printed),
    };
    let notice = notice.map(Text::Plain);
    // What it says of a command that did not end by itself is the error.
    let is_error = status != Status::Ok && exit.is_none();
    emit_result(
        message,
        (status, exit),
        (printed, notice.filter(|_| is_error)),
        out,
    );
    if let Some(notice) = notice.filter(|_| !is_error) {
        let input = ImplicitInput::of_text("tool_result", Some(notice));
        out.emit(Meta::Context(input), Pointer::At(CONTENT));
    }
    if let Some(tokens) = message.usage() {
        out.emit(Meta::Usage(usage(tokens)), Pointer::At("/message/usage"));
    }
    if status == Status::Ok
        && let Some(place) = place
    {
        file_events(state, record, message, (place, &joined), out);
    }
}

/// The texts of a result. Mostly there is one.
fn joined(content: Option<Value<'_>>) -> Cow<'_, str> {
    let blocks = content.into_iter().flat_map(Value::elements);
    let mut texts = blocks.filter_map(|block| text(Block::lenient(block).text()));
    let first = texts
        .next()
        .map(|text| text.decode_lossy())
        .unwrap_or_default();
    texts.fold(first, |all, next| {
        format!("{all}\n{}", next.decode_lossy()).into()
    })
}

/// How a call ended. A command that failed is no error for OpenClaw.
fn status(message: &Message<'_>, exit: Option<i64>, printed: &str) -> Status {
    let last = printed.rsplit('\n').next().unwrap_or_default();
    let details = Details::lenient_opt(message.details());
    let has_failed = exit.is_some_and(|exit| exit != 0) || raw_str(details.status()) == FAILED;
    match is_true(message.is_error()) {
        false if has_failed => Status::Error,
        false => Status::Ok,
        true if STOPPED.contains(&last) => Status::Cancelled,
        true => Status::Error,
    }
}

/// What OpenClaw says of a command that did not end by itself.
const FAILED: &str = "failed";

/// The exit code: OpenClaw says it of each command, Pi of one that failed.
fn exit(message: &Message<'_>, printed: &str) -> Option<i64> {
    let stated = integer(Details::lenient_opt(message.details()).exit());
    stated.or_else(|| {
        is_true(message.is_error()).then(|| exit_in(raw_str(message.tool()), printed))?
    })
}

fn emit_result(
    message: &Message<'_>,
    (status, exit): (Status, Option<i64>),
    (printed, notice): (Option<Text<'_>>, Option<Text<'_>>),
    out: &mut Emitter<'_>,
) {
    let details = Details::lenient_opt(message.details());
    let (stdout, stderr) = match status {
        // A command that ran has an output.
        Status::Ok => (printed, None),
        _ if exit.is_some() => (printed, None),
        _ if notice.is_some() => (printed, notice),
        _ => (None, printed),
    };
    let event = ToolResult {
        tool: text(message.tool()),
        call_id: text(message.call_id()),
        status: Some(status),
        exit,
        stdout,
        stderr,
        truncated: is_true(Truncation::lenient_opt(details.truncation()).truncated())
            || is_true(details.cut()) && printed.is_some_and(is_capped),
        artifact: non_empty_text(details.full_output()).map(|path| SideFile {
            path,
            hash: None,
            bytes: None,
        }),
        attachments: message.content().map(images).unwrap_or_default(),
        duration_ms: count(message.duration()).or_else(|| count(details.duration())),
    };
    out.emit(event, Pointer::At("/message"));
    for (n, value) in message
        .content()
        .into_iter()
        .flat_map(Value::elements)
        .enumerate()
    {
        let kind = raw_str(Block::lenient(value).kind());
        if !matches!(kind, "text" | "image") {
            out.unrecognized_block(kind, value.raw(), Pointer::Item(CONTENT, n));
        }
    }
}

/// What OpenClaw puts in the place of output that it does not keep, and of output that is too much for the model (2026.9.6: recorded).
const CAPPED: &str = "[earlier output was discarded at the retention cap";
const CUT: &str = " more characters truncated; rerun with narrower args if needed]";

/// True for the output of a command whose beginning or end is not there.
fn is_capped(printed: Text<'_>) -> bool {
    let printed = printed.comparable();
    printed.starts_with(CAPPED) || printed.ends_with(CUT)
}

/// The read or edit of a call that succeeded. Its arguments are read again from the record of the call.
fn file_events(
    state: &mut State,
    record: &Record<'_>,
    message: &Message<'_>,
    (place, printed): (CallPlace, &str),
    out: &mut Emitter<'_>,
) {
    let tool = raw_str(message.tool());
    if !matches!(tool, "read" | "edit" | "write" | "apply_patch") {
        return;
    }
    let Some(mut call) = record.others.get(place.record) else {
        return;
    };
    let Some(args) = call.value().and_then(|value| arguments(value, place.part)) else {
        return;
    };
    if let Some(input) = text(args.input()).filter(|_| tool == "apply_patch" && state.has_patches) {
        let call_id = text(message.call_id());
        patch(&input.decode_lossy(), |event, moved_to| {
            state.with_file(record.number, event.file, out, |file, out| {
                let at = Pointer::At("/message/details");
                out.emit(
                    CodeEdit {
                        call_id,
                        file,
                        ..event
                    },
                    at,
                );
                if let Some(to) = moved_to {
                    out.emit(SpanLink::of_move(call_id, file, Text::Plain(to)), at);
                }
            });
        });
        return;
    }
    let Some(path) = non_empty_text(args.path()) else {
        return;
    };
    let details = Details::lenient_opt(message.details());
    let call = FileCall {
        call_id: text(message.call_id()),
        args,
        details,
        is_exact: message.duration().is_some() || details.changed().is_some(),
        is_known: state.knows(path),
    };
    let printed = Some(printed).filter(|_| !has_image(message));
    state.with_file(record.number, path, out, |file, out| match tool {
        "read" => read(file, &call, printed, out),
        "edit" => edit(file, &call, out),
        _ => write(file, &call, out),
    });
}

fn arguments(record: Value<'_>, block: usize) -> Option<FileArgs<'_>> {
    let content = record.member("message")?.member("content")?;
    let block = content.elements().nth(block)?;
    Some(FileArgs::lenient(Block::lenient(block).args()?))
}

/// True if the result is that of an image, which may have been too large to return.
fn has_image(message: &Message<'_>) -> bool {
    let mut blocks = message.content().into_iter().flat_map(Value::elements);
    blocks.any(|block| raw_str(Block::lenient(block).kind()) == "image")
}
