//! The runtime contract: what any agent must do under the driver, as scenarios with a check each. A table has a row for each demand and a column
//! for each black box.

use std::num::NonZeroU64;
use std::path::Path;

use engram_profiles::canonical;
use engram_profiles::episode::Decision;
use engram_profiles::ledger::{self, Entry};
use engram_profiles::profile::{Profile, Tier};
use engram_profiles::receipt::Verdict;
use engram_profiles::registry::Shipped;

use super::evidence::Run;
use super::journal::LEDGER;
use super::{Job, Script, Times};
use crate::conform::Outcome;
use crate::error::{Fault, RecorderError};
use crate::isolation::Isolation;

/// The demands, in order.
pub const ROWS: [&str; 11] = [
    "streaming",
    "approve",
    "deny",
    "cancel",
    "non_interactive",
    "implicit_sources",
    "parallel_calls",
    "restriction",
    "mcp_transport",
    "deadline",
    "budget",
];
const CODE: &str = "ADAPTER_PROTOCOL_VIOLATION/contract";
/// When an episode is stopped whose model does not answer: the slowest agent needs some seconds until it asks.
const DEADLINE_MS: u64 = 15_000;

/// The agent of a column.
pub struct Agent<'a> {
    /// Its profile.
    pub shipped: &'a Shipped,
    /// Its program.
    pub exe: &'a Path,
    /// How it is kept apart.
    pub isolation: &'a Isolation,
    /// The most milliseconds of an episode.
    pub limit_ms: u64,
}

/// What an episode left.
struct Left {
    reason: Option<String>,
    entries: Vec<Entry>,
    run: Run,
    outcomes: Vec<Outcome>,
}

impl Agent<'_> {
    /// The outcome of each row.
    ///
    /// # Errors
    /// `io`.
    pub fn column(&self) -> Result<Vec<Outcome>, RecorderError> {
        let directory =
            tempfile::tempdir().map_err(|error| RecorderError::new(Fault::Io, error))?;
        let bytes = self.shipped.canonical.as_bytes();
        let whole = self.episode(
            bytes,
            "contract",
            self.limit_ms,
            &directory.path().join("whole"),
        )?;
        let late = self.episode(
            bytes,
            "never_ends",
            DEADLINE_MS.min(self.limit_ms),
            &directory.path().join("late"),
        )?;
        let one = self.budget_of_one()?;
        let poor = self.episode(
            &one,
            "two_calls",
            self.limit_ms,
            &directory.path().join("poor"),
        )?;
        let mut rows = whole.rows();
        rows.extend(late.rows_of_the_end());
        rows.push(poor.row_of_the_budget());
        rows.push(self.restriction(&whole.outcomes, &directory.path().join("none"))?);
        rows.push(Outcome::of(
            "mcp_transport",
            Verdict::Skipped,
            "a black box has no servers of its own: the profile names none",
        ));
        rows.sort_by_key(|outcome| ROWS.iter().position(|row| *row == outcome.check));
        Ok(rows)
    }

    fn job<'j>(
        &'j self,
        profile: &'j [u8],
        script: &'j Script,
        limit_ms: u64,
        out: &'j Path,
    ) -> Job<'j> {
        let (exe, isolation) = (self.exe, self.isolation);
        Job {
            profile,
            exe,
            script,
            tier: Tier::Edit,
            work: "contract",
            times: Times::Kept,
            limit_ms: Some(limit_ms),
            out,
            isolation,
        }
    }

    fn episode(
        &self,
        profile: &[u8],
        script: &str,
        limit_ms: u64,
        out: &Path,
    ) -> Result<Left, RecorderError> {
        let script = Script::find(script)?;
        let report = self.job(profile, &script, limit_ms, out).run()?;
        let bytes =
            std::fs::read(out.join(LEDGER)).map_err(|error| RecorderError::io(out, &error))?;
        let lines =
            ledger::verify(&bytes).map_err(|error| RecorderError::new(Fault::Violation, error))?;
        let entries = lines.into_iter().map(|line| line.entry).collect();
        Ok(Left {
            reason: report.reason,
            entries,
            run: Run::read(out)?,
            outcomes: report.outcomes,
        })
    }

    /// The profile with a budget of one call. Its id is another one, since it is not the shipped profile.
    fn budget_of_one(&self) -> Result<Vec<u8>, RecorderError> {
        let mut profile: Profile = self.shipped.profile.clone();
        profile.profile_id.push_str("-poor");
        profile.budget_defaults.tool_calls = NonZeroU64::MIN;
        canonical::to_vec(&profile).map_err(|error| RecorderError::new(Fault::Misconfigured, error))
    }

    fn restriction(&self, outcomes: &[Outcome], out: &Path) -> Result<Outcome, RecorderError> {
        let script = Script::find("contract")?;
        let outcome = self
            .job(
                self.shipped.canonical.as_bytes(),
                &script,
                self.limit_ms,
                out,
            )
            .powerless(outcomes)?;
        Ok(Outcome {
            check: "restriction",
            ..outcome
        })
    }
}

