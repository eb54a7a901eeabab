//! Exit codes: what a script can tell without reading.

use std::process::ExitCode;

use engram_core::error::ErrorCode;

/// How the command ended. The numbers are part of the interface; `docs/cli.md` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Everything that was asked for was done.
    Success = 0,
    /// Some sessions failed, or a check or an audit found something.
    Some = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The input is no log of a supported harness.
    NotRecognised = 3,
    /// The harness version is unknown or known to be bad, and the policy is strict.
    VersionRefused = 4,
    /// The input is malformed, truncated or over a limit.
    BadInput = 5,
    /// Reading or writing failed.
    Io = 6,
    /// The command was interrupted, as shells say it: 128 and the number of the signal.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

impl From<ErrorCode> for Exit {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::UnknownHarness | ErrorCode::AmbiguousHarness => Exit::NotRecognised,
            ErrorCode::UnknownHarnessVersion | ErrorCode::KnownBadVersion => Exit::VersionRefused,
            ErrorCode::UnrecognizedRecord
            | ErrorCode::MalformedRecord
            | ErrorCode::TruncatedInput
            | ErrorCode::LimitExceeded
            | ErrorCode::BadRecordings => Exit::BadInput,
            ErrorCode::Io => Exit::Io,
            ErrorCode::AdapterDefect => Exit::Some,
            ErrorCode::UnknownAdapter => Exit::Usage,
        }
    }
}

/// What many sessions come to.
#[derive(Debug, Default)]
pub struct Tally {
    succeeded: usize,
    failures: Vec<Exit>,
}

impl Tally {
    /// Counts a session that went well.
    pub fn success(&mut self) {
        self.succeeded += 1;
    }

    /// Counts a failure.
    pub fn failure(&mut self, exit: Exit) {
        self.failures.push(exit);
    }

    /// True when nothing was there that could go well or fail.
    pub fn is_empty(&self) -> bool {
        self.succeeded == 0 && self.failures.is_empty()
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.failures.len()
    }

    /// 0 when none failed; the class of the failures when all failed alike; else 1.
    pub fn exit(&self) -> Exit {
        match self.failures.first() {
            None => Exit::Success,
            Some(first) if self.succeeded == 0 && self.failures.iter().all(|exit| exit == first) => *first,
            Some(_) => Exit::Some,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(succeeded: usize, failures: &[Exit]) -> Exit {
        Tally { succeeded, failures: failures.to_vec() }.exit()
    }

    #[test]
    fn failures_of_one_class_give_their_class_and_mixed_ones_give_1() {
        assert_eq!(tally(3, &[]), Exit::Success);
        assert_eq!(tally(0, &[Exit::Io, Exit::Io]), Exit::Io);
        assert_eq!(tally(0, &[Exit::Io, Exit::BadInput]), Exit::Some);
        assert_eq!(tally(1, &[Exit::Io]), Exit::Some);
    }

    #[test]
    fn the_documentation_names_every_error_beside_its_exit_code() {
        let document = include_str!("../../docs/cli.md");
        for code in ErrorCode::ALL {
            let row = document.lines().find(|line| line.starts_with("| ") && line.contains(&format!("`{code}`")));
            let exit = Exit::from(code) as u8;
            assert!(row.is_some_and(|row| row.starts_with(&format!("| {exit} |"))), "{code} in {row:?}");
        }
    }
}
