//! Rendering of events as JSON.

use super::buffer::Buffer;
use super::frame::{push_revision, push_start, push_stop, push_unrecognized};
use super::members::{key, push_number, word};
use crate::event::*;
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
        Event::MsgIn(msg) => {
            out.ascii_str(key!("role"), msg.role.as_str());
            out.ascii_str(key!("by"), msg.by.as_str());
            out.text_if(key!("text"), &msg.text);
            out.attachments(&msg.attachments);
        }
        Event::MsgOut(msg) => {
            out.text_if(key!("text"), &msg.text);
            if let Some(channel) = msg.channel {
                out.ascii_str(key!("channel"), channel.as_str());
            }
            out.name(key!("model"), &msg.model);
            out.name(key!("message_id"), &msg.message_id);
            out.bool_if(key!("redacted"), msg.redacted, false);
        }
        Event::ToolCall(call) => {
            out.text(key!("tool"), &call.tool);
            out.name(key!("server"), &call.server);
            out.ascii_str(key!("kind"), call.kind.as_str());
            out.name(key!("call_id"), &call.call_id);
            out.name(key!("message_id"), &call.message_id);
            out.json(key!("args"), call.args);
        }
        Event::ToolResult(result) => push_result(out, result),
        Event::CodeRead(read) => {
            out.name(key!("call_id"), &read.call_id);
            out.text(key!("file"), &read.file);
            out.range(key!("range"), &read.range);
            out.number(key!("total_lines"), read.total_lines);
            out.hash(key!("hash"), &read.hash);
            out.anchors(key!("anchor_hashes"), &read.anchor_hashes);
            out.span_text(key!("text"), read.text.as_deref());
        }
        Event::CodeEdit(edit) => push_edit(out, edit),
        Event::SpanLink(link) => {
            out.text(key!("from_file"), &link.from_file);
            out.range(key!("from_range"), &link.from_range);
            out.text(key!("to_file"), &link.to_file);
            out.range(key!("to_range"), &link.to_range);
            out.text_if(key!("note"), &link.note);
        }
    }
}

fn push_result(out: &mut Buffer, result: &ToolResult<'_>) {
    out.name(key!("tool"), &result.tool);
    out.name(key!("call_id"), &result.call_id);
    if let Some(status) = result.status {
        out.ascii_str(key!("status"), status.as_str());
    }
    if let Some(exit) = result.exit {
        out.push_str(key!("exit"));
        if exit < 0 {
            out.ascii(b"-");
        }
        push_number(out, exit.unsigned_abs());
    }
    out.text_if(key!("stdout"), &result.stdout);
    out.text_if(key!("stderr"), &result.stderr);
    out.bool_if(key!("truncated"), result.truncated, false);
    if let Some(artifact) = &result.artifact {
        out.object(key!("artifact"), |inner| {
            inner.text(key!("path"), &artifact.path);
            inner.hash(key!("hash"), &artifact.hash);
            inner.number(key!("bytes"), artifact.bytes);
        });
    }
    out.attachments(&result.attachments);
    out.number(key!("duration_ms"), result.duration_ms);
}

fn push_edit(out: &mut Buffer, edit: &CodeEdit<'_>) {
    out.name(key!("call_id"), &edit.call_id);
    out.ascii_str(key!("op"), edit.op.as_str());
    out.text(key!("file"), &edit.file);
    out.range(key!("before_range"), &edit.before_range);
    out.range(key!("after_range"), &edit.after_range);
    out.hash(key!("before_hash"), &edit.before_hash);
    out.hash(key!("after_hash"), &edit.after_hash);
    out.hash(key!("file_before_hash"), &edit.file_before_hash);
    out.hash(key!("file_after_hash"), &edit.file_after_hash);
    out.anchors(key!("before_anchor_hashes"), &edit.before_anchor_hashes);
    out.anchors(key!("after_anchor_hashes"), &edit.after_anchor_hashes);
    out.span_text(key!("before_text"), edit.before_text.as_deref());
    out.span_text(key!("after_text"), edit.after_text.as_deref());
    out.number(key!("before_lines"), edit.before_lines);
    out.number(key!("after_lines"), edit.after_lines);
    if edit.snippet {
        out.push_str(word!("basis", "snippet"));
    }
    out.bool_if(key!("confirmed"), edit.confirmed, true);
}

