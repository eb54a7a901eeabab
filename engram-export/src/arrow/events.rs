//! The table `events`: every event with every field of it.

use std::fmt::Write;

use engram_core::event::*;
use engram_core::tape::Members;
use engram_core::text::push_text;

use super::column::*;
use super::nested::{Anchors, Origins, Ranges, TokenSets};
use super::rows::{Rows, rows};
use super::values::*;
use crate::text::Decoder;

rows! {
    /// Rows of `events`.
    EventRows {
        "the name of the tape" tape: Names,
        "the harness" harness: Names,
        "the session" session_id: Words,
        "the sub-agent, if the event belongs to one" agent_id: Words,
        "the key of the session or sub-agent of this tape: unique in `sessions`, the same in all tables" session_key: Words,
        "the number of the event in its tape" seq: Counts,
        "the time; null where the log has none" t: Times,
        "why `t` is not the own time of the record: `inherited`, `absent`" t_basis: Words,
        "the kind" k: Names,
        "the label of a `meta` event" label: Words,
        "the `seq` of the event that caused this one" parent: Ints,
        "the `seq` of the prompt that the event belongs to: the latest `msg.in` of a person or an agent, at or before it, that was not rewound" turn: Ints,
        "the event repeats the history of another session" replay: Flags,
        "`user`, `system`, `developer`" role: Words,
        "who wrote it: `person`, `agent`, `harness`" by: Words,
        "`final`, `commentary`, `reasoning`" channel: Words,
        "the text of messages, of `meta` events, and of reads on tapes with the texts of spans" text: Texts,
        "the model" model: Words,
        "the response that the event is a part of" message_id: Texts,
        "a message whose text the log holds only in an opaque form" redacted: Bools,
        "the tool, as the harness names it" tool: Words,
        "the MCP server of the tool" server: Words,
        "what the tool does" tool_kind: Words,
        "the id of the call" call_id: Texts,
        "the arguments of a call, JSON" args: Texts,
        "how the call ended: `ok`, `error`, `denied`, `cancelled`" status: Words,
        "the exit code" exit: Ints,
        "the output" stdout: Texts,
        "the error output, or the text of an error" stderr: Texts,
        "the harness cut the output" truncated: Bools,
        "how long the call took, as the log says" duration_ms: Ints,
        "the side file that has the output, JSON" artifact: Texts,
        "images and files, JSON" attachments: Texts,
        "what an edit does to the file: `create`, `update`, `overwrite`, `delete`, `move`" op: Words,
        "the file of a read, an edit or a context; the first file of a link" file: Texts,
        "the second file of a link" to_file: Texts,
        "the lines of a read; the first lines of a link" range: Ranges,
        "the lines before an edit" before_range: Ranges,
        "the lines after an edit" after_range: Ranges,
        "the second lines of a link" to_range: Ranges,
        "the lines of the whole file" total_lines: Ints,
        "the lines of a snippet before an edit" before_lines: Ints,
        "the lines of a snippet after an edit" after_lines: Ints,
        "`snippet` where the lines of an edit are not known" basis: Words,
        "false where the log shows that an edit was asked for, but not its outcome" confirmed: Bools,
        "the hash of what was read, or of a context" hash: Hashes,
        "the hash of the lines before" before_hash: Hashes,
        "the hash of the lines after" after_hash: Hashes,
        "the hash of the whole file before" file_before_hash: Hashes,
        "the hash of the whole file after" file_after_hash: Hashes,
        "the fingerprints of what was read" anchors: Anchors,
        "the fingerprints of the lines before" before_anchors: Anchors,
        "the fingerprints of the lines after" after_anchors: Anchors,
        "the lines before, of tapes with the texts of spans" before_text: Texts,
        "the lines after, of tapes with the texts of spans" after_text: Texts,
        "the tokens of a response; they add up" tokens: TokenSets,
        "the name of a context, a notice or an unrecognized record" name: Words,
        "the code of an error" code: Words,
        "`allow`, `deny`, `ask`" decision: Words,
        "what kind of link it is" note: Texts,
        "a rewind: the `seq` of the last event that still holds" rewind_to: Ints,
        "the bytes of a context, or of a record over a limit" bytes: Ints,
        "an unrecognized record, JSON" raw: Texts,
        "all fields without a column of their own, a JSON object" rest: Texts,
        "the place in the log" origin: Origins,
        "the log was not UTF-8 here, or half surrogate pairs were replaced by U+FFFD" lossy: Flags,
    }
}

