//! Records one scenario with one version of a harness.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engram_profiles::ProfileHash;
use engram_profiles::profile::{Expected, Profile};
use semver::Version;
use serde::Serialize;
use serde_json::{Value, json};

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::harness::{self, Harness};
use crate::inside::{self, Done, OPS, PRINTED, Plan, Under};
use crate::isolation::{self, HOME, Isolation, PASSWD, PROJECT, Places, give_away};
use crate::program::{self, node_directory};
use crate::sandbox::{self, write};
use crate::scenario::Scenario;
use crate::server::{Provider, Relay, Relayed};
use crate::shape::Shape;
use crate::will::WorkFolder;

/// The most time that all runs of a scenario may take beyond their own limits.
const SLACK: Duration = Duration::from_secs(60);
/// Files above this size are left out of a recording.
const MAX_FILE: u64 = 64 << 20;
/// The most bytes of what was found inside, and of what a run printed.
const MAX_DONE: u64 = 256 << 20;
/// The most bytes of all files of a recording together, and what a file takes at least.
const MAX_RECORDING: u64 = 512 << 20;
const BLOCK: u64 = 4096;
/// The name of the variable in the caller's environment that must not appear in a recording.
const CANARY: &str = "ENGRAM_CANARY";

/// What is to be recorded.
pub struct Job<'j> {
    /// The harness.
    pub harness: &'static dyn Harness,
    /// Its version.
    pub version: &'j Version,
    /// Where it is installed: the directory with `node_modules`.
    pub installed: &'j Path,
    /// The scenario.
    pub scenario: &'j Scenario,
    /// The directory of the scenarios.
    pub scenarios: &'j Path,
    /// The tree of recordings.
    pub out: &'j Path,
    /// How it is kept apart.
    pub isolation: &'j Isolation,
    /// Who answers instead of the scenario. There is no ground truth then.
    pub provider: Option<&'j Provider>,
    /// The profile that the caller named, in canonical form; else the shipped one of the harness.
    pub named: Option<&'j [u8]>,
}

/// A recording.
#[derive(Debug, Clone, Serialize)]
pub struct Recorded {
    /// Its directory.
    pub directory: PathBuf,
    /// What was done.
    pub done: Done,
    /// What can be said of how it was made.
    pub receipt: Value,
    /// What went to a provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relayed: Option<Relayed>,
}

