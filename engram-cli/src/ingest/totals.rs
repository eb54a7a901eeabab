//! The numbers of a run, and the few lines that it ends with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engram_adapters::open::store::LostRecords;
use engram_command::message::sentence;
use engram_command::summary::{Details, count, lost_line};
use engram_core::error::AdapterError;
use engram_core::overview::Overview;
use engram_core::pipeline::Summary;
use indicatif::{DecimalBytes, HumanCount};
use serde::Serialize;

use super::verdict::Verdict;
use crate::once::{is_session, none_fits};
use crate::tape_dir::Placed;

/// The most warnings that a short summary lists.
const MAX_WARNINGS: usize = 4;
/// The most errors that a summary keeps.
const MAX_ERRORS: usize = 10_000;

/// A session that failed.
#[derive(Debug, Serialize)]
pub struct Failed {
    path: String,
    code: &'static str,
    message: String,
}

/// Sums over the sessions of a run.
#[derive(Debug, Default)]
pub struct Totals {
    /// By harness.
    sessions: BTreeMap<String, Sessions>,
    errors: Vec<Failed>,
    details: Details,
    /// Tapes that are new.
    pub new: u64,
    /// Tapes that took the place of older ones.
    pub replaced: u64,
    /// Tapes that are as they were.
    pub unchanged: u64,
    /// Sessions that were not converted, because there is no room.
    pub stopped: u64,
    /// Tapes of logs that are not there any more.
    pub gone: u64,
    /// Sessions that the filters left out.
    pub filtered: u64,
    /// Files that are not sessions.
    pub other_files: u64,
    /// Other forms of sessions that are converted.
    pub other_forms: u64,
    /// Sessions of stores that are not converted.
    pub skipped_sessions: u64,
    /// Records of stores that no session has.
    pub lost: Vec<LostRecords>,
    /// Links out of the searched directories.
    pub links_out: u64,
    /// Events of the new and replaced tapes.
    pub events: u64,
    /// Records that were read for them.
    pub records: u64,
    /// Bytes that were read for them.
    pub bytes: u64,
    /// Sessions that were not fully understood.
    pub verdict: Verdict,
}

/// The sessions and sub-agents of one harness. One with several tapes counts once, as in [`engram_core::stats::Counts`].
#[derive(Debug, Default)]
struct Sessions {
    named: BTreeSet<String>,
    /// Tapes of logs that name no session.
    unnamed: u64,
    /// Session and sub-agent.
    agents: BTreeSet<(String, String)>,
    /// Those of logs that name no session.
    unnamed_agents: u64,
}

impl Sessions {
    fn add(&mut self, overview: &Overview) {
        if overview.agent_id.is_none() && is_session(overview) {
            self.named.extend(overview.sessions().map(str::to_owned));
            self.unnamed += u64::from(overview.sessions().next().is_none());
        }
        let agents = overview.agents().map(str::to_owned);
        match &overview.session_id {
            Some(session) => self
                .agents
                .extend(agents.map(|agent| (session.clone(), agent))),
            None => self.unnamed_agents += agents.count() as u64,
        }
    }

    fn count(&self) -> u64 {
        self.named.len() as u64 + self.unnamed
    }
}

impl Totals {
    /// Counts a session that was converted.
    pub fn converted(&mut self, overview: &Overview, summary: &Summary, placed: Placed) {
        match placed {
            Placed::New => self.count_new(overview),
            Placed::Replaced => {
                self.replaced += 1;
                self.count_read(overview);
            }
            Placed::Unchanged => self.unchanged(overview),
        }
        self.details.add(summary);
        if placed != Placed::Unchanged {
            self.verdict.add(Verdict::of(overview));
        }
    }

    /// Counts a new tape.
    pub fn count_new(&mut self, overview: &Overview) {
        self.new += 1;
        self.count_read(overview);
    }

    /// Counts a tape that is as it was.
    pub fn unchanged(&mut self, overview: &Overview) {
        self.unchanged += 1;
        self.count(overview);
        self.verdict.add(Verdict::of(overview));
    }

    fn count(&mut self, overview: &Overview) {
        let of_harness = self.sessions.entry(overview.harness.clone()).or_default();
        of_harness.add(overview);
    }

    fn count_read(&mut self, overview: &Overview) {
        self.count(overview);
        self.events += overview.events;
        self.records += overview.records;
        self.bytes += overview.input_bytes;
    }

    /// Counts a failure.
    pub fn failed(&mut self, path: &Path, error: &AdapterError) {
        if self.errors.len() < MAX_ERRORS {
            let path = error
                .path
                .clone()
                .unwrap_or_else(|| path.to_string_lossy().into_owned());
            self.errors.push(Failed {
                path,
                code: error.code.as_str(),
                message: sentence(error),
            });
        }
    }

    /// Sessions with a tape, by harness, without their sub-agents.
    pub fn sessions(&self) -> BTreeMap<&str, u64> {
        let all = self.sessions.iter();
        all.map(|(harness, sessions)| (harness.as_str(), sessions.count()))
            .collect()
    }

