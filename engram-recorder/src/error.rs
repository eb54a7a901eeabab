//! Why nothing was recorded, or an episode refused. Every error has a stable code.

use std::fmt;
use std::path::Path;

/// The code of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A scenario or a table of tools is wrong.
    BadScenario,
    /// No scenario has this name.
    UnknownScenario,
    /// No recorder is there for this harness.
    UnknownHarness,
    /// The program of the harness is not installed where it was looked for.
    HarnessNotFound,
    /// The harness cannot be run as asked.
    Misconfigured,
    /// The agent broke the protocol of an episode, or what the episode left is not whole.
    Violation,
    /// Reading or writing failed.
    Io,
}

impl Fault {
    /// Every code.
    pub const ALL: [Fault; 7] = [
        Fault::BadScenario,
        Fault::UnknownScenario,
        Fault::UnknownHarness,
        Fault::HarnessNotFound,
        Fault::Misconfigured,
        Fault::Violation,
        Fault::Io,
    ];

    /// The code as text.
    pub const fn code(self) -> &'static str {
        match self {
            Fault::BadScenario => "bad_scenario",
            Fault::UnknownScenario => "unknown_scenario",
            Fault::UnknownHarness => "unknown_recorder",
            Fault::HarnessNotFound => "harness_not_found",
            Fault::Misconfigured => "adapter_misconfigured",
            Fault::Violation => "adapter_protocol_violation",
            Fault::Io => "io",
        }
    }
}

/// Why nothing was recorded, or an episode refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {what}", .fault.code())]
pub struct RecorderError {
    /// The code.
    pub fault: Fault,
    /// What is wrong, where, and what to do.
    pub what: String,
}

impl RecorderError {
    /// An error with this code.
    pub fn new(fault: Fault, what: impl fmt::Display) -> RecorderError {
        RecorderError {
            fault,
            what: what.to_string(),
        }
    }

    /// An error of the file system.
    pub fn io(path: &Path, error: &std::io::Error) -> RecorderError {
        RecorderError::new(Fault::Io, format!("{}: {error}", path.display()))
    }
}
