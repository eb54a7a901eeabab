//! Event to bytes: the only code that knows how an event is spelled in a tape.

use std::fmt::{Display, Write as _};

use crate::event::*;
use crate::hash::Hash;
use crate::limits::LimitExceeded;
use crate::text::{Text, push_json, push_plain, push_text};

/// Writes the members of one JSON object in the order of the calls.
pub(crate) struct Object<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> Object<'o> {
    pub fn open(out: &'o mut String) -> Object<'o> {
        out.push('{');
        Object { out, empty: true }
    }

    pub fn close(self) {
        self.out.push('}');
    }

    /// Writes the key and gives the place for the value. Keys are our own and need no escapes.
    pub fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
        self.out
    }

    pub fn text(&mut self, key: &str, text: Option<Text<'_>>) {
        if let Some(text) = text {
            push_text(self.key(key), text);
        }
    }

    /// As [`Object::text`], for names and ids: an empty one says nothing and is left out.
    pub fn name(&mut self, key: &str, text: Option<Text<'_>>) {
        self.text(key, text.filter(|text| !text.is_empty()));
    }

    pub fn word(&mut self, key: &str, word: &str) {
        self.text(key, Some(Text::Plain(word)));
    }

    pub fn value(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            let _ = write!(self.key(key), "{value}");
        }
    }

    pub fn hash(&mut self, key: &str, hash: Option<Hash>) {
        if let Some(hash) = hash {
            let _ = write!(self.key(key), "\"{hash}\"");
        }
    }

    /// Writes `"key":true` or `"key":false`, if `value` is not what absence means.
    pub fn flag(&mut self, key: &str, value: bool, absent: bool) {
        if value != absent {
            self.key(key).push_str(if value { "true" } else { "false" });
        }
    }

    pub fn range(&mut self, key: &str, range: Option<Range>) {
        if let Some(Range { first, last }) = range {
            let _ = write!(self.key(key), "[{first},{last}]");
        }
    }

    pub fn anchors(&mut self, key: &str, anchors: &[u64]) {
        if anchors.is_empty() {
            return;
        }
        let out = self.key(key);
        for (n, anchor) in anchors.iter().enumerate() {
            let _ = write!(out, "{}\"{anchor:016x}\"", if n == 0 { '[' } else { ',' });
        }
        out.push(']');
    }

    pub fn json(&mut self, key: &str, raw: Option<&str>, max_depth: usize) -> Result<(), LimitExceeded> {
        raw.map_or(Ok(()), |raw| push_json(self.key(key), raw, max_depth))
    }

    pub fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut inner = Object::open(self.key(key));
        fill(&mut inner);
        inner.close();
    }

    pub fn attachments(&mut self, attachments: &[Attachment<'_>]) {
        if attachments.is_empty() {
            return;
        }
        let out = self.key("attachments");
        for (n, attachment) in attachments.iter().enumerate() {
            out.push(if n == 0 { '[' } else { ',' });
            let mut object = Object::open(out);
            object.name("media_type", attachment.media_type);
            object.hash("hash", attachment.hash);
            object.value("bytes", attachment.bytes);
            object.name("name", attachment.name);
            object.close();
        }
        out.push(']');
    }
}

/// Writes the event's own fields.
pub(crate) fn push_fields(object: &mut Object<'_>, event: &Event<'_>, max_depth: usize) -> Result<(), LimitExceeded> {
    match event {
        Event::Meta(meta) => push_meta(object, meta),
        Event::MsgIn(msg) => {
            object.word("role", msg.role.as_str());
            object.text("text", msg.text);
            object.flag("synthetic", msg.synthetic, false);
            object.attachments(&msg.attachments);
        }
        Event::MsgOut(msg) => {
            object.text("text", msg.text);
            object.text("channel", msg.channel.map(|channel| Text::Plain(channel.as_str())));
            object.name("model", msg.model);
            object.name("message_id", msg.message_id);
            object.flag("redacted", msg.redacted, false);
        }
        Event::ToolCall(call) => {
            object.text("tool", Some(call.tool));
            object.word("kind", call.kind.as_str());
            object.name("call_id", call.call_id);
            object.json("args", call.args, max_depth)?;
        }
        Event::ToolResult(result) => push_result(object, result),
        Event::CodeRead(read) => {
            object.name("call_id", read.call_id);
            object.text("file", Some(read.file));
            object.range("range", read.range);
            object.value("total_lines", read.total_lines);
            object.hash("hash", read.hash);
            object.anchors("anchor_hashes", &read.anchor_hashes);
        }
        Event::CodeEdit(edit) => push_edit(object, edit),
        Event::SpanLink(link) => {
            object.text("from_file", Some(link.from_file));
            object.range("from_range", link.from_range);
            object.text("to_file", Some(link.to_file));
            object.range("to_range", link.to_range);
            object.text("note", link.note);
        }
    }
    Ok(())
}

fn push_result(object: &mut Object<'_>, result: &ToolResult<'_>) {
    object.name("tool", result.tool);
    object.name("call_id", result.call_id);
    object.text("status", result.status.map(|status| Text::Plain(status.as_str())));
    object.value("exit", result.exit);
    object.text("stdout", result.stdout);
    object.text("stderr", result.stderr);
    object.flag("truncated", result.truncated, false);
    if let Some(artifact) = &result.artifact {
        object.object("artifact", |inner| {
            inner.text("path", Some(artifact.path));
            inner.hash("hash", artifact.hash);
            inner.value("bytes", artifact.bytes);
        });
    }
    object.attachments(&result.attachments);
    object.value("duration_ms", result.duration_ms);
}