    /// Sub-agents, on tapes of their own or on that of their session.
    pub fn sub_agents(&self) -> u64 {
        let all = self.sessions.values();
        all.map(|sessions| sessions.agents.len() as u64 + sessions.unnamed_agents)
            .sum()
    }

    /// What failed.
    pub fn errors(&self) -> &[Failed] {
        &self.errors
    }

    /// True if there was no session and no failure.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.errors.is_empty() && self.gone == 0
    }

    /// True if a tape was written.
    pub fn has_news(&self) -> bool {
        self.new + self.replaced > 0
    }

    /// `1 new, 0 replaced, 3 unchanged, 0 failed`.
    pub fn converted_line(&self) -> String {
        format!(
            "{} new, {} replaced, {} unchanged, {} failed",
            self.new,
            self.replaced,
            self.unchanged,
            self.errors.len()
        )
    }

    /// The short summary.
    pub fn lines(&self, out: &Path, is_verbose: bool) -> Vec<String> {
        let sessions = self.sessions();
        let by_harness: Vec<String> = sessions
            .iter()
            .map(|(harness, sessions)| format!("{sessions} {harness}"))
            .collect();
        let all: u64 = sessions.values().sum();
        let mut lines = Vec::new();
        if all + self.sub_agents() > 0 {
            let agents = match self.sub_agents() {
                0 => String::new(),
                agents => format!(", {}", count(agents, "sub-agent")),
            };
            lines.push(line(
                "sessions",
                format!("{all} ({}){agents}", by_harness.join(", ")),
            ));
        } else if self.filtered > 0 {
            lines.push(line("sessions", none_fits(self.filtered)));
        }
        lines.push(line("tapes", self.converted_line()));
        if self.has_news() {
            lines.push(line(
                "read",
                format!(
                    "{}, {} events",
                    DecimalBytes(self.bytes),
                    HumanCount(self.events)
                ),
            ));
        }
        if self.stopped > 0 {
            lines.push(line(
                "stopped",
                format!(
                    "{} not converted: there is no room. The next run goes on",
                    count(self.stopped, "session")
                ),
            ));
        }
        if self.gone > 0 {
            let tapes = count(self.gone, "tape");
            lines.push(line("kept", format!("{tapes} whose log is gone: harnesses delete old logs, engram does not delete tapes")));
        }
        let mut warnings: Vec<String> = self.lost.iter().map(lost_line).collect();
        warnings.extend(self.details.warnings());
        let shown = if is_verbose {
            warnings.len()
        } else {
            MAX_WARNINGS
        };
        lines.extend(
            warnings
                .iter()
                .take(shown)
                .map(|warning| line("warning", warning.clone())),
        );
        if warnings.len() > shown {
            lines.push(line(
                "warning",
                format!("{} more; `-v` lists them", warnings.len() - shown),
            ));
        }
        lines.extend(self.skipped().map(|skipped| line("skipped", skipped)));
        if all > 0 {
            lines.push(line(
                "written to",
                format!("{} (index.jsonl has a line per session)", out.display()),
            ));
        }
        if is_verbose && self.has_news() {
            lines.extend(self.details.lines());
        }
        lines
    }

    fn skipped(&self) -> Option<String> {
        let parts = [
            (
                self.other_files,
                count(self.other_files, "file") + " without a session",
            ),
            (
                self.skipped_sessions,
                count(self.skipped_sessions, "session")
                    + " of stores, older copies and the like (`-v` lists them)",
            ),
            (
                self.links_out,
                count(self.links_out, "link") + " out of the directory (`-v` lists them)",
            ),
            (
                self.other_forms,
                count(self.other_forms, "other form")
                    + " of sessions that are converted (`-v` lists them)",
            ),
            (
                self.filtered,
                count(self.filtered, "session") + " by the filters",
            ),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(_, text)| text)
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

fn line(word: &str, text: String) -> String {
    format!("{word:<11} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_counts_once_and_each_session_of_a_tape_counts() {
        let overview = |value: serde_json::Value| -> Overview {
            serde_json::from_value(value).expect("an overview")
        };
        let mut totals = Totals::default();
        for tape in [
            serde_json::json!({"harness": "toy", "session_id": "a", "more_sessions": ["b"]}),
            serde_json::json!({"harness": "toy", "session_id": "b"}),
            serde_json::json!({"harness": "toy", "session_id": "b", "agent_id": "c"}),
            serde_json::json!({"harness": "toy", "session_id": "b", "more_agents": ["c", "d"]}),
            serde_json::json!({"harness": "toy", "agent_id": "c"}),
            serde_json::json!({"harness": "toy", "prompts": 1}),
            serde_json::json!({"harness": "toy"}),
            serde_json::json!({"harness": "other", "session_id": "a"}),
        ] {
            totals.count(&overview(tape));
        }
        assert_eq!(
            totals.sessions(),
            BTreeMap::from([("other", 1), ("toy", 3)])
        );
        assert_eq!(totals.sub_agents(), 3);
    }
}
