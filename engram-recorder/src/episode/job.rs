//! What an episode is asked for, and what is found of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engram_profiles::Profile;
use engram_profiles::episode::Ids;
use engram_profiles::profile::Tier;
use engram_profiles::receipt::Egress;
use serde::{Deserialize, Serialize};

use super::journal::Times;
use super::script::Script;
use crate::conform::Outcome;
use crate::error::{Fault, RecorderError};
use crate::isolation::{Isolation, Places};
use crate::stop::Stop;

/// What is to be done. The parent writes it to the work folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The profile, in canonical form.
    pub profile: String,
    /// The program and what must stand before its arguments.
    pub exe: Vec<String>,
    /// Its version.
    pub version: String,
    /// What the model says.
    pub script: Script,
    /// What the driver does for the agent.
    pub tier: Tier,
    /// The most milliseconds, if these are fewer than the profile's.
    pub limit_ms: Option<u64>,
    /// What is run.
    pub what: What,
    /// The ids of the episode.
    pub ids: Ids,
    /// Whether it has times.
    pub times: Times,
    /// Whether bytes can leave.
    pub egress: Egress,
    /// Where things are.
    pub places: Places,
    /// Where the episode is written to.
    pub out: PathBuf,
}

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An episode.
    Episode,
    /// The check that the agent's own tools do nothing.
    Powerless,
}

impl Plan {
    /// When it must be over.
    pub fn deadline(&self, profile: &Profile) -> Instant {
        let budget = profile.budget_defaults.wall_clock_ms.get();
        Instant::now()
            + Duration::from_millis(self.limit_ms.map_or(budget, |limit| limit.min(budget)))
    }

    /// The profile.
    ///
    /// # Errors
    /// `adapter_misconfigured` if the text is not a profile.
    pub fn profile(&self) -> Result<Profile, RecorderError> {
        let parsed = Profile::parse(self.profile.as_bytes());
        parsed
            .map(|(profile, _)| profile)
            .map_err(|error| RecorderError::new(Fault::Misconfigured, error))
    }
}

/// An episode that is to be run.
pub struct Job<'j> {
    /// The profile, in canonical form.
    pub profile: &'j [u8],
    /// The program.
    pub exe: &'j Path,
    /// What the model says.
    pub script: &'j Script,
    /// What the driver does for the agent.
    pub tier: Tier,
    /// The work that it is part of.
    pub work: &'j str,
    /// Whether it has times.
    pub times: Times,
    /// The most milliseconds, if these are fewer than the profile's.
    pub limit_ms: Option<u64>,
    /// The directory that it is written to. It must not be there yet.
    pub out: &'j Path,
    /// How it is kept apart.
    pub isolation: &'j Isolation,
    /// What proves that the driver was the only one who could act.
    pub proof: Proof<'j>,
    /// The longest time that the program may take to say its version, and its flags.
    pub patience: Duration,
    /// The wish that the episode ends.
    pub stop: &'j Stop,
}

/// What proves that the driver was the only one who could act: the checks P4 and P7. A receipt needs both.
#[derive(Debug, Clone, Copy)]
pub enum Proof<'j> {
    /// The episode makes them itself, with the same profile and the same program. This is the program with the loop of `engram-lab episode agent`.
    Own(&'j Path),
    /// Nothing. There is no receipt then.
    Absent,
}

/// The reason of an episode that nothing proves.
pub const UNPROVEN: &str = "ADAPTER_MISCONFIGURED/unproven";

/// How an episode ended, as the driver knows it. The agent can change every file that the driver leaves, but not this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driven {
    /// Why it failed, if it did.
    pub reason: Option<String>,
    /// The hash of the last line of the ledger, which stands for all of the episode.
    pub ledger_hash: String,
    /// How many bytes the driver wrote.
    pub bytes: u64,
}

/// What became of an episode.
#[derive(Debug, Clone)]
pub struct Report {
    /// The verdicts of the checks.
    pub outcomes: Vec<Outcome>,
    /// The reason that the ledger has in place of a receipt.
    pub reason: Option<String>,
}

/// Empties a directory.
pub(super) fn discard(directory: &Path) -> Result<(), RecorderError> {
    let io = |error: std::io::Error| RecorderError::io(directory, &error);
    fs::remove_dir_all(directory)
        .and_then(|()| fs::create_dir_all(directory))
        .map_err(io)
}
