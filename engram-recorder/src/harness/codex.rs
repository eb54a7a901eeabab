//! Codex: `@openai/codex`.

use std::path::{Path, PathBuf};

use super::setting::{Harness, RESULTS_WITHOUT_STATUS, Setting, files_below, member_in, newest};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// Codex.
pub struct Codex;

/// The model that a version knows best.
fn model(setting: &Setting<'_>) -> &'static str {
    const MODELS: &[((u64, u64, u64), &str)] = &[
        ((0, 150, 0), "gpt-5.5"),
        ((0, 98, 0), "gpt-5.2-codex"),
        ((0, 60, 0), "gpt-5.1-codex"),
        ((0, 36, 0), "gpt-5-codex"),
    ];
    let known = MODELS
        .iter()
        .find(|((major, minor, patch), _)| setting.is_from(*major, *minor, *patch));
    known.map_or("gpt-5", |(_, model)| model)
}

impl Harness for Codex {
    fn family(&self) -> &'static str {
        "codex"
    }

    fn package(&self) -> &'static str {
        "@openai/codex"
    }

    fn program(&self) -> &'static str {
        "codex"
    }

    fn subcommand(&self) -> Option<&'static str> {
        Some("exec")
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let permissions = match setting.scenario.permissions {
            Permissions::Full => {
                "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"
            }
            Permissions::Default => "approval_policy = \"never\"\nsandbox_mode = \"read-only\"\n",
            Permissions::Everyday => "",
        };
        let mut config = format!(
            "model = \"{}\"\nmodel_provider = \"scripted\"\n{permissions}\
             model_reasoning_summary = \"detailed\"\nmodel_reasoning_effort = \"medium\"\nshow_raw_agent_reasoning = true\n\
             check_for_update_on_startup = false\n",
            setting.model(self.family(), model(setting))
        );
        if !setting.is_from(0, 20, 0) {
            config.push_str("disable_response_storage = true\n");
        }
        // Lines of TOML: those before the first table belong to the top.
        let more = setting
            .scenario
            .settings
            .get(self.family())
            .and_then(serde_json::Value::as_object);
        let lines = |member: &str| {
            more.and_then(|more| more.get(member))
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default()
        };
        config.push_str(lines("top"));
        config.push_str(&format!(
            "\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"http://127.0.0.1:{}/v1\"\nenv_key = \"SCRIPTED_API_KEY\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 1\nstream_idle_timeout_ms = 90000\n\
             \n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            setting.port, setting.project
        ));
        if setting.is_from(0, 60, 0) {
            config.push_str("\n[analytics]\nenabled = false\n");
        }
        config.push_str(lines("tables"));
        let config = config
            .replace("{project}", setting.project)
            .replace("{home}", setting.home)
            .replace("{server}", &format!("http://127.0.0.1:{}", setting.port));
        vec![(format!("{}/.codex/config.toml", setting.home), config)]
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        let mut argv = setting.exe.to_vec();
        argv.push("exec".to_owned());
        if setting.is_from(0, 9, 0) {
            argv.push("--json".to_owned());
        }
        argv.push("--skip-git-repo-check".to_owned());
        match run.resume {
            None => {}
            Some(_) if !setting.is_from(0, 40, 0) => {
                return Err("cannot go on with a session".to_owned());
            }
            Some(Resume::Last) => argv.extend(["resume", "--last"].map(str::to_owned)),
            Some(Resume::First) => argv.extend(
                [
                    "resume",
                    session.ok_or("there is no session to go on with")?,
                ]
                .map(str::to_owned),
            ),
            Some(Resume::Fork) if !setting.is_from(0, 160, 0) => {
                return Err("no exec fork".to_owned());
            }
            Some(Resume::Fork) => argv
                .extend(["fork", session.ok_or("there is no session to fork")?].map(str::to_owned)),
        }
        for image in &run.images {
            argv.extend(["-i".to_owned(), image.clone()]);
        }
        if !run.images.is_empty() {
            argv.push("--".to_owned());
        }
        argv.push(run.prompt.clone());
        Ok(Invocation {
            argv,
            stdin: Vec::new(),
        })
    }

    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[RESULTS_WITHOUT_STATUS]
    }

    fn terminal(&self, setting: &Setting<'_>, _run: &Run) -> Option<Vec<String>> {
        let mut argv = setting.exe.to_vec();
        if setting.scenario.permissions == Permissions::Default {
            // A person is there to ask.
            let words = ["--ask-for-approval", "on-request", "--sandbox", "read-only"];
            argv.extend(words.map(str::to_owned));
        }
        Some(argv)
    }

    fn session(&self, home: &Path, stdout: &str) -> Option<String> {
        if let Some(id) = member_in(stdout, &["thread_id", "session_id", "conversation_id"]) {
            return Some(id.to_owned());
        }
        let log = newest(&home.join(".codex/sessions"), |_| true)?;
        let name = log.file_stem()?.to_string_lossy().into_owned();
        // The name ends with a UUID: 36 letters.
        name.len().checked_sub(36).map(|at| name[at..].to_owned())
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut found = files_below(&home.join(".codex/sessions"), home, "");
        found.extend(files_below(
            &home.join(".codex/archived_sessions"),
            home,
            "",
        ));
        let history = home.join(".codex/history.jsonl");
        if history.is_file() {
            found.push((history, PathBuf::from(".codex/history.jsonl")));
        }
        found
    }
}