impl Job<'_> {
    /// Records it. A recording of the same name is replaced.
    ///
    /// # Errors
    /// If the harness is not there or cannot be run, or if nothing of a log was left.
    pub fn record(&self) -> Result<Recorded, RecorderError> {
        let begun = Instant::now();
        let work = WorkFolder::make("engram-record-", None)?;
        let node = node_directory();
        // Before the user inside gets the work folder, and with it the socket.
        let relay = self.relay(&work.path().join(inside::RELAY))?;
        let plan = self.prepare(work.path(), &node)?;
        let canary = format!(
            "canary-{}",
            blake3::hash(work.path().to_string_lossy().as_bytes()).to_hex()
        );
        let done = match self.isolation {
            Isolation::None => inside::run(&plan)?,
            Isolation::Private(inside) => self.run_private(work.path(), &node, inside, &canary)?,
        };
        let relayed = relay.map(|relay| relay.relayed());
        let target = self
            .out
            .join(self.harness.family())
            .join(self.version.to_string())
            .join(&self.scenario.id);
        fs::create_dir_all(self.out).map_err(|error| RecorderError::io(self.out, &error))?;
        let part = WorkFolder::make(".engram-record-", Some(self.out))?;
        let staged = part.path().join("recording");
        self.collect(work.path(), &staged, &done)
            .map_err(|error| with_refusal(error, relayed.as_ref()))?;
        let mut receipt = self.receipt(&done, &staged, &canary, begun.elapsed())?;
        if let Some(relayed) = &relayed {
            receipt["relayed"] = json!(relayed);
        }
        write_json(&staged.join("receipt.json"), &receipt)?;
        let shape = Shape::of_recording(self.harness.family(), &staged);
        write_json(
            &staged.join("shape.json"),
            &json!({"hash": shape.hash(), "facts": shape}),
        )?;
        self.refuse_keys(&staged)?;
        remove(&target)?;
        let io = |error: std::io::Error| RecorderError::io(&target, &error);
        target
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .map_err(io)?;
        fs::rename(&staged, &target).map_err(io)?;
        Ok(Recorded {
            directory: target,
            done,
            receipt,
            relayed,
        })
    }

    fn relay(&self, socket: &Path) -> Result<Option<Relay>, RecorderError> {
        self.provider
            .map(|provider| Relay::start(socket, provider.clone(), self.harness.documents()))
            .transpose()
    }

    /// A recording that a provider answered has no key in it, the fake one neither.
    fn refuse_keys(&self, staged: &Path) -> Result<(), RecorderError> {
        let Some(provider) = self.provider else {
            return Ok(());
        };
        for path in engram_conformance::files(staged) {
            let bytes = fs::read(&path).map_err(|error| RecorderError::io(&path, &error))?;
            if let Some(which) = provider.key_in(&bytes) {
                let name = path.strip_prefix(staged).unwrap_or(&path).display();
                let what = format!("{which} is in {name}; nothing was kept");
                return Err(RecorderError::new(Fault::Violation, what));
            }
        }
        Ok(())
    }

    /// The profile under which it is recorded, and its hash.
    fn profile(&self) -> Result<(Profile, ProfileHash), RecorderError> {
        let Some(bytes) = self.named else {
            let shipped = harness::profile(self.harness.family())?;
            return Ok((shipped.profile.clone(), shipped.hash.clone()));
        };
        let wrong = |what: String| RecorderError::new(Fault::Misconfigured, what);
        let (profile, hash) = Profile::parse(bytes).map_err(|error| wrong(error.to_string()))?;
        if !harness::records(&profile, self.harness.family()) {
            let what = format!(
                "{} is no profile that records {}: it must be for this harness, with `structured_output`",
                profile.profile_id,
                self.harness.family()
            );
            return Err(wrong(what));
        }
        Ok((profile, hash))
    }

    /// Makes the work folder and the plan.
    fn prepare(&self, work: &Path, node: &Path) -> Result<Plan, RecorderError> {
        let project = work.join("home/proj");
        for directory in [&project, &work.join("root")] {
            fs::create_dir_all(directory).map_err(|error| RecorderError::io(directory, &error))?;
        }
        sandbox::make(&self.scenarios.join("_sandbox.json"), &project)?;
        let ops = self
            .scenarios
            .join("ops")
            .join(format!("{}.json", self.harness.origin()));
        fs::copy(&ops, work.join(OPS)).map_err(|error| RecorderError::io(&ops, &error))?;
        write(&work.join("passwd"), PASSWD.as_bytes())?;
        let places = match self.isolation {
            Isolation::Private(_) => Places::private(),
            Isolation::None => Places::open(work, self.installed, node),
        };
        let exe = executable(self.harness, self.installed, &places)?;
        let plan = Plan {
            harness: self.harness.family().to_owned(),
            version: self.version.to_string(),
            exe,
            scenario: self.scenario.clone(),
            profile: self.profile()?.0,
            under: if self.named.is_some() {
                Under::Named
            } else {
                Under::Shipped
            },
            places,
            relayed: self.provider.is_some(),
        };
        let text =
            serde_json::to_vec(&plan).map_err(|error| RecorderError::new(Fault::Io, error))?;
        write(&work.join("plan.json"), &text)?;
        if rustix::process::getuid().is_root() && matches!(self.isolation, Isolation::Private(_)) {
            give_away(work).map_err(|error| RecorderError::io(work, &error))?;
        }
        Ok(plan)
    }

    fn run_private(
        &self,
        work: &Path,
        node: &Path,
        inside: &[OsString],
        canary: &str,
    ) -> Result<Done, RecorderError> {
        let failed = |what: String| RecorderError::new(Fault::Misconfigured, what);
        let mut command = isolation::recorder(work, self.installed, node, inside);
        command.env(CANARY, canary);
        let seconds = |timeout: u64| {
            if timeout > 0 {
                timeout
            } else {
                self.harness.seconds()
            }
        };
        let limit = SLACK
            + Duration::from_secs(
                self.scenario
                    .runs
                    .iter()
                    .map(|run| seconds(run.timeout))
                    .sum(),
            );
        let (_, said) = isolation::carry_out(command, limit, None).map_err(&failed)?;
        let Ok(text) = bounded::read_left(&work.join(inside::DONE), MAX_DONE) else {
            let last: Vec<&str> = said.trim().lines().rev().take(30).collect();
            return Err(failed(format!(
                "the recorder inside ended early: {}",
                last.into_iter().rev().collect::<Vec<_>>().join("; ")
            )));
        };
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
    }

    /// Copies the log, what was printed, and the truth.
    fn collect(&self, work: &Path, staged: &Path, done: &Done) -> Result<(), RecorderError> {
        let rewriter = match self.isolation {
            Isolation::Private(_) => Rewriter(Vec::new()),
            Isolation::None => Rewriter::new(work),
        };
        let home = work.join("home");
        let mut is_empty = true;
        let mut room = Room(MAX_RECORDING);
        for (from, to) in self.harness.log(&home) {
            let below = from.strip_prefix(&home).unwrap_or(&from);
            // A link could lead to sessions of the caller: it is left out, and so is what lies behind it.
            let Ok(bytes) = bounded::read_below(&home, below, MAX_FILE) else {
                continue;
            };
            is_empty = false;
            room.take(&bytes)?;
            write(
                &staged.join("session").join(rewriter.name(&to)),
                &rewriter.bytes(bytes),
            )?;
        }
        if is_empty {
            let what = self.nothing_left(work, done);
            return Err(RecorderError::new(Fault::Misconfigured, what));
        }
        let mut number = 0;
        for at in 0..done.runs.len() {
            let bytes = printed(work, at, "out");
            if bytes.starts_with(b"{") {
                room.take(&bytes)?;
                write(
                    &staged.join("stdout").join(format!("run{number}.jsonl")),
                    &rewriter.bytes(bytes),
                )?;
                number += 1;
            }
        }
        if self.provider.is_none() {
            write(
                &staged.join("truth.json"),
                &rewriter.bytes(self.truth(done)?),
            )?;
        }
        let argv: Vec<&Vec<String>> = done
            .runs
            .iter()
            .filter(|run| run.skipped.is_none())
            .map(|run| &run.argv)
            .collect();
        let recording = json!({
            "harness": self.harness.family(), "version": self.version.to_string(), "scenario": self.scenario.id,
            "real_harness": true, "model_server": if self.provider.is_some() { "a provider" } else { "scripted, on loopback" }, "paths_rewritten": !rewriter.0.is_empty(),
            "argv": argv, "runs": done.runs,
        });
        let text = serde_json::to_vec_pretty(&recording)
            .map_err(|error| RecorderError::new(Fault::Io, error))?;
        write(&staged.join("recording.json"), &rewriter.bytes(text))
    }

    fn truth(&self, done: &Done) -> Result<Vec<u8>, RecorderError> {
        let mut truth = serde_json::to_value(&done.truth)
            .map_err(|error| RecorderError::new(Fault::Io, error))?;
        for (name, aside) in self.harness.set_aside() {
            truth[*aside] = truth[*name].take();
            truth[*name] = json!([]);
        }
        serde_json::to_vec_pretty(&truth).map_err(|error| RecorderError::new(Fault::Io, error))
    }

    /// Why there is no log, as far as the runs tell.
    fn nothing_left(&self, work: &Path, done: &Done) -> String {
        let said =
            (0..done.runs.len()).flat_map(|at| ["err", "out"].map(|kind| printed(work, at, kind)));
        let texts: Vec<String> = said
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect();
        let lines: Vec<&str> = texts
            .iter()
            .flat_map(|text| text.lines())
            .filter(|line| !line.trim().is_empty())
            .collect();
        let telling = lines
            .iter()
            .find(|line| line.to_lowercase().contains("error"))
            .or(lines.last())
            .copied()
            .unwrap_or("nothing");
        let end = done.runs.iter().find_map(|run| run.end);
        let skipped = done
            .runs
            .iter()
            .find_map(|run| run.skipped.as_deref())
            .unwrap_or_default();
        let short: String = telling.chars().take(160).collect();
        format!(
            "no log was left; {} requests; the first run ended {end:?} {skipped}; it said: {short}",
            done.requests
        )
    }

    fn receipt(
        &self,
        done: &Done,
        staged: &Path,
        canary: &str,
        took: Duration,
    ) -> Result<Value, RecorderError> {
        let (profile, hash) = self.profile()?;
        let probe = &profile.version_probe;
        let is_for = probe.expects(&self.version.to_string()) == Expected::Yes;
        let is_private = matches!(self.isolation, Isolation::Private(_));
        let leaks = engram_conformance::files(staged).iter().any(|path| {
            fs::read(path).is_ok_and(|bytes| {
                bytes
                    .windows(canary.len())
                    .any(|window| window == canary.as_bytes())
            })
        });
        let canary = match (is_private, leaks) {
            (false, _) => "not tried",
            (true, false) => "absent",
            (true, true) => "leaked",
        };
        let scenario = serde_json::to_vec(self.scenario).unwrap_or_default();
        let egress = match (is_private, self.provider) {
            (false, _) => "unknown",
            (true, None) => "none",
            (true, Some(_)) => "relayed",
        };
        Ok(json!({
            "profile": {"id": profile.profile_id, "hash": hash, "versions": probe.expect, "is_for_this_version": is_for},
            "egress": egress,
            "why_not": if is_private { None } else { isolation::refusal() },
            "paths": if is_private { "private mounts" } else { "rewritten" },
            "environment_canary": canary,
            "left_running": done.left_running,
            "requests": done.requests,
            "scenario": format!("blake3:{}", blake3::hash(&scenario).to_hex()),
            "recorder": env!("CARGO_PKG_VERSION"),
            "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }))
    }
}

/// How many bytes a recording may still have.
struct Room(u64);

impl Room {
    fn take(&mut self, bytes: &[u8]) -> Result<(), RecorderError> {
        let size = (bytes.len() as u64).max(BLOCK);
        let full = || {
            let what = format!("its logs are larger than {MAX_RECORDING} bytes together");
            RecorderError::new(Fault::Misconfigured, what)
        };
        self.0 = self.0.checked_sub(size).ok_or_else(full)?;
        Ok(())
    }
}

/// What a run printed; empty if it is not there.
fn printed(work: &Path, at: usize, kind: &str) -> Vec<u8> {
    let below = Path::new(PRINTED).join(format!("run{at}.{kind}"));
    bounded::read_below(work, &below, MAX_DONE).unwrap_or_default()
}

/// An error behind which there may be a refusal of the provider.
fn with_refusal(mut error: RecorderError, relayed: Option<&Relayed>) -> RecorderError {
    if let Some(refused) = relayed.and_then(|relayed| relayed.refused.as_ref()) {
        error.what = format!("the provider refused: {refused}; {}", error.what);
    }
    error
}

/// Replaces the paths of a work folder by those of all recordings, also as some harnesses spell them in names.
struct Rewriter(Vec<(String, String)>);

impl Rewriter {
    fn new(work: &Path) -> Rewriter {
        let home = work.join("home").to_string_lossy().into_owned();
        let slug = |path: &str| {
            path.chars()
                .map(|letter| {
                    if letter.is_ascii_alphanumeric() {
                        letter
                    } else {
                        '-'
                    }
                })
                .collect::<String>()
        };
        let pairs = [
            (format!("{home}/proj"), PROJECT.to_owned()),
            (home, HOME.to_owned()),
        ];
        let slugs: Vec<(String, String)> = pairs
            .iter()
            .map(|(from, to)| (slug(from), slug(to)))
            .collect();
        Rewriter(pairs.into_iter().chain(slugs).collect())
    }

    fn name(&self, path: &Path) -> PathBuf {
        let mut name = path.to_string_lossy().into_owned();
        self.0
            .iter()
            .for_each(|(from, to)| name = name.replace(from, to));
        PathBuf::from(name)
    }

    fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() {
            return bytes;
        }
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                self.0
                    .iter()
                    .for_each(|(from, to)| text = text.replace(from, to));
                text.into_bytes()
            }
            Err(error) => error.into_bytes(),
        }
    }
}

/// The program of an installed harness, as it is called.
fn executable(
    harness: &dyn Harness,
    installed: &Path,
    places: &Places,
) -> Result<Vec<String>, RecorderError> {
    let link = installed.join("node_modules/.bin").join(harness.program());
    if !link.exists() {
        let what = format!(
            "{} is not there; `scripts/install-harness {} VERSION DIR` installs it",
            link.display(),
            harness.family()
        );
        return Err(RecorderError::new(Fault::HarnessNotFound, what));
    }
    program::words(&link, installed, places)
}

fn remove(directory: &Path) -> Result<(), RecorderError> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(|error| RecorderError::io(directory, &error))
    } else {
        Ok(())
    }
}

fn write_json(path: &Path, value: &Value) -> Result<(), RecorderError> {
    let text =
        serde_json::to_vec_pretty(value).map_err(|error| RecorderError::new(Fault::Io, error))?;
    write(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_have_a_bound_together() {
        let mut room = Room(3 * BLOCK);
        assert!(room.take(&[]).is_ok() && room.take(&[0; 2 * BLOCK as usize]).is_ok());
        let error = room.take(b"x").unwrap_err();
        assert!(error.what.contains("together"), "{error:?}");
    }
}
