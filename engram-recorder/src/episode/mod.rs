//! Black-box episodes: an agent without tools of its own asks for them in frames, and the driver decides, acts and keeps the receipts.
//!
//! [`Job::run`] runs one; [`verify()`] checks what it left.

use std::fs;
use std::io::{BufReader, stdin};
use std::path::Path;
use std::time::Duration;

use engram_profiles::Profile;
use engram_profiles::episode::Ids;
use engram_profiles::ledger;
use engram_profiles::receipt::{Egress, Verdict};
use serde::de::DeserializeOwned;

pub mod actuator;
mod agree;
pub mod checks;
pub mod command;
pub mod contract;
pub mod driver;
pub mod evidence;
pub mod hostile;
pub mod job;
pub mod journal;
pub mod output;
pub mod powerless;
pub mod prompt;
pub mod review;
pub mod script;
pub mod suite;
pub mod turn;
pub mod verify;

pub use job::{Job, Plan, Proof, Report, UNPROVEN, What};
pub use journal::Times;
pub use script::Script;
pub use verify::{Review, Verified, verify};

use self::job::Driven;
use self::journal::{LEDGER, MAX_FILE};
use crate::bounded;
use crate::conform::{self, Outcome};
use crate::error::{Fault, RecorderError};
use crate::isolation::{self, Isolation, PASSWD, Places, give_away};
use crate::left::end_left;
use crate::program::{self, node_directory};
use crate::sandbox::write;
use crate::stop::Stop;
use crate::will::WorkFolder;

/// Where the episode is in the work folder.
const OUT: &str = "episode";
/// The file in the work folder that has what was found inside.
const DONE: &str = "done.json";
/// The most bytes of that file.
const MAX_DONE: u64 = 64 << 20;
/// The reason of an episode whose agent did not start.
const START: &str = "ADAPTER_MISCONFIGURED/start";
/// What may be needed beyond the budget of an episode.
const SLACK: Duration = Duration::from_secs(60);

