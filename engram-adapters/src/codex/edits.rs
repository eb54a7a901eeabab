//! Applied patches as edits.

use engram_core::emit::{Emitter, Fault};
use engram_core::text::Text;
use serde_json::value::RawValue;

use super::convert::Converter;

/// The patch that a call asks for.
pub(super) fn asked_patch(_asked: &str, _is_custom: bool) -> Option<String> {
    None
}

impl Converter {
    pub(super) fn applied(&mut self, _changes: &RawValue, _id: Text<'_>, _at: &str, _out: &mut Emitter) -> Result<bool, Fault> {
        Ok(false)
    }

    pub(super) fn patched(&mut self, _patch: &str, _id: Text<'_>, _out: &mut Emitter) -> Result<(), Fault> {
        Ok(())
    }
}
