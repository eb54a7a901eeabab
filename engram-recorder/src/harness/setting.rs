//! How a harness is run so that it leaves its log: environment, settings, command lines, and where the log is.

use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::Value;

use crate::process::Invocation;
use crate::scenario::{Permissions, Run, Scenario};

/// The key that every harness gets.
pub const FAKE_KEY: &str = "sk-ant-api03-fake-fake-fake-fake-fake-fake-fake";

/// What a harness can know while it is set up.
pub struct Setting<'s> {
    /// Its version.
    pub version: &'s Version,
    /// What `--help` prints.
    pub help: &'s str,
    /// Its home, as it sees it.
    pub home: &'s str,
    /// The project, as it sees it.
    pub project: &'s str,
    /// The port of the model server.
    pub port: u16,
    /// The scenario.
    pub scenario: &'s Scenario,
    /// The program and what must stand before its arguments.
    pub exe: &'s [String],
}

impl Setting<'_> {
    /// True for this version and later ones.
    pub fn is_from(&self, major: u64, minor: u64, patch: u64) -> bool {
        (self.version.major, self.version.minor, self.version.patch) >= (major, minor, patch)
    }

    /// True if `--help` names this flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.help.contains(flag)
    }

    /// The permissions of a run.
    pub fn permissions(&self, run: &Run) -> Permissions {
        run.permissions.unwrap_or(self.scenario.permissions)
    }

    /// The model that the scenario asks for, or this one.
    pub fn model<'m>(&'m self, harness: &str, other: &'m str) -> &'m str {
        self.scenario
            .model
            .get(harness)
            .map_or(other, String::as_str)
    }
}

/// How one harness is run.
pub trait Harness: Sync {
    /// The name of the directory of its recordings, and of its adapter's family.
    fn family(&self) -> &'static str;
    /// The package on npm.
    fn package(&self) -> &'static str;
    /// The name of the program.
    fn program(&self) -> &'static str;
    /// The family whose table of tools and whose settings in scenarios it shares: its own, or that of the harness that it is a fork of.
    fn origin(&self) -> &'static str {
        self.family()
    }
    /// The subcommand of a run, which has flags of its own.
    fn subcommand(&self) -> Option<&'static str> {
        None
    }
    /// Files that must be there before it starts: absolute paths, as the harness sees them.
    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)>;
    /// The command line of a run. `session` is the id of the session that it goes on with.
    ///
    /// # Errors
    /// Why this version cannot do it.
    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String>;
    /// What the person says in a run, as the command line has it.
    fn prompt(&self, run: &Run) -> String {
        run.prompt.clone()
    }
    /// The command line of a run in a terminal; `None` if it is not known how.
    fn terminal(&self, _setting: &Setting<'_>, _run: &Run) -> Option<Vec<String>> {
        None
    }
    /// The id of the session of a run that has ended.
    fn session(&self, home: &Path, stdout: &str) -> Option<String>;
    /// The files of its log: where they are below the home, and where they belong below `session/`.
    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)>;
    /// Answers to requests for documents, by the end of the path.
    fn documents(&self) -> Vec<(String, Value)> {
        Vec::new()
    }
    /// Members of `truth.json` that the log cannot be held to, with the name under which they are kept instead.
    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The longest time that a run may take by default, in seconds.
    fn seconds(&self) -> u64 {
        90
    }
}

/// Results of APIs that do not say whether a call failed: a log that says so cannot be held to them.
pub(super) const RESULTS_WITHOUT_STATUS: (&str, &str) = ("results", "results_without_status");

/// A settings file with what a scenario adds to it.
pub(super) fn with_settings(mut settings: Value, setting: &Setting<'_>, harness: &str) -> Value {
    if let Some(more) = setting.scenario.settings.get(harness) {
        merge(&mut settings, more);
    }
    let text = settings
        .to_string()
        .replace("{project}", setting.project)
        .replace("{home}", setting.home);
    serde_json::from_str(&text).unwrap_or(settings)
}

/// Adds members; objects are joined.
fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// The id of a session that begins with this prompt, where the command line gives a session its id.
pub fn new_session(prompt: &str) -> String {
    blake3::hash(prompt.as_bytes()).to_hex()[..16].to_owned()
}

/// Every file below a directory, with the path that it has below `root`.
pub(super) fn files_below(directory: &Path, root: &Path, to: &str) -> Vec<(PathBuf, PathBuf)> {
    let files = engram_conformance::files(directory).into_iter();
    files
        .filter(|path| !path.is_symlink())
        .filter_map(|path| {
            let below = path.strip_prefix(root).ok()?.to_owned();
            Some((path, Path::new(to).join(below)))
        })
        .collect()
}

/// The file below a directory that was written last, of those that are the log of a session.
pub(super) fn newest(directory: &Path, is_log: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let logs = engram_conformance::files(directory).into_iter();
    logs.filter(|path| !path.is_symlink() && is_log(path))
        .max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// True for a file of JSON lines.
pub(super) fn is_lines(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "jsonl")
}

/// The value of the first member with this name in lines of JSON.
pub(super) fn member_in<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    names.iter().find_map(|name| {
        let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    })
}