fn row(check: &'static str, holds: bool, what: impl Into<String>) -> Outcome {
    if holds {
        Outcome::of(check, Verdict::Passed, what)
    } else {
        Outcome::failed(check, CODE, what)
    }
}

impl Left {
    fn count(&self, is: impl Fn(&Entry) -> bool) -> usize {
        self.entries.iter().filter(|entry| is(entry)).count()
    }

    fn executed(&self) -> usize {
        self.count(|entry| matches!(entry, Entry::ToolExecuted(_)))
    }

    fn denied(&self) -> usize {
        self.count(|entry| matches!(entry, Entry::ToolDecided(decided) if decided.decision == Decision::Deny))
    }

    /// Rows of the episode that comes to its end.
    fn rows(&self) -> Vec<Outcome> {
        let why = |what: String| {
            self.reason
                .as_ref()
                .map_or_else(|| what.clone(), |reason| format!("{what}; {reason}"))
        };
        let (executed, denied) = (self.executed(), self.denied());
        let told = self.run.denials_unheard + self.run.denials_unseen == 0;
        let kinds: Vec<bool> = self
            .entries
            .iter()
            .filter_map(requests_before_decisions)
            .collect();
        let at_once = kinds
            .windows(4)
            .any(|four| four == [true, false, true, false])
            && executed == 2;
        let runs = self.run.runs.len();
        let by_itself = self.run.runs.iter().all(|run| run.end.is_some());
        let got: Vec<String> = {
            let mut got: Vec<_> = self
                .run
                .implicit_sources
                .iter()
                .filter_map(|source| Some((source.place?, &source.path)))
                .collect();
            got.sort();
            got.into_iter().map(|(_, path)| path.clone()).collect()
        };
        let sources = self.run.implicit_sources.len();
        let used = if got.is_empty() {
            "none".to_owned()
        } else {
            got.join(", ")
        };
        vec![
            row(
                "streaming",
                self.reason.is_none() && executed > 0,
                why("an answer in pieces was one text, with its frames".to_owned()),
            ),
            row(
                "approve",
                executed == 2 && self.reason.is_none(),
                why(format!("{executed} executed with receipts, and told")),
            ),
            row(
                "deny",
                denied == 1 && told,
                why(format!("{denied} denied, its reason told")),
            ),
            row(
                "non_interactive",
                by_itself && runs > 0,
                why(format!("{runs} runs ended by themselves")),
            ),
            row(
                "implicit_sources",
                sources == 7,
                format!(
                    "of {sources} files with hashes the model got, in the order of the request: {used}"
                ),
            ),
            row(
                "parallel_calls",
                at_once,
                why("two requests of one answer, carried out one after the other".to_owned()),
            ),
        ]
    }

