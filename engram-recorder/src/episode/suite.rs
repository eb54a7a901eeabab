//! Tier 4 of the compatibility kit: the checks P1 to P10, one column for each shipped profile, or for one of the caller's own. What is not
//! installed is skipped, and says so; what the caller names must be there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engram_profiles::profile::{Expected, HarnessName, Tier};
use engram_profiles::receipt::Verdict;
use engram_profiles::registry::{self, Shipped};
use semver::Version;
use serde::Serialize;

pub use super::contract::Subject;
use super::contract::{self, Agent};
use super::job::{Job, Proof};
use super::{Script, Times, hostile, powerless};
use crate::conform::{self, Outcome, PATIENCE};
use crate::error::{Fault, RecorderError};
use crate::isolation::Isolation;
use crate::stop::Stop;

/// The checks of an episode, in order.
const OF_EPISODES: [&str; 7] = [
    powerless::CHECK,
    "P5 episode.intent",
    "P6 episode.end",
    hostile::CHECK,
    "P8 episode.deny",
    "P9 episode.receipt",
    "P10 episode.tape",
];
/// The script of every column.
const SCRIPT: &str = "look_and_write";
/// Seconds for one episode, if the caller says nothing else.
const SECONDS: u64 = 120;
/// The smoke test with a real provider.
const LIVE: &str = "live smoke";

/// What is to be run.
pub struct Suite<'s> {
    /// Where harnesses are installed: `DIR/<harness>/<version>/node_modules`.
    pub installed: &'s Path,
    /// The program with the loop of `engram-lab episode agent`.
    pub agent: &'s Path,
    /// How each agent is kept apart.
    pub isolation: &'s Isolation,
    /// The settings of the caller.
    pub settings: Settings,
    /// The profile that is judged in place of the shipped ones.
    pub own: Option<Subject<'s>>,
}

/// What the caller's environment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `ACK_ADAPTERS`: only these harnesses or profiles; empty: all.
    pub only: Vec<String>,
    /// `ACK_TIMEOUT`: seconds for one episode.
    pub seconds: u64,
    /// `RUN_LIVE_TESTS`: whether a real provider may be asked.
    pub live: bool,
    /// The longest time that a program may take to say its version, and its flags.
    pub patience: Duration,
}

impl Settings {
    /// Reads them.
    ///
    /// # Errors
    /// `adapter_misconfigured` if a value is wrong.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, RecorderError> {
        let only = variable("ACK_ADAPTERS").unwrap_or_default();
        let only: Vec<String> = only
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let wrong = |name: &str, what: &str| {
            RecorderError::new(Fault::Misconfigured, format!("{name}: {what}"))
        };
        let is_known = |name: &String| registry::all().any(|shipped| is_named(shipped, name));
        if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
            return Err(wrong(
                "ACK_ADAPTERS",
                &format!("no profile or harness is called `{unknown}`"),
            ));
        }
        let seconds = match variable("ACK_TIMEOUT") {
            None => SECONDS,
            Some(text) => match text.parse() {
                Ok(seconds @ 1..=86_400) => seconds,
                _ => return Err(wrong("ACK_TIMEOUT", "expected seconds, from 1 to 86400")),
            },
        };
        Ok(Settings {
            only,
            seconds,
            live: variable("RUN_LIVE_TESTS").is_some_and(|value| value == "1"),
            patience: PATIENCE,
        })
    }
}

fn is_named(shipped: &Shipped, name: &str) -> bool {
    shipped.profile.profile_id == name
        || shipped.profile.harness.as_str() == name
        || shipped.profile.harness.adapter_id() == Some(name)
}

/// The outcomes of one profile.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// The profile.
    pub profile: String,
    /// One for each check.
    pub outcomes: Vec<Outcome>,
}

