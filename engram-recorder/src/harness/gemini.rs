//! Gemini CLI: `@google/gemini-cli`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setting::{Harness, Setting, files_below, member_in, with_settings};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// Gemini CLI.
pub struct Gemini;

impl Harness for Gemini {
    fn family(&self) -> &'static str {
        "gemini"
    }

    fn package(&self) -> &'static str {
        "@google/gemini-cli"
    }

    fn program(&self) -> &'static str {
        "gemini"
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let settings: Value = if setting.is_from(0, 3, 0) {
            json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                "telemetry": {"enabled": false}, "ui": {"theme": "Default", "hideTips": true},
                "ide": {"hasSeenNudge": true, "enabled": false}, "model": {"name": setting.model(self.family(), "gemini-2.5-pro")},
            })
        } else {
            json!({
                "selectedAuthType": "gemini-api-key", "theme": "Default", "usageStatisticsEnabled": false, "disableAutoUpdate": true,
                "disableUpdateNag": true, "telemetry": {"enabled": false},
            })
        };
        vec![(
            format!("{}/.gemini/settings.json", setting.home),
            with_settings(settings, setting, self.family()).to_string(),
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
        if setting.has_flag("stream-json") {
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
            Some(Resume::Fork) => return Err("cannot fork a session".to_owned()),
            Some(Resume::Last) => add(&["--resume", "latest"]),
            Some(Resume::First) => add(&[
                "--resume",
                session.ok_or("there is no session to go on with")?,
            ]),
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

    /// What it prints has the sums of a run, its log those of each answer.
    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[("usage", "usage_of_answers")]
    }

    fn terminal(&self, setting: &Setting<'_>, run: &Run) -> Option<Vec<String>> {
        let mut argv = setting.exe.to_vec();
        argv.extend(may_act(setting, run));
        Some(argv)
    }

    fn session(&self, _home: &Path, stdout: &str) -> Option<String> {
        member_in(stdout, &["session_id", "sessionId"]).map(str::to_owned)
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut found = files_below(&home.join(".gemini/tmp"), home, "");
        found.retain(|(path, _)| {
            let is_named = path
                .file_name()
                .is_some_and(|name| name == "logs.json" || name == ".project_root");
            is_named
                || path
                    .components()
                    .any(|part| part.as_os_str() == "chats" || part.as_os_str() == "tool-outputs")
        });
        let projects = home.join(".gemini/projects.json");
        if projects.is_file() {
            found.push((projects, PathBuf::from(".gemini/projects.json")));
        }
        found
    }
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
