//! OpenClaw: `openclaw`. Each run is one turn of its agent, without a gateway.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setting::{
    FAKE_KEY, Harness, RESULTS_WITHOUT_STATUS, Setting, files_below, is_lines, new_session,
    with_settings,
};
use crate::process::Invocation;
use crate::scenario::{Permissions, Resume, Run};

/// OpenClaw.
pub struct OpenClaw;

/// The provider and the model.
const PROVIDER: &str = "scripted";
const MODEL: &str = "scripted-model";
/// The directory of its settings and its agents, below the home.
const DIRECTORY: &str = ".openclaw";
/// The database of an agent (2026.9), and what was not yet written to it.
const STORES: [&str; 2] = ["openclaw-agent.sqlite", "openclaw-agent.sqlite-wal"];

impl Harness for OpenClaw {
    fn family(&self) -> &'static str {
        "openclaw"
    }

    fn package(&self) -> &'static str {
        "openclaw"
    }

    fn program(&self) -> &'static str {
        "openclaw"
    }

    fn subcommand(&self) -> Option<&'static str> {
        Some("agent")
    }

    fn files(&self, setting: &Setting<'_>) -> Vec<(String, String)> {
        let model = setting.model(self.family(), MODEL);
        let models = json!([{
            "id": model, "name": model, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 8192,
            "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        }]);
        let provider = json!({
            "baseUrl": format!("http://127.0.0.1:{}/v1", setting.port), "apiKey": FAKE_KEY, "api": "openai-completions", "models": models,
        });
        let mut config = json!({
            "gateway": {"mode": "local"},
            "agents": {"defaults": {"workspace": setting.project, "skipBootstrap": true, "model": {"primary": format!("{PROVIDER}/{model}")}}},
            "models": {"mode": "replace", "providers": {PROVIDER: provider}},
        });
        if let Some(mode) = mode(setting.scenario.permissions) {
            let exec = match setting.is_from(2026, 5, 28) {
                true => json!({"mode": mode}),
                false => json!({"security": mode, "ask": "off"}),
            };
            config["tools"] = json!({ "exec": exec });
        }
        let config: Value = with_settings(config, setting, self.family());
        vec![(
            format!("{}/{DIRECTORY}/openclaw.json", setting.home),
            config.to_string(),
        )]
    }

    fn invocation(
        &self,
        setting: &Setting<'_>,
        run: &Run,
        session: Option<&str>,
    ) -> Result<Invocation, String> {
        if setting.permissions(run) != setting.scenario.permissions {
            return Err("its permissions are those of its settings".to_owned());
        }
        if !run.images.is_empty() {
            return Err("its command line takes no images".to_owned());
        }
        let session = match run.resume {
            None => new_session(&run.prompt),
            Some(Resume::Fork) => return Err("its command line cannot fork a session".to_owned()),
            Some(_) => session
                .ok_or("there is no session to go on with")?
                .to_owned(),
        };
        let mut argv = setting.exe.to_vec();
        let words = ["agent", "--local", "--agent", "main", "--session-id"];
        argv.extend(words.map(str::to_owned));
        argv.extend([session, "--message".to_owned(), run.prompt.clone()]);
        Ok(Invocation {
            argv,
            stdin: Vec::new(),
        })
    }

    fn set_aside(&self) -> &'static [(&'static str, &'static str)] {
        &[RESULTS_WITHOUT_STATUS]
    }

    /// Its command line names the session.
    fn session(&self, _home: &Path, _stdout: &str) -> Option<String> {
        None
    }

    fn log(&self, home: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut found = files_below(&home.join(DIRECTORY).join("agents"), home, "");
        found.retain(|(path, _)| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_session = is_lines(path) && !name.ends_with(".trajectory.jsonl");
            is_session || STORES.contains(&&*name) || name.ends_with(".jsonl.zst")
        });
        found
    }

    fn seconds(&self) -> u64 {
        240
    }
}

/// What may be run without asking; nothing is said in everyday use. Nobody is there to ask.
fn mode(permissions: Permissions) -> Option<&'static str> {
    match permissions {
        Permissions::Full => Some("full"),
        Permissions::Default => Some("allowlist"),
        Permissions::Everyday => None,
    }
}
