//! Events of spans: reads, edits, decisions, errors.

use engram_core::event::*;

use super::options::Content;
use super::wire::{Attributes, SpanEvent};
use crate::text::owned;

/// An event as an event of a span; `None` for one that no span has.
pub(super) fn span_event(event: &Event<'_>, time: i64, content: Content) -> Option<SpanEvent> {
    let mut attributes = Attributes::default();
    let name = match event {
        Event::CodeEdit(edit) => {
            attributes.set("engram.file", owned(edit.file));
            attributes.set("engram.op", edit.op.as_str());
            attributes.maybe("engram.first", edit.after_range.map(|range| range.first));
            attributes.maybe("engram.last", edit.after_range.map(|range| range.last));
            attributes.maybe(
                "engram.before_hash",
                edit.before_hash.map(|hash| hash.to_string()),
            );
            attributes.maybe(
                "engram.after_hash",
                edit.after_hash.map(|hash| hash.to_string()),
            );
            "engram.code.edit"
        }
        Event::CodeRead(read) => {
            attributes.set("engram.file", owned(read.file));
            attributes.maybe("engram.first", read.range.map(|range| range.first));
            attributes.maybe("engram.last", read.range.map(|range| range.last));
            attributes.maybe("engram.hash", read.hash.map(|hash| hash.to_string()));
            "engram.code.read"
        }
        Event::SpanLink(link) => {
            attributes.set("engram.from_file", owned(link.from_file));
            attributes.set("engram.to_file", owned(link.to_file));
            "engram.span.link"
        }
        Event::Meta(Meta::Error { code, text }) => {
            attributes.set(
                "exception.type",
                code.map_or_else(|| "error".to_owned(), owned),
            );
            if content != Content::None {
                attributes.maybe("exception.message", text.map(owned));
            }
            "exception"
        }
        Event::Meta(Meta::Compaction { trigger, .. }) => {
            attributes.maybe("engram.trigger", trigger.map(owned));
            "engram.compaction"
        }
        Event::Meta(Meta::Interrupt { .. }) => "engram.interrupt",
        Event::Meta(Meta::Permission(permission)) => {
            attributes.set("engram.decision", permission.decision.as_str());
            attributes.maybe("engram.tool", permission.tool.map(owned));
            "engram.permission"
        }
        Event::Meta(Meta::Rewind { to, .. }) => {
            attributes.set("engram.to", to.get());
            "engram.rewind"
        }
        _ => return None,
    };
    Some(SpanEvent {
        time_unix_nano: time,
        name,
        attributes: attributes.0,
    })
}
