//! What the emitter does for the three steps.

use std::mem;

use super::member_check::Kinds;
use super::{Emitter, Fault, Header, RecordHeader};
use crate::event::{Kind, Pointer, RecordLocation};
use crate::members::UnknownMembers;

/// Where the emitter was.
pub(crate) struct Place {
    location: RecordLocation,
    prefix: Pointer<'static>,
    header: Header,
}

impl Emitter<'_> {
    /// Attributes the following events to another record.
    pub(crate) fn go_to(&mut self, location: RecordLocation, prefix: Pointer<'static>, header: RecordHeader<'_>) -> Place {
        let place = Place {
            location: mem::replace(&mut self.location, location),
            prefix: mem::replace(&mut self.pointer_prefix, prefix),
            header: self.header.clone(),
        };
        self.set_header(header);
        place
    }

    /// Attributes the following events to the record as before.
    pub(crate) fn go_back(&mut self, Place { location, prefix, header }: Place) {
        (self.location, self.pointer_prefix, self.header) = (location, prefix, header);
    }

    /// Keeps relative paths as they are, or not. Returns what was set before.
    pub(crate) fn keep_paths(&mut self, keeps: bool) -> bool {
        mem::replace(&mut self.keeps_paths, keeps)
    }

    /// Lowers the claims of these kinds, and emits `meta revision` if that changes anything.
    pub(crate) fn lower_kinds(&mut self, kinds: Kinds) -> Result<(), Fault> {
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kinds[*kind as usize]).collect();
        self.lower_claims(&kinds)
    }

    /// Sets what the check found in all records.
    pub(crate) fn set_unknown_members(&mut self, unknown: UnknownMembers) {
        self.ledger.unknown = unknown;
    }

    /// The source that was set before the current record.
    pub(crate) fn restore_source(&mut self) {
        if let Some(source) = self.checkpoint.source.take() {
            self.source = source;
        }
    }
}