    /// Rows of the episode whose model does not answer.
    fn rows_of_the_end(&self) -> Vec<Outcome> {
        let survivors: u64 = self.run.runs.iter().map(|run| run.survivors).sum();
        let (executed, reason) = (self.executed(), self.reason.clone().unwrap_or_default());
        let is_stopped = reason.ends_with("/budget_wall_clock") || reason.ends_with("/stall");
        vec![
            row(
                "cancel",
                survivors == 0 && executed == 0,
                format!("{survivors} processes left, {executed} executed after the stop"),
            ),
            row("deadline", is_stopped, reason),
        ]
    }

    fn row_of_the_budget(&self) -> Outcome {
        let (executed, denied) = (self.executed(), self.denied());
        row(
            "budget",
            (executed, denied) == (1, 1) && self.reason.is_none(),
            format!("of two calls {executed} executed, {denied} denied"),
        )
    }
}

/// True for a request, false for its execution; nothing for other lines.
fn requests_before_decisions(entry: &Entry) -> Option<bool> {
    match entry {
        Entry::ToolRequested(_) => Some(true),
        Entry::ToolExecuted(_) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use engram_profiles::receipt::{Blocked, Decided, Egress, Requested};

    use super::super::evidence::{ImplicitSource, RunOfAgent};
    use super::*;
    use crate::process::End;

    fn run(end: Option<End>, survivors: u64, sources: usize) -> Run {
        let source = ImplicitSource {
            path: "AGENTS.md".to_owned(),
            hash: String::new(),
            place: None,
        };
        let runs = vec![RunOfAgent {
            end,
            milliseconds: None,
            stdout: None,
            stderr: None,
            survivors,
        }];
        Run {
            runs,
            implicit_sources: vec![source; sources],
            ..Run::new("", Tier::Edit, Times::Kept, Egress::Unknown)
        }
    }

    fn failed(rows: &[Outcome]) -> Vec<&str> {
        rows.iter()
            .filter(|row| row.verdict == Verdict::Failed)
            .map(|row| row.check)
            .collect()
    }

    fn left(entries: Vec<Entry>, run: Run, reason: Option<&str>) -> Left {
        Left {
            reason: reason.map(str::to_owned),
            entries,
            run,
            outcomes: Vec::new(),
        }
    }

    #[test]
    fn row_whose_demand_is_not_met_fails() {
        let idle = left(
            Vec::new(),
            run(None, 0, 6),
            Some("ADAPTER_PROTOCOL_VIOLATION/end"),
        );
        assert_eq!(
            failed(&idle.rows()),
            [
                "streaming",
                "approve",
                "deny",
                "non_interactive",
                "implicit_sources",
                "parallel_calls"
            ]
        );
        let asked = Entry::ToolRequested(Requested {
            request_id: "r".into(),
            tool: "t".into(),
            args_hash: String::new(),
        });
        let denied = Entry::ToolDecided(Decided {
            request_id: "r".into(),
            decision: Decision::Deny,
            reason: Some("NO".into()),
        });
        let mut untold = left(vec![asked, denied], run(Some(End::Exit(0)), 0, 7), None);
        assert_eq!(
            failed(&untold.rows()),
            ["streaming", "approve", "parallel_calls"]
        );
        untold.run.denials_unheard = 1;
        assert!(failed(&untold.rows()).contains(&"deny"));
        let reason = Some("ADAPTER_PROTOCOL_VIOLATION/budget_wall_clock");
        let blocked = Entry::ReviewBlockedRecorded(Blocked {
            reason: String::new(),
        });
        assert!(failed(&left(vec![blocked], run(None, 0, 0), reason).rows_of_the_end()).is_empty());
        assert_eq!(
            failed(&left(Vec::new(), run(None, 1, 0), None).rows_of_the_end()),
            ["cancel", "deadline"]
        );
        assert_eq!(failed(&[untold.row_of_the_budget()]), ["budget"]);
    }
}
