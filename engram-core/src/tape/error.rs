//! Errors of reading a tape.

/// A line of a tape that is not an event. [`crate::check`] lists everything that is wrong with a tape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("line {line} of the tape: {what}")]
pub struct TapeError {
    /// The 1-based line.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

/// What is wrong with one line of a tape. The text form is a short description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidEvent(String);

impl InvalidEvent {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        InvalidEvent(what.into())
    }

    /// This error at a line of a tape.
    pub(crate) fn at(self, line: u64) -> TapeError {
        TapeError { line, what: self.0 }
    }
}