impl Job<'_> {
    /// Runs it, and reviews it.
    ///
    /// # Errors
    /// If the directory is there already or cannot be written.
    ///
    /// After a stop the episode is closed as after any other end, with the reason `ADAPTER_PROTOCOL_VIOLATION/stop`.
    pub fn run(&self) -> Result<Report, RecorderError> {
        if self.out.symlink_metadata().is_ok() {
            return Err(RecorderError::new(
                Fault::Io,
                format!(
                    "{} is there already; name a new directory",
                    self.out.display()
                ),
            ));
        }
        // A program is not even asked for its version in a mode that nothing carries out.
        let without_episodes = Profile::parse(self.profile)
            .ok()
            .and_then(|(profile, _)| profile.adapter_mode.without_episodes());
        let mut outcomes = conform::check(
            self.profile,
            None,
            without_episodes.is_none().then_some(self.exe),
            self.patience,
        );
        let checked = outcomes.clone();
        let work = WorkFolder::make("engram-episode-", None)?;
        let plan = self.plan(work.path(), &outcomes, What::Episode)?;
        let driven = match self.ready(without_episodes, &mut outcomes) {
            Ok(()) => self
                .carried_out(work.path(), &plan, driver::run)
                .map_err(|error| {
                    // The reason is in the ledger, and what is behind it in the report.
                    outcomes.push(Outcome::of(checks::END, Verdict::Blocked, error.what));
                    if error.fault == Fault::Violation {
                        driver::violation("receipt")
                    } else {
                        START.to_owned()
                    }
                }),
            Err(reason) => Err(reason),
        };
        let io = |error: std::io::Error| RecorderError::io(self.out, &error);
        let above = self
            .out
            .parent()
            .filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        fs::create_dir_all(above).map_err(io)?;
        // The agent owns the work folder, and may have left links in it: what is written from here on is in a folder that it never saw.
        let part = WorkFolder::make(".engram-episode-", Some(above))?;
        let staged = part.path().join("episode");
        fs::create_dir(&staged).map_err(io)?;
        let driven = driven.and_then(|driven| {
            let copied = copy(work.path(), &staged, &driven);
            copied.map(|()| driven.reason).map_err(|error| {
                outcomes.push(Outcome::of(checks::END, Verdict::Blocked, error.what));
                driver::violation("receipt")
            })
        });
        let outcomes = match driven {
            Ok(mut reason) => {
                outcomes.extend(review::judged(&staged)?);
                if reason.is_none() && outcomes.iter().all(|outcome| !outcome.prevents()) {
                    outcomes.extend(self.proofs(&checked)?);
                    reason = self.stopped();
                }
                review::close_with(&plan, &staged, reason, outcomes)?
            }
            Err(reason) => {
                // Nothing but the ledger: what was begun proves nothing.
                job::discard(&staged)?;
                review::blocked(&plan, &staged, &reason)?;
                outcomes
            }
        };
        fs::rename(&staged, self.out).map_err(io)?;
        let reason = match verify(self.out)?.review {
            Review::Blocked(reason) => Some(reason),
            Review::Receipt(_) => None,
        };
        Ok(Report { outcomes, reason })
    }

    /// The reason of a stop, if the caller wants one.
    fn stopped(&self) -> Option<String> {
        self.stop.is_asked().then(|| driver::violation(turn::STOP))
    }

    /// Whether the episode may begin, or the reason why not: a check that fails, or a mode that has no episodes.
    fn ready(
        &self,
        without_episodes: Option<&str>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), String> {
        if let Some(outcome) = outcomes.iter().find(|outcome| outcome.prevents()) {
            // A program that does not even say its version in time has not failed; it did not start.
            let code = outcome.code.unwrap_or(START);
            return Err(code.to_owned());
        }
        match without_episodes {
            None => self.stopped().map_or(Ok(()), Err),
            Some(why) => {
                let code = "ADAPTER_MISCONFIGURED/mode";
                outcomes.push(Outcome::failed(checks::INTENT, code, why));
                Err(code.to_owned())
            }
        }
    }

    /// The checks P4 and P7 of this profile and this program. They take the longest, so they come last.
    fn proofs(&self, checked: &[Outcome]) -> Result<Vec<Outcome>, RecorderError> {
        let Proof::Own(agent) = self.proof else {
            let absent = |check| Outcome::of(check, Verdict::Skipped, "nobody asked for it");
            return Ok(review::PROOFS.map(absent).to_vec());
        };
        let powerless = self.powerless(checked)?;
        if powerless.prevents() {
            return Ok(vec![powerless]);
        }
        let bridge = Profile::parse(self.profile)
            .ok()
            .and_then(|(profile, _)| profile.tool_bridge);
        let hostile = bridge.map(|bridge| hostile::check(&bridge, agent, self.stop));
        Ok([powerless]
            .into_iter()
            .chain(hostile.transpose()?)
            .collect())
    }

    fn plan(&self, work: &Path, outcomes: &[Outcome], what: What) -> Result<Plan, RecorderError> {
        let version = outcomes
            .iter()
            .find(|outcome| outcome.id() == "P2" && outcome.verdict == Verdict::Passed);
        let private = matches!(self.isolation, Isolation::Private(_));
        // A program that is not there fails P2, and nothing is started.
        let (root, node) = (
            program::root(self.exe).unwrap_or_default(),
            node_directory(),
        );
        let places = if private {
            Places::private()
        } else {
            Places::open(work, &root, &node)
        };
        let out = if private {
            places.work.join(OUT)
        } else {
            work.join(OUT)
        };
        let hash = engram_profiles::ProfileHash::of(self.profile);
        let id = |what: &str| format!("{what}-{}", self.script.id);
        let ids = Ids {
            work_id: self.work.to_owned(),
            episode_id: id("episode"),
            session_id: id("session"),
            adapter_profile_hash: hash,
        };
        Ok(Plan {
            profile: String::from_utf8_lossy(self.profile).into_owned(),
            exe: program::words(self.exe, &root, &places).unwrap_or_default(),
            version: version.map_or_else(|| "unknown".to_owned(), |outcome| outcome.what.clone()),
            script: self.script.clone(),
            tier: self.tier,
            limit_ms: self.limit_ms,
            what,
            ids,
            times: self.times,
            egress: if private {
                Egress::Refused
            } else {
                Egress::Unknown
            },
            places,
            out,
        })
    }

    /// The check P4, with the same agent in a sandbox of its own. `outcomes` are those of P1 to P3.
    ///
    /// # Errors
    /// `io`.
    pub fn powerless(&self, outcomes: &[Outcome]) -> Result<Outcome, RecorderError> {
        let work = WorkFolder::make("engram-powerless-", None)?;
        let plan = self.plan(work.path(), outcomes, What::Powerless)?;
        Ok(match self.carried_out(work.path(), &plan, powerless::run) {
            Ok(found) => powerless::judge(&found),
            Err(error) => Outcome::of(powerless::CHECK, Verdict::Blocked, error.what),
        })
    }

    /// Prepares the work folder and carries out a plan: here, or inside of private mounts.
    fn carried_out<T: DeserializeOwned>(
        &self,
        work: &Path,
        plan: &Plan,
        here: fn(&Plan, &Stop) -> Result<T, RecorderError>,
    ) -> Result<T, RecorderError> {
        prepare(work, plan)?;
        let Isolation::Private(inside) = self.isolation else {
            let done = here(plan, self.stop);
            // Also after an error nothing goes on.
            end_left(&plan.places.home);
            return done;
        };
        let failed = |what: String| RecorderError::new(Fault::Misconfigured, what);
        let budget = plan.profile()?.budget_defaults.wall_clock_ms.get();
        let command =
            isolation::recorder(work, &program::root(self.exe)?, &node_directory(), inside);
        let (_, said) = isolation::carry_out(
            command,
            Duration::from_millis(budget) + SLACK,
            Some(self.stop),
        )
        .map_err(failed)?;
        let text = bounded::read_left(&work.join(DONE), MAX_DONE)
            .map_err(|_| failed(format!("the driver inside ended early: {}", said.trim())))?;
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
    }
}

