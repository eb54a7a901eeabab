//! What a run tells other programs: whether sessions were not fully understood, and its numbers as JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use engram_core::error::AdapterError;
use engram_core::overview::Overview;
use serde::Serialize;

use super::totals::{Failed, Totals};
use crate::exit::Exit;
use crate::report::Reporter;
use crate::summary::count;

/// What `--fail-on` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A session with lowered claims
    Degraded,
    /// A session with records of unknown type, or records that could not be read
    Unrecognized,
    /// A session with members that the adapter does not know
    UnknownMembers,
    /// A session whose log ends inside a record
    Cut,
}

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

    fn sessions(self, what: FailOn) -> u64 {
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
            .map(|what| format!("{}: {}", name(*what), count(self.sessions(*what), "session")))
            .collect();
        if found.is_empty() {
            return exit;
        }
        report.finding("fail_on", &format!("--fail-on: {}", found.join(", ")));
        if exit == Exit::Success { Exit::PartialFailure } else { exit }
    }
}

fn name(what: FailOn) -> String {
    what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The numbers of a run. `--summary` writes them.
#[derive(Debug, Serialize)]
pub struct RunSummary<'t> {
    engram: &'static str,
    exit_code: u8,
    interrupted: bool,
    /// Sessions and sub-agents that have a tape, by harness.
    sessions: &'t BTreeMap<String, u64>,
    new: u64,
    replaced: u64,
    unchanged: u64,
    failed: usize,
    filtered: u64,
    skipped_files: u64,
    skipped_sessions: u64,
    events: u64,
    records: u64,
    input_bytes: u64,
    /// Sessions that were not fully understood.
    warnings: Verdict,
    failed_on: Vec<String>,
    errors: &'t [Failed],
}

impl<'t> RunSummary<'t> {
    /// The numbers of a run that ends with this exit code.
    pub fn new(totals: &'t Totals, exit: Exit, fail_on: &[FailOn]) -> Self {
        RunSummary {
            engram: env!("CARGO_PKG_VERSION"),
            exit_code: exit as u8,
            interrupted: exit == Exit::Interrupted,
            sessions: totals.sessions(),
            new: totals.new,
            replaced: totals.replaced,
            unchanged: totals.unchanged,
            failed: totals.errors().len(),
            filtered: totals.filtered,
            skipped_files: totals.other_files,
            skipped_sessions: totals.skipped_sessions,
            events: totals.events,
            records: totals.records,
            input_bytes: totals.bytes,
            warnings: totals.verdict,
            failed_on: fail_on.iter().filter(|what| totals.verdict.sessions(**what) > 0).map(|what| name(*what)).collect(),
            errors: totals.errors(),
        }
    }

    /// Writes the summary to a file, if one is asked for. Returns the exit code of a failure.
    pub fn write(&self, file: Option<&Path>, report: &Reporter) -> Option<Exit> {
        let file = file?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let error = fs::write(file, text).err()?;
        Some(report.failure(&AdapterError::from(error).path(file.to_string_lossy())))
    }
}
