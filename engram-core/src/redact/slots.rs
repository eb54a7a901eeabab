//! The texts of an event that may contain a secret. Ids, times, numbers and words of the format are none.

use crate::event::*;
pub(super) use crate::tape::fields::Slot;
use crate::tape::fields::{Fields as _, Visit};
use crate::text::Text;

/// Calls `visit` with every text of the event, always in the same order.
pub(super) fn each_slot<'a>(event: &mut Event<'a>, visit: Visit<'_, 'a>) {
    match event {
        Event::MsgIn(message) => message.texts(visit),
        Event::MsgOut(message) => message.texts(visit),
        Event::ToolCall(call) => call.texts(visit),
        Event::ToolResult(result) => result.texts(visit),
        Event::CodeRead(read) => read.texts(visit),
        Event::CodeEdit(edit) => edit.texts(visit),
        Event::SpanLink(link) => link.texts(visit),
        Event::Meta(meta) => meta_slots(meta, visit),
    }
}

fn meta_slots<'a>(meta: &mut Meta<'a>, visit: Visit<'_, 'a>) {
    let mut texts = |texts: &mut [&mut Option<Text<'a>>]| {
        texts
            .iter_mut()
            .filter_map(|text| text.as_mut())
            .for_each(|text| visit(Slot::Text(text)));
    };
    match meta {
        Meta::Session(facts) => facts.texts(visit),
        Meta::Episode(facts) => facts.texts(visit),
        Meta::Usage(usage) => usage.texts(visit),
        Meta::Permission(permission) => permission.texts(visit),
        Meta::Context(input) => input.texts(visit),
        Meta::TapeStart(start) => texts(&mut [&mut start.harness.version]),
        Meta::Revision(change) => texts(&mut [&mut change.harness.version]),
        Meta::Compaction { text, trigger } => texts(&mut [text, trigger]),
        Meta::Error { code, text } => texts(&mut [code, text]),
        Meta::Interrupt { text } => texts(&mut [text]),
        Meta::System { name, text } => {
            texts(&mut [text]);
            visit(Slot::Text(name));
        }
        Meta::Unrecognized(unknown) => {
            visit(Slot::Text(&mut unknown.name));
            unknown
                .raw
                .iter_mut()
                .for_each(|raw| visit(Slot::Json(raw)));
            unknown
                .text
                .iter_mut()
                .for_each(|text| visit(Slot::Text(text)));
        }
        Meta::TapeStop(_) | Meta::Rewind { .. } | Meta::Other(_) => {}
    }
}
