//! Lines that a kill cut, and where the next record begins in them.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// How every line of the envelope form begins.
pub const ENVELOPE_START: &str = "{\"timestamp\":\"";

/// The offset of the next record in a line that begins with a cut one: up to 0.142 a resume appends to the line that a kill cut.
pub fn next_record(text: &str) -> Option<usize> {
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(ENVELOPE_START));
    FINDER.find_iter(text.as_bytes()).find(|at| *at > 0)
}