fn push_edit(object: &mut Object<'_>, edit: &CodeEdit<'_>) {
    object.name("call_id", edit.call_id);
    object.word("op", edit.op.as_str());
    object.text("file", Some(edit.file));
    object.range("before_range", edit.before_range);
    object.range("after_range", edit.after_range);
    object.hash("before_hash", edit.before_hash);
    object.hash("after_hash", edit.after_hash);
    object.hash("file_before_hash", edit.file_before_hash);
    object.hash("file_after_hash", edit.file_after_hash);
    object.anchors("before_anchor_hashes", &edit.before_anchor_hashes);
    object.anchors("after_anchor_hashes", &edit.after_anchor_hashes);
    if edit.snippet {
        object.word("basis", "snippet");
    }
    object.flag("confirmed", !edit.unconfirmed, true);
}

fn push_meta(object: &mut Object<'_>, meta: &Meta<'_>) {
    match meta {
        Meta::Session(facts) => push_session(object, facts),
        Meta::Usage(usage) => push_usage(object, usage),
        Meta::Compaction { text, trigger } => {
            object.word("label", "compaction");
            object.text("text", *text);
            object.name("trigger", *trigger);
        }
        Meta::Error { code, text } => {
            object.word("label", "error");
            object.name("code", *code);
            object.text("text", *text);
        }
        Meta::Interrupt { text } => {
            object.word("label", "interrupt");
            object.text("text", *text);
        }
        Meta::Permission(permission) => {
            object.word("label", "permission");
            object.word("decision", permission.decision.as_str());
            object.name("tool", permission.tool);
            object.name("call_id", permission.call_id);
            object.text("text", permission.text);
        }
        Meta::Context(context) => {
            object.word("label", "context");
            object.text("name", Some(context.name));
            object.name("file", context.file);
            object.hash("hash", context.hash);
            object.value("bytes", context.bytes);
            object.text("text", context.text);
        }
        Meta::System { name, text } => {
            object.word("label", "system");
            object.text("name", Some(*name));
            object.text("text", *text);
        }
    }
}

fn push_session(object: &mut Object<'_>, facts: &SessionFacts<'_>) {
    object.word("label", "session");
    object.name("model", facts.model);
    object.name("provider", facts.provider);
    object.name("repo_head", facts.repo_head);
    object.name("repo_branch", facts.repo_branch);
    object.name("repo_url", facts.repo_url);
    object.name("cwd", facts.cwd);
    object.name("title", facts.title);
    object.name("parent_session_id", facts.parent_session_id);
    object.name("parent_call_id", facts.parent_call_id);
    object.name("fork_of", facts.fork_of);
    object.name("agent", facts.agent);
}

fn push_usage(object: &mut Object<'_>, usage: &Usage<'_>) {
    object.word("label", "usage");
    object.name("model", usage.model);
    let Tokens { input, output, cache_read, cache_write, reasoning, total } = usage.tokens;
    let named = [
        ("input", input),
        ("output", output),
        ("cache_read", cache_read),
        ("cache_write", cache_write),
        ("reasoning", reasoning),
        ("total", total),
    ];
    if named.iter().any(|(_, tokens)| tokens.is_some()) {
        object.object("tokens", |inner| {
            for (key, tokens) in named {
                inner.value(key, tokens.map(Number::as_str));
            }
        });
    }
    object.value("cost_usd", usage.cost_usd.map(Number::as_str));
}

/// A place inside a record (RFC 6901), built without allocation.
#[derive(Debug, Clone, Copy)]
pub enum Pointer<'p> {
    /// The whole record.
    Root,
    /// A fixed place, `/payload/item`.
    At(&'p str),
    /// An element of an array, `/message/content/` and its index.
    Item(&'p str, usize),
    /// A field of an element of an array: the array's path, the index, and the rest of the path.
    Field(&'p str, usize, &'p str),
}

/// Where a record lies in its artifact.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    /// 1-based physical line; 0 for documents.
    pub line: u64,
    /// Index among the values of that line.
    pub part: u64,
}

/// Writes `origin`, if anything is known of it.
pub(crate) fn push_origin(object: &mut Object<'_>, place: Place, pointer: Pointer<'_>, id: Option<Text<'_>>) {
    let has_pointer = !matches!(pointer, Pointer::Root);
    let id = id.filter(|id| !id.is_empty());
    if place.line == 0 && !has_pointer && id.is_none() {
        return;
    }
    object.object("origin", |origin| {
        origin.value("line", (place.line > 0).then_some(place.line));
        origin.value("part", (place.part > 0).then_some(place.part));
        if has_pointer {
            let out = origin.key("pointer");
            out.push('"');
            match pointer {
                Pointer::Root => {}
                Pointer::At(path) => push_plain(out, path),
                Pointer::Item(path, index) => {
                    push_plain(out, path);
                    let _ = write!(out, "/{index}");
                }
                Pointer::Field(path, index, rest) => {
                    push_plain(out, path);
                    let _ = write!(out, "/{index}");
                    push_plain(out, rest);
                }
            }
            out.push('"');
        }
        origin.text("id", id);
    });
}
