//! Lines that a kill cut, and where the next record begins in them.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::de::IgnoredAny;

/// How every line of the envelope form begins.
pub const ENVELOPE_START: &str = "{\"timestamp\":\"";

/// The offset of the next record in a line that begins with a cut one: up to 0.142 a resume appends to the line that a kill cut.
pub fn next_record(text: &str) -> Option<usize> {
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(ENVELOPE_START));
    FINDER.find_iter(text.as_bytes()).find(|at| *at > 0)
}

/// True for the beginning of an envelope line without its end.
pub fn is_cut_record(text: &str) -> bool {
    let text = text.trim_ascii_end();
    let is_envelope = text.starts_with(ENVELOPE_START) || ENVELOPE_START.starts_with(text);
    is_envelope && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}
