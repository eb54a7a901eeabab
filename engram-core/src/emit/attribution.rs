//! Which record events belong to, and which mapped records have no event yet.

use std::collections::BTreeSet;

use super::verdicts::Entry;
use crate::event::{Pointer, RecordLocation};

/// The records of an artifact, and the events that they have so far.
pub(crate) struct Attribution<'s> {
    entries: &'s [Entry],
    /// Where the items of a document are; empty for lines.
    bases: &'s [Pointer<'static>],
    /// The current record.
    current: usize,
    /// The record that events are attributed to.
    pub attributed: usize,
    /// The current record has given an event of its own.
    pub has_events: bool,
    /// Mapped records that have no event yet.
    owed: BTreeSet<usize>,
    /// Later records that have an event already.
    paid: BTreeSet<usize>,
}

impl<'s> Attribution<'s> {
    pub fn new(entries: &'s [Entry], bases: &'s [Pointer<'static>]) -> Self {
        Attribution {
            entries,
            bases,
            current: 0,
            attributed: 0,
            has_events: false,
            owed: BTreeSet::new(),
            paid: BTreeSet::new(),
        }
    }

    /// Where a record is.
    pub fn location(&self, number: usize) -> RecordLocation {
        self.entries
            .get(number)
            .map(|entry| entry.location)
            .unwrap_or_default()
    }

    /// The first part of the pointers of a record.
    pub fn base(&self, number: usize) -> Pointer<'static> {
        self.bases.get(number).copied().unwrap_or_default()
    }

    /// The next record begins.
    pub fn begin(&mut self, number: usize) {
        (self.current, self.attributed, self.has_events) = (number, number, false);
    }

    /// The record that events are attributed to has an event.
    #[inline]
    pub fn note_event(&mut self) {
        if self.attributed == self.current {
            self.has_events = true;
        } else if self.attributed < self.current {
            self.owed.remove(&self.attributed);
        } else {
            self.paid.insert(self.attributed);
        }
    }

    /// The current record is mapped: it has an event, or another record must emit one for it.
    pub fn note_mapped(&mut self) {
        if !self.has_events && !self.paid.remove(&self.current) {
            self.owed.insert(self.current);
        }
    }

    /// The first mapped record that has no event.
    pub fn without_event(&self) -> Option<RecordLocation> {
        self.owed.first().map(|number| self.location(*number))
    }
}
