//! The arguments of `engram-lab record`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::install::Installer;
use engram_recorder::matrix::Outcome;
use engram_recorder::scenario::Scenario;

/// Arguments of `engram-lab record`.
#[derive(Debug, Args)]
pub struct Record {
    /// Which version of which harness, such as `claude-code@2.1.332`; `latest` is the newest published one, which is installed if it is not
    /// there
    #[arg(value_name = "HARNESS@VERSION", required_unless_present_any = ["inside", "sweep", "live"])]
    pub what: Option<String>,
    /// Record this scenario; may be given several times [default: the core ones, and all in a sweep's newest version]
    #[arg(long, value_name = "ID")]
    pub scenario: Vec<String>,
    /// Record every scenario that the harness can run
    #[arg(long, conflicts_with = "scenario")]
    pub wide: bool,
    /// Record under this profile: the hash of a shipped one, or a file; or an id, with `--expect` [default: the shipped one of the harness]
    #[arg(long, value_name = "HASH|PATH", conflicts_with_all = ["sweep", "live"])]
    pub profile: Option<String>,
    /// The hash that the profile must have
    #[arg(long, value_name = "HASH", requires = "profile")]
    pub expect: Option<String>,
    /// Where harnesses are installed: `DIR/<harness>/<version>/node_modules`
    #[arg(long, value_name = "DIR", default_value = "harnesses")]
    pub installed: PathBuf,
    /// The directory of the scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    pub scenarios: PathBuf,
    /// The tree of recordings that they are added to; `live` with --live
    #[arg(
        long,
        value_name = "DIR",
        default_value = "recordings",
        default_value_if("live", "true", "live")
    )]
    pub out: PathBuf,
    /// Record without private mounts: paths are rewritten afterwards, and nothing keeps bytes from leaving
    #[arg(long)]
    pub open: bool,
    /// Ask a real provider a question and for one call, if RUN_LIVE_TESTS is 1 and its key is there; without HARNESS@VERSION with the newest
    /// version of each harness that ACK_ADAPTERS names
    #[arg(long, conflicts_with_all = ["sweep", "scenario", "wide"])]
    pub live: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sweep: Sweep,
    /// Carry out the plan in this file; the command calls itself so
    #[arg(long, value_name = "FILE", hide = true)]
    pub inside: Option<PathBuf>,
}

impl Record {
    /// The script that installs, and where.
    pub fn installer(&self) -> Installer<'_> {
        Installer {
            script: &self.sweep.installer,
            directory: &self.installed,
        }
    }
}

/// Arguments of a sweep.
#[derive(Debug, Args)]
pub struct Sweep {
    /// Record the published versions of this harness that have no outcome yet, newest first, and keep each outcome in the matrix; `all`
    /// for every harness
    #[arg(long, value_name = "HARNESS", conflicts_with = "what")]
    pub sweep: Option<String>,
    /// In a sweep, only versions that are newer than every one that was run
    #[arg(long, requires = "sweep")]
    pub new: bool,
    /// In a sweep, the most versions that are run now
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub most: usize,
    /// In a sweep, only shard I of N shards of the versions, from 1; `engram-lab matrix join` joins what they find
    #[arg(long, value_name = "I/N", value_parser = shard, default_value = "1/1", hide_default_value = true)]
    pub shard: (usize, usize),
    /// In a sweep, how many versions are run at the same time
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub jobs: u8,
    /// In a sweep, also versions with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    pub again: Option<Outcome>,
    /// In a sweep, do not delete what was installed
    #[arg(long)]
    pub keep: bool,
    /// The directory of the matrix
    #[arg(long, value_name = "DIR", default_value = "matrix")]
    pub matrix: PathBuf,
    /// The script that lists and installs versions
    #[arg(long, value_name = "FILE", default_value = "scripts/install-harness")]
    pub installer: PathBuf,
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    numbers
        .filter(|(part, of): &(usize, usize)| (1..=*of).contains(part))
        .ok_or_else(|| "expected I/N, with I from 1 to N".to_owned())
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let words: Vec<&str> = Outcome::ALL
        .iter()
        .map(|outcome| outcome.as_str())
        .collect();
    Outcome::ALL
        .into_iter()
        .find(|outcome| outcome.as_str() == text)
        .ok_or_else(|| format!("expected one of {}", words.join(", ")))
}

/// The scenarios that a harness can run: every one, or the core ones.
///
/// # Errors
/// If there is none.
pub fn set_of<'s>(
    all: &'s BTreeMap<String, Scenario>,
    is_wide: bool,
    family: &str,
) -> Result<Vec<&'s Scenario>, RecorderError> {
    let found: Vec<&Scenario> = all
        .values()
        .filter(|scenario| (is_wide || scenario.core) && scenario.is_for(family))
        .collect();
    if found.is_empty() {
        let what = format!("no scenario is `core` and for {family}; name one with --scenario");
        return Err(RecorderError::new(Fault::UnknownScenario, what));
    }
    Ok(found)
}

/// The scenarios with these ids.
///
/// # Errors
/// If there is no such scenario for this harness.
pub fn chosen<'s>(
    all: &'s BTreeMap<String, Scenario>,
    ids: &[String],
    family: &str,
) -> Result<Vec<&'s Scenario>, RecorderError> {
    let find = |id: &String| {
        let unknown = || {
            RecorderError::new(
                Fault::UnknownScenario,
                format!("no scenario is called `{id}`"),
            )
        };
        all.get(id).ok_or_else(unknown).and_then(|scenario| {
            let what = format!("`{id}` is not for {family}");
            if scenario.is_for(family) {
                Ok(scenario)
            } else {
                Err(RecorderError::new(Fault::UnknownScenario, what))
            }
        })
    };
    ids.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_chosen_or_it_is_an_error() {
        let scenario = |core: bool| -> Scenario {
            let text = format!(
                r#"{{"id":"a","about":"x","shows":["y"],"core":{core},"only":["codex"],"runs":[{{}}],"threads":{{}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let all = |core| BTreeMap::from([("a".to_owned(), scenario(core))]);
        let fault = |found: Result<Vec<&Scenario>, RecorderError>| found.unwrap_err().fault;
        assert_eq!(set_of(&all(true), false, "codex").unwrap().len(), 1);
        assert_eq!(set_of(&all(false), true, "codex").unwrap().len(), 1);
        for (core, is_wide, family) in [(false, false, "codex"), (true, true, "gemini")] {
            let all = all(core);
            let found = set_of(&all, is_wide, family);
            assert_eq!(fault(found), Fault::UnknownScenario);
        }
        let core = all(true);
        for (id, family) in [("a", "gemini"), ("b", "codex")] {
            let found = chosen(&core, &[id.to_owned()], family);
            assert_eq!(fault(found), Fault::UnknownScenario);
        }
    }

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!(shard("2/4"), Ok((2, 4)));
        assert_eq!(shard("4/4"), Ok((4, 4)));
        for wrong in ["0/4", "5/4", "1/0", "1", "a/b"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
