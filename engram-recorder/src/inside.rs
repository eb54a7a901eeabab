//! The part of a recording that runs beside the harness: the model server, the commands, and what they left.

mod command_line;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engram_profiles::Profile;
use engram_profiles::template::Values;
use serde::{Deserialize, Serialize};

use crate::client::{self, Led};
use crate::episode::command;
use crate::error::{Fault, RecorderError};
use crate::harness::{self, FAKE_KEY, Harness, Setting};
use crate::isolation::{self, Places};
use crate::left::end_left;
use crate::process::{End, Invocation, Running};
use crate::sandbox::write;
use crate::scenario::{Run, Scenario};
use crate::server::{Server, Stage};
use crate::tools::{OpTable, Place};
use crate::truth::Truth;

/// How long `--help` may take.
const HELP_SECONDS: u64 = 60;
/// How long runs that start together are apart.
const APART: Duration = Duration::from_millis(300);
/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What is to be done. The parent writes it to the work folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The family of the harness.
    pub harness: String,
    /// Its version.
    pub version: String,
    /// The program and what must stand before its arguments.
    pub exe: Vec<String>,
    /// The scenario.
    pub scenario: Scenario,
    /// Where things are.
    pub places: Places,
    /// The profile under which it runs.
    pub profile: Profile,
    /// Whether the caller named it.
    pub under: Under,
    /// True if [`RELAY`] answers, not the scenario.
    #[serde(default)]
    pub relayed: bool,
}

/// Whose choice a profile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Under {
    /// The shipped one of the harness. The recorder itself knows the arguments and the files of each version.
    Shipped,
    /// The one that the caller named: its arguments and its files are used.
    Named,
}

/// What was done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Done {
    /// The runs, in order.
    pub runs: Vec<Ran>,
    /// What really happened.
    pub truth: Truth,
    /// Programs that were still running at the end, by name.
    pub left_running: Vec<String>,
    /// How many requests the model server had.
    pub requests: u64,
}

/// One run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ran {
    /// The command line.
    pub argv: Vec<String>,
    /// How it ended; `None` if it did not run.
    pub end: Option<End>,
    /// How long it took.
    pub milliseconds: u64,
    /// The session that it began or went on with.
    pub session: Option<String>,
    /// Why it did not run.
    pub skipped: Option<String>,
    /// Calls of a client that were refused or had no answer: method and reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// The file in the work folder that has [`Done`].
pub const DONE: &str = "done.json";
/// The file in the work folder that has the table of tools.
pub const OPS: &str = "ops.json";
/// The socket in the work folder that leads to a provider.
pub const RELAY: &str = "relay";
/// The directory in the work folder for what the commands print.
pub const PRINTED: &str = "printed";

/// Carries out the plan in a file, and writes [`DONE`] beside it.
///
/// # Errors
/// If the plan cannot be read, or the harness cannot be run.
pub fn run_file(path: &Path) -> Result<(), RecorderError> {
    isolation::hide();
    let text = fs::read_to_string(path).map_err(|error| RecorderError::io(path, &error))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| RecorderError::new(Fault::BadScenario, error))?;
    let done = run(&plan)?;
    let text = serde_json::to_vec(&done).map_err(|error| RecorderError::new(Fault::Io, error))?;
    write(&plan.places.work.join(DONE), &text)
}

/// Carries out a plan.
///
/// # Errors
/// If the harness cannot be run.
pub fn run(plan: &Plan) -> Result<Done, RecorderError> {
    let harness = harness::named(&plan.harness)?;
    let ops = OpTable::read(&plan.places.work.join(OPS))?;
    let (home, project) = (
        plan.places.home.to_string_lossy(),
        plan.places.project.to_string_lossy(),
    );
    let place = Place {
        project: project.clone().into_owned(),
        home: home.clone().into_owned(),
    };
    let stage = Arc::new(Stage::new(
        &plan.scenario,
        ops,
        place,
        plan.places.project.clone(),
    ));
    let server = if plan.relayed {
        Server::to_socket(plan.places.work.join(RELAY))?
    } else {
        Server::start(Arc::clone(&stage), harness.documents())?
    };
    let version = plan.version.parse().map_err(|error| {
        RecorderError::new(Fault::Misconfigured, format!("{}: {error}", plan.version))
    })?;
    let mut session = Session {
        plan,
        version,
        harness,
        stage: &stage,
        port: server.port,
        help: String::new(),
        first: None,
        last: None,
    };
    session.help = session.help()?;
    session.prepare()?;
    let runs = session.runs()?;
    let left_running = end_left(&plan.places.home);
    stage.leave();
    Ok(Done {
        runs,
        truth: stage.truth(),
        left_running,
        requests: stage.requests(),
    })
}

