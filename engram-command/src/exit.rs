//! Exit codes.

use std::process::ExitCode;

use engram_core::error::ErrorCode;

/// The exit code. The numbers are part of the interface; `docs/cli.md` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Success = 0,
    /// Some sessions failed, or a check, an audit or a search for drift found something.
    PartialFailure = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The input is not there, or is not a log of a supported harness.
    NotRecognised = 3,
    /// The harness version is unknown or known to be bad, and the policy is strict.
    VersionRefused = 4,
    /// The input is malformed, truncated or over a limit.
    BadInput = 5,
    /// Reading or writing failed.
    Io = 6,
    /// A harness cannot be run as asked: it is not installed, or refuses its flags or its settings.
    Misconfigured = 7,
    /// An agent broke the protocol of an episode, or an episode is not whole.
    Violation = 8,
    /// The index was made by another version of the program.
    OtherIndex = 9,
    /// The command was interrupted: 128 plus the number of the signal, as shells do.
    Interrupted = 130,
}

/// Whether a run could write all that it was to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// It could, apart from logs that cannot be converted.
    Whole,
    /// The place where it writes had a fault, as a full disk.
    Short,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

impl From<ErrorCode> for Exit {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::UnknownHarness | ErrorCode::AmbiguousHarness | ErrorCode::NotFound => {
                Exit::NotRecognised
            }
            ErrorCode::UnknownHarnessVersion | ErrorCode::KnownBadVersion => Exit::VersionRefused,
            ErrorCode::UnrecognizedRecord
            | ErrorCode::UnknownMember
            | ErrorCode::MalformedRecord
            | ErrorCode::TruncatedInput
            | ErrorCode::LimitExceeded
            | ErrorCode::IncompleteStore
            | ErrorCode::BadRecordings => Exit::BadInput,
            ErrorCode::Io => Exit::Io,
            ErrorCode::UnknownAdapter | ErrorCode::BadPrices => Exit::Usage,
            // A defect of an adapter. A code that is added gets its own line: the documents list each.
            _ => Exit::PartialFailure,
        }
    }
}

/// Counts successes and failures of many sessions.
#[derive(Debug, Default)]
pub struct Tally {
    succeeded: usize,
    failures: Vec<Exit>,
}

impl Tally {
    /// Counts a success.
    pub fn success(&mut self) {
        self.succeeded += 1;
    }

    /// Counts a failure.
    pub fn failure(&mut self, exit: Exit) {
        self.failures.push(exit);
    }

    /// True if a session succeeded.
    pub fn has_success(&self) -> bool {
        self.succeeded > 0
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.succeeded == 0 && self.failures.is_empty()
    }

    /// 0 if none failed; the common exit code if all failed with the same one; else 1.
    pub fn exit(&self) -> Exit {
        match self.failures.first() {
            None => Exit::Success,
            Some(first)
                if self.succeeded == 0 && self.failures.iter().all(|exit| exit == first) =>
            {
                *first
            }
            Some(_) => Exit::PartialFailure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(succeeded: usize, failures: &[Exit]) -> Exit {
        Tally {
            succeeded,
            failures: failures.to_vec(),
        }
        .exit()
    }

    #[test]
    fn equal_failures_give_their_code_and_different_ones_give_1() {
        assert_eq!(tally(3, &[]), Exit::Success);
        assert_eq!(tally(0, &[Exit::Io, Exit::Io]), Exit::Io);
        assert_eq!(tally(0, &[Exit::Io, Exit::BadInput]), Exit::PartialFailure);
        assert_eq!(tally(1, &[Exit::Io]), Exit::PartialFailure);
    }

    #[test]
    fn the_documentation_lists_every_error_with_its_exit_code() {
        let document = include_str!("../../docs/cli.md");
        for code in ErrorCode::ALL {
            let row = document
                .lines()
                .find(|line| line.starts_with("| ") && line.contains(&format!("`{code}`")));
            let exit = Exit::from(code) as u8;
            assert!(
                row.is_some_and(|row| row.starts_with(&format!("| {exit} |"))),
                "{code} in {row:?}"
            );
        }
    }
}