/// The fields of each kind of event that have a column, and the column. Everything else goes to `rest`.
pub(crate) fn columns(kind: Kind, label: Option<&str>) -> &'static [(&'static str, &'static str)] {
    match (kind, label) {
        (Kind::MsgIn, _) => &[
            ("role", "role"),
            ("by", "by"),
            ("text", "text"),
            ("attachments", "attachments"),
        ],
        (Kind::MsgOut, _) => &[
            ("text", "text"),
            ("channel", "channel"),
            ("model", "model"),
            ("message_id", "message_id"),
            ("redacted", "redacted"),
        ],
        (Kind::ToolCall, _) => &[
            ("tool", "tool"),
            ("server", "server"),
            ("kind", "tool_kind"),
            ("call_id", "call_id"),
            ("message_id", "message_id"),
            ("args", "args"),
        ],
        (Kind::ToolResult, _) => &[
            ("tool", "tool"),
            ("call_id", "call_id"),
            ("status", "status"),
            ("exit", "exit"),
            ("stdout", "stdout"),
            ("stderr", "stderr"),
            ("truncated", "truncated"),
            ("artifact", "artifact"),
            ("attachments", "attachments"),
            ("duration_ms", "duration_ms"),
        ],
        (Kind::CodeRead, _) => &[
            ("call_id", "call_id"),
            ("file", "file"),
            ("range", "range"),
            ("total_lines", "total_lines"),
            ("hash", "hash"),
            ("anchor_hashes", "anchors"),
            ("text", "text"),
        ],
        (Kind::CodeEdit, _) => &[
            ("call_id", "call_id"),
            ("op", "op"),
            ("file", "file"),
            ("before_range", "before_range"),
            ("after_range", "after_range"),
            ("before_hash", "before_hash"),
            ("after_hash", "after_hash"),
            ("file_before_hash", "file_before_hash"),
            ("file_after_hash", "file_after_hash"),
            ("before_anchor_hashes", "before_anchors"),
            ("after_anchor_hashes", "after_anchors"),
            ("before_text", "before_text"),
            ("after_text", "after_text"),
            ("before_lines", "before_lines"),
            ("after_lines", "after_lines"),
            ("basis", "basis"),
            ("confirmed", "confirmed"),
        ],
        (Kind::SpanLink, _) => &[
            ("from_file", "file"),
            ("from_range", "range"),
            ("to_file", "to_file"),
            ("to_range", "to_range"),
            ("note", "note"),
        ],
        (Kind::Meta, Some("session")) => &[("label", "label"), ("model", "model")],
        (Kind::Meta, Some("usage")) => &[
            ("label", "label"),
            ("message_id", "message_id"),
            ("model", "model"),
            ("tokens", "tokens"),
        ],
        (Kind::Meta, Some("rewind")) => &[("label", "label"), ("to", "rewind_to")],
        (Kind::Meta, Some("compaction" | "interrupt")) => &[("label", "label"), ("text", "text")],
        (Kind::Meta, Some("error")) => &[("label", "label"), ("code", "code"), ("text", "text")],
        (Kind::Meta, Some("permission")) => &[
            ("label", "label"),
            ("decision", "decision"),
            ("tool", "tool"),
            ("call_id", "call_id"),
            ("text", "text"),
        ],
        (Kind::Meta, Some("context")) => &[
            ("label", "label"),
            ("name", "name"),
            ("file", "file"),
            ("hash", "hash"),
            ("bytes", "bytes"),
            ("text", "text"),
        ],
        (Kind::Meta, Some("system")) => &[("label", "label"), ("name", "name"), ("text", "text")],
        (Kind::Meta, Some("unrecognized")) => &[
            ("label", "label"),
            ("name", "name"),
            ("raw", "raw"),
            ("bytes", "bytes"),
            ("hash", "hash"),
            ("lossy", "lossy"),
        ],
        (Kind::Meta, _) => &[("label", "label")],
    }
}

/// True if an event of this kind may have fields without a column. A test compares this with the schema: it is asked for each event.
pub(crate) fn has_rest(kind: Kind, label: Option<&str>) -> bool {
    let is_covered = matches!(
        label,
        Some("interrupt" | "error" | "permission" | "context" | "system" | "unrecognized")
    );
    kind == Kind::Meta && !is_covered
}

/// The fields without a column as a JSON object; `None` if the event has none. `more` are members that go there too.
fn rest(event: &Event<'_>, label: Option<&str>, more: &str) -> Option<String> {
    let json = event.fields_json();
    let columns = columns(event.kind(), label);
    let mut members = Members::of(&json).ok()?.0;
    members.retain(|(key, _)| !columns.iter().any(|(field, _)| field == key));
    if members.is_empty() && more.is_empty() {
        return None;
    }
    let mut object = String::from("{");
    object.push_str(more);
    for (key, value) in members {
        if object.len() > 1 {
            object.push(',');
        }
        let _ = write!(object, "\"{key}\":{value}");
    }
    object.push('}');
    Some(object)
}