impl Suite<'_> {
    /// The profiles that are asked for.
    fn subjects(&self) -> Vec<Subject<'_>> {
        let asked = |shipped: &&Shipped| self.is_asked(shipped);
        match self.own {
            Some(own) => vec![own],
            None => registry::all().filter(asked).map(Subject::from).collect(),
        }
    }

    /// The program of a profile. `Err`: why there is nothing to run, and what that means for a check.
    fn runnable(&self, subject: Subject<'_>) -> Result<PathBuf, (String, Verdict)> {
        let program = match subject.profile.adapter_mode.without_episodes() {
            Some(why) => Err(why.to_owned()),
            None => self.program(subject),
        };
        let verdict = if self.own.is_some() {
            Verdict::Blocked
        } else {
            Verdict::Skipped
        };
        program.map_err(|why| (why, verdict))
    }

    /// Runs it. `note` hears of each column before it begins.
    ///
    /// # Errors
    /// `io`.
    pub fn run(&self, mut note: impl FnMut(&str)) -> Result<Vec<Column>, RecorderError> {
        let mut columns = Vec::new();
        for subject in self.subjects() {
            note(&subject.profile.profile_id);
            columns.push(Column {
                profile: subject.profile.profile_id.clone(),
                outcomes: self.column(subject)?,
            });
        }
        Ok(columns)
    }

    /// The runtime contract: a column for each profile that is asked for.
    ///
    /// # Errors
    /// `io`.
    pub fn contract(&self, mut note: impl FnMut(&str)) -> Result<Vec<Column>, RecorderError> {
        let mut columns = Vec::new();
        for subject in self.subjects() {
            note(&subject.profile.profile_id);
            let rest = |why: &str, verdict| {
                contract::ROWS
                    .map(|row| Outcome::of(row, verdict, why))
                    .to_vec()
            };
            let outcomes = match self.runnable(subject) {
                Err((why, verdict)) => rest(&why, verdict),
                Ok(exe) => {
                    let sound = conform::check(
                        subject.bytes,
                        subject.hash,
                        Some(&exe),
                        self.settings.patience,
                    );
                    let limit_ms = self.settings.seconds * 1000;
                    match sound
                        .iter()
                        .find(|outcome| outcome.verdict != Verdict::Passed)
                    {
                        Some(outcome) => rest(&outcome.what, Verdict::Blocked),
                        None => Agent {
                            subject,
                            exe: &exe,
                            isolation: self.isolation,
                            limit_ms,
                            stop: &Stop::default(),
                        }
                        .column()?,
                    }
                }
            };
            columns.push(Column {
                profile: subject.profile.profile_id.clone(),
                outcomes,
            });
        }
        Ok(columns)
    }

    fn is_asked(&self, shipped: &Shipped) -> bool {
        let only = &self.settings.only;
        only.is_empty() || only.iter().any(|name| is_named(shipped, name))
    }

    fn column(&self, subject: Subject<'_>) -> Result<Vec<Outcome>, RecorderError> {
        let mut outcomes = match self.runnable(subject) {
            Ok(exe) => self.episode(subject, &exe)?,
            Err((why, verdict)) => {
                let mut sound = conform::check(subject.bytes, subject.hash, None, PATIENCE);
                sound.extend(OF_EPISODES.map(|check| Outcome::of(check, verdict, &why)));
                sound
            }
        };
        outcomes.push(self.live());
        Ok(outcomes)
    }

    /// Runs an episode of a black box, with its proofs.
    fn episode(&self, subject: Subject<'_>, exe: &Path) -> Result<Vec<Outcome>, RecorderError> {
        let directory =
            tempfile::tempdir().map_err(|error| RecorderError::new(Fault::Io, error))?;
        let (script, out) = (Script::find(SCRIPT)?, directory.path().join("episode"));
        let job = Job {
            profile: subject.bytes,
            exe,
            script: &script,
            tier: Tier::Edit,
            work: "tier4",
            times: Times::Kept,
            limit_ms: Some(self.settings.seconds * 1000),
            out: &out,
            isolation: self.isolation,
            proof: Proof::Own(self.agent),
            patience: self.settings.patience,
            stop: &Stop::default(),
        };
        let report = job.run()?;
        let mut all = report.outcomes;
        for check in OF_EPISODES {
            if all.iter().all(|outcome| outcome.check != check) {
                let why = report.reason.clone().unwrap_or_default();
                all.push(Outcome::of(check, Verdict::Blocked, why));
            }
        }
        all.sort_by_key(Outcome::number);
        Ok(all)
    }

    fn live(&self) -> Outcome {
        let why = if self.settings.live {
            "a profile has a fake key and a server on loopback: `engram-lab record --live` asks a provider"
        } else {
            "RUN_LIVE_TESTS is not 1"
        };
        Outcome::of(LIVE, Verdict::Skipped, why)
    }

    /// The program of a profile: of the installed versions the newest that it is for, else the newest. `Err` says what is missing.
    fn program(&self, subject: Subject<'_>) -> Result<PathBuf, String> {
        let profile = subject.profile;
        if let Some(exe) = subject.exe {
            return Ok(exe.to_owned());
        }
        if profile.harness == HarnessName::LocalInference {
            return Ok(self.agent.to_owned());
        }
        let family = profile.harness.adapter_id().unwrap_or_default();
        let directory = self.installed.join(family);
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let link = |version: &Version| {
            directory
                .join(version.to_string())
                .join("node_modules/.bin")
                .join(&profile.command)
        };
        let versions =
            entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<Version>().ok());
        let fits = |version: &Version| {
            profile.version_probe.expects(&version.to_string()) == Expected::Yes
        };
        let best = versions
            .filter(|version| link(version).exists())
            .max_by_key(|version| (fits(version), version.clone()));
        let missing = || {
            format!(
                "{family} is not installed below {}; `scripts/install-harness` installs it",
                self.installed.display()
            )
        };
        best.map(|version| link(&version)).ok_or_else(missing)
    }
}

