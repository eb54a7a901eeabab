//! Copilot CLI: `@github/copilot`. Its environment names the model server, so it needs no account.

use std::path::{Path, PathBuf};

use super::setting::{Harness, RESULTS_WITHOUT_STATUS, Setting, files_below, newest};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// Copilot CLI.
pub struct Copilot;

/// The model.
const MODEL: &str = "claude-sonnet-4.5";
/// The directory with one directory for each session, below the home.
const SESSIONS: &str = ".copilot/session-state";
/// The log of a session. What else its directory has is read from the log, or is no part of it.
const LOG: &str = "events.jsonl";
/// The directory with the files as they were before and after each prompt.
const SNAPSHOTS: &str = "rewind-file-snapshots";

/// The model that it is asked to use, and the flags that let it act without asking, if it may.
fn flags(setting: &Setting<'_>, run: &Run) -> Vec<String> {
    let mut flags = vec!["--model", setting.model("copilot", MODEL)];
    if setting.permissions(run) == Permissions::Full {
        flags.extend(["--allow-all-tools", "--allow-all-paths"]);
    }
    flags.into_iter().map(str::to_owned).collect()
}

impl Harness for Copilot {
    fn family(&self) -> &'static str {
        "copilot"
    }

    fn package(&self) -> &'static str {
        "@github/copilot"
    }

    fn program(&self) -> &'static str {
        "copilot"
    }

    fn files(&self, _setting: &Setting<'_>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        let mut argv = setting.exe.to_vec();
        argv.extend(flags(setting, run));
        match run.resume {
            None => {}
            Some(Resume::Fork) => return Err("cannot fork a session".to_owned()),
            Some(Resume::Last) => argv.push("--continue".to_owned()),
            Some(Resume::First) => argv.push(format!(
                "--resume={}",
                session.ok_or("there is no session to go on with")?
            )),
        }
        for image in &run.images {
            argv.extend(["--attachment".to_owned(), image.clone()]);
        }
        argv.extend(["-p".to_owned(), run.prompt.clone()]);
        Ok(Invocation {
            argv,
            stdin: Vec::new(),
        })
    }

    /// Its results have no flag for a failure, although the API has one.
    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[RESULTS_WITHOUT_STATUS]
    }

    fn terminal(&self, setting: &Setting<'_>, run: &Run) -> Option<Vec<String>> {
        Some([setting.exe.to_vec(), flags(setting, run)].concat())
    }

    fn session(&self, home: &Path, _stdout: &str) -> Option<String> {
        let log = newest(&home.join(SESSIONS), |path| path.ends_with(LOG))?;
        Some(log.parent()?.file_name()?.to_string_lossy().into_owned())
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut found = files_below(&home.join(SESSIONS), home, "");
        found.retain(|(path, _)| {
            path.ends_with(LOG) || path.components().any(|part| part.as_os_str() == SNAPSHOTS)
        });
        found
    }
}