impl EventRows {
    /// Appends an event. True if half surrogate pairs were replaced in it.
    pub(crate) fn push(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        decoder: &mut Decoder,
    ) -> bool {
        let label = label(record.event);
        self.envelope(place, record, label, decoder);
        match record.event {
            Event::Meta(meta) => self.meta(meta, decoder),
            Event::MsgIn(message) => {
                self.role.push(message.role.as_str());
                self.by.push(message.by.as_str());
                push(&mut self.text, message.text, decoder);
                push_json(
                    &mut self.attachments,
                    attachments_json(&message.attachments, decoder),
                );
            }
            Event::MsgOut(message) => {
                push(&mut self.text, message.text, decoder);
                if let Some(channel) = message.channel {
                    self.channel.push(channel.as_str());
                }
                push_word(&mut self.model, message.model, decoder);
                push(&mut self.message_id, message.message_id, decoder);
                self.redacted.push(message.redacted);
            }
            Event::ToolCall(call) => {
                self.tool.push(decoder.text(call.tool));
                push_word(&mut self.server, call.server, decoder);
                self.tool_kind.push(call.kind.as_str());
                push(&mut self.call_id, call.call_id, decoder);
                push(&mut self.message_id, call.message_id, decoder);
                if let Some(args) = call.args {
                    self.args.push(&decoder.json(args));
                }
            }
            Event::ToolResult(result) => self.result(result, decoder),
            Event::CodeRead(read) => {
                push(&mut self.call_id, read.call_id, decoder);
                self.file.push(decoder.text(read.file));
                push_range(&mut self.range, read.range);
                push_count(&mut self.total_lines, read.total_lines);
                push_hash(&mut self.hash, read.hash);
                read.text.iter().for_each(|text| self.text.push(text));
                self.anchors.push(&read.anchor_hashes);
            }
            Event::CodeEdit(edit) => self.edit(edit, decoder),
            Event::SpanLink(link) => {
                self.file.push(decoder.text(link.from_file));
                push_range(&mut self.range, link.from_range);
                self.to_file.push(decoder.text(link.to_file));
                push_range(&mut self.to_range, link.to_range);
                push(&mut self.note, link.note, decoder);
            }
        }
        let too_far = if place.t.is_none() && record.t_basis != Some(TimeBasis::Absent) {
            format!("\"t\":\"{}\"", record.t)
        } else {
            String::new()
        };
        if (has_rest(record.event.kind(), label) || !too_far.is_empty())
            && let Some(rest) = rest(record.event, label, &too_far)
        {
            self.rest.push(&decoder.json(&rest));
        }
        let was_lossy = matches!(record.event, Event::Meta(Meta::Unrecognized(unrecognized)) if unrecognized.lossy);
        let is_lossy = decoder.take_lossy();
        self.lossy.push(is_lossy || was_lossy);
        self.end_row();
        is_lossy
    }

    fn envelope(
        &mut self,
        place: &Place<'_>,
        record: &EventRef<'_>,
        label: Option<&str>,
        decoder: &mut Decoder,
    ) {
        self.tape.push(place.tape);
        self.harness.push(record.source.harness);
        push_str(&mut self.session_id, place.session_id);
        push_str(&mut self.agent_id, place.agent_id);
        self.session_key.push(place.session_key);
        self.seq.push(int(record.seq.get()));
        if let Some(t) = place.t {
            self.t.push(t);
        }
        push_str(&mut self.t_basis, record.t_basis.map(TimeBasis::as_str));
        self.k.push(record.event.kind().as_str());
        push_str(&mut self.label, label);
        push_count(&mut self.parent, record.parent.map(Seq::get));
        if let Some(turn) = place.turn {
            self.turn.push(turn);
        }
        self.replay.push(record.replay);
        let origin = &record.origin;
        if origin.is_empty() {
            return;
        }
        push_count(&mut self.origin.line, origin.line);
        push_count(
            &mut self.origin.part,
            Some(origin.part).filter(|part| *part > 0),
        );
        match (origin.pointer_prefix, origin.pointer) {
            (Pointer::Root, Pointer::Root) => {}
            (Pointer::Root, Pointer::Read(pointer)) => {
                self.origin.pointer.push(decoder.text(pointer))
            }
            (prefix, pointer) => self.origin.pointer.push(&format!("{prefix}{pointer}")),
        }
        push(&mut self.origin.id, origin.id, decoder);
        self.origin.end();
    }

    fn result(&mut self, result: &ToolResult<'_>, decoder: &mut Decoder) {
        push_word(&mut self.tool, result.tool, decoder);
        push(&mut self.call_id, result.call_id, decoder);
        push_str(&mut self.status, result.status.map(Status::as_str));
        if let Some(exit) = result.exit {
            self.exit.push(exit);
        }
        push(&mut self.stdout, result.stdout, decoder);
        push(&mut self.stderr, result.stderr, decoder);
        self.truncated.push(result.truncated);
        push_json(
            &mut self.artifact,
            result
                .artifact
                .as_ref()
                .map(|artifact| artifact_json(artifact, decoder)),
        );
        push_json(
            &mut self.attachments,
            attachments_json(&result.attachments, decoder),
        );
        push_count(&mut self.duration_ms, result.duration_ms);
    }