/// The first check that fails or is blocked.
pub fn first_failure(columns: &[Column]) -> Option<&Outcome> {
    columns
        .iter()
        .flat_map(|column| &column.outcomes)
        .find(|outcome| outcome.prevents())
}

/// A row for each check and a column for each profile, and then the reason of each verdict.
pub fn table(columns: &[Column]) -> String {
    let Some(first) = columns.first() else {
        return String::new();
    };
    let mut text = format!("{:<22}", "check");
    columns
        .iter()
        .for_each(|column| text.push_str(&format!("  {:<21}", column.profile)));
    for (at, outcome) in first.outcomes.iter().enumerate() {
        text = format!("{}\n{:<22}", text.trim_end(), outcome.check);
        for column in columns {
            let verdict = column
                .outcomes
                .get(at)
                .map_or("", |outcome| outcome.verdict.as_str());
            text.push_str(&format!("  {verdict:<21}"));
        }
    }
    text = format!("{}\n\n", text.trim_end());
    for column in columns {
        for outcome in &column.outcomes {
            text.push_str(&format!(
                "{} {}: {}\n",
                column.profile,
                outcome.check,
                outcome.words()
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<Settings, RecorderError> {
        let find = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Settings::of(find)
    }

    #[test]
    fn settings_are_those_of_the_environment() {
        assert_eq!(
            settings(&[]).unwrap(),
            Settings {
                only: Vec::new(),
                seconds: 120,
                live: false,
                patience: PATIENCE,
            }
        );
        let all = settings(&[
            ("ACK_ADAPTERS", "codex, local-inference"),
            ("ACK_TIMEOUT", "7"),
            ("RUN_LIVE_TESTS", "1"),
        ])
        .unwrap();
        assert_eq!(
            all,
            Settings {
                only: vec!["codex".to_owned(), "local-inference".to_owned()],
                seconds: 7,
                live: true,
                patience: PATIENCE,
            }
        );
        for pair in [
            ("ACK_ADAPTERS", "nobody"),
            ("ACK_TIMEOUT", "0"),
            ("ACK_TIMEOUT", "soon"),
        ] {
            assert_eq!(
                settings(&[pair]).unwrap_err().fault,
                Fault::Misconfigured,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn what_is_not_installed_is_skipped_and_says_so() {
        let nowhere = tempfile::tempdir().unwrap();
        let harnesses = ["claude-code", "codex", "gemini", "opencode", "cursor"];
        let settings = settings(&[("ACK_ADAPTERS", &harnesses.join(","))]).unwrap();
        let suite = Suite {
            installed: nowhere.path(),
            agent: Path::new("/no/agent"),
            isolation: &Isolation::None,
            settings,
            own: None,
        };
        let columns = suite.run(|_| {}).unwrap();
        let asked = registry::all()
            .filter_map(|shipped| shipped.profile.harness.adapter_id())
            .filter(|adapter| harnesses.contains(adapter));
        assert_eq!(columns.len(), asked.count());
        for column in &columns {
            let [first, rest @ ..] = column.outcomes.as_slice() else {
                panic!("{column:?}")
            };
            assert_eq!(first.verdict, Verdict::Passed, "the file itself is there");
            assert!(
                rest.iter()
                    .all(|outcome| outcome.verdict == Verdict::Skipped && !outcome.what.is_empty()),
                "{column:?}"
            );
        }
        let reason = |profile: &str| {
            let column = columns
                .iter()
                .find(|column| column.profile == profile)
                .unwrap();
            column
                .outcomes
                .iter()
                .find(|outcome| outcome.check == powerless::CHECK)
                .unwrap()
                .what
                .clone()
        };
        assert!(
            reason("codex-cli-black-box").contains("install-harness")
                && reason("cursor-hooked").contains("loopback")
        );
        assert!(
            first_failure(&columns).is_none()
                && table(&columns)
                    .contains("cursor-hooked P7 episode.hostile: skipped mode hooked_vendor: this agent cannot")
        );
        let failed = Outcome::failed("P6 episode.end", "ADAPTER_PROTOCOL_VIOLATION/end", "x");
        let broken = [Column {
            profile: "a".to_owned(),
            outcomes: vec![
                Outcome::of("P5 episode.intent", Verdict::Passed, "x"),
                failed.clone(),
            ],
        }];
        assert_eq!(first_failure(&broken), Some(&failed));
    }
}
