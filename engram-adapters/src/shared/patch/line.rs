//! One line of a hunk of a unified diff.

/// A line of a hunk, without its mark and line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'p> {
    Unchanged(&'p str),
    Removed(&'p str),
    Added(&'p str),
    /// `\ No newline at end of file`
    NoNewline,
}