    fn edit(&mut self, edit: &CodeEdit<'_>, decoder: &mut Decoder) {
        push(&mut self.call_id, edit.call_id, decoder);
        self.op.push(edit.op.as_str());
        self.file.push(decoder.text(edit.file));
        push_range(&mut self.before_range, edit.before_range);
        push_range(&mut self.after_range, edit.after_range);
        push_hash(&mut self.before_hash, edit.before_hash);
        push_hash(&mut self.after_hash, edit.after_hash);
        push_hash(&mut self.file_before_hash, edit.file_before_hash);
        push_hash(&mut self.file_after_hash, edit.file_after_hash);
        self.before_anchors.push(&edit.before_anchor_hashes);
        self.after_anchors.push(&edit.after_anchor_hashes);
        edit.before_text
            .iter()
            .for_each(|text| self.before_text.push(text));
        edit.after_text
            .iter()
            .for_each(|text| self.after_text.push(text));
        push_count(&mut self.before_lines, edit.before_lines);
        push_count(&mut self.after_lines, edit.after_lines);
        push_str(&mut self.basis, edit.snippet.then_some("snippet"));
        self.confirmed.push(edit.confirmed);
    }

    fn meta(&mut self, meta: &Meta<'_>, decoder: &mut Decoder) {
        match meta {
            Meta::Session(facts) => push_word(&mut self.model, facts.model, decoder),
            Meta::Usage(usage) => {
                push(&mut self.message_id, usage.message_id, decoder);
                push_word(&mut self.model, usage.model, decoder);
                if usage.tokens != Tokens::default() {
                    self.tokens.push(&usage.tokens);
                }
            }
            Meta::Rewind { to, .. } => self.rewind_to.push(int(to.get())),
            Meta::Compaction { text, .. } | Meta::Interrupt { text } => {
                push(&mut self.text, *text, decoder)
            }
            Meta::Error { code, text } => {
                push_word(&mut self.code, *code, decoder);
                push(&mut self.text, *text, decoder);
            }
            Meta::Permission(permission) => {
                self.decision.push(permission.decision.as_str());
                push_word(&mut self.tool, permission.tool, decoder);
                push(&mut self.call_id, permission.call_id, decoder);
                push(&mut self.text, permission.text, decoder);
            }
            Meta::Context(context) => {
                self.name.push(decoder.text(context.name));
                push(&mut self.file, context.file, decoder);
                push_hash(&mut self.hash, context.hash);
                push_count(&mut self.bytes, context.bytes);
                push(&mut self.text, context.text, decoder);
            }
            Meta::System { name, text } => {
                self.name.push(decoder.text(*name));
                push(&mut self.text, *text, decoder);
            }
            Meta::Unrecognized(unrecognized) => self.unrecognized(unrecognized, decoder),
            // These are in `rest`, and so is a label that this version does not know.
            _ => {}
        }
    }

    fn unrecognized(&mut self, unrecognized: &Unrecognized<'_>, decoder: &mut Decoder) {
        self.name.push(decoder.text(unrecognized.name));
        let of_text = unrecognized.text.map(|text| {
            let mut json = String::new();
            push_text(&mut json, text);
            json
        });
        if let Some(raw) = of_text.as_deref().or(unrecognized.raw) {
            self.raw.push(&decoder.json(raw));
        }
        push_count(&mut self.bytes, unrecognized.bytes);
        push_hash(&mut self.hash, unrecognized.hash);
    }
}

#[cfg(test)]
mod tests {
    use engram_core::event_schema::EVENTS;

    use super::*;

    /// A field with a column that is not there would be lost, since it is not in `rest`.
    #[test]
    fn each_field_of_each_event_has_a_column_or_goes_to_rest() {
        let mut fields = 0;
        for schema in EVENTS {
            for (field, column) in columns(schema.kind, schema.label) {
                assert!(
                    schema.fields.iter().any(|known| known.key == *field),
                    "{:?} {:?} has no `{field}`",
                    schema.kind,
                    schema.label
                );
                assert!(
                    EventRows::MEANINGS.iter().any(|(name, _)| name == column),
                    "no column `{column}`"
                );
            }
            fields += schema.fields.len();
            let all = schema.fields.iter().all(|field| {
                columns(schema.kind, schema.label)
                    .iter()
                    .any(|(key, _)| *key == field.key)
            });
            assert_eq!(has_rest(schema.kind, schema.label), !all);
        }
        assert!(fields > 100);
    }
}