fn push_meta(out: &mut Buffer, meta: &Meta<'_>) {
    match meta {
        Meta::TapeStart(start) => push_start(out, start),
        Meta::Revision(revision) => push_revision(out, revision),
        Meta::Unrecognized(unrecognized) => push_unrecognized(out, unrecognized),
        Meta::TapeStop(stop) => push_stop(out, stop),
        Meta::Other(label) => out.ascii_str(key!("label"), label),
        Meta::Session(facts) => push_session(out, facts),
        Meta::Usage(usage) => push_usage(out, usage),
        Meta::Rewind { to, files } => {
            out.push_str(word!("label", "rewind"));
            out.number(key!("to"), Some(to.get()));
            out.bool_if(key!("files"), *files, false);
        }
        Meta::Episode(facts) => {
            out.push_str(word!("label", "episode"));
            out.name(key!("work_id"), &facts.work_id);
            out.name(key!("episode_id"), &facts.episode_id);
            out.name(key!("session_id"), &facts.session_id);
            out.name(key!("adapter_profile_hash"), &facts.adapter_profile_hash);
            out.name(key!("agent"), &facts.agent);
            out.name(key!("agent_version"), &facts.agent_version);
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
            out.ascii_str(key!("decision"), permission.decision.as_str());
            out.name(key!("tool"), &permission.tool);
            out.name(key!("call_id"), &permission.call_id);
            out.text_if(key!("text"), &permission.text);
        }
        Meta::Context(context) => {
            out.push_str(word!("label", "context"));
            out.text(key!("name"), &context.name);
            out.name(key!("file"), &context.file);
            out.hash(key!("hash"), &context.hash);
            out.number(key!("bytes"), context.bytes);
            out.text_if(key!("text"), &context.text);
        }
        Meta::System { name, text } => {
            out.push_str(word!("label", "system"));
            out.text(key!("name"), name);
            out.text_if(key!("text"), text);
        }
    }
}

fn push_session(out: &mut Buffer, facts: &SessionFacts<'_>) {
    out.push_str(word!("label", "session"));
    out.name(key!("model"), &facts.model);
    out.name(key!("provider"), &facts.provider);
    out.name(key!("repo_head"), &facts.repo_head);
    out.name(key!("repo_branch"), &facts.repo_branch);
    out.name(key!("repo_url"), &facts.repo_url);
    out.name(key!("cwd"), &facts.cwd);
    out.name(key!("title"), &facts.title);
    out.name(key!("parent_session_id"), &facts.parent_session_id);
    out.name(key!("parent_call_id"), &facts.parent_call_id);
    out.name(key!("fork_of"), &facts.fork_of);
    out.name(key!("agent"), &facts.agent);
    out.name(key!("permission_mode"), &facts.permission_mode);
    out.name(key!("effort"), &facts.effort);
    out.raw_number(key!("cost_total_usd"), facts.cost_total_usd);
    out.number(key!("context_tokens"), facts.context_tokens);
}

fn push_usage(out: &mut Buffer, usage: &Usage<'_>) {
    out.push_str(word!("label", "usage"));
    out.name(key!("message_id"), &usage.message_id);
    out.name(key!("request_id"), &usage.request_id);
    out.name(key!("model"), &usage.model);
    let before = out.len();
    out.push_str(key!("tokens"));
    let start = out.len();
    let Tokens {
        input,
        cache_read,
        cache_write,
        cache_write_1h,
        output,
        reasoning,
    } = usage.tokens;
    out.number(key!("input"), input);
    out.number(key!("cache_read"), cache_read);
    out.number(key!("cache_write"), cache_write);
    out.number(key!("cache_write_1h"), cache_write_1h);
    out.number(key!("output"), output);
    out.number(key!("reasoning"), reasoning);
    if out.len() == start {
        out.truncate(before);
    } else {
        out.wrap_object(start);
    }
    out.raw_number(key!("cost_usd"), usage.cost_usd);
    out.name(key!("stop_reason"), &usage.stop_reason);
    out.name(key!("service_tier"), &usage.service_tier);
    out.bool_if(key!("provisional"), usage.provisional, false);
    out.name(key!("part"), &usage.part);
}
