//! The numbers of a run as JSON, for other programs.

use std::collections::BTreeMap;
use std::path::Path;

use engram_command::exit::Exit;
use engram_command::output;
use engram_command::report::Reporter;
use engram_core::error::AdapterError;
use serde::Serialize;

use super::totals::{Failed, Totals};
use super::verdict::Verdict;
use crate::fail_on::FailOn;

/// The numbers of a run. `--summary` writes them.
#[derive(Debug, Serialize)]
pub struct RunSummary<'t> {
    engram: &'static str,
    exit_code: u8,
    interrupted: bool,
    /// Sessions that have a tape, by harness.
    sessions: BTreeMap<&'t str, u64>,
    /// Sub-agents that have a tape of their own.
    sub_agents: u64,
    new: u64,
    replaced: u64,
    unchanged: u64,
    failed: usize,
    /// Not converted, because the disk is full.
    stopped: u64,
    /// Tapes whose log is gone.
    gone: u64,
    filtered: u64,
    skipped_files: u64,
    skipped_sessions: u64,
    lost_records: u64,
    skipped_links: u64,
    skipped_forms: u64,
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
            sub_agents: totals.sub_agents(),
            new: totals.new,
            replaced: totals.replaced,
            unchanged: totals.unchanged,
            failed: totals.errors().len(),
            stopped: totals.stopped,
            gone: totals.gone,
            filtered: totals.filtered,
            skipped_files: totals.other_files,
            skipped_sessions: totals.skipped_sessions,
            lost_records: totals.lost.iter().map(|lost| lost.records).sum(),
            skipped_links: totals.links_out,
            skipped_forms: totals.other_forms,
            events: totals.events,
            records: totals.records,
            input_bytes: totals.bytes,
            warnings: totals.verdict,
            failed_on: fail_on
                .iter()
                .filter(|what| totals.verdict.sessions(**what) > 0)
                .map(|what| what.name())
                .collect(),
            errors: totals.errors(),
        }
    }

    /// Writes the summary to a file for its owner only, if one is asked for. Returns the exit code of a failure.
    pub fn write(&self, file: Option<&Path>, report: &Reporter) -> Option<Exit> {
        let file = file?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let text = report.clean_json(&text);
        let error = output::write(file, |out| out.write_all(text.as_bytes())).err()?;
        Some(report.failure(&AdapterError::from(error).path(file.to_string_lossy())))
    }
}
