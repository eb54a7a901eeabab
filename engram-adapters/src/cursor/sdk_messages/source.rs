//! Where messages of the SDK are: on lines of their own, or in the events of a run store.

use engram_core::emit::Pointer;
use engram_core::ledger::Outcome;

use crate::cursor::format::{SdkKind, rule};
use crate::cursor::pieces::PieceOf;

/// Where messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cursor) enum SourceForm {
    /// What a program printed: one message per line.
    Stream,
    /// Events of an opened run store.
    Store,
}

impl SourceForm {
    /// The place of a message in its record.
    pub(in crate::cursor) fn place(self) -> Pointer<'static> {
        match self {
            SourceForm::Stream => Pointer::Root,
            SourceForm::Store => Pointer::At("/event/payload/message"),
        }
    }

    /// The outcome of a record that is a piece of a text.
    pub(super) fn piece(self, of: PieceOf) -> Outcome {
        let (record, rule) = match (of, self) {
            (PieceOf::Reasoning, SourceForm::Stream) => {
                (SdkKind::Thinking.name(), rule::REASONING_PIECES)
            }
            (PieceOf::Reasoning, SourceForm::Store) => {
                ("thinking/run_event", rule::REASONING_PIECES)
            }
            (PieceOf::Message, SourceForm::Stream) => {
                (SdkKind::Assistant.name(), rule::MESSAGE_PIECES)
            }
            (PieceOf::Message, SourceForm::Store) => ("assistant/run_event", rule::MESSAGE_PIECES),
        };
        Outcome::duplicate(record, rule)
    }

    /// The record type of a prompt that the runtime sent again.
    pub(super) fn sent_again(self) -> &'static str {
        match self {
            SourceForm::Stream => SdkKind::User.name(),
            SourceForm::Store => "user/run_event",
        }
    }

    /// The outcome's record type of a message without an event, of those that never give one.
    pub(super) fn progress(self, kind: SdkKind) -> &'static str {
        match (self, kind) {
            (SourceForm::Stream, kind) => kind.name(),
            (SourceForm::Store, SdkKind::Status) => "status/run_event",
            (SourceForm::Store, _) => "request/run_event",
        }
    }
}
