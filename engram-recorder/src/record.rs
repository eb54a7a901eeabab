//! Records one scenario with one version of a harness.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use semver::Version;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Fault, RecorderError};
use crate::harness::Harness;
use crate::inside::{self, Done, OPS, PRINTED, Plan};
use crate::isolation::{self, HOME, Isolation, PASSWD, PROJECT, Places, USER};
use crate::sandbox::{self, write};
use crate::scenario::Scenario;

/// The most time that all runs of a scenario may take beyond their own limits.
const SLACK: Duration = Duration::from_secs(60);
/// Files above this size are left out of a recording.
const MAX_FILE: u64 = 64 << 20;
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
}

impl Job<'_> {
    /// Records it. A recording of the same name is replaced.
    ///
    /// # Errors
    /// If the harness is not there or cannot be run, or if nothing of a log was left.
    pub fn record(&self) -> Result<Recorded, RecorderError> {
        let begun = Instant::now();
        let work = tempfile::Builder::new().prefix("engram-record-").tempdir().map_err(|error| RecorderError::new(Fault::Io, error))?;
        let node = node_directory();
        let plan = self.prepare(work.path(), &node)?;
        let canary = format!("canary-{}", blake3::hash(work.path().to_string_lossy().as_bytes()).to_hex());
        let done = match self.isolation {
            Isolation::None => inside::run(&plan)?,
            Isolation::Private(inside) => self.run_private(work.path(), &node, inside, &canary)?,
        };
        let target = self.out.join(self.harness.family()).join(self.version.to_string()).join(&self.scenario.id);
        let staged = self.out.join(format!(".{}-{}-{}", self.harness.family(), self.version, self.scenario.id));
        remove(&staged)?;
        self.collect(work.path(), &staged, &done)?;
        let receipt = self.receipt(&done, &staged, &canary, begun.elapsed());
        write_json(&staged.join("receipt.json"), &receipt)?;
        remove(&target)?;
        let io = |error: std::io::Error| RecorderError::io(&target, &error);
        target.parent().map_or(Ok(()), fs::create_dir_all).map_err(io)?;
        fs::rename(&staged, &target).map_err(io)?;
        Ok(Recorded { directory: target, done, receipt })
    }

    /// Makes the work folder and the plan.
    fn prepare(&self, work: &Path, node: &Path) -> Result<Plan, RecorderError> {
        let project = work.join("home/proj");
        for directory in [&project, &work.join("root")] {
            fs::create_dir_all(directory).map_err(|error| RecorderError::io(directory, &error))?;
        }
        sandbox::make(&self.scenarios.join("_sandbox.json"), &project)?;
        let ops = self.scenarios.join("ops").join(format!("{}.json", self.harness.family()));
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
            places,
        };
        let text = serde_json::to_vec(&plan).map_err(|error| RecorderError::new(Fault::Io, error))?;
        write(&work.join("plan.json"), &text)?;
        if rustix::process::getuid().is_root() && matches!(self.isolation, Isolation::Private(_)) {
            give_away(work).map_err(|error| RecorderError::io(work, &error))?;
        }
        Ok(plan)
    }

    fn run_private(&self, work: &Path, node: &Path, inside: &[OsString], canary: &str) -> Result<Done, RecorderError> {
        let failed = |what: String| RecorderError::new(Fault::Misconfigured, what);
        let mut command = isolation::command(work, self.installed, node, inside);
        command.env(CANARY, canary).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(format!("unshare: {error}")))?;
        let seconds = |timeout: u64| if timeout > 0 { timeout } else { self.harness.seconds() };
        let limit = SLACK + Duration::from_secs(self.scenario.runs.iter().map(|run| seconds(run.timeout)).sum());
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(_)) => break,
                Ok(None) if begun.elapsed() < limit => std::thread::sleep(Duration::from_millis(20)),
                Ok(None) | Err(_) => {
                    // Its processes end with it.
                    let _ = child.kill();
                    break;
                }
            }
        }
        let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        let Ok(text) = fs::read(work.join(inside::DONE)) else {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = said.trim().lines().rev().take(30).collect();
            return Err(failed(format!("the recorder inside ended early: {}", last.into_iter().rev().collect::<Vec<_>>().join("; "))));
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
        let mut log = self.harness.log(&home);
        log.retain(|(path, _)| path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE));
        if log.is_empty() {
            return Err(RecorderError::new(Fault::Misconfigured, self.nothing_left(work, done)));
        }
        for (from, to) in log {
            let bytes = fs::read(&from).map_err(|error| RecorderError::io(&from, &error))?;
            write(&staged.join("session").join(rewriter.name(&to)), &rewriter.bytes(bytes))?;
        }
        let mut number = 0;
        for at in 0..done.runs.len() {
            let bytes = fs::read(work.join(PRINTED).join(format!("run{at}.out"))).unwrap_or_default();
            if bytes.starts_with(b"{") {
                write(&staged.join("stdout").join(format!("run{number}.jsonl")), &rewriter.bytes(bytes))?;
                number += 1;
            }
        }
        let mut truth = serde_json::to_value(&done.truth).map_err(|error| RecorderError::new(Fault::Io, error))?;
        for (name, aside) in self.harness.set_aside() {
            truth[*aside] = truth[*name].take();
            truth[*name] = json!([]);
        }
        let truth = serde_json::to_vec_pretty(&truth).map_err(|error| RecorderError::new(Fault::Io, error))?;
        write(&staged.join("truth.json"), &rewriter.bytes(truth))?;
        let argv: Vec<&Vec<String>> = done.runs.iter().filter(|run| run.skipped.is_none()).map(|run| &run.argv).collect();
        let recording = json!({
            "harness": self.harness.family(), "version": self.version.to_string(), "scenario": self.scenario.id,
            "real_harness": true, "model_server": "scripted, on loopback", "paths_rewritten": !rewriter.0.is_empty(),
            "argv": argv, "runs": done.runs,
        });
        let text = serde_json::to_vec_pretty(&recording).map_err(|error| RecorderError::new(Fault::Io, error))?;
        write(&staged.join("recording.json"), &rewriter.bytes(text))
    }

    /// Why there is no log, as far as the runs tell.
    fn nothing_left(&self, work: &Path, done: &Done) -> String {
        let said = (0..done.runs.len()).flat_map(|at| ["err", "out"].map(|kind| work.join(PRINTED).join(format!("run{at}.{kind}"))));
        let texts: Vec<String> = said.map(|path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()).collect();
        let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty()).collect();
        let telling = lines.iter().find(|line| line.to_lowercase().contains("error")).or(lines.last()).copied().unwrap_or("nothing");
        let end = done.runs.iter().find_map(|run| run.end);
        let skipped = done.runs.iter().find_map(|run| run.skipped.as_deref()).unwrap_or_default();
        let short: String = telling.chars().take(160).collect();
        format!("no log was left; {} requests; the first run ended {end:?} {skipped}; it said: {short}", done.requests)
    }

    fn receipt(&self, done: &Done, staged: &Path, canary: &str, took: Duration) -> Value {
        let is_private = matches!(self.isolation, Isolation::Private(_));
        let leaks = engram_conformance::files(staged)
            .iter()
            .any(|path| fs::read(path).is_ok_and(|bytes| bytes.windows(canary.len()).any(|window| window == canary.as_bytes())));
        let canary = match (is_private, leaks) {
            (false, _) => "not tried",
            (true, false) => "absent",
            (true, true) => "leaked",
        };
        let scenario = serde_json::to_vec(self.scenario).unwrap_or_default();
        json!({
            "egress": if is_private { "none" } else { "unknown" },
            "why_not": if is_private { None } else { isolation::refusal() },
            "paths": if is_private { "private mounts" } else { "rewritten" },
            "environment_canary": canary,
            "left_running": done.left_running,
            "requests": done.requests,
            "scenario": format!("blake3:{}", blake3::hash(&scenario).to_hex()),
            "recorder": env!("CARGO_PKG_VERSION"),
            "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Replaces the paths of a work folder by those of all recordings, also as some harnesses spell them in names.
struct Rewriter(Vec<(String, String)>);

impl Rewriter {
    fn new(work: &Path) -> Rewriter {
        let home = work.join("home").to_string_lossy().into_owned();
        let slug = |path: &str| path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect::<String>();
        let pairs = [(format!("{home}/proj"), PROJECT.to_owned()), (home, HOME.to_owned())];
        let slugs: Vec<(String, String)> = pairs.iter().map(|(from, to)| (slug(from), slug(to))).collect();
        Rewriter(pairs.into_iter().chain(slugs).collect())
    }

    fn name(&self, path: &Path) -> PathBuf {
        let mut name = path.to_string_lossy().into_owned();
        self.0.iter().for_each(|(from, to)| name = name.replace(from, to));
        PathBuf::from(name)
    }

    fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() {
            return bytes;
        }
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                self.0.iter().for_each(|(from, to)| text = text.replace(from, to));
                text.into_bytes()
            }
            Err(error) => error.into_bytes(),
        }
    }
}

