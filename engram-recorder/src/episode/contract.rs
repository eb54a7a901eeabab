//! The runtime contract: what any agent must do under the driver, as scenarios with a check each. A table has a row for each demand and a column
//! for each black box.

use std::num::NonZeroU64;
use std::path::Path;

use engram_profiles::episode::{Decision, EndStatus, Record};
use engram_profiles::ledger::{self, Entry};
use engram_profiles::profile::{Profile, Tier};
use engram_profiles::receipt::{Egress, Verdict};
use engram_profiles::registry::Shipped;
use engram_profiles::{ProfileHash, canonical};

use super::evidence::Run;
use super::job::{Job, Proof, UNPROVEN};
use super::journal::{LEDGER, LOG, RUN};
use super::{Script, Times, actuator, prompt};
use crate::conform::{Outcome, PATIENCE};
use crate::error::{Fault, RecorderError};
use crate::isolation::Isolation;
use crate::stop::Stop;

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
/// What the model says in pieces.
const IN_PIECES: &str = "I will look at both files, slowly, in one answer that comes in pieces.\n";
/// The request that asks the user.
const ASKS_USER: &str = "r4";
/// How many files are planted that agents read without being asked.
const PLANTED: usize = 7;
/// When an episode is stopped whose model does not answer: the slowest agent needs some seconds until it asks.
const DEADLINE_MS: u64 = 15_000;

/// A profile that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// The profile.
    pub profile: &'s Profile,
    /// Its canonical bytes.
    pub bytes: &'s [u8],
    /// The hash that it must have. Without one, a profile with the id of a shipped one must be the shipped one.
    pub hash: Option<&'s ProfileHash>,
    /// The program, if the caller names it.
    pub exe: Option<&'s Path>,
}

impl<'s> From<&'s Shipped> for Subject<'s> {
    fn from(shipped: &'s Shipped) -> Subject<'s> {
        Subject {
            profile: &shipped.profile,
            bytes: shipped.canonical.as_bytes(),
            hash: Some(&shipped.hash),
            exe: None,
        }
    }
}

/// The agent of a column.
pub struct Agent<'a> {
    /// Its profile.
    pub subject: Subject<'a>,
    /// Its program.
    pub exe: &'a Path,
    /// How it is kept apart.
    pub isolation: &'a Isolation,
    /// The most milliseconds of an episode.
    pub limit_ms: u64,
    /// The wish that it ends.
    pub stop: &'a Stop,
}

/// What an episode left.
struct Left {
    reason: Option<String>,
    entries: Vec<Entry>,
    run: Run,
    /// All that the agent said.
    said: String,
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
        let bytes = self.subject.bytes;
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
        // A wish of its own: the script states it.
        let stopped = Agent {
            stop: &Stop::default(),
            ..*self
        }
        .episode(
            bytes,
            "cancel",
            self.limit_ms,
            &directory.path().join("cancel"),
        )?;
        let one = self.budget_of_one()?;
        let poor = self.episode(
            &one,
            "two_calls",
            self.limit_ms,
            &directory.path().join("poor"),
        )?;
        let mut rows = whole.rows();
        rows.push(whole.row_of_sources(&stopped));
        rows.push(stopped.row_of_the_stop());
        rows.push(late.row_of_the_deadline());
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
            proof: Proof::Absent,
            patience: PATIENCE,
            stop: self.stop,
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
        let has_begun = out.join(RUN).exists();
        let (run, said) = if has_begun {
            (Run::read(out)?, said(out)?)
        } else {
            // The reason says why, and no row of it can hold.
            let none = Run::new(&script.id, Tier::Edit, Times::Kept, Egress::Unknown);
            (none, String::new())
        };
        Ok(Left {
            // The restriction is a row of its own.
            reason: report.reason.filter(|reason| reason != UNPROVEN),
            entries,
            run,
            said,
            outcomes: report.outcomes,
        })
    }

    /// The profile with a budget of one call. Its id is another one, since it is not the shipped profile.
    fn budget_of_one(&self) -> Result<Vec<u8>, RecorderError> {
        let mut profile: Profile = self.subject.profile.clone();
        profile.profile_id.push_str("-poor");
        profile.budget_defaults.tool_calls = NonZeroU64::MIN;
        canonical::to_vec(&profile).map_err(|error| RecorderError::new(Fault::Misconfigured, error))
    }

    fn restriction(&self, outcomes: &[Outcome], out: &Path) -> Result<Outcome, RecorderError> {
        let script = Script::find("contract")?;
        let outcome = self
            .job(self.subject.bytes, &script, self.limit_ms, out)
            .powerless(outcomes)?;
        Ok(Outcome {
            check: "restriction",
            ..outcome
        })
    }
}

