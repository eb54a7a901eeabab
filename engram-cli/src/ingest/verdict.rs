//! Whether the sessions of a run were fully understood.

use engram_command::exit::Exit;
use engram_command::report::Reporter;
use engram_command::summary::count;
use engram_core::overview::Overview;
use serde::Serialize;

use crate::fail_on::FailOn;

/// How many sessions were not fully understood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    degraded: u64,
    unrecognized: u64,
    unknown_members: u64,
    cut: u64,
}

impl Verdict {
    /// The verdict on one session.
    pub fn of(session: &Overview) -> Verdict {
        Verdict {
            degraded: u64::from(!session.degraded.is_empty()),
            unrecognized: u64::from(session.unrecognized + session.malformed > 0),
            unknown_members: u64::from(session.unknown_members > 0),
            cut: u64::from(!session.complete),
        }
    }

    /// Adds another verdict.
    pub fn add(&mut self, other: Verdict) {
        self.degraded += other.degraded;
        self.unrecognized += other.unrecognized;
        self.unknown_members += other.unknown_members;
        self.cut += other.cut;
    }

    /// How many sessions there are for which this is so.
    pub fn sessions(self, what: FailOn) -> u64 {
        match what {
            FailOn::Degraded => self.degraded,
            FailOn::Unrecognized => self.unrecognized,
            FailOn::UnknownMembers => self.unknown_members,
            FailOn::Cut => self.cut,
        }
    }

    /// The exit code: that of the run, or 1 if there is something that the caller wants to fail on.
    pub fn exit(self, fail_on: &[FailOn], exit: Exit, report: &Reporter) -> Exit {
        let found: Vec<String> = fail_on
            .iter()
            .filter(|what| self.sessions(**what) > 0)
            .map(|what| {
                format!(
                    "{}: {}",
                    what.name(),
                    count(self.sessions(*what), "session")
                )
            })
            .collect();
        if found.is_empty() {
            return exit;
        }
        report.finding("fail_on", &format!("--fail-on: {}", found.join(", ")));
        if exit == Exit::Success {
            Exit::PartialFailure
        } else {
            exit
        }
    }
}
