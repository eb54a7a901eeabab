//! Where messages of the SDK are: on lines of their own, or in the events of a run store.

use engram_core::emit::Pointer;

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

    /// The outcome's record type of a message without an event, of those that never give one.
    pub(super) fn progress(self, kind: &str) -> &'static str {
        match (self, kind) {
            (SourceForm::Stream, "status") => "status",
            (SourceForm::Stream, _) => "request",
            (SourceForm::Store, "status") => "status/run_event",
            (SourceForm::Store, _) => "request/run_event",
        }
    }
}
