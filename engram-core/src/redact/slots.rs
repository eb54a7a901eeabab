//! The texts of an event that may contain a secret. Ids, times, numbers and words of the format are none.

use crate::event::*;
use crate::text::Text;

/// A place of a text in an event.
pub(super) enum Slot<'s, 'a> {
    Text(&'s mut Text<'a>),
    /// A JSON value.
    Json(&'s mut &'a str),
}

/// Calls `visit` with every text of the event, always in the same order.
pub(super) fn each_slot<'a>(event: &mut Event<'a>, visit: &mut dyn FnMut(Slot<'_, 'a>)) {
    let mut texts = |texts: &mut [&mut Option<Text<'a>>]| {
        texts
            .iter_mut()
            .filter_map(|text| text.as_mut())
            .for_each(|text| visit(Slot::Text(text)));
    };
    match event {
        Event::MsgIn(message) => {
            texts(&mut [&mut message.text]);
            attachments(&mut message.attachments, visit);
        }
        Event::MsgOut(message) => texts(&mut [&mut message.text, &mut message.model]),
        Event::ToolCall(call) => {
            texts(&mut [&mut call.server]);
            visit(Slot::Text(&mut call.tool));
            json(&mut call.args, visit);
        }
        Event::ToolResult(result) => {
            texts(&mut [&mut result.tool, &mut result.stdout, &mut result.stderr]);
            if let Some(file) = &mut result.artifact {
                visit(Slot::Text(&mut file.path));
            }
            attachments(&mut result.attachments, visit);
        }
        Event::CodeRead(read) => visit(Slot::Text(&mut read.file)),
        Event::CodeEdit(edit) => visit(Slot::Text(&mut edit.file)),
        Event::SpanLink(link) => {
            texts(&mut [&mut link.note]);
            visit(Slot::Text(&mut link.from_file));
            visit(Slot::Text(&mut link.to_file));
        }
        Event::Meta(meta) => meta_slots(meta, visit),
    }
}

fn meta_slots<'a>(meta: &mut Meta<'a>, visit: &mut dyn FnMut(Slot<'_, 'a>)) {
    let mut texts = |texts: &mut [&mut Option<Text<'a>>]| {
        texts
            .iter_mut()
            .filter_map(|text| text.as_mut())
            .for_each(|text| visit(Slot::Text(text)));
    };
    match meta {
        Meta::Session(facts) => texts(&mut [
            &mut facts.repo_branch,
            &mut facts.repo_url,
            &mut facts.cwd,
            &mut facts.title,
            &mut facts.agent,
            &mut facts.permission_mode,
            &mut facts.model,
            &mut facts.provider,
            &mut facts.effort,
            &mut facts.repo_head,
        ]),
        Meta::Episode(facts) => texts(&mut [&mut facts.agent, &mut facts.agent_version]),
        Meta::Usage(usage) => texts(&mut [
            &mut usage.model,
            &mut usage.stop_reason,
            &mut usage.service_tier,
            &mut usage.part,
        ]),
        Meta::TapeStart(start) => texts(&mut [&mut start.harness.version]),
        Meta::Revision(change) => texts(&mut [&mut change.harness.version]),
        Meta::Compaction { text, trigger } => texts(&mut [text, trigger]),
        Meta::Error { code, text } => texts(&mut [code, text]),
        Meta::Interrupt { text } => texts(&mut [text]),
        Meta::Permission(permission) => texts(&mut [&mut permission.tool, &mut permission.text]),
        Meta::Context(input) => {
            texts(&mut [&mut input.file, &mut input.text]);
            visit(Slot::Text(&mut input.name));
        }
        Meta::System { name, text } => {
            texts(&mut [text]);
            visit(Slot::Text(name));
        }
        Meta::Unrecognized(unknown) => {
            visit(Slot::Text(&mut unknown.name));
            json(&mut unknown.raw, visit);
            unknown
                .text
                .iter_mut()
                .for_each(|text| visit(Slot::Text(text)));
        }
        Meta::TapeStop(_) | Meta::Rewind { .. } | Meta::Other(_) => {}
    }
}

fn attachments<'a>(attachments: &mut [Attachment<'a>], visit: &mut dyn FnMut(Slot<'_, 'a>)) {
    let texts = attachments
        .iter_mut()
        .flat_map(|attachment| [attachment.name.as_mut(), attachment.media_type.as_mut()]);
    texts.flatten().for_each(|text| visit(Slot::Text(text)));
}

fn json<'a>(value: &mut Option<&'a str>, visit: &mut dyn FnMut(Slot<'_, 'a>)) {
    if let Some(value) = value {
        visit(Slot::Json(value));
    }
}
