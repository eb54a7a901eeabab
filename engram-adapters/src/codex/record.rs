//! One record as its handler gets it, the same in every container form.

use std::borrow::Cow;

use engram_core::descriptor::{Omission, OmissionRule};
use engram_core::emit::Pointer;
use engram_core::ledger::Outcome;

use crate::shared::value::Value;

/// How a record is stored in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// A `{timestamp, type, payload}` line.
    Envelope,
    /// A line that is itself the item.
    Bare,
    /// An element of `items` in one document.
    Document,
    /// A line that `exec --json` printed.
    Stream,
}

/// One record of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    /// Its type in the envelope form, which is the name of its row in the record table.
    pub name: &'static str,
    /// The payload, the completed item, or the bare item.
    pub value: Value<'a>,
    /// JSON Pointer of `value`.
    pub at: &'a str,
    /// When it was written, as a tape time.
    pub t: Option<&'a str>,
    /// It repeats a record of another thread: it is part of a copied history, or foreign.
    pub replay: bool,
    /// It is an item of another thread, mirrored into this one.
    pub is_foreign: bool,
    pub container: Container,
}

impl<'a> Record<'a> {
    /// The type as the ledger counts it: without `response_item/` where there is no envelope.
    pub fn type_name(&self) -> &'static str {
        match self.container {
            Container::Envelope | Container::Stream => self.name,
            Container::Bare | Container::Document => self.name.strip_prefix("response_item/").unwrap_or(self.name),
        }
    }

    /// The last segment of the type.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// The pointer to a field, given as it is in the envelope form.
    pub fn pointer_to(&self, path: &'static str) -> Cow<'static, str> {
        let inner = path.strip_prefix("/payload").unwrap_or(path);
        match self.container {
            Container::Envelope | Container::Stream => Cow::Borrowed(path),
            Container::Bare => Cow::Borrowed(inner),
            Container::Document => Cow::Owned(format!("{}{inner}", self.at)),
        }
    }

    /// The pointer to the record itself.
    pub fn pointer(&self) -> Pointer<'a> {
        if self.container == Container::Document { Pointer::At(self.at) } else { Pointer::Root }
    }

    /// The outcome of a record that `rule` omits.
    pub fn omitted_by(&self, rule: &OmissionRule) -> Outcome {
        let (record, rule, is_duplicate) = (self.type_name(), rule.rule, rule.omission == Omission::Duplicate);
        if is_duplicate { Outcome::Duplicate { record, rule } } else { Outcome::Bookkeeping { record, rule } }
    }

    /// `Mapped`, or omitted by `rule` where the record gave no event.
    pub fn mapped_or(&self, mapped: bool, rule: &OmissionRule) -> Outcome {
        if mapped { Outcome::Mapped } else { self.omitted_by(rule) }
    }
}
