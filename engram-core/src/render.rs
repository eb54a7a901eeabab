//! Event to bytes: the only code that knows how an event is spelled in a tape.

use crate::buffer::{Buffer, Piece, Push};
use crate::event::*;
use crate::hash::Hash;
use crate::limits::LimitExceeded;
use crate::text::{Text, push_json, push_plain, push_text};

/// The name of a member as it stands behind another one: `,"name":`. The name needs no escapes.
macro_rules! key {
    ($name:literal) => {{
        const KEY: &$crate::buffer::Piece = &$crate::buffer::Piece::of(&[",\"", $name, "\":"]);
        KEY
    }};
}
pub(crate) use key;

/// Writes the members of one JSON object in the order of the calls.
///
/// An event has some twenty of them, and which is decided anew for each event: code this often called must stay small, so the
/// ways to write a value are calls.
pub(crate) struct Object<'o> {
    out: &'o mut Buffer,
    empty: bool,
}

impl<'o> Object<'o> {
    pub fn open(out: &'o mut Buffer) -> Object<'o> {
        out.byte(b'{');
        Object { out, empty: true }
    }

    /// An object that has members already.
    pub fn resume(out: &'o mut Buffer) -> Object<'o> {
        Object { out, empty: false }
    }

    pub fn close(self) {
        self.out.byte(b'}');
    }

    /// Writes the key and gives the place for the value.
    #[inline(always)]
    pub fn key(&mut self, key: &Piece) -> &mut Buffer {
        // The first one without its comma.
        self.out.piece(key, usize::from(std::mem::take(&mut self.empty)));
        self.out
    }

    /// As [`Object::key`], for a name that only the run knows. It needs no escapes.
    pub fn named(&mut self, name: &str) -> &mut Buffer {
        self.out.push_str(if std::mem::take(&mut self.empty) { "\"" } else { ",\"" });
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    #[inline(never)]
    pub fn text(&mut self, key: &Piece, text: Option<Text<'_>>) {
        if let Some(text) = text {
            push_text(self.key(key), text);
        }
    }

    /// As [`Object::text`], for names and ids: an empty one says nothing and is left out.
    #[inline(never)]
    pub fn name(&mut self, key: &Piece, text: Option<Text<'_>>) {
        if text.is_some_and(|text| !text.is_empty()) {
            self.text(key, text);
        }
    }

    /// Writes a word of the spec or a time: text that needs no escapes.
    #[inline(never)]
    pub fn word(&mut self, key: &Piece, word: &str) {
        push_word(self.key(key), word);
    }

    pub fn word_if(&mut self, key: &Piece, word: Option<&str>) {
        if let Some(word) = word {
            self.word(key, word);
        }
    }

    #[inline(never)]
    pub fn number(&mut self, key: &Piece, number: Option<u64>) {
        if let Some(number) = number {
            push_number(self.key(key), number);
        }
    }

    /// Writes a number as the source spells it.
    pub fn spelled(&mut self, key: &Piece, number: Option<Number<'_>>) {
        if let Some(number) = number {
            self.key(key).push_str(number.as_str());
        }
    }

    #[inline(never)]
    pub fn hash(&mut self, key: &Piece, hash: Option<Hash>) {
        if let Some(hash) = hash {
            let out = self.key(key);
            out.push_str("\"blake3:");
            push_hex(out, *hash.bytes());
            out.byte(b'"');
        }
    }

    /// Writes `"key":true` or `"key":false`, if `value` is not what absence means.
    pub fn flag(&mut self, key: &Piece, value: bool, absent: bool) {
        if value != absent {
            self.key(key).push_str(if value { "true" } else { "false" });
        }
    }

    #[inline(never)]
    pub fn range(&mut self, key: &Piece, range: Option<Range>) {
        if let Some(Range { first, last }) = range {
            let out = self.key(key);
            out.byte(b'[');
            push_number(out, first);
            out.byte(b',');
            push_number(out, last);
            out.byte(b']');
        }
    }

    pub fn anchors(&mut self, key: &Piece, anchors: &[u64]) {
        if anchors.is_empty() {
            return;
        }
        let out = self.key(key);
        for (n, anchor) in anchors.iter().enumerate() {
            out.byte(if n == 0 { b'[' } else { b',' });
            out.byte(b'"');
            push_hex(out, anchor.to_be_bytes());
            out.byte(b'"');
        }
        out.byte(b']');
    }

    pub fn json(&mut self, key: &Piece, raw: Option<&str>, max_depth: usize) -> Result<(), LimitExceeded> {
        raw.map_or(Ok(()), |raw| push_json(self.key(key), raw, max_depth))
    }

    pub fn object(&mut self, key: &Piece, fill: impl FnOnce(&mut Object<'_>)) {
        let mut inner = Object::open(self.key(key));
        fill(&mut inner);
        inner.close();
    }

    pub fn attachments(&mut self, attachments: &[Attachment<'_>]) {
        if attachments.is_empty() {
            return;
        }
        let out = self.key(key!("attachments"));
        for (n, attachment) in attachments.iter().enumerate() {
            out.byte(if n == 0 { b'[' } else { b',' });
            let mut object = Object::open(out);
            object.name(key!("media_type"), attachment.media_type);
            object.hash(key!("hash"), attachment.hash);
            object.number(key!("bytes"), attachment.bytes);
            object.name(key!("name"), attachment.name);
            object.close();
        }
        out.byte(b']');
    }
}

pub(crate) fn push_word(out: &mut Buffer, word: &str) {
    out.byte(b'"');
    out.push_str(word);
    out.byte(b'"');
}

pub(crate) fn push_number(out: &mut Buffer, number: impl itoa::Integer) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// Writes two hex digits a byte.
fn push_hex<const N: usize>(out: &mut Buffer, bytes: [u8; N]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    const PAIRS: [[u8; 2]; 256] = {
        let mut pairs = [[0; 2]; 256];
        let mut byte = 0;
        while byte < pairs.len() {
            pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 0xf]];
            byte += 1;
        }
        pairs
    };
    let digits = bytes.map(|byte| PAIRS[byte as usize]);
    out.push_str(std::str::from_utf8(digits.as_flattened()).unwrap_or_default());
}

/// Writes the event's own fields.
pub(crate) fn push_fields(object: &mut Object<'_>, event: &Event<'_>, max_depth: usize) -> Result<(), LimitExceeded> {
    match event {
        Event::Meta(meta) => push_meta(object, meta),
        Event::MsgIn(msg) => {
            object.word(key!("role"), msg.role.as_str());
            object.text(key!("text"), msg.text);
            object.flag(key!("synthetic"), msg.synthetic, false);
            object.attachments(&msg.attachments);
        }
        Event::MsgOut(msg) => {
            object.text(key!("text"), msg.text);
            object.word_if(key!("channel"), msg.channel.map(Channel::as_str));
            object.name(key!("model"), msg.model);
            object.name(key!("message_id"), msg.message_id);
            object.flag(key!("redacted"), msg.redacted, false);
        }
        Event::ToolCall(call) => {
            object.text(key!("tool"), Some(call.tool));
            object.word(key!("kind"), call.kind.as_str());
            object.name(key!("call_id"), call.call_id);
            object.json(key!("args"), call.args, max_depth)?;
        }
        Event::ToolResult(result) => push_result(object, result),
        Event::CodeRead(read) => {
            object.name(key!("call_id"), read.call_id);
            object.text(key!("file"), Some(read.file));
            object.range(key!("range"), read.range);
            object.number(key!("total_lines"), read.total_lines);
            object.hash(key!("hash"), read.hash);
            object.anchors(key!("anchor_hashes"), &read.anchor_hashes);
        }
        Event::CodeEdit(edit) => push_edit(object, edit),
        Event::SpanLink(link) => {
            object.text(key!("from_file"), Some(link.from_file));
            object.range(key!("from_range"), link.from_range);
            object.text(key!("to_file"), Some(link.to_file));
            object.range(key!("to_range"), link.to_range);
            object.text(key!("note"), link.note);
        }
    }
    Ok(())
}

fn push_result(object: &mut Object<'_>, result: &ToolResult<'_>) {
    object.name(key!("tool"), result.tool);
    object.name(key!("call_id"), result.call_id);
    object.word_if(key!("status"), result.status.map(Status::as_str));
    if let Some(exit) = result.exit {
        push_number(object.key(key!("exit")), exit);
    }
    object.text(key!("stdout"), result.stdout);
    object.text(key!("stderr"), result.stderr);
    object.flag(key!("truncated"), result.truncated, false);
    if let Some(artifact) = &result.artifact {
        object.object(key!("artifact"), |inner| {
            inner.text(key!("path"), Some(artifact.path));
            inner.hash(key!("hash"), artifact.hash);
            inner.number(key!("bytes"), artifact.bytes);
        });
    }
    object.attachments(&result.attachments);
    object.number(key!("duration_ms"), result.duration_ms);
}

fn push_edit(object: &mut Object<'_>, edit: &CodeEdit<'_>) {
    object.name(key!("call_id"), edit.call_id);
    object.word(key!("op"), edit.op.as_str());
    object.text(key!("file"), Some(edit.file));
    object.range(key!("before_range"), edit.before_range);
    object.range(key!("after_range"), edit.after_range);
    object.hash(key!("before_hash"), edit.before_hash);
    object.hash(key!("after_hash"), edit.after_hash);
    object.hash(key!("file_before_hash"), edit.file_before_hash);
    object.hash(key!("file_after_hash"), edit.file_after_hash);
    object.anchors(key!("before_anchor_hashes"), &edit.before_anchor_hashes);
    object.anchors(key!("after_anchor_hashes"), &edit.after_anchor_hashes);
    if edit.snippet {
        object.word(key!("basis"), "snippet");
    }
    object.flag(key!("confirmed"), !edit.unconfirmed, true);
}

fn push_meta(object: &mut Object<'_>, meta: &Meta<'_>) {
    match meta {
        Meta::Session(facts) => push_session(object, facts),
        Meta::Usage(usage) => push_usage(object, usage),
        Meta::Compaction { text, trigger } => {
            object.word(key!("label"), "compaction");
            object.text(key!("text"), *text);
            object.name(key!("trigger"), *trigger);
        }
        Meta::Error { code, text } => {
            object.word(key!("label"), "error");
            object.name(key!("code"), *code);
            object.text(key!("text"), *text);
        }
        Meta::Interrupt { text } => {
            object.word(key!("label"), "interrupt");
            object.text(key!("text"), *text);
        }
        Meta::Permission(permission) => {
            object.word(key!("label"), "permission");
            object.word(key!("decision"), permission.decision.as_str());
            object.name(key!("tool"), permission.tool);
            object.name(key!("call_id"), permission.call_id);
            object.text(key!("text"), permission.text);
        }
        Meta::Context(context) => {
            object.word(key!("label"), "context");
            object.text(key!("name"), Some(context.name));
            object.name(key!("file"), context.file);
            object.hash(key!("hash"), context.hash);
            object.number(key!("bytes"), context.bytes);
            object.text(key!("text"), context.text);
        }
        Meta::System { name, text } => {
            object.word(key!("label"), "system");
            object.text(key!("name"), Some(*name));
            object.text(key!("text"), *text);
        }
    }
}

fn push_session(object: &mut Object<'_>, facts: &SessionFacts<'_>) {
    object.word(key!("label"), "session");
    object.name(key!("model"), facts.model);
    object.name(key!("provider"), facts.provider);
    object.name(key!("repo_head"), facts.repo_head);
    object.name(key!("repo_branch"), facts.repo_branch);
    object.name(key!("repo_url"), facts.repo_url);
    object.name(key!("cwd"), facts.cwd);
    object.name(key!("title"), facts.title);
    object.name(key!("parent_session_id"), facts.parent_session_id);
    object.name(key!("parent_call_id"), facts.parent_call_id);
    object.name(key!("fork_of"), facts.fork_of);
    object.name(key!("agent"), facts.agent);
}

fn push_usage(object: &mut Object<'_>, usage: &Usage<'_>) {
    object.word(key!("label"), "usage");
    object.name(key!("model"), usage.model);
    let Tokens { input, output, cache_read, cache_write, reasoning, total } = usage.tokens;
    let named = [
        (key!("input"), input),
        (key!("output"), output),
        (key!("cache_read"), cache_read),
        (key!("cache_write"), cache_write),
        (key!("reasoning"), reasoning),
        (key!("total"), total),
    ];
    if named.iter().any(|(_, tokens)| tokens.is_some()) {
        object.object(key!("tokens"), |inner| {
            for (key, tokens) in named {
                inner.spelled(key, tokens);
            }
        });
    }
    object.spelled(key!("cost_usd"), usage.cost_usd);
}

/// A place inside a record (RFC 6901), built without allocation.
#[derive(Debug, Clone, Copy, Default)]
pub enum Pointer<'p> {
    /// The whole record.
    #[default]
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
    /// Where in the record pointers begin.
    pub within: Pointer<'static>,
}

/// Writes `origin`, if anything is known of it. `id` is a canonical token, or empty where the record has none.
pub(crate) fn push_origin(object: &mut Object<'_>, place: Place, pointer: Pointer<'_>, id: &str) {
    let has_pointer = !matches!((place.within, pointer), (Pointer::Root, Pointer::Root));
    let has_id = id.len() > r#""""#.len();
    if place.line == 0 && !has_pointer && !has_id {
        return;
    }
    let mut origin = Object::open(object.key(key!("origin")));
    if place.line > 0 {
        push_number(origin.key(key!("line")), place.line);
    }
    if place.part > 0 {
        push_number(origin.key(key!("part")), place.part);
    }
    if has_pointer {
        let out = origin.key(key!("pointer"));
        out.byte(b'"');
        if !matches!(place.within, Pointer::Root) {
            push_pointer(out, place.within);
        }
        push_pointer(out, pointer);
        out.byte(b'"');
    }
    if has_id {
        origin.key(key!("id")).push_str(id);
    }
    origin.close();
}

fn push_pointer(out: &mut Buffer, pointer: Pointer<'_>) {
    let (path, index, rest) = match pointer {
        Pointer::Root => ("", None, ""),
        Pointer::At(path) => (path, None, ""),
        Pointer::Item(path, index) => (path, Some(index), ""),
        Pointer::Field(path, index, rest) => (path, Some(index), rest),
    };
    push_plain(out, path);
    if let Some(index) = index {
        out.byte(b'/');
        push_number(out, index);
    }
    if !rest.is_empty() {
        push_plain(out, rest);
    }
}
