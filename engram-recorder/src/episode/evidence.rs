//! How a run went, beside what its ledger proves: `run.json`.

use std::path::Path;

use engram_profiles::profile::{Keep, Profile, Tier};
use engram_profiles::receipt::Egress;
use engram_profiles::{canonical, hash};
use serde::{Deserialize, Serialize};

use super::job::Plan;
use super::journal::{Journal, RUN, Times};
use super::script::Script;
use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::harness;
use crate::process::End;
use crate::server::Stage;

/// The most session files that are looked at, and the most bytes of one.
const MAX_FILES: usize = 1000;
const MAX_FILE: u64 = 64 << 20;

/// The content of `run.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The version of the form.
    pub schema: String,
    /// The script.
    pub script: String,
    /// What the driver did for the agent.
    pub tier: Tier,
    /// Whether the episode has times.
    pub times: Times,
    /// Whether bytes could leave the machine.
    pub egress: Egress,
    /// The runs of the agent, in order.
    pub runs: Vec<RunOfAgent>,
    /// Requests to the model.
    pub model_requests: u64,
    /// Their bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
    /// Tokens, in and out.
    pub tokens: u64,
    /// Frames with another nonce.
    pub foreign_frames: u64,
    /// Denials that the agent was told but did not pass on to its model.
    pub denials_unheard: u64,
    /// Denials after which the agent was not run again.
    pub denials_unseen: u64,
    /// Files of the sandbox and the home that agents read without being asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implicit_sources: Vec<ImplicitSource>,
    /// What the agent left of its own log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_files: Vec<Evidence>,
    /// Processes that were still running outside of the group, by name.
    pub left_running: Vec<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A file that an agent may read without being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImplicitSource {
    /// Its path below the sandbox, or with `~/` below the home.
    pub path: String,
    /// Its hash.
    pub hash: String,
    /// Its place among those that the model got, from 0, in the order of the request's bytes. Absent: the model did not get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
}

/// The files of a script that agents read without being asked, by the names that they have.
pub fn implicit(script: &Script) -> impl Iterator<Item = (&String, &String)> {
    const NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
    script
        .files
        .iter()
        .filter(|(path, _)| NAMES.contains(&path.rsplit('/').next().unwrap_or_default()))
}

/// The line by which such a file is known in a request: its first.
pub fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// One run of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOfAgent {
    /// How it ended; absent if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// What it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Evidence>,
    /// What it printed as errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Evidence>,
    /// Processes of its group that are left.
    pub survivors: u64,
}

/// Something that a run left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Its hash.
    pub hash: String,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is kept under its hash.
    pub kept: bool,
}

impl Evidence {
    /// Evidence as a policy keeps it; `None` if it is dropped.
    ///
    /// # Errors
    /// `io`.
    pub fn of(
        keep: Keep,
        bytes: &[u8],
        journal: &mut Journal,
    ) -> Result<Option<Evidence>, RecorderError> {
        let hash = match keep {
            Keep::Drop => return Ok(None),
            Keep::Hash => hash::of_bytes(bytes),
            Keep::Keep => journal.keep(bytes)?,
        };
        Ok(Some(Evidence {
            hash,
            bytes: bytes.len() as u64,
            kept: keep == Keep::Keep,
        }))
    }
}

impl Run {
    /// Nothing has run yet.
    pub fn new(script: &str, tier: Tier, times: Times, egress: Egress) -> Run {
        Run {
            schema: "engram.episode_run/1".to_owned(),
            script: script.to_owned(),
            tier,
            times,
            egress,
            runs: Vec::new(),
            model_requests: 0,
            requests: Vec::new(),
            tokens: 0,
            foreign_frames: 0,
            denials_unheard: 0,
            denials_unseen: 0,
            implicit_sources: Vec::new(),
            session_files: Vec::new(),
            left_running: Vec::new(),
            reason: None,
        }
    }

    /// Reads it from an episode.
    ///
    /// # Errors
    /// `io`; `adapter_protocol_violation` if it is not canonical.
    pub fn read(directory: &Path) -> Result<Run, RecorderError> {
        let path = directory.join(RUN);
        let bytes = bounded::read_left(&path, MAX_FILE)
            .map_err(|error| RecorderError::io(&path, &error))?;
        Run::parse(&bytes)
    }

    /// Reads its bytes.
    ///
    /// # Errors
    /// `adapter_protocol_violation` if they are not canonical.
    pub fn parse(bytes: &[u8]) -> Result<Run, RecorderError> {
        let wrong = |error| RecorderError::new(Fault::Violation, format!("{RUN}: {error}"));
        canonical::parse_exact(bytes)
            .and_then(|_| canonical::read(bytes))
            .map_err(wrong)
    }

    /// Writes it, and returns its hash.
    ///
    /// # Errors
    /// `io`.
    pub fn write(&self, journal: &mut Journal) -> Result<String, RecorderError> {
        let bytes =
            canonical::to_vec(self).map_err(|error| RecorderError::new(Fault::Io, error))?;
        journal.file(RUN, &bytes)?;
        Ok(hash::of_bytes(&bytes))
    }

    /// The hashes of all that is kept.
    pub fn kept(&self) -> impl Iterator<Item = &Evidence> {
        let of_runs = self
            .runs
            .iter()
            .flat_map(|run| [&run.stdout, &run.stderr])
            .flatten();
        of_runs
            .chain(&self.session_files)
            .filter(|evidence| evidence.kept)
    }
}

/// Adds the requests and the session files, as the profile's policy keeps them.
///
/// # Errors
/// `io`.
pub fn collect(
    run: &mut Run,
    plan: &Plan,
    profile: &Profile,
    stage: &Stage,
    journal: &mut Journal,
) -> Result<(), RecorderError> {
    let policy = &profile.evidence_policy;
    // Whole requests have the vendor's words, so only their hashes are kept, whatever the policy allows.
    if plan.times.keep(policy.requests) != Keep::Drop {
        run.requests = stage.bodies();
    }
    let mut found: Vec<_> = stage
        .seen()
        .into_iter()
        .map(|(line, seen)| ((seen.request, seen.at), line))
        .collect();
    found.sort();
    let place = |text: &str| {
        found
            .iter()
            .position(|(_, line)| *line == first_line(text))
            .map(|place| place as u64)
    };
    let source = |(path, text): (&String, &String)| ImplicitSource {
        path: path.clone(),
        hash: hash::of_bytes(text.as_bytes()),
        place: place(text),
    };
    run.implicit_sources = implicit(&plan.script).map(source).collect();
    let harness = profile
        .harness
        .adapter_id()
        .and_then(|id| harness::named(id).ok());
    let mut files = harness
        .map(|harness| harness.log(&plan.places.home))
        .unwrap_or_default();
    files.retain(|(path, _)| {
        path.symlink_metadata()
            .is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE)
    });
    files.sort();
    let keep = plan.times.keep(policy.session_files);
    for (path, _) in files.into_iter().take(MAX_FILES) {
        // An agent may have put something else in its place since: that is left out.
        let Ok(bytes) = bounded::read_left(&path, MAX_FILE) else {
            continue;
        };
        run.session_files
            .extend(Evidence::of(keep, &bytes, journal)?);
    }
    Ok(())
}
