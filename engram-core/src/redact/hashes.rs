//! Which hashes and fingerprints stay in a redacted tape.
//!
//! A hash of a text with a secret is a leak: a guess can be tested with it. So one stays only if the text that it covers is on the tape,
//! and has no secret.

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memchr;

use crate::event::*;
use crate::hash::Hash;
use crate::text::Text;
use crate::tool_kind::ToolKind;

/// Calls that are remembered. The hashes of reads and edits of older ones are left out.
const MAX_CALLS: usize = 4096;

/// Texts of one call whose hashes are remembered.
const MAX_TEXTS: usize = 64;

/// What is known about a call.
#[derive(Debug, Default)]
struct Call {
    /// The call or its result had a secret.
    has_secret: bool,
    /// Its result is on the tape completely.
    has_result: bool,
    /// Hashes of the texts in its arguments, each with and without the last line end.
    texts: Vec<Hash>,
}

/// The calls of a tape so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: BTreeMap<Seq, Call>,
}

impl Calls {
    /// Takes a call or result into account. `has_secret` is true if it had one.
    pub fn note(&mut self, record: &EventRef<'_>, has_secret: bool) {
        match (record.event, record.parent) {
            (Event::ToolCall(call), _) => {
                let texts = if has_secret { Vec::new() } else { texts(call) };
                self.change(record.seq, |call| {
                    *call = Call {
                        has_secret,
                        has_result: false,
                        texts,
                    }
                });
            }
            (Event::ToolResult(result), Some(parent)) => self.change(parent, |call| {
                call.has_secret |= has_secret;
                call.has_result |= !result.truncated && result.stdout.is_some();
            }),
            _ => {}
        }
    }

    fn change(&mut self, seq: Seq, change: impl FnOnce(&mut Call)) {
        change(self.calls.entry(seq).or_default());
        while self.calls.len() > MAX_CALLS {
            self.calls.pop_first();
        }
    }

    /// Removes the hashes that must not stay. `has_secret` is true if the event itself had a secret.
    pub fn strip(&self, event: &mut Event<'_>, parent: Option<Seq>, has_secret: bool) {
        let call = parent
            .and_then(|parent| self.calls.get(&parent))
            .filter(|call| !call.has_secret);
        match event {
            Event::CodeRead(read) if !call.is_some_and(|call| call.has_result) => {
                forget(&mut read.hash, &mut read.anchor_hashes, &mut read.text);
            }
            Event::CodeEdit(edit) => strip_edit(edit, call),
            Event::ToolResult(result) => {
                result.artifact.iter_mut().for_each(|file| file.hash = None);
                strip_attachments(&mut result.attachments);
            }
            Event::MsgIn(message) => strip_attachments(&mut message.attachments),
            // The text is what the hash covers, if it is there.
            Event::Meta(Meta::Context(input)) if has_secret || input.text.is_none() => {
                input.hash = None
            }
            _ => {}
        }
    }
}

/// Of a whole file, only the changed part is on the tape. A snippet is a text of the call; lines of a file need not be.
fn strip_edit(edit: &mut CodeEdit<'_>, call: Option<&Call>) {
    edit.file_before_hash = None;
    edit.file_after_hash = None;
    let stays = |hash: &Option<Hash>| match (hash, call) {
        (Some(hash), Some(call)) => edit.snippet || call.texts.contains(hash),
        _ => false,
    };
    if !stays(&edit.before_hash) {
        forget(
            &mut edit.before_hash,
            &mut edit.before_anchor_hashes,
            &mut edit.before_text,
        );
    }
    if !stays(&edit.after_hash) {
        forget(
            &mut edit.after_hash,
            &mut edit.after_anchor_hashes,
            &mut edit.after_text,
        );
    }
    // Only hashes have a basis.
    edit.snippet &= edit.before_hash.is_some() || edit.after_hash.is_some();
}

/// Leaves out all that a tape has of a span.
fn forget(hash: &mut Option<Hash>, anchors: &mut Vec<u64>, text: &mut Option<Cow<'_, str>>) {
    (*hash, *text) = (None, None);
    anchors.clear();
}

/// Leaves out what a tape has of spans whose text has a secret. Lines of a result may have one only without the numbers before them.
pub(super) fn strip_secret_spans(event: &mut Event<'_>, has_secret: impl Fn(&str) -> bool) {
    let has_secret = |text: &Option<Cow<'_, str>>| text.as_deref().is_some_and(&has_secret);
    match event {
        Event::CodeRead(read) if has_secret(&read.text) => {
            forget(&mut read.hash, &mut read.anchor_hashes, &mut read.text);
        }
        Event::CodeEdit(edit) => {
            if has_secret(&edit.before_text) {
                forget(
                    &mut edit.before_hash,
                    &mut edit.before_anchor_hashes,
                    &mut edit.before_text,
                );
            }
            if has_secret(&edit.after_text) {
                forget(
                    &mut edit.after_hash,
                    &mut edit.after_anchor_hashes,
                    &mut edit.after_text,
                );
            }
            edit.snippet &= edit.before_hash.is_some() || edit.after_hash.is_some();
        }
        _ => {}
    }
}

/// A picture has no text. The content of any other attachment is not on the tape.
fn strip_attachments(attachments: &mut [Attachment<'_>]) {
    for attachment in attachments {
        let is_picture = attachment
            .media_type
            .is_some_and(|media_type| media_type.starts_with("image/"));
        if !is_picture {
            attachment.hash = None;
        }
    }
}

/// Hashes of the texts in the arguments of an edit.
fn texts(call: &ToolCall<'_>) -> Vec<Hash> {
    if !matches!(call.kind, ToolKind::Edit | ToolKind::Write) {
        return Vec::new();
    }
    let mut texts = vec![Hash::of_text("")];
    let args = call.args.unwrap_or_default();
    for (start, end) in super::find::strings(args).take(MAX_TEXTS) {
        let Ok(text) = Text::Token(&args[start..end]).decode() else {
            continue;
        };
        texts.push(Hash::of_text(&text));
        if memchr(b'\n', text.as_bytes()).is_some() {
            let line_end = text
                .strip_suffix("\r\n")
                .or_else(|| text.strip_suffix('\n'));
            texts.extend(line_end.map(Hash::of_text));
        }
    }
    texts
}
