//! One record as its handlers get it, the same in every container form.

use engram_core::ledger::Outcome;
use engram_core::steps::Lookup;

use crate::shared::value::Value;

/// How a record is stored in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// A `{timestamp, type, payload}` line.
    Envelope,
    /// A line that is itself the item, or an element of `items` in a document.
    Bare,
    /// A line that `exec --json` printed.
    Stream,
}

/// One record of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    /// Its type in the envelope form, which is the name of its row in the record table.
    pub name: &'static str,
    /// The whole line.
    pub line: Value<'a>,
    /// The payload, the completed item, or the bare item.
    pub value: Value<'a>,
    /// JSON Pointer of `value` in the line.
    pub at: &'static str,
    pub container: Container,
    /// It is an item of a document.
    pub is_item: bool,
    /// Its number among all records of the file.
    pub number: u32,
    pub others: Lookup<'a>,
}

impl Record<'_> {
    /// The type as the ledger counts it: without `response_item/` where there is no envelope.
    pub fn type_name(&self) -> &'static str {
        match self.container {
            Container::Envelope | Container::Stream => self.name,
            Container::Bare => self
                .name
                .strip_prefix("response_item/")
                .unwrap_or(self.name),
        }
    }

    /// The last segment of the type.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// The pointer to a field, given as it is in the envelope form.
    pub fn pointer_to(&self, path: &'static str) -> &'static str {
        match self.container {
            Container::Envelope | Container::Stream => path,
            Container::Bare => path.strip_prefix("/payload").unwrap_or(path),
        }
    }

    /// The outcome of a record whose facts another one has.
    pub fn duplicate(&self, rule: &'static str) -> Outcome {
        Outcome::duplicate(self.type_name(), rule)
    }

    /// The outcome of a record without content.
    pub fn bookkeeping(&self, rule: &'static str) -> Outcome {
        Outcome::bookkeeping(self.type_name(), rule)
    }

    /// `Mapped`, or a duplicate by `rule` where the record gave no event.
    pub fn mapped_or(&self, mapped: bool, rule: &'static str) -> Outcome {
        if mapped {
            Outcome::Mapped
        } else {
            self.duplicate(rule)
        }
    }
}
