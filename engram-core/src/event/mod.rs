//! The events of a tape as values. A field that is `None` is left out of the tape.
//!
//! Within `engram.tape/1` there may be new labels of `meta` and new members. So [`Meta`] is `#[non_exhaustive]`, and so is every struct that core
//! alone makes: the envelope, and what `tape.start`, `tape.stop` and `meta revision` say. What adapters make is open: a struct with `Default` is
//! made with `..Default::default()` and stays as it is when a member is added; a new member of another one is a new version of this crate, as
//! are new words ([`ToolKind`](crate::tool_kind::ToolKind), [`Status`], [`Channel`]), since a match over them should be complete.

mod code;
mod kind;
mod lifecycle;
mod message;
mod meta;
mod origin;
mod record;
mod seq;
mod tool;
mod validate;

pub use self::code::{CodeEdit, CodeRead, EditOp, Range, SpanLink};
pub(crate) use self::kind::Kinds;
pub use self::kind::{Kind, KindCounts};
pub use self::lifecycle::{
    BesideFile, Claims, Harness, InputDigest, RevisionChange, SPANS_TEXT, TapeStart, TapeStop,
    UNICODE_REPLACED, Unrecognized,
};
pub use self::message::{Attachment, Author, Channel, MsgIn, MsgOut, Role};
pub use self::meta::{
    Decision, EpisodeFacts, ImplicitInput, Meta, Number, Permission, SessionFacts, Tokens, Usage,
};
pub use self::origin::{Pointer, RecordLocation};
pub use self::record::{EventRecord, EventRef, EventSource, Origin, TimeBasis};
pub use self::seq::Seq;
pub use self::tool::{SideFile, Status, ToolCall, ToolResult};
pub(crate) use self::validate::{Violation, violation};
pub use crate::coverage::ClaimGrade;

use crate::text::Text;

/// One event, without its envelope.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// See [`Meta`].
    Meta(Meta<'a>),
    /// See [`MsgIn`].
    MsgIn(MsgIn<'a>),
    /// See [`MsgOut`].
    MsgOut(MsgOut<'a>),
    /// See [`ToolCall`].
    ToolCall(ToolCall<'a>),
    /// See [`ToolResult`].
    ToolResult(ToolResult<'a>),
    /// See [`CodeRead`].
    CodeRead(CodeRead<'a>),
    /// See [`CodeEdit`].
    CodeEdit(CodeEdit<'a>),
    /// See [`SpanLink`].
    SpanLink(SpanLink<'a>),
}

impl Event<'_> {
    /// The kind of this event.
    pub fn kind(&self) -> Kind {
        match self {
            Event::Meta(_) => Kind::Meta,
            Event::MsgIn(_) => Kind::MsgIn,
            Event::MsgOut(_) => Kind::MsgOut,
            Event::ToolCall(_) => Kind::ToolCall,
            Event::ToolResult(_) => Kind::ToolResult,
            Event::CodeRead(_) => Kind::CodeRead,
            Event::CodeEdit(_) => Kind::CodeEdit,
            Event::SpanLink(_) => Kind::SpanLink,
        }
    }

    /// Leaves out the texts of spans, which a tape has only on request.
    pub(crate) fn forget_span_text(&mut self) {
        match self {
            Event::CodeRead(read) => read.text = None,
            Event::CodeEdit(edit) => (edit.before_text, edit.after_text) = (None, None),
            _ => {}
        }
    }

    /// The id of the call that caused this event, if it has one.
    pub(crate) fn caused_by(&self) -> Option<Text<'_>> {
        match self {
            Event::ToolResult(result) => result.call_id,
            Event::CodeRead(read) => read.call_id,
            Event::CodeEdit(edit) => edit.call_id,
            Event::SpanLink(link) => link.call_id,
            _ => None,
        }
    }
}

macro_rules! into_event {
    ($($kind:ident),*) => {$(
        impl<'a> From<$kind<'a>> for Event<'a> {
            fn from(value: $kind<'a>) -> Self {
                Event::$kind(value)
            }
        }
    )*};
}
into_event!(
    Meta, MsgIn, MsgOut, ToolCall, ToolResult, CodeRead, CodeEdit, SpanLink
);