struct Session<'p> {
    plan: &'p Plan,
    version: semver::Version,
    harness: &'static dyn Harness,
    stage: &'p Arc<Stage>,
    port: u16,
    help: String,
    /// The first session of the recording, and that of the last run.
    first: Option<String>,
    last: Option<String>,
}

impl Session<'_> {
    fn setting<'s>(&'s self, home: &'s str, project: &'s str) -> Setting<'s> {
        let (version, scenario, exe) =
            (&self.version, &self.plan.scenario, self.plan.exe.as_slice());
        Setting {
            version,
            help: &self.help,
            home,
            project,
            port: self.port,
            scenario,
            exe,
        }
    }

    fn with_setting<T>(&self, then: impl FnOnce(&Setting<'_>) -> T) -> T {
        let (home, project) = (
            self.plan.places.home.to_string_lossy(),
            self.plan.places.project.to_string_lossy(),
        );
        then(&self.setting(&home, &project))
    }

    /// What the placeholders of the profile stand for.
    fn with_values<T>(&self, prompt: Option<&str>, then: impl FnOnce(&Values<'_>) -> T) -> T {
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.plan.places.node.display()
        );
        let base_url = format!("http://127.0.0.1:{}", self.port);
        let version = self.version.to_string();
        let model = self.plan.scenario.model.get(&self.plan.harness);
        let model = model
            .map(String::as_str)
            .or_else(|| command::model(&self.plan.profile));
        let session = prompt.map(harness::new_session);
        self.with_setting(|setting| {
            let (home, cwd) = (setting.home, setting.project);
            then(&Values {
                prompt,
                model,
                session: session.as_deref(),
                home,
                cwd,
                base_url: &base_url,
                path: &path,
                api_key: FAKE_KEY,
                version: &version,
                ..Values::default()
            })
        })
    }

    /// What every command sees: the environment of the profile, and nothing of the caller's.
    fn env(&self) -> BTreeMap<String, String> {
        let mut env = self.with_values(None, |values| self.plan.profile.env(values));
        env.extend(self.plan.scenario.env.clone());
        env
    }

    /// What `--help` prints, also behind the subcommand of a run: it says which flags this version has.
    fn help(&self) -> Result<String, RecorderError> {
        let text = self.help_of(None)?;
        let node = text.contains("Error: ") && !text.to_lowercase().contains("usage");
        if node || text.trim().is_empty() {
            // A program that fails may show the line of its source that throws, too.
            let errors = || {
                text.lines()
                    .map(str::trim)
                    .filter(|line| line.contains("Error"))
            };
            let first = errors()
                .find(|line| line.contains("Error: "))
                .or(errors().next_back())
                .unwrap_or("it printed nothing");
            return Err(RecorderError::new(
                Fault::Misconfigured,
                format!("--help: {first}"),
            ));
        }
        let of_run = self.harness.subcommand();
        Ok(text + &of_run.map_or(Ok(String::new()), |word| self.help_of(Some(word)))?)
    }

    fn help_of(&self, subcommand: Option<&str>) -> Result<String, RecorderError> {
        let words = subcommand.into_iter().chain(["--help"]).map(str::to_owned);
        let argv: Vec<String> = self.plan.exe.iter().cloned().chain(words).collect();
        let name = subcommand.unwrap_or("all");
        let out = self.plan.places.work.join(format!("help-{name}.txt"));
        let err = self.plan.places.work.join(format!("help-{name}.err"));
        if self.command(&argv, &out, &err, HELP_SECONDS)? == End::Timeout {
            let what = format!("--help: it took longer than {HELP_SECONDS} s");
            return Err(RecorderError::new(Fault::Misconfigured, what));
        }
        Ok(read(&out)? + &read(&err)?)
    }

    fn command(
        &self,
        argv: &[String],
        out: &Path,
        err: &Path,
        seconds: u64,
    ) -> Result<End, RecorderError> {
        let io = |error: std::io::Error| {
            RecorderError::new(Fault::Misconfigured, format!("{}: {error}", argv[0]))
        };
        let stdout = Stdio::from(File::create(out).map_err(io)?);
        let mut running = Running::start(argv, &self.plan.places.project, &self.env(), stdout, err)
            .map_err(io)?;
        drop(running.words());
        running
            .wait(Duration::from_secs(seconds), out, || false)
            .map_err(io)
    }

    /// Writes the settings of the harness and the files of the scenario.
    fn prepare(&self) -> Result<(), RecorderError> {
        let (home, project) = (&self.plan.places.home, &self.plan.places.project);
        for (path, text) in self.with_setting(|setting| self.harness.files(setting)) {
            write(Path::new(&path), text.as_bytes())?;
        }
        if self.plan.under == Under::Named {
            for (path, text) in self.with_values(None, |values| self.plan.profile.files(values)) {
                write(Path::new(&path), text.as_bytes())?;
            }
        }
        for (name, text) in &self.plan.scenario.files {
            let path = self.path_of(name);
            let text = text
                .replace("{project}", &project.to_string_lossy())
                .replace("{home}", &home.to_string_lossy());
            write(&path, text.as_bytes())?;
            if text.starts_with("#!") {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                    .map_err(|error| RecorderError::io(&path, &error))?;
            }
        }
        self.stage.settle();
        Ok(())
    }

    fn runs(&mut self) -> Result<Vec<Ran>, RecorderError> {
        let all = &self.plan.scenario.runs;
        let mut done: Vec<Ran> = Vec::new();
        while done.len() < all.len() {
            let first = done.len();
            let group = 1 + all[first + 1..]
                .iter()
                .take_while(|run| run.together)
                .count();
            let session = &*self;
            let ran: Vec<Result<Ran, RecorderError>> = thread::scope(|scope| {
                let start = |at: usize| {
                    thread::sleep(if at == first { Duration::ZERO } else { APART });
                    scope.spawn(move || session.run(at, &all[at]))
                };
                let threads: Vec<_> = (first..first + group).map(start).collect();
                let failed = || Err(RecorderError::new(Fault::Io, "a run ended by a panic"));
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|_| failed()))
                    .collect()
            });
            for ran in ran {
                done.push(ran?);
            }
            self.stage.leave();
            if self.first.is_none() {
                self.first = done.iter().find_map(|ran| ran.session.clone());
            }
            self.last = done.iter().rev().find_map(|ran| ran.session.clone());
        }
        Ok(done)
    }

    fn run(&self, at: usize, run: &Run) -> Result<Ran, RecorderError> {
        if !run.is_for(&self.plan.harness) {
            return Ok(skipped(format!("not for {}", self.plan.harness)));
        }
        if !run.keys.is_empty() {
            return self.terminal(at, run);
        }
        let values = self.values(run)?;
        let Invocation { argv, stdin } = match self.invocation(run, &values) {
            Ok(invocation) => invocation,
            Err(why) => return Ok(skipped(why)),
        };
        let printed = self.plan.places.work.join(PRINTED);
        // What a client hears is no form of a session.
        let is_kept = run.into.is_empty() && run.client.is_empty();
        let (out, err) = (
            printed.join(format!("run{at}.{}", if is_kept { "out" } else { "else" })),
            printed.join(format!("run{at}.err")),
        );
        let io = |error: std::io::Error| {
            RecorderError::new(Fault::Misconfigured, format!("{}: {error}", argv[0]))
        };
        fs::create_dir_all(&printed).map_err(io)?;
        let begun = Instant::now();
        let limit = Duration::from_secs(if run.timeout > 0 {
            run.timeout
        } else {
            self.harness.seconds()
        });
        let start = |stdout: Stdio| {
            Running::start(&argv, &self.plan.places.project, &self.env(), stdout, &err).map_err(io)
        };
        let mut led = Led::default();
        let end = if !run.client.is_empty() {
            let running = start(Stdio::piped())?;
            led = client::lead(running, run, self.stage, &out, limit, values).map_err(io)?;
            led.end
        } else if !run.says.is_empty() {
            let running = start(Stdio::piped())?;
            let project = &self.plan.places.project;
            let end = crate::dialog::hold(running, run, project, self.stage, &out, limit);
            Some(end.map_err(io)?)
        } else {
            let prompt = self.harness.prompt(run);
            if !prompt.is_empty() {
                self.stage.enter(&prompt);
            } else if !run.stdin.is_empty() {
                self.stage.enter(&run.stdin);
            }
            let mut running = start(Stdio::from(File::create(&out).map_err(io)?))?;
            running.words().say(stdin);
            let mut alarm = Alarm::default();
            let is_killed = || {
                run.kill.as_ref().is_some_and(|kill| {
                    alarm.rings(self.stage.begun(&kill.thread) >= kill.answers, kill.wait_ms)
                })
            };
            Some(running.wait(limit, &out, is_killed).map_err(io)?)
        };
        if !run.into.is_empty() {
            write(&self.path_of(&run.into), read(&out)?.as_bytes())?;
        }
        self.wait_until(run, begun, limit);
        let session = led.session.or_else(|| {
            let printed = read(&out).ok()?;
            let found = self.harness.session(&self.plan.places.home, &printed);
            found.or_else(|| named_session(&argv))
        });
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Ran {
            argv,
            end,
            milliseconds,
            session,
            skipped: None,
            refused: led.refused,
        })
    }

    /// Where a file of the scenario is.
    fn path_of(&self, name: &str) -> PathBuf {
        let (home, project) = (&self.plan.places.home, &self.plan.places.project);
        name.strip_prefix("~/")
            .map_or_else(|| project.join(name), |name| home.join(name))
    }

    /// A run in a terminal.
    fn terminal(&self, at: usize, run: &Run) -> Result<Ran, RecorderError> {
        let argv = match self.terminal_line(run, &self.values(run)?) {
            Ok(argv) => argv,
            Err(why) => return Ok(skipped(why)),
        };
        let printed = self.plan.places.work.join(PRINTED);
        let io = |error: std::io::Error| {
            RecorderError::new(Fault::Misconfigured, format!("{}: {error}", argv[0]))
        };
        fs::create_dir_all(&printed).map_err(io)?;
        let begun = Instant::now();
        let limit = Duration::from_secs(if run.timeout > 0 {
            run.timeout
        } else {
            self.harness.seconds()
        });
        let (env, out) = (self.env(), printed.join(format!("run{at}.screen")));
        let command = crate::terminal::Command {
            argv: &argv,
            directory: &self.plan.places.project,
            env: &env,
            out: &out,
            limit,
        };
        let end = crate::terminal::run(&command, &run.keys, self.stage).map_err(io)?;
        self.wait_until(run, begun, limit);
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let session = self.harness.session(&self.plan.places.home, "");
        Ok(Ran {
            argv,
            end: Some(end),
            milliseconds,
            session,
            ..Ran::default()
        })
    }

    /// Waits for what a command has left behind.
    fn wait_until(&self, run: &Run, begun: Instant, limit: Duration) {
        let Some(until) = &run.until else { return };
        let mut alarm = Alarm::default();
        while begun.elapsed() < limit
            && !alarm.rings(
                self.stage.begun(&until.thread) >= until.answers,
                until.wait_ms,
            )
        {
            thread::sleep(LOOK);
        }
    }
}

/// The session that a command line names.
fn named_session(argv: &[String]) -> Option<String> {
    let mut words = argv.iter().skip_while(|word| *word != "--session-id");
    words.nth(1).cloned()
}

/// A run that cannot be.
fn skipped(why: String) -> Ran {
    Ran {
        skipped: Some(why),
        ..Ran::default()
    }
}

/// Rings some time after something has become true.
#[derive(Default)]
struct Alarm(Option<Instant>);

impl Alarm {
    fn rings(&mut self, is_true: bool, wait_ms: u64) -> bool {
        if is_true && self.0.is_none() {
            self.0 = Some(Instant::now());
        }
        self.0
            .is_some_and(|since| since.elapsed() >= Duration::from_millis(wait_ms))
    }
}

fn read(path: &PathBuf) -> Result<String, RecorderError> {
    let bytes = fs::read(path).map_err(|error| RecorderError::io(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
