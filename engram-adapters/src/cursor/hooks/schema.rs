//! The fields of hook payloads.

use std::ops::Deref;

use engram_core::steps::Lookup;

use crate::cursor::readers::Payload;

/// A payload, and its place in the log.
pub(super) struct Step<'a> {
    pub(super) payload: Payload<'a>,
    /// The number of its record.
    pub(super) number: usize,
    /// The other records.
    pub(super) others: Lookup<'a>,
}

impl<'a> Deref for Step<'a> {
    type Target = Payload<'a>;

    fn deref(&self) -> &Payload<'a> {
        &self.payload
    }
}
