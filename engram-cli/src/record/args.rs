//! The arguments of `engram record`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use engram_recorder::error::{Fault, RecorderError};
use engram_recorder::matrix::Outcome;
use engram_recorder::scenario::Scenario;

/// Arguments of `engram record`.
#[derive(Debug, Args)]
pub struct Record {
    /// Which version of which harness, such as `claude-code@2.1.332`
    #[arg(value_name = "HARNESS@VERSION", required_unless_present_any = ["inside", "sweep", "live"])]
    pub what: Option<String>,
    /// Record this scenario; may be given several times [default: the core ones]
    #[arg(long, value_name = "ID")]
    pub scenario: Vec<String>,
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
    #[arg(long, conflicts_with_all = ["sweep", "scenario"])]
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
    /// In a sweep, only part I of N parts of the versions
    #[arg(long, value_name = "I/N", value_parser = shard, default_value = "0/1")]
    pub shard: (usize, usize),
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
    /// The tree of recordings whose structure is known
    #[arg(long, value_name = "DIR", default_value = "fixtures")]
    pub known: PathBuf,
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    numbers
        .filter(|(part, of): &(usize, usize)| part < of)
        .ok_or_else(|| "expected I/N, with I from 0 and below N".to_owned())
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

/// The scenarios with these ids; the core ones if none is asked for.
///
/// # Errors
/// If there is no such scenario for this harness.
pub fn chosen<'s>(
    all: &'s BTreeMap<String, Scenario>,
    ids: &[String],
    family: &str,
) -> Result<Vec<&'s Scenario>, RecorderError> {
    if ids.is_empty() {
        let core: Vec<&Scenario> = all
            .values()
            .filter(|scenario| scenario.core && scenario.is_for(family))
            .collect();
        let none = || format!("no scenario is `core` and for {family}; name one with --scenario");
        return if core.is_empty() {
            Err(RecorderError::new(Fault::UnknownScenario, none()))
        } else {
            Ok(core)
        };
    }
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
        assert_eq!(chosen(&all(true), &[], "codex").unwrap().len(), 1);
        for (core, ids, family) in [
            (false, vec![], "codex"),
            (true, vec![], "gemini"),
            (true, vec!["a"], "gemini"),
            (true, vec!["b"], "codex"),
        ] {
            let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
            assert_eq!(
                chosen(&all(core), &ids, family).unwrap_err().fault,
                Fault::UnknownScenario
            );
        }
    }
}
