//! Rendering of events as JSON.

use super::buffer::Buffer;
use super::frame::{push_revision, push_start, push_stop, push_unrecognized};
use super::members::{key, push_number, word};
use crate::event::*;
use crate::tape::fields::Fields as _;
use crate::text::Push as _;
use crate::text::canonical::push_plain;

/// Writes one line of a tape.
pub(super) fn push_record(out: &mut Buffer, record: &EventRef<'_>) {
    push_head(out, record);
    push_fields(out, record.event);
    push_tail(out, record);
}

/// Writes what comes before the event's own fields.
#[inline(never)]
fn push_head(out: &mut Buffer, record: &EventRef<'_>) {
    out.push_str("{\"seq\":");
    push_number(out, record.seq.get());
    out.push_str(",\"t\":\"");
    out.push_str(record.t);
    out.push_str("\",\"k\":\"");
    out.push_str(record.event.kind().as_str());
    out.push_str("\",\"source\":");
    let start = out.len();
    out.ascii_str(key!("harness"), record.source.harness);
    out.name(key!("session_id"), &record.source.session_id);
    out.name(key!("agent_id"), &record.source.agent_id);
    out.wrap_object(start);
}

/// Writes what comes after the event's own fields.
#[inline(never)]
fn push_tail(out: &mut Buffer, record: &EventRef<'_>) {
    out.number(key!("parent"), record.parent.map(Seq::get));
    if let Some(basis) = record.t_basis {
        out.ascii_str(key!("t_basis"), basis.as_str());
    }
    if !record.origin.is_empty() {
        push_origin(out, &record.origin);
    }
    out.bool_if(key!("replay"), record.replay, false);
    out.push_str("}\n");
}

fn push_origin(out: &mut Buffer, origin: &Origin<'_>) {
    out.push_str(key!("origin"));
    let start = out.len();
    out.number(key!("line"), origin.line);
    out.number(key!("part"), (origin.part > 0).then_some(origin.part));
    if origin.has_pointer() {
        out.push_str(",\"pointer\":\"");
        push_pointer(out, origin.pointer_prefix);
        push_pointer(out, origin.pointer);
        out.ascii(b"\"");
    }
    out.name(key!("id"), &origin.id);
    out.wrap_object(start);
}

/// Writes a pointer without quotes around it.
fn push_pointer(out: &mut Buffer, pointer: Pointer<'_>) {
    match pointer {
        Pointer::Root => {}
        Pointer::At(path) => push_path(out, path),
        Pointer::Item(path, index) => push_item(out, path, index),
        Pointer::Field(path, index, rest) => {
            push_item(out, path, index);
            push_path(out, rest);
        }
        Pointer::Nested(path, outer, rest, inner) => {
            push_item(out, path, outer);
            push_item(out, rest, inner);
        }
        Pointer::Member(path, segment) => {
            push_path(out, path);
            out.ascii(b"/");
            push_plain(out, segment);
        }
        Pointer::Read(text) => push_plain(out, &text.decode_lossy()),
    }
}

fn push_path(out: &mut Buffer, path: &str) {
    debug_assert!(
        !path
            .bytes()
            .any(|byte| byte < b' ' || byte == b'"' || byte == b'\\'),
        "the path needs escapes: {path:?}"
    );
    out.push_str(path);
}

fn push_item(out: &mut Buffer, path: &str, index: usize) {
    push_path(out, path);
    out.ascii(b"/");
    push_number(out, index as u64);
}

/// Writes the event's own fields.
pub(super) fn push_fields(out: &mut Buffer, event: &Event<'_>) {
    match event {
        Event::Meta(meta) => push_meta(out, meta),
        Event::MsgIn(message) => message.push(out),
        Event::MsgOut(message) => message.push(out),
        Event::ToolCall(call) => call.push(out),
        Event::ToolResult(result) => result.push(out),
        Event::CodeRead(read) => read.push(out),
        Event::CodeEdit(edit) => edit.push(out),
        Event::SpanLink(link) => link.push(out),
    }
}

fn push_meta(out: &mut Buffer, meta: &Meta<'_>) {
    match meta {
        Meta::TapeStart(start) => push_start(out, start),
        Meta::Revision(revision) => push_revision(out, revision),
        Meta::Unrecognized(unrecognized) => push_unrecognized(out, unrecognized),
        Meta::TapeStop(stop) => push_stop(out, stop),
        Meta::Other(label) => out.ascii_str(key!("label"), label),
        Meta::Session(facts) => {
            out.push_str(word!("label", "session"));
            facts.push(out);
        }
        Meta::Usage(usage) => {
            out.push_str(word!("label", "usage"));
            usage.push(out);
        }
        Meta::Rewind { to, files } => {
            out.push_str(word!("label", "rewind"));
            out.number(key!("to"), Some(to.get()));
            out.bool_if(key!("files"), *files, false);
        }
        Meta::Episode(facts) => {
            out.push_str(word!("label", "episode"));
            facts.push(out);
        }
        Meta::Compaction { text, trigger } => {
            out.push_str(word!("label", "compaction"));
            out.text_if(key!("text"), text);
            out.name(key!("trigger"), trigger);
        }
        Meta::Error { code, text } => {
            out.push_str(word!("label", "error"));
            out.name(key!("code"), code);
            out.text_if(key!("text"), text);
        }
        Meta::Interrupt { text } => {
            out.push_str(word!("label", "interrupt"));
            out.text_if(key!("text"), text);
        }
        Meta::Permission(permission) => {
            out.push_str(word!("label", "permission"));
            permission.push(out);
        }
        Meta::Context(context) => {
            out.push_str(word!("label", "context"));
            context.push(out);
        }
        Meta::System { name, text } => {
            out.push_str(word!("label", "system"));
            out.text(key!("name"), name);
            out.text_if(key!("text"), text);
        }
    }
}
