//! The command line of a run, and what its words can name.

use std::collections::BTreeMap;

use engram_profiles::profile::{InputMode, Tier};
use serde_json::{Value, json};

use super::{Session, Under};
use crate::client;
use crate::error::{Fault, RecorderError};
use crate::install::DRIVERS;
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};
use crate::tools;

/// What words of command lines and calls of a client can name.
pub type Filled = BTreeMap<String, Value>;

impl Session<'_> {
    /// The values that words of a command and calls of a client can name.
    pub(super) fn values(&self, run: &Run) -> Result<Filled, RecorderError> {
        let places = &self.plan.places;
        let mut values = BTreeMap::from([
            ("home".to_owned(), json!(places.home.to_string_lossy())),
            (
                "project".to_owned(),
                json!(places.project.to_string_lossy()),
            ),
            ("prompt".to_owned(), json!(run.prompt)),
            (
                "harness".to_owned(),
                json!(places.harness.to_string_lossy()),
            ),
            ("program".to_owned(), json!(self.plan.exe.last())),
        ]);
        if let Some(first) = &self.first {
            let short = first.get(..8).unwrap_or(first);
            values.insert("session".to_owned(), json!(first));
            values.insert("short".to_owned(), json!(short));
        }
        if run.command.iter().any(|word| word.contains("{port}")) {
            let port = client::free_port().map_err(|error| RecorderError::new(Fault::Io, error))?;
            values.insert("port".to_owned(), json!(port.to_string()));
        }
        Ok(values)
    }

    /// The command line of a run.
    ///
    /// # Errors
    /// Why this version cannot do it.
    pub(super) fn invocation(&self, run: &Run, values: &Filled) -> Result<Invocation, String> {
        let mut invocation = if self.is_plain(run) {
            self.of_profile(run)?
        } else if run.command.is_empty() {
            let session = run.resume.and_then(|resume| match resume {
                Resume::Last => self.last.as_deref(),
                Resume::First | Resume::Fork => self.first.as_deref(),
            });
            self.with_setting(|setting| self.harness.invocation(setting, run, session))?
        } else {
            let mut argv = self.program(run)?;
            argv.extend(
                run.command
                    .iter()
                    .map(|word| tools::fill_text(word, values)),
            );
            Invocation {
                argv,
                stdin: run.stdin.clone().into_bytes(),
            }
        };
        self.add_arguments(&mut invocation.argv, run, values)?;
        Ok(invocation)
    }

    /// True for a prompt of a new session with all permissions, under a profile that the caller named: the profile says all of its command line.
    fn is_plain(&self, run: &Run) -> bool {
        let may_all = self.with_setting(|setting| setting.permissions(run) == Permissions::Full);
        let is_prompt = run.command.is_empty() && run.says.is_empty() && run.resume.is_none();
        self.plan.under == Under::Named && is_prompt && may_all
    }

    fn of_profile(&self, run: &Run) -> Result<Invocation, String> {
        let (profile, prompt) = (&self.plan.profile, self.harness.prompt(run));
        let args = self.with_values(Some(&prompt), |values| profile.args(values, Tier::Full));
        let args = args.map_err(|error| error.to_string())?;
        let stdin = match profile.input_mode {
            InputMode::Stdin => prompt.into_bytes(),
            InputMode::Arg => Vec::new(),
            InputMode::File | InputMode::StreamJson => {
                return Err(
                    "the recorder gives a prompt as an argument or on standard input".to_owned(),
                );
            }
        };
        let argv = self.plan.exe.iter().cloned().chain(args).collect();
        Ok(Invocation { argv, stdin })
    }

    /// What stands before the words of a command: the harness, or `node` where a package drives it.
    fn program(&self, run: &Run) -> Result<Vec<String>, String> {
        if run.package.is_empty() {
            return Ok(self.plan.exe.clone());
        }
        let places = &self.plan.places;
        let package = places.harness.join(DRIVERS).join(&run.package);
        if !package.is_dir() {
            return Err(format!("{} is not installed", run.package));
        }
        let node = places.node.join("node").to_string_lossy().into_owned();
        Ok(vec![node])
    }

    /// The command line of a run in a terminal.
    pub(super) fn terminal_line(&self, run: &Run, values: &Filled) -> Result<Vec<String>, String> {
        let mut argv = self
            .with_setting(|setting| self.harness.terminal(setting, run))
            .ok_or("nobody knows its terminal")?;
        self.add_arguments(&mut argv, run, values)?;
        Ok(argv)
    }

    /// Adds the arguments of the run: behind the subcommand, if there is one, and before everything else.
    fn add_arguments(
        &self,
        argv: &mut Vec<String>,
        run: &Run,
        values: &Filled,
    ) -> Result<(), String> {
        let is_unknown = |word: &&String| {
            let flag = word.split('=').next().unwrap_or_default();
            word.starts_with("--") && !self.help.contains(flag)
        };
        if let Some(flag) = run.args.iter().find(is_unknown) {
            return Err(format!("--help does not name {flag}"));
        }
        let words = run.args.iter();
        let words = words.map(|word| tools::fill_text(word, values));
        let first = argv.get(self.plan.exe.len());
        let at =
            self.plan.exe.len() + usize::from(first.is_some_and(|word| !word.starts_with('-')));
        let at = at.min(argv.len());
        argv.splice(at..at, words);
        Ok(())
    }
}
