//! One message, as the message handlers get it.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault, Pointer, RecordHeader};

use crate::gemini::members;
use crate::gemini::schema::Record;
use crate::shared::time::tape_time;
use crate::shared::value::{Field, raw_str, text};

/// One message of a log, a history, or a saved conversation.
#[derive(Clone, Copy)]
pub(super) struct MessageRecord<'r> {
    pub message: &'r Record<'r>,
    /// The place of the message. Empty for a line.
    pub base: &'r str,
    /// The field with the content: `/content`, in a saved conversation `/parts`.
    pub content: &'static str,
}

impl<'r> MessageRecord<'r> {
    /// A message of a log or of a history.
    pub(super) fn new(message: &'r Record<'r>, base: &'r str) -> Self {
        MessageRecord { message, base, content: "/content" }
    }

    /// The place of a field of the message.
    pub(super) fn path(&self, field: &'static str) -> Cow<'static, str> {
        path_in(self.base, field)
    }

    /// The place of the content.
    pub(super) fn content_path(&self) -> Cow<'static, str> {
        self.path(self.content)
    }

    /// Sets the time and id of the message's events, and compares the message with the member table.
    pub(super) fn begin(&self, out: &mut Emitter<'_>) -> Result<(), Fault> {
        set_header(self.message.timestamp(), self.message.id(), out);
        members::check(raw_str(self.message.kind()), self.message.object(), Pointer::At(self.base), out)
    }
}

/// The place of a field of the value at `base`, which is empty for the root.
pub(super) fn path_in(base: &str, field: &'static str) -> Cow<'static, str> {
    if base.is_empty() { Cow::Borrowed(field) } else { Cow::Owned([base, field].concat()) }
}

/// Sets the time and id of the following events.
#[inline(never)]
pub(super) fn set_header(time: Field<'_>, id: Field<'_>, out: &mut Emitter<'_>) {
    let time = tape_time(time);
    out.set_header(RecordHeader { t: time.as_deref(), id: text(id), replay: false });
}
