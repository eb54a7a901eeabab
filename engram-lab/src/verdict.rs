//! Verdicts of checks: their lines, and the exit codes of what fails.

use engram_command::exit::Exit;
use engram_command::report::printable;
use engram_recorder::conform::Outcome;

/// The outcome of a check as a line.
pub fn line_of(outcome: &Outcome) -> String {
    format!("{:<20} {}\n", outcome.check, printable(&outcome.words()))
}

/// The exit code of the reason why there is no receipt.
pub fn exit_of(reason: &str) -> Exit {
    if reason.starts_with("ADAPTER_MISCONFIGURED") {
        Exit::Misconfigured
    } else {
        Exit::Violation
    }
}