/// What the agent said, in the log of an episode.
fn said(out: &Path) -> Result<String, RecorderError> {
    let path = out.join(LOG);
    let log = std::fs::read_to_string(&path).map_err(|error| RecorderError::io(&path, &error))?;
    let records = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(records
        .map(|record| match record {
            Record::Agent(said) => said.text,
            Record::Driver(_) => String::new(),
        })
        .collect())
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
        vec![
            row(
                "streaming",
                self.has_answer_in_pieces(),
                why(
                    "an answer in pieces is there once, whole and in order, with its frames"
                        .to_owned(),
                ),
            ),
            row(
                "approve",
                executed == 2 && self.reason.is_none(),
                why(format!("{executed} executed with receipts, and told")),
            ),
            row(
                "deny",
                denied == 2 && told,
                why(format!("{denied} denied, its reason told")),
            ),
            row(
                "non_interactive",
                by_itself && runs > 0 && self.denial_of(ASKS_USER) == Some(actuator::UNKNOWN_TOOL),
                why(format!(
                    "{runs} runs ended by themselves; a question to the user was denied: {}",
                    self.denial_of(ASKS_USER).unwrap_or("no")
                )),
            ),
            row(
                "parallel_calls",
                at_once,
                why("two requests of one answer, carried out one after the other".to_owned()),
            ),
        ]
    }

    /// True if the answer that came in pieces is there once, and its frames directly behind its text.
    fn has_answer_in_pieces(&self) -> bool {
        let mut parts = self.said.split(IN_PIECES);
        let (Some(_), Some(rest), None) = (parts.next(), parts.next(), parts.next()) else {
            return false;
        };
        let frames: Vec<&str> = rest.lines().take(2).collect();
        let is_frame = |(line, id): (&&str, &str)| {
            line.starts_with(prompt::MARK) && line.contains(&format!("⟧ {id} read "))
        };
        frames.len() == 2 && frames.iter().zip(["r1", "r2"]).all(is_frame)
    }

    /// Why a request was denied; nothing if it was not.
    fn denial_of(&self, id: &str) -> Option<&str> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::ToolDecided(decided) if decided.request_id == id => decided.reason.as_deref(),
            _ => None,
        })
    }

    /// What the agent gave its model unasked: every planted file is accounted for, and it is the same in another episode.
    fn row_of_sources(&self, other: &Left) -> Outcome {
        let (own, others) = (&self.run.implicit_sources, &other.run.implicit_sources);
        let mut got: Vec<_> = own
            .iter()
            .filter_map(|source| Some((source.place?, source.path.as_str())))
            .collect();
        got.sort_unstable();
        let got: Vec<&str> = got.into_iter().map(|(_, path)| path).collect();
        let what = format!(
            "of {} files with hashes the model got, in the order of the request: {}; another episode: {}",
            own.len(),
            if got.is_empty() {
                "none".to_owned()
            } else {
                got.join(", ")
            },
            if own == others { "the same" } else { "others" },
        );
        row(
            "implicit_sources",
            own.len() == PLANTED && own == others,
            what,
        )
    }

    /// The row of the episode that is stopped while a request waits.
    fn row_of_the_stop(&self) -> Outcome {
        let survivors: u64 = self.run.runs.iter().map(|run| run.survivors).sum();
        let (executed, reason) = (self.executed(), self.reason.clone().unwrap_or_default());
        let is_stopped = self.entries.iter().any(
            |entry| matches!(entry, Entry::EpisodeEnded(end) if end.status == EndStatus::Stopped),
        );
        row(
            "cancel",
            survivors == 0 && executed == 1 && is_stopped && reason.ends_with("/stop"),
            format!("{survivors} processes left, {executed} executed, of two asked for; {reason}"),
        )
    }

    /// The row of the episode whose model does not answer.
    fn row_of_the_deadline(&self) -> Outcome {
        let survivors: u64 = self.run.runs.iter().map(|run| run.survivors).sum();
        let (executed, reason) = (self.executed(), self.reason.clone().unwrap_or_default());
        let is_stopped = reason.ends_with("/budget_wall_clock") || reason.ends_with("/stall");
        row(
            "deadline",
            is_stopped && survivors == 0 && executed == 0,
            format!("{survivors} processes left, {executed} executed; {reason}"),
        )
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
    use engram_profiles::episode::ToolStatus;
    use engram_profiles::receipt::{
        Decided, Ended, ExecutionEnv, Mounts, Permission, PolicySnapshot, Requested,
        SandboxSummary, ToolReceipt,
    };

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
            said: String::new(),
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
            policy_snapshot: PolicySnapshot {
                tier: Tier::Edit,
                tool_class: "other".into(),
                calls_left: 1,
            },
        });
        let mut untold = left(vec![asked, denied], run(Some(End::Exit(0)), 0, 7), None);
        assert_eq!(
            failed(&untold.rows()),
            [
                "streaming",
                "approve",
                "deny",
                "non_interactive",
                "parallel_calls"
            ]
        );
        untold.run.denials_unheard = 1;
        assert!(failed(&untold.rows()).contains(&"deny"));
        let reason = Some("ADAPTER_PROTOCOL_VIOLATION/budget_wall_clock");
        let late = |survivors, reason| {
            let late = left(Vec::new(), run(None, survivors, 0), reason);
            failed(&[late.row_of_the_deadline()]).len()
        };
        assert_eq!((late(0, reason), late(1, reason), late(0, None)), (0, 1, 1));
        assert_eq!(failed(&[untold.row_of_the_budget()]), ["budget"]);
    }

    #[test]
    fn answer_in_pieces_is_there_once_and_whole() {
        let with = |said: &str| {
            let mut spoken = left(Vec::new(), run(None, 0, 0), None);
            spoken.said = said.to_owned();
            spoken.has_answer_in_pieces()
        };
        let frames = "⟦TI1 0⟧ r1 read e30\n⟦TI1 0⟧ r2 read e30\n";
        assert!(with(&format!("x\n{IN_PIECES}{frames}")));
        for wrong in [
            format!("{IN_PIECES}{IN_PIECES}{frames}"),
            format!("{IN_PIECES}more\n{frames}"),
            format!("{}{frames}", &IN_PIECES[1..]),
            IN_PIECES.to_owned(),
        ] {
            assert!(!with(&wrong), "{wrong}");
        }
    }

    #[test]
    fn stop_after_which_something_runs_fails() {
        let ended = |status| {
            Entry::EpisodeEnded(Ended {
                status,
                log_hash: String::new(),
                tool_log_index_hash: String::new(),
                run_hash: String::new(),
            })
        };
        let stopped = |entries: Vec<Entry>, reason| {
            let stopped = left(entries, run(Some(End::Exit(0)), 0, 0), Some(reason));
            failed(&[stopped.row_of_the_stop()]).len()
        };
        let stop = "ADAPTER_PROTOCOL_VIOLATION/stop";
        let end = ended(EndStatus::Stopped);
        assert_eq!(stopped(vec![ran("r1"), end.clone()], stop), 0);
        assert_eq!(stopped(vec![ran("r1"), ran("r2"), end.clone()], stop), 1);
        assert_eq!(
            stopped(vec![ran("r1"), ended(EndStatus::Completed)], stop),
            1
        );
        assert_eq!(
            stopped(vec![ran("r1"), end], "ADAPTER_PROTOCOL_VIOLATION/end"),
            1
        );
    }

    /// A call that was carried out.
    fn ran(id: &str) -> Entry {
        Entry::ToolExecuted(ToolReceipt {
            request_id: id.to_owned(),
            tool: "read".to_owned(),
            tool_class: "read".to_owned(),
            args_hash: String::new(),
            decision: Decision::Allow,
            executed_by: String::new(),
            execution_env: ExecutionEnv {
                os: String::new(),
                mounts: Mounts::Shared,
            },
            sandbox: SandboxSummary {
                root: String::new(),
                writes: Permission::Allowed,
                egress: Egress::Unknown,
            },
            result_hash: String::new(),
            result_bytes: 0,
            status: ToolStatus::Ok,
            duration_ms: None,
        })
    }

    #[test]
    fn sources_that_differ_in_another_episode_fail() {
        let of = |sources| left(Vec::new(), run(None, 0, sources), None);
        let row = |own: &Left, other: &Left| failed(&[own.row_of_sources(other)]).len();
        assert_eq!((row(&of(7), &of(7)), row(&of(6), &of(6))), (0, 1));
        let mut other = of(7);
        other.run.implicit_sources[0].place = Some(0);
        assert_eq!(row(&of(7), &other), 1);
    }
}
