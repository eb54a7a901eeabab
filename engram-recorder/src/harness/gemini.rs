//! Gemini CLI (`@google/gemini-cli`), and Qwen Code (`@qwen-code/qwen-code`), which is a fork of it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setting::{
    Harness, RESULTS_WITHOUT_STATUS, Setting, files_below, is_lines, member_in, newest,
    with_settings,
};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// Gemini CLI, or a fork of it.
pub struct Gemini {
    /// The name of the program, and of its adapter's family.
    name: &'static str,
    /// The package on npm.
    package: &'static str,
    /// Where it gets its models.
    provider: &'static str,
    /// The model.
    model: &'static str,
    /// The directory of its sessions, below the one of its settings.
    sessions: &'static str,
    /// True if its settings have groups in every version.
    has_groups: bool,
    /// True if its adapter reads what it prints.
    prints_sessions: bool,
    /// Members of the truth that its log cannot be held to.
    set_aside: &'static [(&'static str, &'static str)],
}

/// Gemini CLI.
pub const GEMINI: Gemini = Gemini {
    name: "gemini",
    package: "@google/gemini-cli",
    provider: "gemini-api-key",
    model: "gemini-2.5-pro",
    sessions: "tmp",
    has_groups: false,
    prints_sessions: true,
    // What it prints has the sums of a run, its log those of each answer.
    set_aside: &[("usage", "usage_of_answers")],
};

/// Qwen Code.
pub const QWEN: Gemini = Gemini {
    name: "qwen",
    package: "@qwen-code/qwen-code",
    provider: "openai",
    model: "qwen3-coder-plus",
    sessions: "projects",
    has_groups: true,
    prints_sessions: false,
    set_aside: &[RESULTS_WITHOUT_STATUS],
};

impl Gemini {
    /// The directory of settings and sessions, below the home.
    fn directory(&self) -> String {
        format!(".{}", self.name)
    }
}

impl Harness for Gemini {
    fn family(&self) -> &'static str {
        self.name
    }

    fn package(&self) -> &'static str {
        self.package
    }

    fn program(&self) -> &'static str {
        self.name
    }

    fn origin(&self) -> &'static str {
        GEMINI.name
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let settings: Value = if self.has_groups || setting.is_from(0, 3, 0) {
            json!({
                "security": {"auth": {"selectedType": self.provider}, "folderTrust": {"enabled": false}},
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                "telemetry": {"enabled": false}, "ui": {"theme": "Default", "hideTips": true},
                "ide": {"hasSeenNudge": true, "enabled": false}, "model": {"name": setting.model(self.family(), self.model)},
            })
        } else {
            json!({
                "selectedAuthType": self.provider, "theme": "Default", "usageStatisticsEnabled": false, "disableAutoUpdate": true,
                "disableUpdateNag": true, "telemetry": {"enabled": false},
            })
        };
        vec![(
            format!("{}/{}/settings.json", setting.home, self.directory()),
            with_settings(settings, setting, self.origin()).to_string(),
        )]
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        let mut argv = setting.exe.to_vec();
        argv.extend(may_act(setting, run));
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
        if self.prints_sessions && setting.has_flag("stream-json") {
            add(&["--output-format", "stream-json"]);
        }
        if setting.has_flag("--skip-trust") {
            add(&["--skip-trust"]);
        }
        match run.resume {
            None => {}
            Some(_) if !setting.has_flag("--resume") => {
                return Err("cannot go on with a session".to_owned());
            }
            Some(Resume::Fork) if !setting.has_flag("--fork-session") => {
                return Err("cannot fork a session".to_owned());
            }
            Some(Resume::Last) if setting.has_flag("--continue") => add(&["--continue"]),
            Some(Resume::Last) => add(&["--resume", "latest"]),
            Some(resume) => {
                add(&[
                    "--resume",
                    session.ok_or("there is no session to go on with")?,
                ]);
                if resume == Resume::Fork {
                    add(&["--fork-session"]);
                }
            }
        }
        add(&["-p", &self.prompt(run)]);
        Ok(Invocation {
            argv,
            stdin: Vec::new(),
        })
    }

    /// Images are named in the prompt.
    fn prompt(&self, run: &Run) -> String {
        let images = run.images.iter().map(|image| format!(" @{image}"));
        std::iter::once(run.prompt.clone()).chain(images).collect()
    }

    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        self.set_aside
    }

    fn terminal(&self, setting: &Setting<'_>, run: &Run) -> Option<Vec<String>> {
        let mut argv = setting.exe.to_vec();
        argv.extend(may_act(setting, run));
        Some(argv)
    }

    fn session(&self, home: &Path, stdout: &str) -> Option<String> {
        if self.prints_sessions {
            return member_in(stdout, &["session_id", "sessionId"]).map(str::to_owned);
        }
        let sessions = home.join(self.directory()).join(self.sessions);
        let is_log = |path: &Path| is_lines(path) && is_in(path, &["chats"]);
        Some(
            newest(&sessions, is_log)?
                .file_stem()?
                .to_string_lossy()
                .into_owned(),
        )
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let directory = self.directory();
        let mut found = files_below(&home.join(&directory).join(self.sessions), home, "");
        found.retain(|(path, _)| {
            let is_named = path
                .file_name()
                .is_some_and(|name| name == "logs.json" || name == ".project_root");
            is_named || is_in(path, &["chats", "tool-outputs", "subagents"])
        });
        let projects = Path::new(&directory).join("projects.json");
        if home.join(&projects).is_file() {
            found.push((home.join(&projects), projects));
        }
        found
    }
}

/// True for a path with one of these directories.
fn is_in(path: &Path, directories: &[&str]) -> bool {
    let mut parts = path.components().map(|part| part.as_os_str());
    parts.any(|part| directories.iter().any(|directory| part == *directory))
}

/// The flags that let it act without asking, if it may.
fn may_act(setting: &Setting<'_>, run: &Run) -> Vec<String> {
    let flags: &[&str] = match setting.permissions(run) {
        Permissions::Default | Permissions::Everyday => &[],
        Permissions::Full if setting.has_flag("--approval-mode") => &["--approval-mode", "yolo"],
        Permissions::Full => &["--yolo"],
    };
    flags.iter().map(|flag| (*flag).to_owned()).collect()
}
