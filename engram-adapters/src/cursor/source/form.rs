//! Cursor's kinds of artifact: how each is divided into records, and its schema.

use engram_core::adapter::Framing;

use crate::cursor::revisions;

/// A kind of artifact. Each is a schema of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cursor) enum Form {
    /// The older transcript: one JSON document.
    TranscriptDocument,
    /// The transcript: JSON Lines.
    Transcript,
    /// Output of the command line with `--output-format stream-json`.
    Stream,
    /// The payloads that a hook script received, one per line.
    HookLog,
    /// An opened `store.db`.
    ChatStore,
    /// An agent of an opened run store.
    RunStore,
    /// The SDK's messages, as a program printed them.
    MessageStream,
    /// An opened conversation of `state.vscdb` whose messages are rows.
    EditorRows,
    /// An opened conversation of `state.vscdb` whose messages are inline.
    EditorInline,
}

impl Form {
    /// How an artifact of this form is divided into records.
    pub(in crate::cursor) fn framing(self) -> Framing {
        if self == Form::TranscriptDocument {
            Framing::Document
        } else {
            Framing::Lines
        }
    }

    /// The schema. None for hook payloads: they record a version, which decides.
    pub(super) fn schema(self) -> Option<&'static str> {
        Some(match self {
            Form::TranscriptDocument => revisions::TRANSCRIPT_JSON,
            Form::Transcript => revisions::TRANSCRIPT,
            Form::Stream => revisions::STREAM,
            Form::ChatStore => revisions::CHAT,
            Form::RunStore => revisions::RUNS,
            Form::MessageStream => revisions::MESSAGES,
            Form::EditorRows => revisions::EDITOR_ROWS,
            Form::EditorInline => revisions::EDITOR_INLINE,
            Form::HookLog => return None,
        })
    }
}
