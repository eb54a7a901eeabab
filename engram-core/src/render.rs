//! Event to bytes: how each kind's own fields are spelled in a tape.

use crate::buffer::Buffer;
use crate::digits::push_number;
use crate::event::*;
use crate::limits::LimitExceeded;
use crate::members::{key, word, word_of};
pub use crate::origin::Pointer;
use crate::tool_kind::ToolKind;

/// Writes the event's own fields.
pub(crate) fn push_fields(out: &mut Buffer, event: &Event<'_>, max_depth: usize) -> Result<(), LimitExceeded> {
    match event {
        Event::Meta(meta) => push_meta(out, meta),
        Event::MsgIn(msg) => {
            out.piece(word_of!("role", Role::ALL, msg.role));
            out.text_if(key!("text"), &msg.text);
            out.flag(key!("synthetic"), msg.synthetic, false);
            out.attachments(&msg.attachments);
        }
        Event::MsgOut(msg) => {
            out.text_if(key!("text"), &msg.text);
            if let Some(channel) = msg.channel {
                out.piece(word_of!("channel", Channel::ALL, channel));
            }
            out.name(key!("model"), &msg.model);
            out.name(key!("message_id"), &msg.message_id);
            out.flag(key!("redacted"), msg.redacted, false);
        }
        Event::ToolCall(call) => {
            out.text(key!("tool"), &call.tool);
            out.piece(word_of!("kind", ToolKind::ALL, call.kind));
            out.name(key!("call_id"), &call.call_id);
            out.json(key!("args"), call.args, max_depth)?;
        }
        Event::ToolResult(result) => push_result(out, result),
        Event::CodeRead(read) => {
            out.name(key!("call_id"), &read.call_id);
            out.text(key!("file"), &read.file);
            out.range(key!("range"), &read.range);
            out.number(key!("total_lines"), read.total_lines);
            out.hash(key!("hash"), &read.hash);
            out.anchors(key!("anchor_hashes"), &read.anchor_hashes);
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
    Ok(())
}

fn push_result(out: &mut Buffer, result: &ToolResult<'_>) {
    out.name(key!("tool"), &result.tool);
    out.name(key!("call_id"), &result.call_id);
    if let Some(status) = result.status {
        out.piece(word_of!("status", Status::ALL, status));
    }
    if let Some(exit) = result.exit {
        out.piece(key!("exit"));
        if exit < 0 {
            out.ascii(b"-");
        }
        push_number(out, exit.unsigned_abs());
    }
    out.text_if(key!("stdout"), &result.stdout);
    out.text_if(key!("stderr"), &result.stderr);
    out.flag(key!("truncated"), result.truncated, false);
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
    out.piece(word_of!("op", EditOp::ALL, edit.op));
    out.text(key!("file"), &edit.file);
    out.range(key!("before_range"), &edit.before_range);
    out.range(key!("after_range"), &edit.after_range);
    out.hash(key!("before_hash"), &edit.before_hash);
    out.hash(key!("after_hash"), &edit.after_hash);
    out.hash(key!("file_before_hash"), &edit.file_before_hash);
    out.hash(key!("file_after_hash"), &edit.file_after_hash);
    out.anchors(key!("before_anchor_hashes"), &edit.before_anchor_hashes);
    out.anchors(key!("after_anchor_hashes"), &edit.after_anchor_hashes);
    if edit.snippet {
        out.piece(word!("basis", "snippet"));
    }
    out.flag(key!("confirmed"), !edit.unconfirmed, true);
}

fn push_meta(out: &mut Buffer, meta: &Meta<'_>) {
    match meta {
        Meta::Session(facts) => push_session(out, facts),
        Meta::Usage(usage) => push_usage(out, usage),
        Meta::Compaction { text, trigger } => {
            out.piece(word!("label", "compaction"));
            out.text_if(key!("text"), text);
            out.name(key!("trigger"), trigger);
        }
        Meta::Error { code, text } => {
            out.piece(word!("label", "error"));
            out.name(key!("code"), code);
            out.text_if(key!("text"), text);
        }
        Meta::Interrupt { text } => {
            out.piece(word!("label", "interrupt"));
            out.text_if(key!("text"), text);
        }
        Meta::Permission(permission) => {
            out.piece(word!("label", "permission"));
            out.piece(word_of!("decision", Decision::ALL, permission.decision));
            out.name(key!("tool"), &permission.tool);
            out.name(key!("call_id"), &permission.call_id);
            out.text_if(key!("text"), &permission.text);
        }
        Meta::Context(context) => {
            out.piece(word!("label", "context"));
            out.text(key!("name"), &context.name);
            out.name(key!("file"), &context.file);
            out.hash(key!("hash"), &context.hash);
            out.number(key!("bytes"), context.bytes);
            out.text_if(key!("text"), &context.text);
        }
        Meta::System { name, text } => {
            out.piece(word!("label", "system"));
            out.text(key!("name"), name);
            out.text_if(key!("text"), text);
        }
    }
}

fn push_session(out: &mut Buffer, facts: &SessionFacts<'_>) {
    out.piece(word!("label", "session"));
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
}

fn push_usage(out: &mut Buffer, usage: &Usage<'_>) {
    out.piece(word!("label", "usage"));
    out.name(key!("model"), &usage.model);
    let before = out.len();
    out.piece(key!("tokens"));
    let start = out.len();
    let Tokens { input, output, cache_read, cache_write, reasoning, total } = usage.tokens;
    out.spelled(key!("input"), input);
    out.spelled(key!("output"), output);
    out.spelled(key!("cache_read"), cache_read);
    out.spelled(key!("cache_write"), cache_write);
    out.spelled(key!("reasoning"), reasoning);
    out.spelled(key!("total"), total);
    if out.len() == start {
        out.truncate(before);
    } else {
        out.brace(start);
    }
    out.spelled(key!("cost_usd"), usage.cost_usd);
}