/// Makes the home, the sandbox and the plan.
fn prepare(work: &Path, plan: &Plan) -> Result<(), RecorderError> {
    let project = work.join("home/proj");
    for directory in [&project, &work.join("root")] {
        fs::create_dir_all(directory).map_err(|error| RecorderError::io(directory, &error))?;
    }
    for (name, text) in &plan.script.files {
        let path = name
            .strip_prefix("~/")
            .map_or_else(|| project.join(name), |name| work.join("home").join(name));
        write(&path, text.as_bytes())?;
    }
    write(&work.join("passwd"), PASSWD.as_bytes())?;
    let text = serde_json::to_vec(plan).map_err(|error| RecorderError::new(Fault::Io, error))?;
    write(&work.join("plan.json"), &text)?;
    if plan.egress == Egress::Refused && rustix::process::getuid().is_root() {
        give_away(work).map_err(|error| RecorderError::io(work, &error))?;
    }
    Ok(())
}

/// Carries out the plan in a file, inside of private mounts, and writes what it found beside it.
///
/// # Errors
/// If the plan cannot be read or carried out.
pub fn run_file(path: &Path) -> Result<(), RecorderError> {
    isolation::hide();
    let text = fs::read(path).map_err(|error| RecorderError::io(path, &error))?;
    let plan: Plan = serde_json::from_slice(&text)
        .map_err(|error| RecorderError::new(Fault::BadScenario, error))?;
    let stop = Stop::heard(BufReader::new(stdin()));
    let done = match plan.what {
        What::Episode => serde_json::to_vec(&driver::run(&plan, &stop)?),
        What::Powerless => serde_json::to_vec(&powerless::run(&plan, &stop)?),
    };
    write(
        &plan.places.work.join(DONE),
        &done.map_err(|error| RecorderError::new(Fault::Io, error))?,
    )
}

/// Copies what the driver has left in the work folder. No link is followed, and another episode in its place is refused.
fn copy(work: &Path, to: &Path, driven: &Driven) -> Result<(), RecorderError> {
    let from = work.join(OUT);
    if !from.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        let what = format!("{OUT} is no directory any more");
        return Err(RecorderError::new(Fault::Violation, what));
    }
    // A file without blocks costs the agent nothing, and its copy would fill the disk.
    let mut left = driven.bytes;
    for path in engram_conformance::files(&from) {
        let below = path.strip_prefix(work).unwrap_or(&path);
        let bytes = bounded::read_below(work, below, MAX_FILE.min(left))
            .map_err(|error| RecorderError::io(&path, &error))?;
        left -= bytes.len() as u64;
        write(&to.join(path.strip_prefix(&from).unwrap_or(&path)), &bytes)?;
    }
    let copied = bounded::read_left(&to.join(LEDGER), MAX_FILE).unwrap_or_default();
    if ledger::last_hash(&copied) == driven.ledger_hash {
        Ok(())
    } else {
        let what = format!("{OUT}: it is not the episode that the driver wrote");
        Err(RecorderError::new(Fault::Violation, what))
    }
}
