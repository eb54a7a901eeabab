//! What the types of events allow and the format does not. The emitter refuses it.

use super::{CodeEdit, CodeRead, Event, MsgOut, Range};

/// Why an event cannot be in a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Violation {
    /// The adapter left out what the event needs.
    Defect(&'static str),
    /// The log has lines that cannot be.
    ImpossibleRange,
}

/// The first violation of the format by this event.
pub(crate) fn violation(event: &Event<'_>) -> Option<Violation> {
    let defect = match event {
        Event::MsgIn(message) => (message.text.is_none() && message.attachments.is_empty())
            .then_some("`text` or `attachments`"),
        Event::MsgOut(message) => message_out(message),
        Event::CodeRead(read) => read_spans(read),
        Event::CodeEdit(edit) => edit_spans(edit),
        Event::Meta(_) | Event::ToolCall(_) | Event::ToolResult(_) | Event::SpanLink(_) => None,
    };
    let is_impossible = || {
        ranges(event)
            .into_iter()
            .flatten()
            .any(|Range { first, last }| first == 0 || last < first - 1)
    };
    defect
        .map(Violation::Defect)
        .or_else(|| is_impossible().then_some(Violation::ImpossibleRange))
}

fn ranges(event: &Event<'_>) -> [Option<Range>; 2] {
    match event {
        Event::CodeRead(read) => [read.range, None],
        Event::CodeEdit(edit) => [edit.before_range, edit.after_range],
        Event::SpanLink(link) => [link.from_range, link.to_range],
        _ => [None, None],
    }
}

fn message_out(message: &MsgOut<'_>) -> Option<&'static str> {
    match (message.text.is_some(), message.redacted) {
        (false, false) => Some("`text` or `redacted`"),
        (true, true) => Some("a redacted message without `text`"),
        _ => None,
    }
}

fn read_spans(read: &CodeRead<'_>) -> Option<&'static str> {
    if read.hash.is_some() && read.range.is_none() {
        Some("a `range` for the `hash`")
    } else if (!read.anchor_hashes.is_empty() || read.text.is_some()) && read.hash.is_none() {
        Some("a `hash` for the `anchor_hashes` and the `text`")
    } else {
        None
    }
}

fn edit_spans(edit: &CodeEdit<'_>) -> Option<&'static str> {
    let sides = [
        (
            edit.before_range,
            edit.before_hash,
            &edit.before_anchor_hashes,
            &edit.before_text,
        ),
        (
            edit.after_range,
            edit.after_hash,
            &edit.after_anchor_hashes,
            &edit.after_text,
        ),
    ];
    sides.into_iter().find_map(|(range, hash, anchors, text)| {
        if edit.snippet && range.is_some() {
            Some("a snippet without a range")
        } else if hash.is_some() && range.is_none() && !edit.snippet {
            Some("a range for the hash of a span")
        } else if (!anchors.is_empty() || text.is_some()) && hash.is_none() {
            Some("a hash for the fingerprints and the text of a span")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Author, EditOp, MsgIn};
    use crate::hash::Hash;
    use crate::text::Text;

    #[test]
    fn a_message_needs_content() {
        let message = MsgIn::user(Author::Person, None);
        assert!(matches!(
            violation(&message.clone().into()),
            Some(Violation::Defect(_))
        ));
        assert_eq!(
            violation(
                &MsgIn {
                    text: Some(Text::Plain("")),
                    ..message
                }
                .into()
            ),
            None
        );
        assert!(violation(&MsgOut::default().into()).is_some());
        assert!(
            violation(
                &MsgOut {
                    text: Some(Text::Plain("x")),
                    redacted: true,
                    ..MsgOut::default()
                }
                .into()
            )
            .is_some()
        );
        assert_eq!(
            violation(
                &MsgOut {
                    redacted: true,
                    ..MsgOut::default()
                }
                .into()
            ),
            None
        );
    }

    #[test]
    fn a_range_has_real_lines() {
        let edit = |first, last| CodeEdit {
            before_range: Some(Range { first, last }),
            ..CodeEdit::new(EditOp::Update, Text::Plain("f"))
        };
        assert_eq!(
            [violation(&edit(1, 0).into()), violation(&edit(3, 5).into())],
            [None, None]
        );
        for (first, last) in [(0, 0), (0, 3), (5, 3)] {
            assert_eq!(
                violation(&edit(first, last).into()),
                Some(Violation::ImpossibleRange),
                "{first} {last}"
            );
        }
    }

    #[test]
    fn a_hash_has_its_span() {
        let edit = CodeEdit {
            after_hash: Some(Hash::of_text("x")),
            ..CodeEdit::new(EditOp::Update, Text::Plain("f"))
        };
        assert!(violation(&edit.clone().into()).is_some());
        assert_eq!(
            violation(
                &CodeEdit {
                    snippet: true,
                    ..edit.clone()
                }
                .into()
            ),
            None
        );
        assert!(
            violation(
                &CodeEdit {
                    after_hash: None,
                    after_anchor_hashes: vec![1],
                    snippet: true,
                    ..edit
                }
                .into()
            )
            .is_some()
        );
    }
}
