//! `code.edit`: which lines of which file a tool changed.

use engram_core::emit::{Emitter, Fault};

use super::convert::Converter;
use super::results::Returned;
use super::schema::Line;

impl Converter {
    /// What a successful call read or changed. True when there was something.
    pub fn files(&mut self, _line: &Line<'_>, _returned: &Returned<'_>, _index: usize, _out: &mut Emitter) -> Result<bool, Fault> {
        Ok(false)
    }
}