/// The program of an installed harness, as it is called: `node` before a script.
fn executable(harness: &dyn Harness, installed: &Path, places: &Places) -> Result<Vec<String>, RecorderError> {
    let link = installed.join("node_modules/.bin").join(harness.program());
    let missing = |_| {
        let what = format!("{} is not there; `scripts/install-harness {} VERSION DIR` installs it", link.display(), harness.family());
        RecorderError::new(Fault::HarnessNotFound, what)
    };
    let path = link.canonicalize().map_err(missing)?;
    let root = installed.canonicalize().map_err(|error| RecorderError::io(installed, &error))?;
    let inside = path.strip_prefix(&root).map_or_else(|_| path.clone(), |below| places.harness.join(below));
    let head = read_head(&path);
    let is_script = head.starts_with("#!") && head.lines().next().is_some_and(|line| line.contains("node"));
    let mut words = Vec::new();
    if is_script {
        words.extend([places.node.join("node").to_string_lossy().into_owned(), "--no-warnings".to_owned()]);
    }
    words.push(inside.to_string_lossy().into_owned());
    Ok(words)
}

fn read_head(path: &Path) -> String {
    use std::io::Read;
    let mut head = [0_u8; 128];
    let count = fs::File::open(path).and_then(|mut file| file.read(&mut head)).unwrap_or_default();
    String::from_utf8_lossy(&head[..count]).into_owned()
}

/// The directory of the `node` of the caller's path.
fn node_directory() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|directory| directory.join("node").is_file());
    found
        .and_then(|directory| directory.join("node").canonicalize().ok()?.parent().map(Path::to_owned))
        .unwrap_or_else(|| PathBuf::from("/usr/bin"))
}

/// Makes the user inside the owner of all files.
fn give_away(directory: &Path) -> std::io::Result<()> {
    lchown(directory, Some(USER), Some(USER))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { give_away(&entry.path())? } else { lchown(entry.path(), Some(USER), Some(USER))? }
    }
    Ok(())
}

fn remove(directory: &Path) -> Result<(), RecorderError> {
    if directory.exists() { fs::remove_dir_all(directory).map_err(|error| RecorderError::io(directory, &error)) } else { Ok(()) }
}

fn write_json(path: &Path, value: &Value) -> Result<(), RecorderError> {
    let text = serde_json::to_vec_pretty(value).map_err(|error| RecorderError::new(Fault::Io, error))?;
    write(path, &text)
}
